"""A bounded queue of requests and a thread that answers them in batches.

Predicting thirty small graphs takes hardly longer than predicting one, so requests that arrive
while the thread is busy are answered together. When the queue is full, requests are refused at once
instead of waiting for an answer that would come too late.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, Generic, TypeVar

from kgnn.errors import KgnnError
from kgnn.progress import checking

Question = TypeVar("Question")


class BusyError(KgnnError):
    """The queue is full, or the server is stopping."""


class TooSlowError(KgnnError):
    """A request exceeded its time limit."""


class _Waiting(Generic[Question]):
    def __init__(self, question: Question, weight: int, deadline: float) -> None:
        self.question, self.weight, self.deadline = question, weight, deadline
        self.future: Future[Any] = Future()


class Lane(Generic[Question]):
    """A thread that answers questions.

    Parameters
    ----------
    answer : callable
        Maps a list of questions to a list of answers; an answer may be an exception.
    capacity : int
        Most questions that may wait.
    seconds : float
        Time limit for a question, including its wait.
    together : int
        Largest total weight of a batch; a heavier question is answered alone.
    gathering : float
        Seconds to wait for more questions before answering a batch.
    begin : callable
        Called once in the thread before the first question.

    Examples
    --------
    >>> lane = Lane(lambda questions: [2 * each for each in questions], capacity=8, seconds=5)
    >>> asyncio.run(lane.ask(21))
    42
    >>> lane.close()
    """

    def __init__(
        self,
        answer: Callable[[Sequence[Question]], Sequence[Any]],
        *,
        capacity: int,
        seconds: float,
        together: int = 1,
        gathering: float = 0.0,
        begin: Callable[[], object] = lambda: None,
    ) -> None:
        self._answer, self._together = answer, together
        self._gathering, self._begin = gathering, begin
        self.capacity, self.seconds = capacity, seconds
        self._waiting: deque[_Waiting[Question]] = deque()
        self._news = threading.Condition()
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, daemon=True, name="lane")
        self._thread.start()

    async def ask(self, question: Question, weight: int = 1) -> Any:
        """Wait for the answer to a question."""
        waiting = _Waiting(question, weight, time.monotonic() + self.seconds)
        with self._news:
            if self._is_closed:
                raise BusyError("The server is stopping.")
            if len(self._waiting) >= self.capacity:
                raise BusyError(
                    f"{self.capacity} requests are already waiting, the limit of this server; try "
                    "again in a moment."
                )
            self._waiting.append(waiting)
            self._news.notify()
        try:
            return await asyncio.wait_for(asyncio.wrap_future(waiting.future), self.seconds)
        except (TimeoutError, asyncio.TimeoutError) as error:  # noqa: UP041 - two before 3.11
            raise self._too_slow() from error

    def close(self) -> None:
        """Answer the waiting questions, then stop."""
        with self._news:
            self._is_closed = True
            self._news.notify()
        self._thread.join(timeout=self.seconds)

    def _too_slow(self) -> TooSlowError:
        return TooSlowError(
            f"The answer took more than {self.seconds:g} seconds, the limit of this server; send "
            "fewer or smaller graphs."
        )

    def _run(self) -> None:
        self._begin()
        while True:
            with self._news:
                while not self._waiting and not self._is_closed:
                    self._news.wait()
                if not self._waiting:
                    return
            if self._gathering and not self._is_closed:
                time.sleep(self._gathering)
            with self._news:
                batch = self._next()
            self._answer_all([each for each in batch if self._is_wanted(each)])

    def _next(self) -> list[_Waiting[Question]]:
        batch, weight = [self._waiting.popleft()], 0
        weight += batch[0].weight
        while self._waiting and weight + self._waiting[0].weight <= self._together:
            batch.append(self._waiting.popleft())
            weight += batch[-1].weight
        return batch

    def _is_wanted(self, waiting: _Waiting[Question]) -> bool:
        """Tell whether the question is still open, and mark it as running."""
        return time.monotonic() < waiting.deadline and waiting.future.set_running_or_notify_cancel()

    def _answer_all(self, batch: list[_Waiting[Question]]) -> None:
        if not batch:
            return
        latest = max(each.deadline for each in batch)

        def check() -> None:
            if time.monotonic() > latest:
                raise self._too_slow()

        try:
            with checking(check):
                answers = self._answer([each.question for each in batch])
        except Exception as error:
            answers = [error] * len(batch)
        for each, answer in zip(batch, answers, strict=True):
            if isinstance(answer, Exception):
                each.future.set_exception(answer)
            else:
                each.future.set_result(answer)
