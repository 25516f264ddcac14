"""Which epoch is kept, and by whom an answer's epoch is chosen."""

import numpy as np
import pytest

from kgnn.engine.epochs import choose_epochs


def saying(truth, right):
    """Logits for the true class of each graph, or for the other one."""
    called = truth if right else 1 - truth
    return 2.0 * np.eye(2)[called]


TRUTH = np.array([0, 1] * 9)


def test_all_judges_choose_an_epoch_for_all_and_others_that_of_the_answers():
    """The first member is better in the end, the others at the first of two checkpoints."""
    answers = [[saying(TRUTH, i > 0), saying(TRUTH, i == 0)] for i in range(4)]
    found = choose_epochs(answers, [TRUTH] * 4, pooled=True)
    chosen, by_others, scores = zip(*found, strict=True)
    assert chosen == (0, 0, 0, 0)
    # The first member's graphs are answered at the checkpoint that is worse for them. Of the
    # others two are left, which is not evidence enough to stop early.
    assert by_others == (0, 1, 1, 1)
    assert all(each == scores[0] for each in scores)
    assert scores[0][0] > scores[0][1]


def test_without_pooling_each_training_has_its_own_best_epoch():
    answers = [[saying(TRUTH, right) for right in each] for each in ((False, True), (True, False))]
    found = choose_epochs(answers, [TRUTH, TRUTH], pooled=False)
    assert [each[:2] for each in found] == [(1, 1), (0, 0)]


@pytest.mark.parametrize("seed", range(20))
def test_no_graph_has_a_say_in_the_epoch_of_its_own_answer(seed):
    rng = np.random.default_rng(seed)
    truths = rng.integers(0, 2, (3, 6))
    answers = rng.normal(size=(3, 4, 6, 2)) * rng.choice([0.1, 1, 10], (3, 4, 1, 1))
    answers += 2 * np.eye(2)[truths][:, None]
    for member in range(3):
        chosen = set()
        for _ in range(5):
            truths[member] = rng.integers(0, 2, 6)
            found = choose_epochs(answers.tolist(), list(truths), pooled=True)
            chosen.add(found[member][1])
        assert len(chosen) == 1


def test_members_without_judges_are_kept_at_the_common_epoch():
    nobody = np.array([], dtype=np.int64)
    early = [saying(TRUTH, True), saying(TRUTH, False)]
    found = choose_epochs([early, [], early], [TRUTH, nobody, TRUTH], pooled=True)
    assert [each[:2] for each in found] == [(0, 0), (0, 0), (0, 0)]
    alone = choose_epochs([early, []], [TRUTH, nobody], pooled=True)
    assert [each[:2] for each in alone] == [(0, 1), (0, 0)]  # nobody else can say


def test_without_judges_the_last_epoch_is_kept():
    nobody = [np.array([], dtype=np.int64)] * 2
    assert choose_epochs([[], []], nobody, pooled=True) == [(-1, -1, [])] * 2
    assert choose_epochs([[], []], nobody, pooled=False) == [(-1, -1, [])] * 2
