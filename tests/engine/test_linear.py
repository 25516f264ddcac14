import numpy as np
import pytest
import torch

from kgnn.engine.linear import _HEIGHT, KernelMachine, fit_linear, typical_distance
from kgnn.methods.kgnn import MemoryNetwork

RANDOM = np.random.default_rng(0)
ROWS = RANDOM.normal(size=(30, 4))
CLASSES = (np.linalg.norm(ROWS, axis=1) > 1.9).astype(int)
NEW = RANDOM.normal(size=(12, 4))


def kernel(rows, others, typical):
    """The kernel of the machine, pair by pair."""
    return np.array(
        [[a @ b + _HEIGHT * np.exp(-((a - b) ** 2).sum() / typical) for b in others] for a in rows]
    )


def test_it_is_a_logistic_regression_by_its_kernel():
    machine = KernelMachine.fit(ROWS, CLASSES, 2, typical=3.0)
    # Any features whose inner products are the kernel give the same function.
    everything = kernel(np.vstack([ROWS, NEW]), np.vstack([ROWS, NEW]), 3.0)
    features = np.linalg.cholesky(everything + 1e-9 * np.eye(len(everything)))
    coefficients, biases = fit_linear(features[:30], CLASSES, 2)
    expected = features @ coefficients.T + biases
    np.testing.assert_allclose(machine.scores(np.vstack([ROWS, NEW])), expected, atol=5e-3)


def test_it_learns_what_no_hyperplane_separates():
    rows = RANDOM.normal(size=(200, 2))
    classes = (np.linalg.norm(rows, axis=1) > 1.2).astype(int)
    options = {"typical": 2.0, "penalty": 10.0}
    machine = KernelMachine.fit(rows, classes, 2, n_centers=100, **options)
    plain = KernelMachine.fit(rows, classes, 2, n_centers=0, **options)
    right, linear = ((m.scores(rows).argmax(axis=1) == classes).mean() for m in (machine, plain))
    assert right > 0.95 > 0.7 > linear


def test_without_centers_it_is_linear():
    machine = KernelMachine.fit(ROWS, CLASSES, 2, n_centers=0, typical=1.0)
    coefficients, biases = fit_linear(ROWS, CLASSES, 2)
    np.testing.assert_allclose(machine.scores(NEW), NEW @ coefficients.T + biases)


def test_copies_of_a_row_count_once_as_centers():
    once = KernelMachine.fit(ROWS, CLASSES, 2, typical=3.0)
    twice = KernelMachine.fit(
        np.vstack([ROWS, ROWS]),
        np.concatenate([CLASSES, CLASSES]),
        2,
        typical=3.0,
        weights=np.full(60, 0.5),
    )
    np.testing.assert_allclose(once.scores(NEW), twice.scores(NEW), atol=5e-3)


@pytest.mark.parametrize("n_centers", [0, 30])
def test_a_memory_that_starts_from_it_says_the_same(n_centers):
    machine = KernelMachine.fit(ROWS, CLASSES, 2, n_centers=n_centers, typical=3.0)
    module = MemoryNetwork(4, 2, width=4, linear=True, centers=n_centers).eval()
    module.start_from(machine)
    rows = torch.from_numpy(ROWS).float()
    logits = module(torch.from_numpy(NEW).float(), rows, torch.eye(2)[CLASSES])
    np.testing.assert_allclose(logits.detach().numpy(), machine.scores(NEW), atol=1e-4)


def test_the_typical_distance_is_the_median_of_rows_that_differ():
    assert typical_distance(np.array([[0.0], [1.0], [3.0]])) == 4.0
    assert typical_distance(np.zeros((5, 2))) == 1.0
    assert typical_distance(np.array([[0.0]] * 9 + [[2.0]])) == 4.0
    assert typical_distance(np.zeros((0, 2))) == 1.0
