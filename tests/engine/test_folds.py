"""What is held out of each member's training: by class, by look, by number of labels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgnn.engine.folds import deal_folds


def holding(folds, n):
    """How often each row is held out."""
    return np.bincount(np.concatenate(folds), minlength=n)


@st.composite
def dealt(draw):
    """Classes of some graphs, of which few or many look alike, and a number of folds."""
    n = draw(st.integers(2, 40))
    targets = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    looks = draw(st.lists(st.integers(0, draw(st.sampled_from([3, 10, 1000]))), min_size=n))[:n]
    codes = np.unique(targets, return_inverse=True)[1]
    return codes, np.array(looks), draw(st.integers(2, 7)), draw(st.integers(0, 99))


@given(dealt())
def test_any_graphs_are_dealt_so_that_nothing_held_out_is_given_away(case):
    targets, looks, n_folds, seed = case
    folds = deal_folds(targets, looks, n_folds, seed)
    assert len(folds) == n_folds
    for fold in folds:
        assert (np.diff(fold) > 0).all()
        others = np.delete(np.arange(len(targets)), fold)
        assert set(targets[others]) == set(targets), "a training goes without a class"
        assert not set(looks[fold]) & set(looks[others]), "a copy gives the held-out graph away"


@given(dealt())
def test_every_graph_is_held_out_unless_its_class_has_a_single_look(case):
    targets, looks, n_folds, seed = case
    looks = looks * 4 + targets  # no copies with different labels
    folds = deal_folds(targets, looks, n_folds, seed)
    held = holding(folds, len(targets))
    for each in np.unique(targets):
        own = targets == each
        n_looks = len(np.unique(looks[own]))
        if n_looks == 1:
            assert (held[own] == 0).all()
        elif n_looks < n_folds:
            assert (held[own] >= 1).all()
            assert all(len(set(looks[fold][own[fold]])) == 1 for fold in folds)
        else:
            assert (held[own] == 1).all()


@pytest.mark.parametrize("seed", range(5))
def test_folds_have_the_proportions_of_the_classes_and_equal_sizes(seed):
    targets = np.repeat([0, 1, 2], [53, 21, 6])
    folds = deal_folds(targets, np.arange(80), 5, seed)
    counts = np.stack([np.bincount(targets[fold], minlength=3) for fold in folds])
    assert (counts.sum(axis=0) == [53, 21, 6]).all()
    assert (counts.max(axis=0) - counts.min(axis=0) <= 1).all()
    assert counts.sum(axis=1).tolist() == [16] * 5


def test_copies_are_held_out_together():
    targets = np.arange(60) % 2
    looks = np.arange(60) // 6  # six copies each, of both classes
    for fold in deal_folds(targets, looks, 5, seed=0):
        assert len(fold) == 12
        assert (np.bincount(looks[fold])[np.unique(looks[fold])] == 6).all()


@pytest.mark.parametrize("seed", range(5))
def test_many_copies_of_a_graph_are_made_up_for_by_others(seed):
    looks = np.array([0] * 6 + list(range(1, 7)))
    folds = deal_folds(np.repeat([0, 1], 12), np.concatenate([looks, looks + 9]), 2, seed)
    assert [len(fold) for fold in folds] == [12, 12]


def test_of_two_graphs_of_a_class_each_is_held_out_and_of_one_none():
    targets = np.array([0, 0, 1, *[2] * 20])
    folds = deal_folds(targets, np.arange(23), 5, seed=0)
    held = holding(folds, 23)
    assert sorted(held[:2].tolist()) == [2, 3]  # one in each fold, in turn
    assert held[2] == 0
    assert (held[3:] == 1).all()


def test_one_graph_of_each_class_leaves_all_folds_empty():
    assert [len(fold) for fold in deal_folds(np.arange(3), np.arange(3), 5, seed=0)] == [0] * 5


def test_the_seed_decides():
    targets = np.arange(40) % 3

    def dealt_by(seed):
        return [fold.tolist() for fold in deal_folds(targets, np.arange(40), 5, seed)]

    assert dealt_by(3) == dealt_by(3)
    assert dealt_by(3) != dealt_by(4)
