from itertools import combinations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize
from scipy.special import log_softmax
from torch.nn import functional

import kgnn.engine.network as networks
from kgnn.engine.gin import GIN
from kgnn.engine.network import Examples, GraphNetwork, OptimizerConfig, one_hot
from kgnn.engine.node_features import NodeFeatures
from kgnn.engine.task import Task
from kgnn.engine.views import View
from kgnn.estimator.calibration import sharpen
from kgnn.graphs.datasets.toy import cycles_and_trees, planted_motifs, random_graphs
from kgnn.graphs.packing import concatenate, pack
from kgnn.methods import asgn
from kgnn.methods.asgn import (
    ASGN,
    Teacher,
    Teaching,
    assign,
    k_center,
    n_clusters_for,
    n_node_kinds,
    node_kinds,
    sample_pairs,
)
from kgnn.testing import CHECKS

FAST = {"epochs": 3, "teacher_epochs": 2, "committee": 1, "cross_fit": 0}


def task(n_labeled=14, n_graphs=36):
    graphs = planted_motifs(n_graphs, n_nodes=12)
    labels = graphs.targets.copy()
    labels[n_labeled:] = -1
    return graphs, labels


def watch(monkeypatch, cls, name="fit"):
    """Write down the first argument of each call of a method."""
    seen, plain = [], getattr(cls, name)

    def watched(self, examples, *args, **options):
        seen.append(examples)
        return plain(self, examples, *args, **options)

    monkeypatch.setattr(cls, name, watched)
    return seen


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_asgn_keeps_the_contract(check):
    check(ASGN(epochs=10, teacher_epochs=3, cross_fit=0))


def test_a_student_starts_from_the_teacher_bit_for_bit(monkeypatch):
    starts, plain = [], networks.train

    def watched(module, *args, **options):
        starts.append({name: value.clone() for name, value in module.state_dict().items()})
        return plain(module, *args, **options)

    monkeypatch.setattr(networks, "train", watched)
    encoders, head = [], "classifier.0.weight"
    fit = Teacher.fit

    def teach(self, examples):
        history = fit(self, examples)
        encoders.append(self.encoder)
        assert len(starts) == len(encoders) - 1  # teacher and student take turns
        return history

    monkeypatch.setattr(Teacher, "fit", teach)
    model = ASGN(**FAST, rounds=3).fit(*task())
    assert len(starts) == len(encoders) == 3
    for start, encoder in zip(starts, encoders, strict=True):
        assert set(encoder) == {name for name in start if name.startswith("layers.")}
        for name, value in encoder.items():
            assert torch.equal(start[name], value), name
        assert not torch.equal(start[head], model.teacher_.module.gin.state_dict()[head])
    assert not torch.equal(starts[0][head], starts[1][head])
    assert all(torch.equal(model.encoder_[name], value) for name, value in encoders[-1].items())


def test_the_teacher_learns_pseudo_labels_from_the_second_round_on(monkeypatch):
    lessons = watch(monkeypatch, Teacher)
    graphs, labels = task()
    predicted, plain = [], ASGN._pseudo_labels

    def predict(self):
        predicted.append(plain(self))
        return predicted[-1]

    monkeypatch.setattr(ASGN, "_pseudo_labels", predict)
    ASGN(**FAST, pseudo_weight=0.25).fit(graphs, labels)
    first, second = lessons
    assert first.labeled.tolist() == second.labeled.tolist() == list(range(14))
    assert len(first.annotated) == 0
    assert second.annotated.tolist() == list(range(14, 36))
    assert second.weight == 0.25
    taught = second.targets.argmax(dim=1).numpy()
    assert np.array_equal(taught[14:], predicted[0][14:])
    assert np.array_equal(taught[:14], graphs.targets[:14])


def test_students_learn_from_labels_alone(monkeypatch):
    lessons = watch(monkeypatch, GraphNetwork)
    ASGN(**FAST).fit(*task())
    seen = [training.examples for (training,) in lessons]
    assert len(seen) == 2
    assert all(each.labeled.tolist() == list(range(14)) for each in seen)
    assert all(len(each.annotated) == 0 for each in seen)


def test_histories_have_a_round_each():
    model = ASGN(**FAST, rounds=3).fit(*task())
    assert [len(history.loss) for history in model.teacher_history_] == [2, 2, 2]
    assert set(model.teacher_history_[0].parts) == {"node", "edge", "cluster", "property"}
    assert len(model.history_.loss) == 3


@pytest.mark.parametrize("with_val", [True, False])
def test_the_last_student_predicts(monkeypatch, with_val):
    graphs, labels = task()
    new = planted_motifs(30, n_nodes=12, seed=9)
    students, fit = [], GraphNetwork.fit

    def watched(self, *args, **options):
        students.append(fit(self, *args, **options))
        return students[-1]

    monkeypatch.setattr(GraphNetwork, "fit", watched)
    model = ASGN(**FAST, rounds=3).fit(
        graphs, labels, validation=(new, new.targets) if with_val else None
    )
    assert len(students) == 3
    assert model.gnn_.fitted is students[-1]
    assert model.history_ is students[-1][0].history
    assert model.history_.best_epoch == (np.argmax(model.history_.score) if with_val else 2)


def test_the_kept_student_survives_a_stop_in_a_later_round(monkeypatch):
    graphs, labels = task()
    whole = ASGN(**FAST, rounds=1).fit(graphs, labels)
    fit = Teacher.fit

    def stopping(self, examples):
        if self.histories:
            raise KeyboardInterrupt
        return fit(self, examples)

    monkeypatch.setattr(Teacher, "fit", stopping)
    with pytest.warns(match="stopped by hand"):
        stopped = ASGN(**FAST).fit(graphs, labels)
    assert stopped.interrupted_
    assert np.array_equal(whole.predict_proba(graphs), stopped.predict_proba(graphs))
    assert stopped.history_.loss == whole.history_.loss


@pytest.mark.parametrize("score", [None, -np.inf, np.inf])
def test_half_a_student_replaces_a_whole_one_only_if_val_says_so(monkeypatch, score):
    graphs, labels = task()
    new = planted_motifs(30, n_nodes=12, seed=9)
    validation = None if score is None else (new, new.targets)
    whole = ASGN(**FAST, rounds=1).fit(graphs, labels, validation=validation)
    fit = GraphNetwork.fit

    def stopping(self, *args, **options):
        again = hasattr(self, "fitted")
        fitted = fit(self, *args, **options)
        if again:
            fitted[0].history.interrupted = True
            fitted[0].history.score = [] if score is None else [score]
            raise KeyboardInterrupt
        return fitted

    monkeypatch.setattr(GraphNetwork, "fit", stopping)
    with pytest.warns(match="stopped by hand"):
        stopped = ASGN(**FAST).fit(graphs, labels, validation=validation)
    # What was stopped is not calibrated.
    assert stopped.sharpness_ == 1
    calibrated = sharpen(stopped.predict_proba(new), whole.sharpness_)
    is_whole = np.allclose(whole.predict_proba(new), calibrated)
    assert is_whole == (score != np.inf)
    assert stopped.history_ is stopped.gnn_.fitted[0].history


def test_a_stop_before_the_first_student_leaves_nothing(monkeypatch):
    def stopping(self, examples):
        raise KeyboardInterrupt

    model = ASGN(**FAST).fit(*task())
    monkeypatch.setattr(Teacher, "fit", stopping)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*task())


@pytest.mark.parametrize("rounds", [1, 2, 3])
@pytest.mark.parametrize("n_labeled", [2, 13])
def test_buying_spends_the_same_number_of_labels(monkeypatch, rounds, n_labeled):
    lessons = watch(monkeypatch, Teacher)
    trainings = watch(monkeypatch, GraphNetwork)
    model = ASGN(**FAST, rounds=rounds, active=True).fit(*task(n_labeled))
    students = [training.examples for (training,) in trainings]
    first = -(-n_labeled // 2)
    assert len(lessons[0].labeled) == first
    known = set(lessons[0].labeled)
    for each in students:
        assert known <= set(each.labeled) <= set(range(n_labeled))
        assert len(set(each.labeled)) == len(each.labeled)
        known = set(each.labeled)
    assert known == set(range(n_labeled))
    assert [rows.tolist() for rows in model.labeled_] == [e.labeled.tolist() for e in students]
    for lesson, student in zip(lessons[1:], students, strict=False):
        assert lesson.labeled.tolist() == student.labeled.tolist()
        assert not set(lesson.labeled) & set(lesson.annotated)


def test_labels_that_are_not_bought_yet_are_not_read(monkeypatch):
    graphs, labels = task()
    taught = []
    fit = Teacher.fit

    def watched(self, examples):
        history = fit(self, examples)
        taught.append((examples.labeled, self.encoder))
        return history

    monkeypatch.setattr(Teacher, "fit", watched)
    ASGN(**FAST, rounds=1, active=True).fit(graphs, labels)
    other = labels.copy()
    for_sale = np.setdiff1d(np.arange(14), taught[0][0])
    other[for_sale] = 1 - other[for_sale]
    ASGN(**FAST, rounds=1, active=True).fit(graphs, other)
    (_, clean), (_, poisoned) = taught
    assert all(torch.equal(clean[name], poisoned[name]) for name in clean)


def test_without_buying_all_labels_are_there_at_once():
    model = ASGN(**FAST).fit(*task())
    assert [rows.tolist() for rows in model.labeled_] == [list(range(14))] * 2


@pytest.mark.parametrize(
    "graphs",
    [
        cycles_and_trees(20),
        random_graphs(20, n_nodes=12, n_edges=40),  # dense: nodes are their degrees
        random_graphs(20, n_nodes=6, n_edges=0),
        random_graphs(20, n_nodes=1, n_edges=0),
        random_graphs(20, n_nodes=6, n_edges=60, n_node_labels=1),  # nearly complete
    ],
    ids=["constants", "degrees", "no edges", "one node", "complete"],
)
def test_any_graphs_will_do(graphs):
    labels = np.where(np.arange(20) < 8, np.arange(20) % 2, -1)
    model = ASGN(**FAST, clusters=30).fit(graphs, labels)
    assert np.isfinite(model.predict_proba(graphs)).all()
    assert all(np.isfinite(history.loss).all() for history in model.teacher_history_)


@pytest.mark.parametrize("learning_rate", [0.0, 0.003])
def test_the_teacher_starts_from_a_saved_encoder_and_hands_it_on(
    monkeypatch, tmp_path, learning_rate
):
    graphs, labels = task()
    saved = ASGN(pretrain_epochs=2).pretrain(graphs)
    saved.save(tmp_path / "encoder")
    before, fit = [], Teacher.fit

    def watched(self, examples):
        before.append(self.encoder)
        return fit(self, examples)

    monkeypatch.setattr(Teacher, "fit", watched)
    folder = str(tmp_path / "encoder")
    model = ASGN(
        **FAST, rounds=1, learning_rate=learning_rate, weight_decay=0.0, pretrained=folder
    ).fit(graphs, labels)
    assert all(torch.equal(before[0][name], weights) for name, weights in saved.weights.items())
    # A teacher that does not move hands on what it has been given, one that does does not.
    handed_on = [
        torch.equal(model.encoder_[name], weights)
        for name, weights in saved.weights.items()
        if name.endswith(("weight", "bias"))
    ]
    assert all(handed_on) == (learning_rate == 0)


def test_pre_training_is_without_the_property(monkeypatch):
    def never(self, rows):
        raise AssertionError("classes play no part in pre-training")

    monkeypatch.setattr(Teaching, "_property", never)
    graphs, _ = task()
    model = ASGN(pretrain_epochs=3)
    targets = np.full(len(graphs), -1)
    nobody_knows = Task(graphs.with_targets(targets), targets, 1, None, 0)
    made = model._pretrain(nobody_knows, model._gnn(nobody_knows))
    assert list(made.history) == ["loss", "node", "edge", "cluster"]
    parts = np.array([made.history[name] for name in ("node", "edge", "cluster")])
    assert (parts > 0).all()
    assert made.history["loss"] == pytest.approx(parts.sum(axis=0))


def test_weights_of_the_tasks_count_in_pre_training():
    graphs, _ = task()
    encoders = [
        ASGN(pretrain_epochs=1, **settings).pretrain(graphs).weights["layers.0.inner.weight"]
        for settings in ({}, {"property_weight": 9.0}, {"edge_weight": 0.0})
    ]
    assert torch.equal(encoders[0], encoders[1])
    assert not torch.equal(encoders[0], encoders[2])


HEADS = {
    "node": ("node_head",),
    "edge": ("edge_head",),
    "cluster": ("cluster_head",),
    "property": ("gin.pooled_norm", "gin.classifier"),
}


def make_teacher(graphs=None, *, epochs=3, n_clusters=4, batch_size=8, mask=0.2, **weights):
    graphs = planted_motifs(24, n_nodes=12) if graphs is None else graphs
    plan = OptimizerConfig(epochs, batch_size, 0.003, 5e-4, 0.9)
    student = GraphNetwork(
        graphs,
        lambda n_features: GIN(n_features, 2, width=8, dropout=0.0),
        plan,
        node_features=NodeFeatures.of(graphs),
        layers=3,
    )
    return Teacher(
        graphs,
        student,
        width=8,
        n_clusters=n_clusters,
        weights={**dict.fromkeys(HEADS, 1.0), **weights},
        mask=mask,
        config=plan,
        seed=0,
    )


def examples_of(graphs, n_labeled=10, **annotations):
    labeled = np.arange(min(n_labeled, len(graphs)))
    return Examples(labeled, one_hot(graphs.targets, 2), **annotations)


def make_teaching(teacher=None, **annotations):
    teacher = teacher or make_teacher()
    rng = np.random.default_rng(0)
    return Teaching(teacher, examples_of(teacher.graphs, **annotations), rng)


# Some of everything that a network may stumble over.
ODD = pack(
    "odd", [0, 1, 3, 3, 2], [4, 4, 5, 7], [5, 6, 6, 8], node_labels=[0, 1, 0, 1, 2] + [0] * 4
)


# -- what there is to learn -------------------------------------------------------------------


def test_the_kind_of_a_node_is_its_label_else_its_degree():
    labeled = planted_motifs(4)
    assert np.array_equal(node_kinds(labeled), labeled.node_labels)
    assert n_node_kinds(labeled) == 3
    star = pack("star", [21], [0] * 20, range(1, 21))
    assert node_kinds(star).tolist() == [15] + [1] * 20
    assert n_node_kinds(star) == 16
    alike = pack("alike", [2], [0], [1], node_labels=["C", "C"])  # a label that tells nothing
    assert node_kinds(alike).tolist() == [1, 1]


def test_pairs_are_joined_and_apart_in_equal_numbers():
    graphs = concatenate([random_graphs(20, n_nodes=12, n_edges=20), random_graphs(5, n_nodes=3)])
    u, v, joined = (each.numpy() for each in sample_pairs(graphs, 9, np.random.default_rng(0)))
    arcs = set(zip(np.repeat(np.arange(graphs.n_nodes), graphs.degrees), graphs.neighbors))  # noqa: B905
    assert [pair in arcs for pair in zip(u, v, strict=True)] == joined.astype(bool).tolist()
    assert (graphs.node_graphs[u] == graphs.node_graphs[v]).all()
    assert (u < v).all()
    assert len(set(zip(u, v, strict=True))) == len(u)
    for value in (0, 1):
        counts = np.bincount(graphs.node_graphs[u[joined == value]], minlength=25)
        n_free = graphs.graph_sizes * (graphs.graph_sizes - 1) // 2 - graphs.edge_counts
        expected = np.minimum(9, np.minimum(graphs.edge_counts, n_free))
        assert (counts[:20] == expected[:20]).all()


def test_graphs_without_edges_or_with_all_of_them_have_no_pairs():
    triangle = pack("triangle", [3, 0, 1, 4], [0, 1, 2, 4], [1, 2, 0, 4])  # the last has a loop
    assert len(sample_pairs(triangle, 5, np.random.default_rng(0))[0]) == 0


@pytest.mark.parametrize(
    ("n_graphs", "n_classes", "expected"), [(100, 2, 10), (4, 2, 4), (10**5, 3, 64), (9, 40, 80)]
)
def test_number_of_clusters(n_graphs, n_classes, expected):
    assert n_clusters_for(n_graphs, n_classes) == expected


# -- the four losses --------------------------------------------------------------------------


@pytest.mark.parametrize("name", HEADS)
@pytest.mark.parametrize("graphs", [planted_motifs(24, n_nodes=12), cycles_and_trees(24)])
def test_a_loss_reaches_the_encoder_and_its_own_head_alone(name, graphs):
    teaching = make_teaching(make_teacher(graphs))
    module = teaching.teacher.module.train()
    loss = teaching(np.arange(24))[name]
    assert loss > 0.01
    loss.backward()
    moved = {
        key for key, p in module.named_parameters() if p.grad is not None and p.grad.abs().sum() > 0
    }
    assert any(key.startswith("gin.layers.0.") for key in moved)
    for other, heads in HEADS.items():
        reached = any(key.startswith(heads) for key in moved)
        assert reached == (other == name), f"{name} and the head of {other}"


@pytest.mark.parametrize("name", HEADS)
def test_weights_scale_the_losses(name):
    def loss(weight):
        teaching = make_teaching(make_teacher(**{name: weight}))
        teaching.teacher.module.train()
        return teaching(np.arange(8))[name].item()

    assert np.isclose(loss(3.0), 3 * loss(1.0), rtol=1e-5)
    assert loss(0.0) == 0


def test_masked_nodes_are_the_only_ones_that_are_guessed(monkeypatch):
    teacher = make_teacher()
    rows = np.array([5, 3, 20])
    graphs = teacher.graphs[rows]
    masked = np.zeros(graphs.n_nodes, dtype=bool)
    masked[[2, 13, 30]] = True
    monkeypatch.setattr(asgn, "mask_nodes", lambda graphs, *_: View(graphs, masked))

    def node_loss(kinds):
        monkeypatch.setattr(asgn, "node_kinds", lambda graphs: kinds)
        teaching = make_teaching(teacher)
        teacher.module.train()
        return teaching(rows)["node"].item()

    kinds = graphs.node_labels.astype(np.int64)
    true = node_loss(kinds)
    assert node_loss(np.where(masked, kinds, (kinds + 1) % 3)) == true
    assert node_loss(np.where(masked, (kinds + 1) % 3, kinds)) != true


def test_the_node_head_sees_a_fifth_of_the_nodes():
    teaching = make_teaching()
    seen = []
    teaching.teacher.module.node_head.register_forward_hook(lambda _, x, y: seen.append(len(x[0])))
    teaching(np.arange(6))
    assert seen == [6 * 2]  # ⌊0.2 · 12⌋ of each


def test_classes_of_unlabeled_graphs_are_never_read():
    graphs = planted_motifs(24, n_nodes=12)
    targets = one_hot(graphs.targets, 2)
    poisoned = targets.clone()
    poisoned[10:] = torch.nan
    wrong = targets.clone()
    wrong[9] = 1 - wrong[9]
    clean, same, other = (make_teacher(graphs) for _ in range(3))
    clean.fit(Examples(np.arange(10), targets))
    same.fit(Examples(np.arange(10), poisoned))
    other.fit(Examples(np.arange(10), wrong))
    assert_equal_weights(clean.module.state_dict(), same.module.state_dict())
    assert any((a != b).any() for a, b in zip(*map(weights_of, (clean, other)), strict=True))


def test_annotations_count_by_their_weight():
    teacher = make_teacher()
    annotated = np.arange(10, 16)
    rows = np.array([12, 3, 20, 9, 15, 0])
    teacher.module.eval()

    def loss(**annotations):
        return make_teaching(teacher, **annotations)._property(rows).item()

    logits = teacher.module(teacher.pool[rows])
    targets = torch.from_numpy(teacher.graphs.targets[rows])
    known = functional.cross_entropy(logits[[1, 3, 5]], targets[[1, 3, 5]]).item()
    believed = functional.cross_entropy(logits[[0, 4]], targets[[0, 4]]).item()
    assert np.isclose(loss(), known)
    assert np.isclose(loss(annotated=annotated, weight=0.5), known + 0.5 * believed)


# -- clusters ---------------------------------------------------------------------------------


def test_clusters_have_bounded_sizes():
    teacher = make_teacher(planted_motifs(120), n_clusters=6)
    with torch.no_grad():
        teacher.module.cluster_head.bias[0] += 20  # all graphs would be in the first
    sizes = np.bincount(teacher.clusters(), minlength=6)
    assert sizes.min() >= 10  # of 20
    assert sizes.max() <= 30


def test_clusters_go_with_graphs_and_not_with_places():
    graphs = planted_motifs(24, n_nodes=12)
    order = np.random.default_rng(0).permutation(24)
    plain, shuffled = make_teacher(graphs).clusters(), make_teacher(graphs[order]).clusters()
    assert np.array_equal(plain[order], shuffled)
    assert len(set(plain)) > 1


def test_a_shuffled_batch_learns_the_clusters_of_its_rows():
    teaching = make_teaching(make_teacher(mask=0.0))
    module = teaching.teacher.module.train()
    for rows in (np.arange(24), np.random.default_rng(1).permutation(24)[:9]):
        loss = teaching(rows)["cluster"].item()
        batch = teaching.teacher.pool[rows]
        logits = module.cluster_head(module.means(module.gin.rows(batch)[-1], batch))
        own = functional.cross_entropy(logits, torch.from_numpy(teaching.clusters[rows]))
        assert np.isclose(loss, own.item(), rtol=1e-4)
        by_place = functional.cross_entropy(
            logits, torch.from_numpy(teaching.clusters[: len(rows)])
        )
        assert len(rows) == 24 or not np.isclose(loss, by_place.item(), rtol=1e-2)


def test_clusters_are_found_anew_every_four_epochs(monkeypatch):
    teacher = make_teacher(epochs=9)
    calls = []
    find = teacher.clusters
    monkeypatch.setattr(teacher, "clusters", lambda: calls.append(teaching_steps()) or find())
    steps = []
    monkeypatch.setattr(asgn, "mask_nodes", counting(asgn.mask_nodes, steps))

    def teaching_steps():
        return len(steps)

    teacher.fit(examples_of(teacher.graphs))
    assert calls == [0, 12, 24]  # three batches each


def counting(function, calls):
    def counted(*args):
        calls.append(args)
        return function(*args)

    return counted


def test_finding_clusters_leaves_the_module_as_it_is():
    teacher = make_teacher()
    teacher.module.train()
    before = {name: value.clone() for name, value in teacher.module.state_dict().items()}
    teacher.clusters()
    assert_equal_weights(before, teacher.module.state_dict())
    assert all(each.training for each in teacher.module.modules())


@pytest.mark.parametrize("n_clusters", [1, 2, 100])
def test_any_number_of_clusters_is_possible(n_clusters):
    history = make_teacher(n_clusters=n_clusters).fit(examples_of(planted_motifs(24)))
    assert np.isfinite(history.loss).all()


# -- training ---------------------------------------------------------------------------------


def test_the_losses_are_written_down_and_fall():
    graphs = planted_motifs(40, n_nodes=12)
    history = make_teacher(graphs, epochs=30).fit(examples_of(graphs, 20))
    assert set(history.parts) == set(HEADS)
    for name in ("node", "edge", "property"):
        assert np.mean(history.parts[name][-3:]) < 0.97 * history.parts[name][0], name
    cluster = history.parts["cluster"]
    assert cluster[3] < cluster[0]  # the same clusters
    np.testing.assert_allclose(np.sum(list(history.parts.values()), axis=0), history.loss)


def test_the_same_seed_gives_the_same_bits():
    first, second = make_teacher(), make_teacher()
    for teacher in (first, second):
        teacher.fit(examples_of(teacher.graphs))
        teacher.fit(examples_of(teacher.graphs))
    assert_equal_weights(first.module.state_dict(), second.module.state_dict())
    assert first.histories[0].loss == second.histories[0].loss != first.histories[1].loss


def test_a_second_fit_goes_on():
    teacher = make_teacher(epochs=15)
    first, second = (teacher.fit(examples_of(teacher.graphs)) for _ in range(2))
    assert second.parts["property"][0] < first.parts["property"][0]
    assert teacher.histories == [first, second]


def test_batch_statistics_are_those_of_all_graphs():
    teacher = make_teacher()
    teacher.fit(examples_of(teacher.graphs))
    norm = teacher.module.gin.layers[0].norm
    before = norm.running_mean.clone()
    asgn.recompute_bn_stats(teacher.module, lambda module: module(teacher.pool[teacher.rows]))
    torch.testing.assert_close(norm.running_mean, before)


@pytest.mark.parametrize("with_others", [True, False])
def test_odd_graphs_do_no_harm(with_others):
    graphs = concatenate([planted_motifs(8, n_nodes=12), ODD]) if with_others else ODD
    graphs = graphs.with_targets(np.zeros(len(graphs), dtype=int)) if graphs.n_classes else graphs
    teacher = make_teacher(graphs, batch_size=2)
    history = teacher.fit(examples_of(graphs, 3))
    assert np.isfinite(history.loss).all()
    assert np.isfinite(teacher.embeddings()).all()
    assert all(torch.isfinite(each).all() for each in teacher.encoder.values())


def test_a_batch_of_one_graph_without_nodes_has_losses():
    teaching = make_teaching(make_teacher(ODD))
    teaching.teacher.module.train()
    for row in range(5):
        losses = teaching(np.array([row]))
        assert all(torch.isfinite(each) for each in losses.values())
    assert losses["node"] == 0  # two nodes: none is hidden


def test_a_teacher_that_is_stopped_says_so(monkeypatch):
    teacher = make_teacher(epochs=5)
    calls = []

    def stopping(*args):
        calls.append(args)
        if len(calls) > 4:  # in the second epoch
            raise KeyboardInterrupt
        return mask_nodes(*args)

    mask_nodes = asgn.mask_nodes
    monkeypatch.setattr(asgn, "mask_nodes", stopping)
    with pytest.raises(KeyboardInterrupt):
        teacher.fit(examples_of(teacher.graphs))
    assert len(teacher.histories[0].loss) == 1


# -- what others take from it -----------------------------------------------------------------


def test_the_encoder_is_a_copy_that_another_gin_can_load():
    teacher = make_teacher()
    encoder = teacher.encoder
    assert {name.split(".")[0] for name in encoder} == {"layers"}
    assert any(name.endswith("running_var") for name in encoder)
    other = GIN(3, 2, width=8)
    missing, unexpected = other.load_state_dict(encoder, strict=False)
    assert not unexpected
    assert {name.split(".")[0] for name in missing} == {"pooled_norm", "classifier"}
    before = encoder["layers.0.inner.weight"].clone()
    teacher.fit(examples_of(teacher.graphs))
    assert torch.equal(encoder["layers.0.inner.weight"], before)


def test_embeddings_have_length_one_and_tell_no_size():
    teacher = make_teacher()
    teacher.fit(examples_of(teacher.graphs))
    embeddings = teacher.embeddings()
    assert embeddings.shape == (24, 8)
    np.testing.assert_allclose(np.linalg.norm(embeddings, axis=1), 1)


def weights_of(teacher):
    return list(teacher.module.state_dict().values())


def assert_equal_weights(first, second):
    assert list(first) == list(second)
    for name, value in first.items():
        assert torch.equal(value, second[name]), name


def log_probabilities(n_rows, n_clusters, scale=1.0, bias=0.0, seed=0):
    logits = scale * np.random.default_rng(seed).normal(size=(n_rows, n_clusters))
    logits[:, 0] += bias
    return log_softmax(logits, axis=1)


def assert_sums(plan, shares, relative=1e-3):
    assert (plan >= 0).all()
    np.testing.assert_allclose(plan.sum(axis=1), 1 / len(plan), rtol=relative)
    np.testing.assert_allclose(plan.sum(axis=0), shares, rtol=relative)


@settings(max_examples=50, deadline=None)
@given(
    st.integers(1, 40),
    st.integers(1, 8),
    st.floats(0, 100),
    st.floats(-1000, 1000),
    st.integers(0, 2**32 - 1),
)
def test_sums_are_right_whatever_the_probabilities(n_rows, n_clusters, scale, bias, seed):
    log_p = log_probabilities(n_rows, n_clusters, scale, bias, seed)
    assert_sums(assign(log_p), 1 / n_clusters)


@pytest.mark.parametrize("iterations", [0, 1, 5])
def test_sums_are_right_even_when_iterations_run_out(iterations):
    plan = assign(log_probabilities(50, 6, scale=20.0), iterations=iterations)
    assert_sums(plan, 1 / 6, relative=1e-9)


def plainly(log_p, eta, steps=20_000):
    """Scale rows and columns in turn, as it stands in textbooks."""
    kernel = np.exp(log_p / eta)
    n_rows, n_clusters = kernel.shape
    v = np.ones(n_clusters)
    for _ in range(steps):
        u = 1 / n_rows / (kernel @ v)
        v = 1 / n_clusters / (u @ kernel)
    return u[:, None] * kernel * v


@pytest.mark.parametrize("eta", [0.05, 0.5])
def test_the_plan_equals_the_plain_iteration(eta):
    log_p = log_probabilities(20, 4)
    plan = assign(log_p, eta=eta, tolerance=1e-9, iterations=10**5)
    np.testing.assert_allclose(plan, plainly(log_p, eta), atol=1e-9)


def test_the_plan_is_the_minimum():
    """Where log Q − log P/η is a sum of row and column terms, no admissible change is better."""
    log_p = log_probabilities(15, 4)
    plan = assign(log_p, eta=0.3, tolerance=1e-10, iterations=10**5)
    rest = np.log(plan) - log_p / 0.3
    np.testing.assert_allclose(
        rest - rest[:, :1] - rest[:1] + rest[0, 0], np.zeros_like(rest), atol=1e-6
    )


def test_a_small_eta_finds_the_best_assignment():
    log_p = log_probabilities(12, 3, seed=4)
    copies = np.repeat(log_p, 4, axis=1)  # room for four rows in each cluster
    _, columns = optimize.linear_sum_assignment(-copies)
    plan = assign(log_p, eta=0.01, iterations=10**5)
    assert np.array_equal(plan.argmax(axis=1), columns // 4)


@pytest.mark.parametrize(("scale", "bias"), [(1.0, 0.0), (1.0, 10.0), (5.0, 10.0), (20.0, 200.0)])
def test_clusters_do_not_collapse(scale, bias):
    log_p = log_probabilities(600, 12, scale, bias)
    sizes = np.bincount(assign(log_p).argmax(axis=1), minlength=12)
    assert sizes.min() >= 40  # of 50
    assert sizes.max() <= 60


def test_the_order_of_rows_and_clusters_does_not_matter():
    log_p = log_probabilities(40, 5)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(40), rng.permutation(5)
    plan = assign(log_p)
    moved = assign(log_p[rows][:, columns])
    np.testing.assert_allclose(moved, plan[rows][:, columns], atol=1e-12)


def test_nothing_to_tell_rows_apart_is_a_uniform_plan():
    plan = assign(np.full((6, 3), np.log(1 / 3)))
    np.testing.assert_allclose(plan, 1 / 18)


def test_the_probabilities_are_not_changed():
    log_p = log_probabilities(20, 4)
    before = log_p.copy()
    assign(log_p)
    assert np.array_equal(log_p, before)


LINE = np.array([[0.0], [1.0], [2.0], [3.0], [10.0]])
NONE = np.empty(0, dtype=np.int64)
coordinates = st.lists(st.tuples(*[st.integers(-5, 5)] * 2), min_size=1, max_size=12).map(
    lambda pairs: np.array(pairs, dtype=np.float64)
)


def distances(points):
    return np.linalg.norm(points[:, None] - points[None], axis=2)


def radius(points, chosen):
    return distances(points)[:, chosen].min(axis=1).max()


def by_loops(points, chosen, n):
    chosen, new = list(chosen), []
    for _ in range(n):
        best, farthest = None, -1.0
        for row in range(len(points)):
            if row in chosen:
                continue
            nearest = min(
                (((points[row] - points[other]) ** 2).sum() for other in chosen), default=np.inf
            )
            if nearest > farthest:
                best, farthest = row, nearest
        if best is not None:
            chosen.append(best)
            new.append(best)
    return new


def test_points_on_a_line():
    assert LINE[k_center(LINE, np.array([0]), 3), 0].tolist() == [10, 3, 1]


@given(coordinates, st.integers(0, 12), st.integers(0, 3))
def test_choices_equal_the_double_loop(points, n, n_chosen):
    """Coordinates are integers, so that ties are many and exact."""
    chosen = np.arange(len(points))[::-2][:n_chosen]
    assert k_center(points, chosen, n).tolist() == by_loops(points, chosen, n)


@given(coordinates, st.integers(0, 20))
def test_choices_are_different_and_new(points, n):
    chosen = np.arange(len(points) // 2)
    new = k_center(points, chosen, n)
    assert len(new) == min(n, len(points) - len(chosen))
    assert len(set(new.tolist())) == len(new)
    assert not set(new.tolist()) & set(chosen.tolist())


def test_copies_of_chosen_points_come_last_and_the_lowest_row_first():
    points = np.array([[1.0], [1.0], [5.0], [-3.0], [1.0]])
    assert k_center(points, np.array([1]), 4).tolist() == [2, 3, 0, 4]


def test_from_scratch_the_first_row_is_first():
    assert k_center(LINE, NONE, 2).tolist() == [0, 4]


def test_a_row_may_be_named_twice():
    assert k_center(LINE, np.array([0, 0, 4]), 9).tolist() == [3, 1, 2]


def test_the_radius_never_grows():
    points = np.random.default_rng(0).normal(size=(60, 5))
    order = k_center(points, np.array([7]), 59)
    radii = [radius(points, [7, *order[:n]]) for n in range(60)]
    assert (np.diff(radii) <= 0).all()
    assert radii[-1] == 0


@pytest.mark.parametrize("seed", range(5))
def test_from_scratch_the_radius_is_at_most_twice_the_best(seed):
    points = np.random.default_rng(seed).normal(size=(11, 2))
    for n in (1, 2, 3, 4):
        best = min(radius(points, list(rows)) for rows in combinations(range(11), n))
        assert radius(points, k_center(points, NONE, n)) <= 2 * best + 1e-12


def test_nothing_asked_nothing_chosen():
    assert k_center(LINE, NONE, 0).tolist() == []
    assert k_center(np.empty((0, 3)), NONE, 2).tolist() == []


def test_single_precision_and_integers_will_do():
    for kind in (np.float32, np.uint8):
        assert k_center(LINE.astype(kind), np.array([0]), 3).tolist() == [4, 3, 1]
