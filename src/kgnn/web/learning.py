"""Fit models in a separate process, so that the pages stay responsive.

The process receives the graphs once and then one job at a time. It reports progress and returns an
`Outcome`. It exits when the server does, even if that was killed.
"""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kgnn.errors import KgnnError, KgnnWarning
from kgnn.graphs.graph import Floats, GraphDataset, Ints
from kgnn.workers import end_with

_REPORT_SECONDS = 0.1  # between two reports of progress
_QUEUED = 400  # suggestions; more than the labels given between two fits
_NICE = 5  # lower priority than the process that serves the pages


class Job(NamedTuple):
    """A job: fit a model and predict all graphs, or only predict with a saved model."""

    targets: Ints  # (n_graphs,), positions in ``classes``; −1 for no label
    classes: tuple[str, ...]
    asked: Ints  # (n_graphs,) of 0 and 1: graphs that may be suggested
    valid: Ints  # (n_graphs,) of 0 and 1: graphs to fit on, labeled or not
    number: int  # of the saved model to predict with
    folder: Path | None  # of the model to read or write; None: only suggest, without a model
    is_fit: bool = False


@dataclass(frozen=True, eq=False)
class Outcome:
    """The predictions of a model for all graphs, and what follows from them."""

    number: int  # of the model; 0 if there is none yet
    classes: tuple[str, ...]  # of the columns
    proba: Floats  # (n_graphs, n_classes)
    disagreement: Floats | None  # (n_graphs,)
    novelty: Floats  # (n_graphs,), compared with the labeled graphs
    novelty_reasons: dict[int, str]  # by row, for graphs unlike the labeled graphs
    queue: list[tuple[int, str]]  # rows to label next and why, best first
    suspicious: list[tuple[int, str, str, float]]  # row, given, likely, its probability
    facts: dict[str, Any]  # of a new model, for the record; empty otherwise


@dataclass(frozen=True, eq=False)
class Map:
    """Places of the graphs on a map; the first thing that a process sends."""

    places: Floats  # (n_graphs, 2), from −1 to 1


class Progress(NamedTuple):
    """Progress of a job."""

    what: str
    done: int
    total: int
    seconds_left: float | None


class Learner:
    """Starts, feeds and stops the process; calls the callbacks in a separate thread."""

    def __init__(
        self,
        graphs: GraphDataset,
        method: str,
        parameters: dict[str, Any],
        fitted_on: dict[str, Any],
        *,
        on_progress: Callable[[Progress], None],
        on_map: Callable[[Map], None],
        on_outcome: Callable[[Outcome], None],
        on_failure: Callable[[str], None],
    ) -> None:
        self._start_with = (graphs, method, parameters, fitted_on)
        self._on_progress, self._on_outcome = on_progress, on_outcome
        self._on_map, self._on_failure = on_map, on_failure
        self._lock = threading.Lock()
        self._process: Any = None
        self._connection: Connection | None = None
        self.is_busy = False

    def submit(self, job: Job) -> bool:
        """Start a job; False if one is running."""
        with self._lock:
            if self.is_busy:
                return False
            self.is_busy = True
            connection = self._running()
        try:
            connection.send(job)
        except (OSError, ValueError):
            self._lost(connection)
        return True

    def stop(self) -> None:
        """End the process and its job; the next job starts a new one."""
        with self._lock:
            process, self._process, self._connection = self._process, None, None
            self.is_busy = False
        if process is not None:
            process.kill()
            process.join()

    def _running(self) -> Connection:
        if self._connection is not None and self._process.is_alive():
            return self._connection
        context = get_context("spawn")
        ours, theirs = context.Pipe()
        self._process = context.Process(
            target=_work, args=(theirs, os.getpid(), *self._start_with), daemon=True
        )
        self._process.start()
        theirs.close()
        self._connection = ours
        threading.Thread(target=self._listen, args=(ours,), daemon=True).start()
        return ours

    def _listen(self, connection: Connection) -> None:
        while True:
            try:
                told = connection.recv()
            except (EOFError, OSError):
                self._lost(connection)
                return
            if isinstance(told, Progress):
                self._on_progress(told)
                continue
            if isinstance(told, Map):
                self._on_map(told)
                continue
            with self._lock:
                if connection is not self._connection:
                    return  # the process was stopped
                self.is_busy = False
            if isinstance(told, Outcome):
                self._on_outcome(told)
            else:
                self._on_failure(told)

    def _lost(self, connection: Connection) -> None:
        """Report that the process died, unless it was stopped."""
        with self._lock:
            if connection is not self._connection:
                return
            self._connection = None
            was_busy, self.is_busy = self.is_busy, False
        if was_busy:
            self._on_failure("The fitting process died; did it run out of memory?")


# -- in the process ------------------------------------------------------------------------------


def _work(
    connection: Connection,
    parent: int,
    graphs: GraphDataset,
    method: str,
    parameters: dict[str, Any],
    fitted_on: dict[str, Any],
) -> None:
    end_with(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server handles Ctrl-C and ends this process
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    with suppress(OSError, AttributeError):
        os.nice(_NICE)
    from kgnn.progress import listening
    from kgnn.threads import limit_threads

    warnings.simplefilter("ignore", KgnnWarning)
    with limit_threads(1):
        connection.send(Map(map_of(graphs)))
        while True:
            try:
                job = connection.recv()
            except EOFError:
                return
            try:
                with listening(_Reports(connection)):
                    model, facts = _model(job, graphs, method, parameters, fitted_on)
                    outcome = _ask(job, model, graphs, facts)
                connection.send(outcome)
            except KgnnError as error:
                connection.send(str(error))
            except Exception as error:  # show bugs and lack of memory on the page, and go on
                connection.send(f"{type(error).__name__}: {error}")


class _Reports:
    """Sends throttled reports of progress with an estimate of the time left."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._begun: dict[str, float] = {}
        self._last = 0.0

    def __call__(self, what: str, done: int, total: int) -> None:
        now = time.monotonic()
        begun = self._begun.setdefault(what, now)
        is_outermost = next(iter(self._begun)) == what
        if done >= total:
            del self._begun[what]
        if now - self._last < _REPORT_SECONDS or not (is_outermost or done < total):
            return
        self._last = now
        left = (now - begun) / done * (total - done) if done else None
        self._connection.send(Progress(what, done, total, left))


def _model(
    job: Job,
    graphs: GraphDataset,
    method: str,
    parameters: dict[str, Any],
    fitted_on: dict[str, Any],
) -> tuple[Any, dict[str, Any]]:
    """Return the model of a job, and the facts to record about a new one."""
    from dataclasses import replace

    from kgnn.estimator.registry import make
    from kgnn.estimator.saving import open_model
    from kgnn.evaluation.model_facts import held_out_quality

    if job.folder is None:
        return None, {}
    if not job.is_fit:
        return open_model(job.folder), {}
    start = time.perf_counter()
    rows = np.flatnonzero(job.valid)
    known = replace(graphs, class_names=job.classes).with_targets(job.targets)
    model = make(method, **parameters).fit(known[rows])
    model.fitted_on_["read"] = fitted_on
    model.save(job.folder)
    quality = held_out_quality(model)
    facts: dict[str, Any] = {
        "labels": int((job.targets >= 0).sum()),
        "method": method,
        "seconds": round(time.perf_counter() - start, 2),
        "accuracy": None,
    }
    if quality is not None:
        low, high = quality.interval
        facts |= {"accuracy": quality.accuracy, "low": low, "high": high, "judged": quality.n}
        facts["majority"] = quality.majority_share
    return model, facts


def _ask(job: Job, model: Any, graphs: GraphDataset, facts: dict[str, Any]) -> Outcome:
    """Predict all graphs and derive suggestions and suspicious labels."""
    from kgnn.estimator.classifier import UNLABELED
    from kgnn.estimator.novelty import Familiar
    from kgnn.estimator.suggestion import Predictions, next_to_label

    plain = graphs.with_targets(np.full(len(graphs), UNLABELED))
    rows = np.flatnonzero(job.asked)
    if model is None:
        uniform = np.full((len(graphs), 2), 0.5)
        known = graphs[np.flatnonzero(job.targets >= 0)]
        unlabeled = graphs[rows].with_targets(np.full(len(rows), UNLABELED))
        first = next_to_label(
            unlabeled, known, lambda some: {"prediction": uniform[: len(some)]}, "??", _QUEUED
        )
        why = "similar to many unlabeled graphs"
        queue = [(int(rows[each.row]), why) for each in first]
        nothing = np.zeros(len(graphs))
        return Outcome(0, (), np.zeros((len(graphs), 0)), None, nothing, {}, queue, [], {})
    predictions = Predictions.of(model.predict_proba_all(plain))
    # The model was fitted on all graphs, so none is novel to it; compare with the labeled ones.
    found = Familiar.of(model.labeled_graphs_).compare(plain)
    suggested = model.suggest(plain[rows], _QUEUED) if len(rows) else []
    return Outcome(
        job.number,
        tuple(model.class_names),
        predictions.proba,
        predictions.disagreement,
        np.array([each.score for each in found]),
        {
            row: "; ".join(each.reasons).replace("training", "labeled")
            for row, each in enumerate(found)
            if each.is_novel
        },
        [(int(rows[each.row]), each.why) for each in suggested],
        _suspicious(model, job),
        facts,
    )


def _suspicious(model: Any, job: Job) -> list[tuple[int, str, str, float]]:
    """Return the labels that out-of-fold predictions contradict, as rows of all graphs."""
    from kgnn.evaluation.model_facts import doubted_labels

    held = model.held_out_
    if held is None:
        return []
    rows, classes = np.flatnonzero(job.valid), model.class_names
    return [
        (int(rows[held.rows[each.row]]), classes[each.given], classes[each.likely], each.confidence)
        for each in doubted_labels(model)
        if int(held.rows[each.row]) < len(rows)
    ]


def map_of(graphs: GraphDataset) -> Floats:
    """Return a place on the map for each graph, near similar graphs; from −1 to 1 on both axes.

    Uses UMAP if it is installed, otherwise the two leading singular vectors of the features.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> map_of(cycles_and_trees(20)).shape
    (20, 2)
    """
    from kgnn.kernels.projection import Projection
    from kgnn.kernels.weisfeiler_lehman import WeisfeilerLehman

    features = WeisfeilerLehman(2, coarse=(0.5, 1.0), counts="log", normalize="level")
    counted = features.fit_transform(graphs)
    places = np.zeros((len(graphs), 2))
    dimensions = Projection(50).fit(counted).transform(counted).astype(np.float64)
    found = _umap(dimensions)
    if found is None:
        found = dimensions[:, :2]
    places[:, : found.shape[1]] = found
    # Clip outliers, which would squeeze all other graphs together.
    low, high = np.quantile(places, (0.01, 0.99), axis=0)
    middle, half = (low + high) / 2, np.where(high > low, (high - low) / 2, 1.0)
    return np.asarray(np.clip((places - middle) / half, -1.1, 1.1) / 1.1)


def _umap(coordinates: Floats) -> Floats | None:
    try:
        from umap import UMAP  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        return None
    if len(coordinates) < 20:
        return None
    return np.asarray(UMAP(random_state=0).fit_transform(coordinates), dtype=np.float64)
