import json

import numpy as np
import pytest

from kgnn.estimator.explanation import DRAWABLE, Explanation, Sketch
from kgnn.graphs.datasets.toy import cycles_and_trees, planted_motifs, random_graphs
from kgnn.graphs.readers.collector import GraphCollector
from kgnn.methods.wl import WL


@pytest.fixture(scope="module")
def explanation():
    graphs = planted_motifs(40)
    model = WL(iterations=(2,), committee=1).fit(graphs[:30], validation=(graphs[30:], _names(30)))
    return model.explain(graphs[31])


def _names(first):
    graphs = planted_motifs(40)
    return [graphs[row].target for row in range(first, 40)]


def test_an_explanation_survives_json(explanation):
    told = json.loads(json.dumps(explanation.to_json(), allow_nan=False))
    assert Explanation.from_json(told) == explanation


def test_text_tells_the_prediction_the_evidence_and_the_neighbors(explanation):
    lines = str(explanation).splitlines()
    assert lines[0] == "Graph 31: 20 nodes, 23 edges"
    assert lines[1].startswith(f"Prediction: class {explanation.predicted}, ")
    assert "With an error of at most 10%, the class is " in lines[2]
    assert any(line.startswith("Speaks for class") for line in lines)
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
