import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from kgnn import Graphlets, OptimalAssignment, ShortestPaths, WeisfeilerLehman, most_similar
from kgnn.errors import ParameterError, UnknownNameError
from kgnn.graphs.datasets.toy import cycles_and_trees, random_graphs
from kgnn.kernels import KERNELS, make_kernel
from kgnn.kernels.base import gram, normalize_gram
from kgnn.kernels.similarity import similarities


@pytest.mark.parametrize("kernel", KERNELS)
def test_one_against_many_is_a_row_of_the_normalized_kernel(kernel, monkeypatch):
    graphs = random_graphs(30, n_nodes=8, n_edges=12, n_node_labels=2)
    expected = normalize_gram(gram(make_kernel(kernel).fit_transform(graphs)))
    np.testing.assert_allclose(similarities(graphs[4], graphs, kernel=kernel), expected[4])
    monkeypatch.setattr("kgnn.kernels.similarity._NODES_AT_ONCE", 50)
    np.testing.assert_allclose(similarities(graphs[4], graphs, kernel=kernel), expected[4])


def test_the_most_similar_come_first_and_the_graph_itself_is_left_out():
    graphs = random_graphs(30, n_nodes=8, n_edges=12, n_node_labels=2)
    found = most_similar(graphs[7], graphs, n=29)
    assert sorted(found.rows.tolist()) == [row for row in range(30) if row != 7]
    assert (np.diff(found.values) <= 0).all()
    copy = graphs[[7]]
    assert most_similar(copy[0], graphs, n=1).rows.tolist() == [
        7
    ]  # another dataset: all are others
    assert most_similar(copy[0], graphs, n=1).values == pytest.approx([1])


def test_a_featurizer_of_ones_own():
    graphs = cycles_and_trees(20)
    own = WeisfeilerLehman(1, normalize="graph", counts="log")
    found = most_similar(graphs[1], graphs, n=5, kernel=own)
    assert (graphs.targets[found.rows] == graphs.targets[1]).all()


def test_misuse_is_refused():
    graphs = cycles_and_trees(4)
    with pytest.raises(UnknownNameError, match="no kernel 'wll'.*wl"):
        most_similar(graphs[0], graphs, kernel="wll")
    with pytest.raises(ParameterError, match="got 0"):
        most_similar(graphs[0], graphs, n=0)


@pytest.mark.parametrize(
    ("featurizer", "grid"),
    [
        (WeisfeilerLehman(), {"weisfeilerlehman__iterations": [0, 2]}),
        (OptimalAssignment(), {"optimalassignment__iterations": [0, 2]}),
        (ShortestPaths(), {"shortestpaths__counts": ["raw", "log"]}),
        (Graphlets(shares=False, counts="log"), {"graphlets__sizes": [(3,), (3, 4)]}),
    ],
    ids=lambda each: type(each).__name__,
)
def test_featurizers_work_in_a_pipeline_and_a_grid_search(featurizer, grid):
    graphs = cycles_and_trees(40)
    search = GridSearchCV(make_pipeline(featurizer, LinearSVC(random_state=0)), grid, cv=2)
    search.fit(graphs[:30], graphs.targets[:30])
    assert search.score(graphs[30:], graphs.targets[30:]) >= 0.9
    assert set(search.best_params_) == set(grid)
