"""A dataset is indexed like an array, never changes, and is known by its content."""

from __future__ import annotations

import pickle

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import StratifiedKFold, cross_val_score, train_test_split

from kgnn.errors import GraphDataError
from kgnn.graphs.datasets.toy import cycles_and_trees, planted_motifs
from kgnn.graphs.graph import Graph, GraphDataset, offsets_of, ranges
from kgnn.graphs.interop import to_networkx
from kgnn.graphs.packing import pack
from kgnn.graphs.soundness import require_sound
from tests.graphs.strategies import datasets


@pytest.fixture
def graphs() -> GraphDataset:
    return planted_motifs(10)


def assert_same_graphs(dataset: GraphDataset, whole: GraphDataset, rows: list[int]) -> None:
    assert isinstance(dataset, GraphDataset)
    assert len(dataset) == len(rows)
    for graph, row in zip(dataset, rows, strict=True):
        assert graph.edges.tolist() == whole[row].edges.tolist()
        assert graph.node_labels == whole[row].node_labels
        assert graph.target == whole[row].target


class TestIndexing:
    def test_an_integer_gives_one_graph(self, graphs):
        assert isinstance(graphs[3], Graph)
        assert graphs[3].row == graphs[np.int64(3)].row == 3

    def test_a_negative_integer_counts_from_the_end(self, graphs):
        assert graphs[-1].row == 9

    @pytest.mark.parametrize("row", [10, -11])
    def test_an_integer_out_of_range_is_refused(self, graphs, row):
        with pytest.raises(IndexError, match="10 graphs"):
            graphs[row]

    @pytest.mark.parametrize(
        ("key", "rows"),
        [
            (slice(2, 5), [2, 3, 4]),
            (slice(None, None, -3), [9, 6, 3, 0]),
            ([4, 4, -1], [4, 4, 9]),
            ([], []),
            (np.array([], dtype=float), []),
            (np.array([7, 1], dtype=np.uint8), [7, 1]),
            (np.arange(10) % 4 == 1, [1, 5, 9]),
            ([True] + [False] * 9, [0]),
            ((np.array([2, 0]), ...), [2, 0]),
        ],
    )
    def test_a_slice_a_mask_or_rows_give_a_dataset(self, graphs, key, rows):
        assert_same_graphs(graphs[key], graphs, rows)

    @pytest.mark.parametrize("key", [True, 1.5, "a", [0.5], [[0]], None, np.zeros(3, dtype=bool)])
    def test_any_other_key_is_refused(self, graphs, key):
        with pytest.raises(IndexError):
            graphs[key]

    @given(datasets(), st.data())
    def test_selecting_in_two_steps_equals_selecting_at_once(self, dataset, data):
        rows = np.array(data.draw(st.lists(st.integers(0, len(dataset) - 1))), dtype=int)
        split = data.draw(st.integers(0, len(rows)))
        twice = dataset[rows][: split or None]
        assert twice.fingerprint == dataset[rows[: split or None]].fingerprint

    @given(datasets())
    def test_selecting_everything_changes_nothing(self, dataset):
        assert dataset[:].fingerprint == dataset.fingerprint


class _Majority(ClassifierMixin, BaseEstimator):
    """Insists on being handed datasets."""

    def fit(self, X, y):
        assert isinstance(X, GraphDataset)
        assert len(X) == len(y)
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        assert isinstance(X, GraphDataset)
        return np.full(len(X), self.classes_[0])


class TestScikitLearn:
    def test_train_test_split_keeps_datasets(self, graphs):
        train, test, y_train, _ = train_test_split(graphs, graphs.targets, test_size=0.3)
        assert isinstance(train, GraphDataset)
        assert isinstance(test, GraphDataset)
        assert train.targets.tolist() == y_train.tolist()

    def test_stratified_folds_cover_every_graph_once(self, graphs):
        folds = StratifiedKFold(5).split(graphs, graphs.targets)
        assert sorted(np.concatenate([test for _, test in folds])) == list(range(10))

    def test_cross_validation_hands_datasets_to_the_estimator(self, graphs):
        assert cross_val_score(_Majority(), graphs, graphs.targets, cv=5).tolist() == [0.5] * 5


class TestImmutability:
    @pytest.mark.parametrize("use", [lambda d: d, lambda d: d[2:4], lambda d: d[[1, 1]]])
    def test_arrays_cannot_be_written_to(self, graphs, use):
        for array in use(graphs).arrays().values():
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0

    def test_arrays_that_are_worked_out_cannot_be_written_to(self, graphs):
        for array in (graphs.degrees, graphs.graph_sizes, graphs.node_graphs, graphs.edge_counts):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1

    def test_fields_cannot_be_set(self, graphs):
        with pytest.raises(AttributeError):
            graphs.name = "other"

    def test_what_it_was_made_from_stays_free(self):
        attributes = np.ones((2, 1))
        dataset = pack("one", [2], [0], [1], node_attributes=attributes)
        attributes[0] = 5
        assert dataset.node_attributes[0] == 1

    def test_a_pickled_copy_is_equal_and_frozen(self, graphs):
        graphs.fingerprint  # noqa: B018
        copy = pickle.loads(pickle.dumps(graphs))
        assert copy.fingerprint == graphs.fingerprint
        assert not copy.neighbors.flags.writeable


class TestFingerprint:
    def test_equal_content_has_equal_fingerprints(self):
        one = pack("a", [3], [0, 1], [1, 2], targets=["x"], node_labels=[1, 2, 1])
        two = pack("b", [3], [2, 1, 1], [1, 0, 2], targets=["x"], node_labels=["1", "2", "1"])
        assert one.fingerprint == two.fingerprint

    @pytest.mark.parametrize(
        "change",
        [
            {"destinations": [1, 1]},
            {"node_counts": [4]},
            {"targets": ["y"]},
            {"targets": [None]},
            {"node_labels": [1, 1, 1]},
            {"node_labels": None},
            {"node_attributes": [1.0, 2.0, 3.5]},
            {"edge_labels": ["a", "a"]},
            {"edge_weights": [1.0, 2.0]},
            {"graph_names": ["other"]},
        ],
    )
    def test_any_change_of_content_changes_it(self, change):
        plain = {
            "name": "a",
            "node_counts": [3],
            "sources": [0, 1],
            "destinations": [1, 2],
            "targets": ["x"],
            "node_labels": [1, 2, 1],
            "node_attributes": [1.0, 2.0, 3.0],
            "edge_labels": ["a", "b"],
            "edge_weights": [1.0, 1.0],
            "graph_names": ["one"],
        }
        changed = plain | change
        if change.get("node_counts"):
            changed |= {"node_labels": [1, 2, 1, 1], "node_attributes": [1.0, 2.0, 3.0, 0.0]}
        assert pack(**changed).fingerprint != pack(**plain).fingerprint

    @pytest.mark.parametrize("targets", [[1, 1, 0, 1], [0, -1, 0, 1], [-1] * 4])
    def test_other_targets_change_it_though_the_classes_are_the_same(self, targets):
        dataset = cycles_and_trees(4)
        assert dataset.targets.tolist() == [0, 1, 0, 1]
        assert dataset.with_targets(targets).fingerprint != dataset.fingerprint
        assert dataset.with_targets([0, 1, 0, 1]).fingerprint == dataset.fingerprint

    def test_using_a_dataset_does_not_change_it(self):
        used, fresh = cycles_and_trees(6), cycles_and_trees(6)
        _ = used.degrees, used.node_graphs, used.edge_counts, used.graph_sizes, used[0].arcs
        assert used.fingerprint == fresh.fingerprint


class TestViews:
    def test_a_view_shows_local_numbers(self):
        dataset = pack(
            "two",
            [2, 3],
            [0, 3, 4, 3],
            [1, 2, 4, 4],
            targets=["a", None],
            node_labels=list("CCNOC"),
            node_attributes=[[v, v] for v in range(5)],
            edge_labels=list("sdll"),
            edge_weights=[1, 2, 3, 4],
        )
        graph = dataset[1]
        assert graph.edges.tolist() == [[0, 1], [1, 2], [2, 2]]
        assert graph.edge_labels == ["d", "l", "l"]
        assert graph.edge_weights.tolist() == [2, 4, 3]
        assert graph.node_labels == ["N", "O", "C"]
        assert graph.node_attributes.tolist() == [[2, 2], [3, 3], [4, 4]]
        assert graph.neighbors(2).tolist() == [1, 2]
        assert (graph.n_nodes, graph.n_edges, graph.target, graph.name) == (3, 3, None, "1")
        assert repr(graph) == "Graph('1': 3 nodes, 3 edges)"

    def test_a_node_out_of_range_is_refused(self, graphs):
        with pytest.raises(IndexError, match="node 20 of a graph with 20 nodes"):
            graphs[0].neighbors(20)

    @given(datasets())
    def test_counts_agree_with_the_views(self, dataset):
        assert dataset.edge_counts.tolist() == [graph.n_edges for graph in dataset]
        assert dataset.graph_sizes.tolist() == [graph.n_nodes for graph in dataset]
        for graph in dataset:
            expected = [sum(1 for u, _ in graph.arcs if u == v) for v in range(graph.n_nodes)]
            assert [len(graph.neighbors(v)) for v in range(graph.n_nodes)] == expected


class TestTargets:
    def test_targets_can_be_replaced(self, graphs):
        hidden = graphs.with_targets(np.full(10, -1))
        assert [graph.target for graph in hidden] == [None] * 10
        assert graphs[0].target == "star"

    @pytest.mark.parametrize("targets", [[0] * 9, [2] * 10, [-2] * 10])
    def test_targets_that_do_not_fit_are_refused(self, graphs, targets):
        with pytest.raises(GraphDataError):
            graphs.with_targets(targets)


def test_ranges_skips_empty_ones():
    assert ranges(np.array([5, 9, 0]), np.array([2, 0, 1])).tolist() == [5, 6, 0]
    assert ranges(np.array([], dtype=int), np.array([], dtype=int)).tolist() == []


def test_offsets_of_nothing_are_one_zero():
    assert offsets_of(np.array([], dtype=int)).tolist() == [0]


@given(graphs=datasets(), data=st.data())
def test_kept_nodes_induce_the_subgraphs_of_networkx(graphs, data):
    kept = np.array([data.draw(st.booleans()) for _ in range(graphs.n_nodes)], dtype=np.bool_)
    parts = graphs.with_nodes(kept)
    require_sound(parts)
    masks = np.split(kept, graphs.node_offsets[1:-1])
    for ours, whole, mask in zip(to_networkx(parts), to_networkx(graphs), masks, strict=True):
        induced = whole.subgraph(np.flatnonzero(mask).tolist())
        theirs = nx.convert_node_labels_to_integers(induced, ordering="sorted")
        assert dict(ours.nodes(data=True)) == dict(theirs.nodes(data=True))
        edges = [{frozenset(e[:2]): e[2] for e in g.edges(data=True)} for g in (ours, theirs)]
        assert edges[0] == edges[1]
        assert ours.graph == theirs.graph


@given(datasets())
def test_every_arc_has_a_source_and_a_neighbor(graphs):
    arcs = np.column_stack([graphs.arc_sources, graphs.neighbors])
    own = [graph.arcs + graph.nodes.start for graph in graphs]
    assert arcs.tolist() == np.concatenate(own).tolist()
