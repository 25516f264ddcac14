import json
from collections.abc import Iterable
from dataclasses import asdict

import numpy as np
import pytest

import kgnn
from kgnn.errors import ParameterError
from kgnn.estimator.evidence import MOST_EVIDENCE, log_odds
from kgnn.estimator.explanation import Explanation, plain_similarity
from kgnn.graphs.collector import GraphCollector
from kgnn.graphs.datasets.toy import cycles_and_trees, planted_motifs, random_graphs
from kgnn.graphs.drawing import DRAWABLE, Sketch
from kgnn.graphs.packing import pack
from kgnn.kernels.similarity import most_similar
from kgnn.kernels.weisfeiler_lehman import WeisfeilerLehman
from kgnn.methods.kgnn import KGNN
from kgnn.methods.ldp import LDP
from kgnn.methods.wl import WL

GRAPHS = planted_motifs(120)
FANS = [row for row in range(60, 120) if GRAPHS[row].target == "fan"][:20]


@pytest.fixture(scope="module")
def model():
    return KGNN(epochs=40, rounds=1, cross_fit=0).fit(GRAPHS[:60])


@pytest.fixture(scope="module")
def explanation():
    names = [GRAPHS[row].target for row in range(30, 40)]
    model = WL(iterations=(2,), committee=1).fit(GRAPHS[:30], validation=(GRAPHS[30:40], names))
    return model.explain(GRAPHS[31])


def _removed(graph, nodes):
    """Build the graph without some nodes by hand, apart from what explains."""
    kept = [node for node in range(graph.n_nodes) if node not in set(nodes)]
    place = {node: number for number, node in enumerate(kept)}
    edges = [(place[u], place[v]) for u, v in graph.edges.tolist() if u in place and v in place]
    sources, ends = zip(*edges, strict=True)
    labels = [graph.node_labels[node] for node in kept]
    return pack("less", [len(kept)], sources, ends, node_labels=labels)


def assert_close(one, two):
    """Compare plain data whose numbers may be rounded otherwise, as other batches are."""
    if isinstance(one, dict):
        assert one.keys() == two.keys()
        one, two = one.values(), two.values()
    if isinstance(one, float):
        assert one == pytest.approx(two, rel=1e-4, abs=1e-5)
    elif isinstance(one, str) or not isinstance(one, Iterable):
        assert one == two
    else:
        for each, other in zip(one, two, strict=True):
            assert_close(each, other)


def plain(found):
    return [[asdict(neighbor) for neighbor in near] for near in found]


def bounded(evidence):
    return np.clip(evidence, -MOST_EVIDENCE, MOST_EVIDENCE)


def test_marked_nodes_are_the_planted_motif(model):
    # A star is a part of every fan, so that only fans are known by what they have.
    hits = []
    for row in FANS:
        explanation = model.explain(GRAPHS[row])
        if explanation.predicted != "fan":
            continue
        top = np.argsort(explanation.evidence.nodes)[::-1][:5]
        hits.append(np.mean(top < 5))
    assert len(hits) >= 18  # nearly all fans are recognized
    assert np.mean(hits) > 0.7  # by chance 5 of 20


def test_evidence_is_what_the_model_says_without_the_nodes(model):
    graph = GRAPHS[FANS[0]]
    explanation = model.explain(graph)
    column = explanation.classes.index(explanation.predicted)
    whole = log_odds(model.predict_proba([graph]), column)[0]
    parts = [*explanation.speaking(), *explanation.speaking(against=True)]
    assert len(parts) > 5
    for part in parts:
        proba = model.predict_proba(_removed(graph, part.nodes))
        claimed = part.evidence["prediction"]
        fall = bounded(whole - log_odds(proba, column)[0])
        assert fall == pytest.approx(claimed, rel=1e-3, abs=1e-3)
        assert proba[0, column] == pytest.approx(part.without, abs=1e-4)
    for node in (0, 7):
        proba = model.predict_proba(_removed(graph, [node]))
        claimed = explanation.evidence.nodes[node]
        fall = bounded(whole - log_odds(proba, column)[0])
        assert fall == pytest.approx(claimed, rel=1e-3, abs=1e-3)


def test_each_network_gives_its_own_evidence(model):
    graph = GRAPHS[FANS[1]]
    explanation = model.explain(graph)
    part = explanation.speaking()[0]
    column = explanation.classes.index(explanation.predicted)
    before = model.predict_proba_each([graph])
    after = model.predict_proba_each(_removed(graph, part.nodes))
    for who in ("gnn", "memory", "all"):
        assert explanation.proba[who] == pytest.approx(before[who][0])
        fall = bounded(log_odds(before[who], column)[0] - log_odds(after[who], column)[0])
        assert part.evidence[who] == pytest.approx(fall, rel=1e-3, abs=1e-3)


def test_neighbors_are_what_the_memory_attends_to(model):
    graph = GRAPHS[FANS[2]]
    explanation = model.explain(graph, neighbors=60)
    attended = model.attended([graph])[:, 0]
    weights = np.array([near.attention for near in explanation.neighbors])
    assert weights.shape == (60, 3)
    assert np.allclose(weights.sum(axis=0) + explanation.elsewhere, 1)
    assert (np.diff(weights.mean(axis=1)) <= 1e-9).all()
    for near in explanation.neighbors:
        assert near.attention == pytest.approx(attended[:, near.row])
        assert near.label == GRAPHS[near.row].target


def test_attention_to_graphs_that_the_model_labeled_itself_is_told_apart():
    labels = [GRAPHS[row].target if row >= 20 else None for row in range(60)]
    model = KGNN(epochs=5, rounds=1, growth=1.0).fit(GRAPHS[:60], labels)
    explanation = model.explain(GRAPHS[70], neighbors=40)
    weights = np.array([near.attention for near in explanation.neighbors])
    assert min(explanation.elsewhere) > 0
    assert np.allclose(weights.sum(axis=0) + explanation.elsewhere, 1)
    attended = model.attended([GRAPHS[70]])[:, 0]
    for near in explanation.neighbors:  # labeled graphs are rows 20 to 59
        assert near.attention == pytest.approx(attended[:, 20 + near.row])
        assert near.label == GRAPHS[20 + near.row].target


def test_similar_graphs_come_by_the_models_kernel(model):
    found = model.similar(GRAPHS[:2], n=3)
    assert [near[0].row for near in found] == [0, 1]  # labeled graphs themselves
    assert found[0][0].kernel_value == pytest.approx(1)
    features = model.networks_[1].kernel.transform(GRAPHS[:2]).toarray()
    cosine = features[0] @ features[1] / np.linalg.norm(features[0]) / np.linalg.norm(features[1])
    every = {near.row: near for near in model.similar(GRAPHS[:1], n=60)[0]}
    assert every[1].kernel_value == pytest.approx(cosine)
    assert len(every[1].attention) == 3


def test_a_saved_model_explains_the_same(model, tmp_path):
    model.save(tmp_path / "model")
    opened = kgnn.open_model(tmp_path / "model")
    first, second = (each.explain(GRAPHS[FANS[0]]).to_json() for each in (model, opened))
    assert_close(first, second)
    first, second = (plain(each.similar(GRAPHS[:2])) for each in (model, opened))
    assert_close(first, second)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("wl", {"iterations": (2,)}),
        ("ldp", {"trees": 50}),
        ("gnn-sup", {"epochs": 5}),
        ("memnn-sup", {"epochs": 5}),
        ("ensemble-self", {"epochs": 5, "rounds": 1}),
        ("kgnn-sep", {"epochs": 5, "rounds": 1}),
    ],
)
def test_every_kind_of_method_explains(name, settings, tmp_path):
    model = kgnn.make(name, cross_fit=2, **settings).fit(GRAPHS[:30])
    explanation = model.explain(GRAPHS[70])
    column = explanation.classes.index(explanation.predicted)
    whole = log_odds(model.predict_proba([GRAPHS[70]]), column)[0]
    without = log_odds(model.predict_proba(_removed(GRAPHS[70], [0])), column)[0]
    evidence = bounded(whole - without)
    assert explanation.evidence.nodes[0] == pytest.approx(evidence, rel=1e-3, abs=1e-3)
    assert bool(explanation.neighbors[0].attention) is (name in ("memnn-sup", "kgnn-sep"))
    assert set(explanation.proba) - {"prediction"} == (
        {"gnn", "memory", "all"} if name == "kgnn-sep" else set()
    )
    model.save(tmp_path / "model")
    assert kgnn.open_model(tmp_path / "model").explain(GRAPHS[70]) == explanation


@pytest.mark.parametrize(
    "graph",
    [
        pack("single", [1], [], [], node_labels=["0"]),
        pack("no edges", [4], [], [], node_labels=["0", "1", "2", "0"]),
        pack("unknown labels", [3], [0, 1], [1, 2], node_labels=["x", "y", "x"]),
        pack("one label", [3], [0, 1], [1, 2], node_labels=["0", "0", "0"]),
    ],
    ids=lambda graph: graph.name,
)
def test_strange_graphs_are_explained(model, graph):
    explanation = model.explain(graph)
    assert len(explanation.evidence.nodes) == graph.n_nodes
    assert np.isfinite(explanation.evidence.nodes).all()
    assert explanation.novelty.is_novel
    assert str(explanation)


def test_a_graph_of_thousands_of_nodes_is_explained_in_part(model):
    graph = random_graphs(1, n_nodes=5000, n_edges=9000, n_node_labels=3)[0]
    explanation = model.explain(graph)
    assert "too large" in explanation.evidence.notes[0]
    assert len(explanation.evidence.nodes) == 5000
    assert len(explanation.graph.nodes) < 5000


def test_a_model_that_knows_one_class_explains():
    graphs = cycles_and_trees(10)
    with pytest.warns(kgnn.KgnnWarning, match="one class"):
        model = KGNN().fit(graphs, ["ring"] * 10)
    explanation = model.explain(graphs[0])
    assert explanation.predicted == "ring"
    assert explanation.label_set == ("ring",)
    assert set(explanation.evidence.nodes) == {0.0}


def test_a_set_of_labels_is_there_only_if_it_can_be_promised(model):
    assert model.explain(GRAPHS[70]).label_set is None
    labels = [GRAPHS[row].target for row in range(60, 90)]
    careful = kgnn.make("ldp").fit(GRAPHS[:30], validation=(GRAPHS[60:90], labels))
    explanation = careful.explain(GRAPHS[100], error=0.2)
    assert list(explanation.label_set) == careful.predict_sets([GRAPHS[100]], error=0.2)[0]


def test_a_calibrated_model_explains_its_calibrated_probabilities():
    model = KGNN(epochs=5, rounds=0, cross_fit=3).fit(GRAPHS[:30])
    assert model.sharpness_ != 1
    explanation = model.explain(GRAPHS[70])
    assert explanation.label_set is not None
    assert explanation.proba["prediction"] == pytest.approx(model.predict_proba([GRAPHS[70]])[0])
    for who, proba in model.predict_proba_each([GRAPHS[70]]).items():
        assert explanation.proba[who] == pytest.approx(proba[0])


def test_labels_keep_their_kind():
    model = kgnn.make("ldp", trees=20).fit(GRAPHS[:30], GRAPHS.targets[:30])
    explanation = model.explain(GRAPHS[70])
    assert explanation.classes == (0, 1)
    assert type(explanation.predicted) is int
    assert {type(near.label) for near in explanation.neighbors} == {int}


def test_one_graph_is_explained_by_its_own_name(model):
    assert model.explain(GRAPHS[70]).graph.name == "70"
    assert model.explain(GRAPHS[70:71]).evidence == model.explain(GRAPHS[70]).evidence
    with pytest.raises(ParameterError, match="Pass one graph to explain, got 2"):
        model.explain(GRAPHS[:2])
    with pytest.raises(ParameterError, match="must be at least 1"):
        model.similar(GRAPHS[:2], n=0)


def test_similar_graphs_of_many_are_found_a_part_at_a_time(model, monkeypatch):
    whole = model.similar(GRAPHS[60:90], 3)
    monkeypatch.setattr("kgnn.estimator.explanation._COMPARED_AT_ONCE", 7)
    assert_close(plain(model.similar(GRAPHS[60:90], 3)), plain(whole))
    assert model.similar(GRAPHS[:0], 3) == []
    weights = np.array([neighbor.attention for neighbor in model.similar(GRAPHS[60:61], 60)[0]])
    expected = model.attended(GRAPHS[60:61])[:, 0, model.labeled_rows_].sum(axis=1)
    np.testing.assert_allclose(weights.sum(axis=0), expected)


def test_an_explanation_survives_json(explanation):
    told = json.loads(json.dumps(explanation.to_json(), allow_nan=False))
    assert Explanation.from_json(told) == explanation


def test_text_tells_the_prediction_the_evidence_and_the_neighbors(explanation):
    lines = str(explanation).splitlines()
    assert lines[0] == "Graph 31: 20 nodes, 23 edges"
    assert lines[1].startswith(f"Prediction: class {explanation.predicted}, ")
    assert lines[2].startswith("Label set: ")
    assert any(line.startswith("Evidence for class") for line in lines)
    assert sum(", kernel " in line for line in lines) == 5
    assert repr(explanation).startswith("Explanation(WL of graph '31': ")
    assert "\n" not in repr(explanation)


def test_what_speaks_for_and_against_is_apart_and_in_order(explanation):
    for against, sign in ((False, 1), (True, -1)):
        values = [
            sign * part.evidence["prediction"] for part in explanation.speaking(against=against)
        ]
        assert all(value > 0 for value in values)
        assert values == sorted(values, reverse=True)


def test_an_explanation_cannot_be_changed(explanation):
    with pytest.raises(AttributeError):
        explanation.predicted = "other"


def test_a_sketch_has_all_edges_and_labels():
    graph = planted_motifs(1)[0]
    sketch = Sketch.of(graph)
    assert sketch.edges == tuple(map(tuple, graph.edges.tolist()))
    assert sketch.node_labels == tuple(graph.node_labels)
    assert Sketch.of(cycles_and_trees(1)[0]).node_labels == ()
    assert Sketch.of(cycles_and_trees(1)[0]).edge_labels == ()


def test_edges_keep_their_labels_also_in_a_part_of_a_graph():
    chain = GraphCollector()
    edges = [(node, node + 1) for node in range(DRAWABLE + 50)]
    chain.add("here", len(edges) + 1, edges, edge_labels=[f"from {u}" for u, _ in edges])
    graph = chain.dataset("chain")[0]
    importance = [float(node > 300) for node in range(graph.n_nodes)]
    sketch = Sketch.of(graph, tuple(importance))
    assert 0 < len(sketch.edges) < graph.n_edges
    assert sketch.edge_labels == tuple(f"from {sketch.nodes[u]}" for u, _ in sketch.edges)


def test_explanations_of_the_time_before_labels_of_edges_are_read(explanation):
    told = explanation.to_json()
    for sketch in (told["graph"], *told["neighbor_graphs"]):
        del sketch["edge_labels"]
    assert Explanation.from_json(told) == explanation


def test_of_a_large_graph_the_surroundings_of_what_matters_are_sketched():
    graph = random_graphs(1, n_nodes=3000, n_edges=4000)[0]
    importance = np.zeros(3000)
    importance[[7, 2999]] = 1.0, -2.0
    sketch = Sketch.of(graph, tuple(importance.tolist()))
    assert len(sketch.nodes) == DRAWABLE
    assert {7, 2999, *graph.neighbors(7).tolist(), *graph.neighbors(2999).tolist()} <= set(
        sketch.nodes
    )
    kept = {tuple(edge) for edge in graph.edges.tolist()}
    assert all((sketch.nodes[u], sketch.nodes[v]) in kept for u, v in sketch.edges)
    assert (sketch.n_nodes, sketch.n_edges) == (3000, graph.n_edges)


class _Attending(LDP):
    """Has three labeled graphs with made-up similarities and attention."""

    shares = np.array([[[0.1, 0.2, 0.7]], [[0.8, 0.1, 0.1]]])

    def similarity_to_labeled(self, graphs):
        return np.array([[0.2, 0.9, 0.5]])

    def attention_to_labeled(self, graphs):
        return self.shares


def test_similar_graphs_come_by_kernel_value_and_attended_ones_by_attention():
    model = _Attending(trees=2).fit(GRAPHS[:3])
    assert [near.row for near in model.similar(GRAPHS[70:71], 2)[0]] == [1, 2]
    first = model.explain(GRAPHS[70], neighbors=1).neighbors[0]
    assert (first.row, first.label, first.kernel_value) == (0, GRAPHS[0].target, 0.2)
    assert first.attention == (0.1, 0.8)
    model.shares = np.zeros((0, 1, 3))  # without a memory, the similar graphs are shown
    assert [near.row for near in model.explain(GRAPHS[70]).neighbors] == [1, 2, 0]


def test_the_plain_kernel_is_the_normalized_kernel_also_of_strange_graphs():
    graphs = planted_motifs(8)
    values = plain_similarity(graphs[:1], graphs[1:])
    kernel = WeisfeilerLehman(2, normalize="graph")
    # Features that no labeled graph has count in the length.
    rows, expected = most_similar(graphs[0], graphs[1:], n=7, kernel=kernel)
    assert values[0][rows] == pytest.approx(expected)


def test_graphs_with_and_without_labels_can_be_compared():
    values = plain_similarity(cycles_and_trees(2), planted_motifs(3))
    assert values.shape == (2, 3)
    assert (values >= 0).all()
