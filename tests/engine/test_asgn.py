import numpy as np
import pytest
import torch
from torch.nn import functional

import kgnn.engine.asgn as asgn
from kgnn.engine.asgn import Lessons, Teacher, Teaching, buy, n_clusters_for
from kgnn.engine.gin import GIN
from kgnn.engine.multitask import n_node_kinds, node_kinds, sample_pairs
from kgnn.engine.network import Examples, GraphNetwork, OptimizerConfig, one_hot
from kgnn.engine.node_features import NodeFeatures
from kgnn.engine.views import View
from kgnn.graphs.datasets.toy import cycles_and_trees, planted_motifs, random_graphs
from kgnn.graphs.packing import concatenate, pack

HEADS = {
    "node": ("node_head",),
    "edge": ("edge_head",),
    "cluster": ("cluster_head",),
    "property": ("gin.pooled_norm", "gin.classifier"),
}


def make_teacher(graphs=None, *, epochs=3, n_clusters=4, batch_size=8, **lessons):
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
        lessons=Lessons(**lessons),
        optimizer_config=plan,
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
    assert len(sample_pairs(triangle, 5, np.random.default_rng(0)).u) == 0


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
        logits = module.cluster_head(module.means(module.node_vectors(batch), batch))
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


def test_what_is_bought_is_new_and_for_sale():
    points = np.random.default_rng(0).normal(size=(30, 3))
    labeled, for_sale = np.array([3, 17]), np.array([17, 4, 9, 25, 11, 3])
    bought = buy(points, labeled, for_sale, 3)
    assert len(set(bought)) == 3
    assert set(bought) <= {4, 9, 25, 11}
    assert set(buy(points, labeled, for_sale, 99)) == {4, 9, 25, 11}
    distance = np.linalg.norm(points[[4, 9, 11, 25]][:, None] - points[labeled], axis=2).min(axis=1)
    assert bought[0] == [4, 9, 11, 25][distance.argmax()]


def weights_of(teacher):
    return list(teacher.module.state_dict().values())


def assert_equal_weights(first, second):
    assert list(first) == list(second)
    for name, value in first.items():
        assert torch.equal(value, second[name]), name
