import numpy as np
import pytest

from kgnn.estimator import evidence
from kgnn.estimator.evidence import log_odds, measure, without
from kgnn.graphs.datasets.toy import planted_motifs, random_graphs
from kgnn.graphs.graph import GraphDataset
from kgnn.graphs.packing import pack
from kgnn.kernels.colors import colors

NOTHING = np.empty(0, dtype=np.int64)


def by_edges(graphs: GraphDataset) -> dict:
    """A model that likes edges."""
    first = 1 / (1 + np.exp(-(graphs.edge_counts - 10.0) / 4))
    return {"prediction": np.column_stack([first, 1 - first])}


def test_a_graph_without_nodes_is_the_induced_graph_with_all_that_belongs_to_it():
    graph = pack(
        "one",
        [4],
        [0, 1, 2, 0],
        [1, 2, 3, 3],
        node_labels=["a", "b", "c", "d"],
        node_attributes=[[0.0], [1.0], [2.0], [3.0]],
        edge_labels=["p", "q", "r", "s"],
        edge_weights=[1.0, 2.0, 3.0, 4.0],
    )
    whole, less = without(graph, [NOTHING, np.array([1])])
    assert whole.edges.tolist() == graph[0].edges.tolist()
    assert less.edges.tolist() == [[0, 2], [1, 2]]
    assert less.node_labels == ["a", "c", "d"]
    assert less.node_attributes.ravel().tolist() == [0, 2, 3]
    assert less.edge_labels == ["s", "r"]
    assert less.edge_weights.tolist() == [4, 3]


def test_all_nodes_may_go():
    graph = random_graphs(1, n_nodes=5, n_edges=6)
    assert [g.n_nodes for g in without(graph, [np.arange(5), np.array([0])])] == [0, 4]


def test_evidence_is_the_fall_of_the_log_odds():
    graph = planted_motifs(1)
    found = measure(by_edges, graph, 0)
    # These log-odds are linear in the number of edges, so that evidence is a node's degree.
    assert np.allclose(found.nodes, graph.degrees / 4)
    for part in found.substructures:
        edges = graph[0].edges
        lost = int(np.isin(edges, part.nodes).any(axis=1).sum())
        assert part.evidence["prediction"] == pytest.approx(lost / 4)
        assert part.without == pytest.approx(1 / (1 + np.exp(-(len(edges) - lost - 10) / 4)))
    assert np.allclose(measure(by_edges, graph, 1).nodes, -graph.degrees / 4)


def test_substructures_are_nodes_of_one_color_at_most_half_of_them_and_each_set_once():
    graph = planted_motifs(1)
    found = measure(by_edges, graph, 0, depth=2).substructures
    levels = list(colors(graph, 2))
    for part in found:
        own = levels[part.depth][list(part.nodes)]
        assert len(set(own.tolist())) == 1
        assert (levels[part.depth] == own[0]).sum() == len(part.nodes) <= 10
    assert len({part.nodes for part in found}) == len(found)
    falls = [part.evidence["prediction"] for part in found]
    assert falls == sorted(falls, reverse=True)


def test_a_substructure_is_written_out():
    water = pack("water", [4], [0, 0], [1, 2], node_labels=["O", "H", "H", "H"])
    texts = {part.nodes: part.text for part in measure(by_edges, water, 0).substructures}
    assert texts == {(0,): "O", (1, 2): "H(O)", (3,): "H()"}


def test_long_texts_are_cut():
    dense = random_graphs(1, n_nodes=120, n_edges=6000)
    found = measure(by_edges, dense, 0).substructures
    assert max(len(part.text) for part in found) <= 301


@pytest.mark.parametrize("n_nodes", [0, 1])
def test_a_graph_without_parts_has_no_evidence(n_nodes):
    graph = pack("tiny", [n_nodes], [], [])
    found = measure(by_edges, graph, 0)
    assert found.nodes == (0.0,) * n_nodes
    assert not found.substructures
    assert "no parts" in found.notes[0]


def test_the_work_is_bounded_and_what_was_left_out_is_said():
    asked = []

    def model(graphs):
        asked.append(graphs.n_nodes)
        first = graphs.edge_counts / 20000
        return {"prediction": np.column_stack([first, 1 - first])}

    large = random_graphs(1, n_nodes=5000, n_edges=12000, n_node_labels=3)
    found = measure(model, large, 0)
    assert sum(asked) <= evidence._MOST_NODES + large.n_nodes
    assert "5,000 nodes" in found.notes[0]
    assert len(found.substructures) == evidence._MOST_NODES // 5000
    assert {part.depth for part in found.substructures} == {0, 1}
    assert sum(map(abs, found.nodes)) > 0


def test_shares_of_nodes_come_from_the_smallest_substructure(monkeypatch):
    monkeypatch.setattr(evidence, "_MOST_NODES", 0)
    graph = planted_motifs(1)
    found = measure(by_edges, graph, 0)
    smallest = {}
    for part in sorted(found.substructures, key=lambda part: -len(part.nodes)):
        share = part.evidence["prediction"] / len(part.nodes)
        smallest.update(dict.fromkeys(part.nodes, share))
    assert len(found.substructures) == 16
    assert [found.nodes[node] for node in smallest] == pytest.approx(list(smallest.values()))


def test_certainty_has_finite_odds():
    assert np.isfinite(log_odds(np.array([[1.0, 0.0], [0.0, 1.0]]), 0)).all()
    assert log_odds(np.array([[0.5, 0.25, 0.25]]), 0)[0] == pytest.approx(0)


def test_a_probability_that_was_rounded_to_0_is_no_huge_evidence():
    def certain(graphs):
        sizes = np.diff(graphs.node_offsets)
        first = (sizes == sizes.max()).astype(float)
        return {who: np.column_stack([first, 1 - first]) for who in ("prediction", "gnn")}

    graph = planted_motifs(1)
    for target, sign in ((0, 1), (1, -1)):
        found = measure(certain, graph, target)
        assert found.nodes == (sign * evidence.MOST_EVIDENCE,) * graph.n_nodes
        for part in found.substructures:
            assert part.evidence == dict.fromkeys(("prediction", "gnn"), sign * 20.0)
