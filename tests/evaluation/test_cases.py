import numpy as np
import pytest

from kgnn.errors import ParameterError
from kgnn.evaluation.cases import find_cases
from kgnn.evaluation.protocol import evaluate_split
from kgnn.evaluation.splits import make_split
from kgnn.graphs.datasets.toy import planted_motifs
from kgnn.methods.gnn_sup import GNNSup
from kgnn.methods.kgnn import KGNN


def test_cases_are_unlabeled_graphs_that_only_q_gets_right():
    graphs = planted_motifs(120, n_nodes=12)
    split = make_split(graphs)
    # A GIN that has hardly been trained, so that it gets many wrong.
    method = KGNN(epochs=2, learning_rate=1e-6, rounds=0, memory_learning_rate=0.05)
    evaluate_split(method, graphs, split)
    cases = find_cases(method, graphs, split, 3)
    assert cases
    for case in cases:
        assert case["graph"] in split.unlabeled
        assert case["class"] == graphs[case["graph"]].target
        truth = case["classes"].index(case["class"])
        assert np.argmax(case["gnn"]) != truth == np.argmax(case["memory"])
        assert case["edges"] == graphs[case["graph"]].edges.tolist()
        weights = [each["weight"] for each in case["attended"]]
        assert weights == sorted(weights, reverse=True)
        assert 0 < sum(weights) <= 1
        assert all(each["graph"] in split.labeled for each in case["attended"])
    clear = [c["memory"][c["classes"].index(c["class"])] for c in cases]
    assert len(cases) == 3
    assert all(share > 0.5 for share in clear)


def test_cases_need_both_networks():
    graphs = planted_motifs(60, n_nodes=12)
    split = make_split(graphs)
    method = GNNSup(epochs=1)
    evaluate_split(method, graphs, split)
    with pytest.raises(ParameterError, match="GNNSup has not both"):
        find_cases(method, graphs, split, 1)
