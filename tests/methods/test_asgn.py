import numpy as np
import pytest
import torch

import kgnn.engine.network as networks
from kgnn.engine.asgn import Teacher, Teaching
from kgnn.engine.network import GraphNetwork
from kgnn.engine.task import Task
from kgnn.graphs.datasets.toy import cycles_and_trees, planted_motifs, random_graphs
from kgnn.methods.asgn import ASGN
from kgnn.testing import CHECKS

FAST = {"epochs": 3, "teacher_epochs": 2, "committee": 1}


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
    check(ASGN(epochs=10, teacher_epochs=3))


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


def test_the_teacher_learns_beliefs_from_the_second_round_on(monkeypatch):
    lessons = watch(monkeypatch, Teacher)
    graphs, labels = task()
    beliefs, plain = [], ASGN._beliefs

    def believe(self):
        beliefs.append(plain(self))
        return beliefs[-1]

    monkeypatch.setattr(ASGN, "_beliefs", believe)
    ASGN(**FAST, pseudo_weight=0.25).fit(graphs, labels)
    first, second = lessons
    assert first.labeled.tolist() == second.labeled.tolist() == list(range(14))
    assert len(first.annotated) == 0
    assert second.annotated.tolist() == list(range(14, 36))
    assert second.weight == 0.25
    taught = second.targets.argmax(dim=1).numpy()
    assert np.array_equal(taught[14:], beliefs[0][14:])
    assert np.array_equal(taught[:14], graphs.targets[:14])


def test_students_learn_from_labels_alone(monkeypatch):
    seen = watch(monkeypatch, GraphNetwork)
    ASGN(**FAST).fit(*task())
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
    assert model.history_ is students[-1].history
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
            fitted.history.interrupted = True
            fitted.history.score = [] if score is None else [score]
            raise KeyboardInterrupt
        return fitted

    monkeypatch.setattr(GraphNetwork, "fit", stopping)
    with pytest.warns(match="stopped by hand"):
        stopped = ASGN(**FAST).fit(graphs, labels, validation=validation)
    # What was stopped is not calibrated a last time, by next to nothing.
    is_whole = np.allclose(whole.predict_proba(new), stopped.predict_proba(new), atol=1e-4)
    assert is_whole == (score != np.inf)
    assert stopped.history_ is stopped.committee_.members[0].history


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
    students = watch(monkeypatch, GraphNetwork)
    model = ASGN(**FAST, rounds=rounds, active=True).fit(*task(n_labeled))
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
        raise AssertionError("classes are nobody's business here")

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
