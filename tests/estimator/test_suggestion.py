import time
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from scipy.special import expit
from sklearn.exceptions import NotFittedError

from kgnn.errors import KgnnWarning, ParameterError
from kgnn.estimator import classifier as base
from kgnn.estimator.registry import entries
from kgnn.estimator.saving import open_model
from kgnn.estimator.suggestion import most_covering, next_to_label
from kgnn.graphs.collector import named
from kgnn.graphs.datasets.toy import cycles_and_trees, planted_motifs, random_graphs
from kgnn.graphs.graph import GraphDataset
from kgnn.graphs.interop import as_dataset
from kgnn.graphs.packing import pack
from kgnn.kernels.colors import looks
from kgnn.methods.kgnn import KGNN
from kgnn.methods.ldp import LDP
from tests.contracts.test_methods import fast

CLASSES = ["a", "b"]
GRAPHS = planted_motifs(60, n_nodes=12)
PARTLY = GRAPHS.with_targets(np.where(np.arange(60) < 12, GRAPHS.targets, -1))


def unlabeled(graphs) -> GraphDataset:
    return graphs.with_targets(np.full(len(graphs), -1))


def answering(first_class):
    """A model that gives each graph its probability of the first class."""

    def ask(graphs):
        proba = np.array([first_class(graph) for graph in graphs])
        return {"prediction": np.column_stack([proba, 1 - proba])}

    return ask


UNSURE = answering(lambda graph: 0.5)


def cluster(kind, sizes):
    return [kind(size) for size in sizes]


def clustered() -> tuple[GraphDataset, GraphDataset]:
    """Forty rings, forty stars, four cliques; and one labeled ring."""
    rings = cluster(nx.cycle_graph, range(10, 50))
    stars = cluster(nx.star_graph, range(10, 50))
    cliques = cluster(nx.complete_graph, range(8, 12))
    return unlabeled(as_dataset([*rings, *stars, *cliques])), as_dataset([nx.cycle_graph(9)])


def test_no_two_suggestions_look_alike():
    graphs = unlabeled(cycles_and_trees(200, max_nodes=6))
    found = next_to_label(graphs, graphs[:1], UNSURE, CLASSES, 50)
    seen = looks(graphs[[suggestion.row for suggestion in found]])
    assert len(np.unique(seen)) == len(seen)
    assert looks(graphs[:1])[0] not in seen
    # One of each look is suggested, and each knows of the others.
    assert len(seen) == len(np.unique(looks(graphs))) - 1
    covered = sum(1 + suggestion.alike for suggestion in found)
    assert covered == int((looks(graphs) != looks(graphs[:1])[0]).sum())


def test_graphs_with_a_target_count_as_labeled():
    graphs = cycles_and_trees(80, max_nodes=20)
    targets = graphs.targets.copy()
    targets[40:] = -1
    found = next_to_label(graphs.with_targets(targets), graphs[:1], UNSURE, CLASSES, 80)
    assert found
    assert all(suggestion.row >= 40 for suggestion in found)
    known = looks(graphs[:40])
    assert not np.isin(looks(graphs[[suggestion.row for suggestion in found]]), known).any()


def test_numbered_graphs_are_isomorphic_or_differ():
    ring = nx.cycle_graph(7)
    turned = nx.relabel_nodes(ring, {n: (3 * n) % 7 for n in ring})
    same, other = looks(as_dataset([ring, turned])), looks(as_dataset([nx.path_graph(7)]))
    assert same[0] == same[1] != other[0]


@pytest.mark.parametrize("key", ["node_attributes", "edge_labels"])
def test_attributes_and_labels_of_edges_make_a_difference(key):
    values = {
        "node_attributes": [[0.5], [1.0], [0.5], [2.0]],
        "edge_labels": ["single", "double"],
    }
    two = pack("two", [2, 2], [0, 2], [1, 3], **{key: values[key]})
    assert len(np.unique(looks(two))) == 2


def test_suggestions_do_not_depend_on_the_order_of_the_candidates():
    graphs = unlabeled(random_graphs(300, n_node_labels=3))
    ask = answering(lambda graph: (graph.n_edges % 10) / 10)
    order = np.random.default_rng(0).permutation(300)
    first = next_to_label(graphs, graphs[:5], ask, CLASSES, 20)
    again = next_to_label(graphs[order], graphs[:5], ask, CLASSES, 20)
    assert [suggestion.row for suggestion in first] == [order[s.row] for s in again]
    assert first == next_to_label(graphs, graphs[:5], ask, CLASSES, 20)


def cluster_of(found) -> list[int]:
    rows = [suggestion.row for suggestion in found]
    return np.searchsorted([40, 80], rows, side="right").tolist()


def test_coverage_reaches_every_cluster():
    graphs, _ = clustered()
    other = as_dataset([nx.Graph(nx.complete_bipartite_graph(5, 5).edges)])
    found = next_to_label(graphs, other, UNSURE, CLASSES, 12)
    assert set(cluster_of(found)) == {0, 1, 2}
    assert set(cluster_of(found[:2])) == {0, 1}  # the large ones first


def test_what_a_labeled_graph_covers_is_not_suggested():
    graphs, labeled = clustered()
    assert set(cluster_of(next_to_label(graphs, labeled, UNSURE, CLASSES, 12))) == {1, 2}


def test_uncertain_graphs_come_before_certain_ones_that_are_covered_alike():
    # No graph has anything in common with another: labels of their own.
    labels = np.repeat([f"kind {number}" for number in range(60)], 3)
    ends = 3 * np.repeat(np.arange(60), 2) + np.tile([0, 1], 60)
    graphs = pack("own", [3] * 60, ends, ends + 1, node_labels=labels)
    labeled = pack("ring", [3], [0, 1, 2], [1, 2, 0], node_labels=["other"] * 3)
    ask = answering(lambda graph: 0.5 if graph.row % 3 == 0 else 0.999)

    def rows_in_dataset(some):
        """Answers by label, since candidates come in an order of their own."""
        numbers = [int(graph.node_labels[0].split()[1]) for graph in some]
        return {"prediction": ask(graphs)["prediction"][numbers]}

    found = next_to_label(graphs, labeled, rows_in_dataset, CLASSES, 60)
    uncertain = [suggestion.row % 3 == 0 for suggestion in found]
    assert uncertain == [True] * 20 + [False] * 40


@pytest.mark.parametrize("boldness", [0.2, 5.0])
def test_a_bold_model_suggests_what_a_shy_one_does(boldness):
    graphs, labeled = unlabeled(random_graphs(200, n_node_labels=3)), random_graphs(3, seed=9)

    def ask(some, factor):
        logits = factor * np.array([graph.n_edges % 7 - 2.7 for graph in some])
        return {"prediction": np.column_stack([expit(logits), expit(-logits)])}

    found = next_to_label(graphs, labeled, lambda some: ask(some, 1.0), CLASSES, 10)
    other = next_to_label(graphs, labeled, lambda some: ask(some, boldness), CLASSES, 10)
    assert [s.row for s in found] == [s.row for s in other]


def test_disagreement_counts():
    graphs, labeled = unlabeled(random_graphs(200, n_node_labels=3)), random_graphs(3, seed=9)

    def ask(some):
        sure = np.tile([0.9, 0.1], (len(some), 1))
        other = sure.copy()
        disputed = [graph.n_nodes and graph.n_edges % 4 == 0 for graph in some]
        other[disputed] = [0.1, 0.9]
        return {"prediction": sure, "gnn": sure, "memory": other, "all": sure}

    found = next_to_label(graphs, labeled, ask, CLASSES, 10)
    assert all(graphs[s.row].n_edges % 4 == 0 for s in found)
    assert [s.disagreement for s in found] == pytest.approx([0.8] * 10)
    assert all("the networks disagree (0.80)" in s.why for s in found)


def test_a_suggestion_says_what_it_is_and_why():
    graphs, labeled = clustered()
    ask = answering(lambda graph: 0.95 if graph.n_nodes % 2 else 0.45)
    for each in next_to_label(graphs, labeled, ask, ["ring", "star"], 30):
        is_sure = graphs[each.row].n_nodes % 2 == 1
        assert each.name == graphs[each.row].name
        assert each.predicted == ("ring" if is_sure else "star")
        assert each.confidence == pytest.approx(0.95 if is_sure else 0.55)
        assert ("undecided between star (55%) and ring (45%)" in each.why) is not is_sure
        assert each.disagreement is None
        assert 0 <= each.distance <= 1
        assert each.why
        assert ("farther from labeled graphs than most" in each.why) or each.distance < 0.9


def test_distance_is_to_the_nearest_labeled_graph():
    graphs = unlabeled(as_dataset([nx.cycle_graph(30), nx.star_graph(30)]))
    found = next_to_label(graphs, as_dataset([nx.cycle_graph(31)]), UNSURE, CLASSES, 2)
    distance = {suggestion.row: suggestion.distance for suggestion in found}
    assert distance[0] == pytest.approx(0, abs=1e-9)
    assert distance[1] > 0.8


@pytest.mark.parametrize("n", [1, 3, 1000])
def test_there_are_at_most_as_many_as_there_are(n):
    graphs = unlabeled(random_graphs(12))
    found = next_to_label(graphs, cycles_and_trees(2), UNSURE, CLASSES, n)
    assert len({suggestion.row for suggestion in found}) == len(found) == min(n, 12)


def test_candidates_that_all_look_alike_give_one_suggestion():
    graphs = unlabeled(as_dataset([nx.cycle_graph(5)] * 30))
    (only,) = next_to_label(graphs, cycles_and_trees(2)[1:], UNSURE, CLASSES, 10)
    assert only.alike == 29
    assert next_to_label(graphs, graphs[:1], UNSURE, CLASSES, 10) == []


def test_where_all_is_certain_coverage_decides():
    graphs, labeled = clustered()

    def certain(some):
        return {"prediction": np.ones((len(some), 1))}

    found = next_to_label(graphs, labeled, certain, ["only"], 12)
    assert set(cluster_of(found)) == {1, 2}
    assert {suggestion.predicted for suggestion in found} == {"only"}


def test_graphs_without_nodes_or_with_other_labels_can_be_suggested():
    labeled = pack("labeled", [2], [0], [1], node_labels=["a", "b"])
    empty = pack("empty", [0, 2], [0], [1])
    assert len(next_to_label(empty, labeled, UNSURE, CLASSES, 5)) == 2


def test_none_is_refused():
    with pytest.raises(ParameterError, match="got n=0"):
        next_to_label(cycles_and_trees(3), cycles_and_trees(3), UNSURE, CLASSES, 0)


def test_many_candidates_take_bounded_work():
    graphs = unlabeled(random_graphs(20_000, n_nodes=10, n_edges=12, n_node_labels=3))

    def ask(some):
        proba = np.linspace(0.01, 0.99, len(some))
        return {"prediction": np.column_stack([proba, 1 - proba])}

    begin = time.process_time()
    assert len(next_to_label(graphs, graphs[:50], ask, CLASSES, 20)) == 20
    few = time.process_time() - begin
    assert len(next_to_label(graphs, graphs[:50], ask, CLASSES, 5000)) == 5000
    assert few < 5
    assert time.process_time() - begin < 30


def greedy(similarity, covered, doubt, n):
    """Slow and plain: look at every row each time."""
    covered, chosen = covered.copy(), []
    for _ in range(min(n, len(covered))):
        gains = np.maximum(similarity - covered, 0).sum(axis=1) * doubt
        gains[chosen] = -1
        chosen.append(int(gains.argmax()))
        covered = np.maximum(covered, similarity[chosen[-1]])
    return chosen


@pytest.mark.parametrize("seed", range(5))
def test_the_lazy_choice_is_the_greedy_one(seed):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(60, 3))
    similarity = np.exp(-np.square(points[:, None] - points[None]).sum(axis=2))
    covered, doubt = rng.random(60) * 0.3, rng.random(60)
    chosen = most_covering(similarity, covered, doubt, 25)
    assert chosen.tolist() == greedy(similarity, covered, doubt, 25)


def test_what_is_at_no_distance_is_not_called_far():
    # The kernel counts in logarithms and levels: rings of all sizes are the same to it.
    graphs = unlabeled(as_dataset(cluster(nx.cycle_graph, range(10, 40))))
    found = next_to_label(graphs, as_dataset([nx.cycle_graph(9)]), UNSURE, CLASSES, 12)
    assert max(each.distance for each in found) < 0.005
    assert not any("farther" in each.why for each in found)


@pytest.mark.parametrize("name", entries())
def test_every_method_suggests_graphs_without_a_label(name):
    model = fast(name).fit(PARTLY)
    found = model.suggest(PARTLY, n=5)
    assert len({suggestion.row for suggestion in found}) == 5
    predicted = model.predict(GRAPHS[[suggestion.row for suggestion in found]]).tolist()
    for suggestion, label in zip(found, predicted, strict=True):
        assert suggestion.row >= 12
        assert suggestion.predicted == label
        assert (suggestion.disagreement is None) is (name not in {"kgnn", "kgnn-sep"})


@pytest.mark.parametrize("trees", [0, 20])
def test_disagreement_is_what_the_networks_put_on_different_classes(trees):
    model = KGNN(epochs=5, rounds=1, trees=trees).fit(PARTLY)
    found = model.suggest(PARTLY, n=10)
    each = model.predict_proba_each(GRAPHS[[suggestion.row for suggestion in found]])
    del each["all"]
    assert len(each) == 2 + (trees > 0)
    apart = 1 - np.min(list(each.values()), axis=0).sum(axis=1)
    assert [s.disagreement for s in found] == pytest.approx(apart.tolist(), abs=1e-5)


def test_a_saved_model_suggests_the_same(tmp_path):
    model = LDP(trees=20).fit(PARTLY)
    opened = open_model(model.save(tmp_path / "model"))
    assert opened.suggest(PARTLY, n=8) == model.suggest(PARTLY, n=8)


def test_labels_of_the_candidates_are_not_looked_at():
    class Peeking(LDP):
        def _predict_proba(self, graphs):
            assert (graphs.targets < 0).all()
            return super()._predict_proba(graphs)

    model = Peeking(trees=20).fit(GRAPHS[:12])
    assert model.suggest(PARTLY[12:], n=3)


def test_many_candidates_are_asked_about_in_runs(monkeypatch):
    model = LDP(trees=20).fit(PARTLY)
    at_once = model.suggest(PARTLY, n=8)
    monkeypatch.setattr(base, "_NODES_AT_ONCE", 50)
    assert model.suggest(PARTLY, n=8) == at_once


def test_a_model_of_one_class_suggests_what_is_unlike():
    with pytest.warns(KgnnWarning):
        model = KGNN(epochs=5, rounds=1).fit(GRAPHS[:4], ["same"] * 4)
    found = model.suggest(PARTLY[12:], n=4)
    assert len(found) == 4
    assert {suggestion.confidence for suggestion in found} == {1.0}


def test_networkx_graphs_are_taken_as_they_are():
    rings = [nx.cycle_graph(n) for n in range(5, 20)]
    stars = [nx.star_graph(n) for n in range(5, 20)]
    model = LDP(trees=20).fit(rings[:5] + stars[:5], ["ring"] * 5 + ["star"] * 5)
    assert {s.row for s in model.suggest(rings + stars, n=50)} <= {*range(5, 15), *range(20, 30)}


def test_nothing_is_suggested_of_nothing():
    model = LDP(trees=20).fit(PARTLY)
    assert model.suggest(PARTLY[:0]) == []
    assert model.suggest(PARTLY[:12]) == []
    with pytest.raises(NotFittedError):
        LDP().suggest(PARTLY)


def test_a_graph_with_the_name_of_a_labeled_one_is_not_suggested():
    """A molecule that was drawn anew is the same one; a mere number says nothing."""
    graphs = named(unlabeled(planted_motifs(6, n_nodes=12)))
    other = named(planted_motifs(6, n_nodes=9, seed=1))
    assert len(next_to_label(graphs, other[:2], UNSURE, CLASSES, 6)) == 6
    ids = np.array([f"m{row}" for row in range(6)])
    graphs, other = (replace(each, graph_names=ids) for each in (graphs, other))
    found = next_to_label(graphs, other[:2], UNSURE, CLASSES, 6)
    assert {each.name for each in found} == {"m2", "m3", "m4", "m5"}
