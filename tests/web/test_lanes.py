"""Requests wait in a bounded queue, are answered together, and never for too long."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from kgnn.progress import track
from kgnn.web.lanes import BusyError, Lane, TooSlowError


def _all(lane, questions):
    async def ask():
        asked = (lane.ask(each) for each in questions)
        return await asyncio.gather(*asked, return_exceptions=True)

    return asyncio.run(ask())


def test_what_comes_in_meanwhile_is_answered_together_in_order():
    sizes = []

    def double(questions):
        sizes.append(len(questions))
        time.sleep(0.05)
        return [2 * each for each in questions]

    lane = Lane(double, capacity=100, seconds=10, together=8)
    assert _all(lane, range(30)) == [2 * each for each in range(30)]
    lane.close()
    assert max(sizes) == 8
    assert len(sizes) < 8


def test_a_full_queue_refuses_at_once_and_the_others_are_answered():
    free = threading.Event()

    def wait(questions):
        free.wait(10)
        return list(questions)

    lane = Lane(wait, capacity=3, seconds=10)

    async def ask():
        first = asyncio.ensure_future(lane.ask(0))
        await asyncio.sleep(0.1)  # it is being answered, and does not wait any more
        others = [asyncio.ensure_future(lane.ask(n)) for n in (1, 2, 3)]
        await asyncio.sleep(0.1)
        with pytest.raises(BusyError, match="3 requests"):
            await lane.ask(4)
        free.set()
        return await asyncio.gather(first, *others)

    assert asyncio.run(ask()) == [0, 1, 2, 3]
    lane.close()


def test_an_answer_that_takes_too_long_is_given_up_where_it_reports_progress():
    ended = threading.Event()

    def slow(questions):
        try:
            for _ in track(range(100), "thinking"):
                time.sleep(0.02)
        finally:
            ended.set()
        return list(questions)

    lane = Lane(slow, capacity=3, seconds=0.2)
    start = time.monotonic()
    (error,) = _all(lane, [1])
    assert isinstance(error, TooSlowError)
    assert "0.2 seconds" in str(error)
    assert ended.wait(1)
    assert time.monotonic() - start < 1
    lane.close()


def test_an_error_is_of_the_question_that_caused_it():
    def each(questions):
        return [ValueError("odd") if q % 2 else q for q in questions]

    lane = Lane(each, capacity=10, seconds=5, together=10)
    first, second, third = _all(lane, [0, 1, 2])
    assert (first, third) == (0, 2)
    assert isinstance(second, ValueError)
    lane.close()


def test_a_lane_goes_on_after_an_error_and_answers_all_before_it_closes():
    def fail(questions):
        if questions[0] == "bad":
            raise RuntimeError("no")
        time.sleep(0.05)
        return list(questions)

    lane = Lane(fail, capacity=10, seconds=5)

    async def ask():
        asked = [asyncio.ensure_future(lane.ask(each)) for each in ("bad", "a", "b")]
        await asyncio.sleep(0.02)
        await asyncio.to_thread(lane.close)
        with pytest.raises(BusyError, match="stopping"):
            await lane.ask("late")
        return await asyncio.gather(*asked, return_exceptions=True)

    error, *rest = asyncio.run(ask())
    assert isinstance(error, RuntimeError)
    assert rest == ["a", "b"]
