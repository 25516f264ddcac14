import math

import pytest
import torch
from torch.autograd import gradcheck
from torch.nn.functional import softplus

from kgnn.engine.losses import contrastive, jensen_shannon
from tests.tensors import asking, normal

# InfoGraph's estimate of mutual information

OWN = torch.tensor([0, 0, 1, 2, 2, 2])


def by_double_loop(scores, own):
    positive = negative = 0.0
    n_rows, n_graphs = scores.shape
    for row in range(n_rows):
        for graph in range(n_graphs):
            score = scores[row, graph]
            if own[row] == graph:
                positive = positive + (math.log(2) - softplus(-score)) / n_rows
            else:
                negative = negative + (softplus(score) - math.log(2)) / (n_rows * (n_graphs - 1))
    return negative - positive


def test_jensen_shannon_equals_the_double_loop():
    scores = normal(6, 3, scale=3.0)
    torch.testing.assert_close(jensen_shannon(scores, OWN), by_double_loop(scores, OWN))


def test_scores_of_zero_know_nothing():
    assert jensen_shannon(torch.zeros(6, 3), OWN).item() == pytest.approx(0, abs=1e-7)


@pytest.mark.parametrize("size", [100.0, 1e4])
def test_a_perfect_discriminator_reaches_the_bound(size):
    scores = torch.full((6, 3), -size)
    scores[torch.arange(6), OWN] = size
    assert jensen_shannon(scores, OWN).item() == pytest.approx(-1.38629, abs=1e-5)


def test_the_estimate_is_finite_where_all_is_wrong():
    scores = torch.full((6, 3), 1e4)
    scores[torch.arange(6), OWN] = -1e4
    scores.requires_grad_()
    value = jensen_shannon(scores, OWN)
    value.backward()
    assert value.item() == pytest.approx(2e4, rel=1e-3)
    assert scores.grad.isfinite().all()


def test_own_scores_are_to_rise_and_others_to_fall():
    scores = asking(6, 3)
    jensen_shannon(scores, OWN).backward()
    is_own = torch.zeros(6, 3, dtype=torch.bool).scatter(1, OWN[:, None], True)
    assert (scores.grad[is_own] < 0).all()
    assert (scores.grad[~is_own] > 0).all()


def test_the_order_of_graphs_and_nodes_does_not_matter():
    scores = normal(6, 3)
    graphs, nodes = torch.tensor([2, 0, 1]), torch.tensor([3, 0, 5, 1, 2, 4])
    moved = jensen_shannon(scores[nodes][:, graphs], graphs.argsort()[OWN[nodes]])
    torch.testing.assert_close(moved, jensen_shannon(scores, OWN))


@pytest.mark.parametrize("shape", [(4, 1), (0, 3)])
def test_without_other_graphs_or_nodes_there_is_nothing_to_estimate(shape):
    scores = asking(*shape, scale=1e9)
    value = jensen_shannon(scores, torch.zeros(shape[0], dtype=torch.int64))
    value.backward()
    assert value.item() == 0.0
    assert (scores.grad == 0).all()


# Contrast of two views


def contrast_by_loop(first, second, temperature, include_positive):
    cosine = torch.nn.functional.cosine_similarity
    losses = []
    for i in range(len(first)):
        scores = [cosine(first[i], second[j], dim=0) / temperature for j in range(len(second))]
        rivals = [s for j, s in enumerate(scores) if include_positive or j != i]
        losses.append(-torch.log(scores[i].exp() / sum(s.exp() for s in rivals)))
    return sum(losses) / len(losses)


@pytest.mark.parametrize("include_positive", [False, True])
def test_contrast_equals_the_double_loop(include_positive):
    first, second = normal(5, 4), normal(5, 4, seed=1)
    found = contrastive(first, second, 0.3, include_positive=include_positive)
    torch.testing.assert_close(found, contrast_by_loop(first, second, 0.3, include_positive))


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize(("include", "expected"), [(False, -0.05409), (True, 0.66647)])
def test_contrast_of_matched_orthogonal_views(include, expected, symmetric):
    views = torch.eye(8)
    value = contrastive(views, views, 0.5, include_positive=include, symmetric=symmetric)
    assert value.item() == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(("include", "expected"), [(False, 1.94591), (True, 2.07944)])
def test_contrast_of_collapsed_views(include, expected):
    views = torch.ones(8, 3)
    value = contrastive(views, views, 0.5, include_positive=include)
    assert value.item() == pytest.approx(expected, abs=1e-5)


def test_contrast_does_not_see_the_length_of_vectors():
    first, second = normal(6, 4), normal(6, 4, seed=1)
    lengths = torch.tensor([[1e-3], [1.0], [7.0], [1e3], [1e5], [2.0]])
    torch.testing.assert_close(
        contrastive(lengths * first, second * 9, 0.5), contrastive(first, second, 0.5)
    )


def test_a_symmetric_contrast_is_the_mean_of_both_directions():
    first, second = normal(6, 4), normal(6, 4, seed=1)
    one, other = contrastive(first, second, 0.5), contrastive(second, first, 0.5)
    assert not torch.allclose(one, other)
    torch.testing.assert_close(contrastive(first, second, 0.5, symmetric=True), (one + other) / 2)


def test_contrast_moves_both_views():
    first, second = asking(5, 4), asking(5, 4, seed=1)
    contrastive(first, second, 0.5).backward()
    assert (first.grad != 0).any(dim=1).all()
    assert (second.grad != 0).any(dim=1).all()


def test_contrast_of_one_graph_is_nothing():
    first, second = asking(1, 4), asking(1, 4, seed=1)
    value = contrastive(first, second, 0.5)
    value.backward()
    assert value.item() == 0.0
    assert (first.grad == 0).all()
    assert (second.grad == 0).all()


def test_a_projection_of_zero_length_is_like_nothing_and_gets_no_gradient():
    rows = normal(4, 3)
    rows[1] = 0
    first = rows.clone().requires_grad_()
    value = contrastive(first, normal(4, 3, seed=1), 0.5)
    value.backward()
    assert value.isfinite()
    assert (first.grad[1] == 0).all()
    assert (first.grad[0] != 0).any()
    assert first.grad.abs().max() < 10


def test_contrast_is_finite_at_low_temperatures():
    first = asking(5, 4)
    value = contrastive(first, normal(5, 4, seed=1), 1e-4)
    value.backward()
    assert value.isfinite()
    assert first.grad.isfinite().all()


# Slopes


@pytest.mark.parametrize(
    ("loss", "shape"),
    [
        (lambda z: jensen_shannon(z, torch.tensor([0, 1, 1])), (3, 2)),
        (lambda z: contrastive(z, normal(3, 4, seed=1), 0.5), (3, 4)),
        (lambda z: contrastive(normal(3, 4, seed=1), z, 0.5, include_positive=True), (3, 4)),
        (lambda z: contrastive(z, z.flip(1), 0.5, symmetric=True), (3, 4)),
    ],
)
def test_gradients_pass_a_finite_difference_check(loss, shape):
    assert gradcheck(loss, asking(*shape, seed=2))
