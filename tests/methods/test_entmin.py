import math

import numpy as np
import pytest
import torch
from torch.autograd import gradcheck

from kgnn.graphs.datasets.toy import cycles_and_trees
from kgnn.methods.entmin import EntMin, entropy
from tests.methods.stepping import one_step
from tests.tensors import asking, normal


def test_entropy_is_that_of_unlabeled_graphs_alone():
    term, step = one_step(EntMin)
    p = step.logits[4:].softmax(dim=1)
    torch.testing.assert_close(term(step), -(p * p.log()).sum(dim=1).mean())
    step.logits.retain_grad()
    term(step).backward()
    assert (step.logits.grad[:4] == 0).all()
    assert (step.logits.grad[4:] != 0).all()


def test_entropy_falls_with_its_weight():
    graphs = cycles_and_trees(60)
    labels = np.where(np.arange(60) < 6, graphs.targets, -1)
    entropies = []
    for weight in (0.0, 10.0):
        settings = {"epochs": 20, "width": 8, "committee": 1, "random_state": 1}
        model = EntMin(weight=weight, **settings).fit(graphs, labels)
        p = model._predict_proba(graphs[6:])  # calibration would undo it
        entropies.append(-(p * np.log(np.maximum(p, 1e-30))).sum(axis=1).mean())
    assert entropies[1] < entropies[0]


@pytest.mark.parametrize(("n_classes", "expected"), [(2, 0.6931), (3, 1.0986), (5, 1.6094)])
def test_entropy_of_uniform_predictions_is_log_c(n_classes, expected):
    assert entropy(torch.full((4, n_classes), 7.0)).item() == pytest.approx(expected, abs=1e-4)


def test_entropy_of_certain_predictions_is_zero_and_never_less():
    assert entropy(torch.tensor([[1e4, -1e4], [-1e4, 1e4]])).item() == 0.0
    for scale in (1e-3, 1.0, 1e2, 1e4):
        assert entropy(normal(50, 3, scale=scale).float()) >= 0


def test_entropy_and_its_gradient_are_finite_for_huge_logits():
    logits = torch.tensor([[1e4, -1e4, 0.0], [1e4, 1e4, -1e4]], requires_grad=True)
    value = entropy(logits)
    value.backward()
    assert value.item() == pytest.approx(math.log(2) / 2)
    assert logits.grad.isfinite().all()


def test_entropy_is_the_mean_over_graphs():
    p = normal(6, 3).softmax(1)
    expected = sum(-sum(x * math.log(x) for x in row) for row in p.tolist()) / 6
    assert entropy(p.log() + 5).item() == pytest.approx(expected)


def test_less_entropy_means_that_the_larger_logit_grows():
    logits = torch.tensor([[0.5, 0.0]], requires_grad=True)
    entropy(logits).backward()
    larger, smaller = (logits - logits.grad)[0].tolist()
    assert larger > 0.5
    assert smaller < 0.0


def test_gradients_pass_a_finite_difference_check():
    assert gradcheck(entropy, asking(2, 3, seed=2))
