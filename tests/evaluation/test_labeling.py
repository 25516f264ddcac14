import numpy as np
import pytest

from kgnn.errors import GraphDataError, ParameterError
from kgnn.evaluation.labeling import RANDOM, SUGGESTED, Fit, Labeling, simulate_labeling
from kgnn.graphs.datasets.toy import cycles_and_trees, planted_motifs
from kgnn.methods.ldp import LDP
from kgnn.progress import listening

GRAPHS = planted_motifs(100)


class Recording(LDP):
    """Notes what it was fitted on."""

    seen = []

    def fit(self, X, y=None, *, validation=None):
        assert validation is None
        self.seen.append((X, np.flatnonzero(X.targets >= 0)))
        return super().fit(X, y, validation=validation)


def build(seed):
    return Recording(trees=10, cross_fit=0, random_state=seed)


@pytest.fixture
def fits():
    Recording.seen = []
    return Recording.seen


def test_both_choices_have_the_same_labels_at_first_and_as_many_later(fits):
    done = simulate_labeling(build, GRAPHS, start=10, step=8, rounds=3, splits=2)
    assert done.labels == [10, 18, 26, 34]
    for choice in (SUGGESTED, RANDOM):
        assert done.accuracies(choice).shape == (2, 4)
    assert (done.accuracies(SUGGESTED)[:, 0] == done.accuracies(RANDOM)[:, 0]).all()
    # Of a split: the beginning, then three of each choice, each with what was there before.
    assert [len(labeled) for _, labeled in fits] == [10, 18, 26, 34, 18, 26, 34] * 2
    beginning = set(fits[0][1].tolist())
    for labeled in (fits[1][1], fits[4][1]):
        assert beginning < set(labeled.tolist())
    assert set(fits[2][1].tolist()) < set(fits[3][1].tolist())
    assert set(fits[3][1].tolist()) != set(fits[6][1].tolist())


def test_a_fifth_is_kept_for_the_score_and_the_rest_is_seen_without_labels(fits):
    simulate_labeling(build, GRAPHS, start=10, step=10, rounds=1, splits=1)
    assert {len(graphs) for graphs, _ in fits} == {80}


def test_it_is_reproducible_and_splits_differ():
    amounts = {"start": 6, "step": 6, "rounds": 2}
    first = simulate_labeling(build, GRAPHS, splits=2, seed=3, **amounts)
    again = simulate_labeling(build, GRAPHS, splits=1, seed=4, **amounts)
    assert [fit for fit in first.fits if fit.seed == 4] == list(again.fits)


def test_the_pool_may_run_out():
    done = simulate_labeling(build, GRAPHS, start=60, step=15, rounds=5, splits=1)
    assert done.labels == [60, 75, 80]
    assert done.accuracies(SUGGESTED)[0, -1] == done.accuracies(RANDOM)[0, -1]


def test_where_too_few_look_different_chance_fills_up(fits):
    simulate_labeling(
        build, cycles_and_trees(100, max_nodes=5), start=10, step=30, rounds=1, splits=1
    )
    assert [len(labeled) for _, labeled in fits] == [10, 40, 40]


def test_the_gain_is_the_mean_difference_after_the_start():
    accuracies = {SUGGESTED: [[50, 60, 72], [40, 60, 60]], RANDOM: [[50, 58, 70], [40, 54, 58]]}
    fits = tuple(
        Fit(seed, choice, 10 * (at + 1), float(value))
        for choice, rows in accuracies.items()
        for seed, row in enumerate(rows)
        for at, value in enumerate(row)
    )
    done = Labeling("toy", fits)
    assert done.gain() == pytest.approx((3.0, 1.0))
    assert done.mean(SUGGESTED).tolist() == [45, 60, 66]
    assert done.difference()[0].tolist() == [0, 4, 2]
    assert done.difference()[1] == pytest.approx([0, 2, 0])
    assert done.error(RANDOM)[0] == pytest.approx(5)
    summary = done.summary()
    assert (summary["splits"], summary["gain"], len(summary["fits"])) == (2, 3.0, 12)


def test_progress_ends_where_it_should():
    told = []
    with listening(lambda what, done, total: told.append((what, done, total))):
        simulate_labeling(build, GRAPHS, start=10, step=10, rounds=2, splits=2)
    assert [t for t in told if t[0] == "labeling and fitting"][-1][1:] == (12, 12)


def test_mistakes_are_named():
    with pytest.raises(ParameterError, match="has 80 outside TEST, got 80"):
        simulate_labeling(build, GRAPHS, start=80)
    with pytest.raises(ParameterError, match="'step' of a simulation must be at least 1, got 0"):
        simulate_labeling(build, GRAPHS, step=0)
    with pytest.raises(GraphDataError, match="without a target"):
        simulate_labeling(build, GRAPHS.with_targets(np.full(100, -1)))
