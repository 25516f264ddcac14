"""What the pages of a project show and do: the queue, answers, learning, opinions."""

from __future__ import annotations

import csv
import io
import logging
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kgnn.colors import N_SERIES
from kgnn.errors import KgnnError, ParameterError, UnknownNameError, excerpt
from kgnn.graphs.readers.labels_csv import label_graphs, read_labels
from kgnn.graphs.readers.text import harmless
from kgnn.web import curve
from kgnn.web.learning import Job, Learner, Map, Outcome, Progress
from kgnn.web.pool import Pool
from kgnn.web.project import INVALID, LABEL, UNSURE, Event, Given, Project

logger = logging.getLogger(__name__)

_LEASE_SECONDS = 10 * 60  # for which a graph that one window got is not given to another
_MOST_AT_ONCE = 20  # graphs that a window may ask for
_CONTRADICTING = 3  # labeled graphs beside a suspicious one
_NEIGHBORS = 5
_WORTH_SAYING = 3.0  # seconds left


class Settings(NamedTuple):
    """How a project learns."""

    method: str = "kgnn"
    parameters: dict[str, Any] = {}  # noqa: RUF012 - never changed
    every: int = 10  # answers after which it fits again; 0 for never by itself


class Workbench:
    """A project with its graphs, a process that learns, and whoever listens to changes.

    ``on_change`` is called, from any thread, when something that pages show has changed.
    """

    def __init__(
        self,
        project: Project,
        pool: Pool,
        settings: Settings,
        *,
        read: Mapping[str, Any] | None = None,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        self.project, self.pool, self.settings = project, pool, settings
        self.on_change = on_change
        self.outcome: Outcome | None = None
        self.places: np.ndarray[Any, Any] | None = None
        self._progress: Progress | None = None
        self._failure = ""
        self._fitting = False
        self._is_wanted = False  # a fit, as soon as the process is free
        self._fit_started, self._fit_version, self._fit_name = 0.0, 0, ""
        self._leases: dict[str, tuple[str | None, float]] = {}  # graph: window and until when
        self._lock = threading.RLock()
        self._model: Any = None  # with its number, for explanations
        self._model_lock = threading.Lock()
        self._learner = Learner(
            pool.graphs,
            settings.method,
            settings.parameters,
            dict(read or {}),
            on_progress=self._note_progress,
            on_map=self._note_map,
            on_outcome=self._note_outcome,
            on_failure=self._note_failure,
        )

    def start(self) -> None:
        """Ask the latest model about all graphs, or find the first graphs to label."""
        number, folder = self._latest_model()
        self._learner.submit(self._job(folder, number))

    def stop(self) -> None:
        """End the process that learns."""
        self._learner.stop()

    # -- what pages show --------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return what all pages show: counts, classes, the model and how learning goes."""
        self.project.refresh()
        held = self._held()
        kinds = [each.kind for each in held.values()]
        labels = [each.label for each in held.values() if each.kind == LABEL]
        models = [self._told_of(event) for event in self.project.models]
        points = curve.points(models)
        return {
            "version": self.project.version,
            "classes": [
                {"name": name, "count": labels.count(name), "color": f"s{n % N_SERIES}"}
                for n, name in enumerate(self.project.classes)
            ],
            "graphs": len(self.pool),
            "labeled": kinds.count(LABEL),
            "unsure": kinds.count(UNSURE),
            "invalid": kinds.count(INVALID),
            "model": models[-1] if models else None,
            "asked": self.outcome.number if self.outcome else None,
            "has_map": self.places is not None,
            "suspicious": len(self._suspicious()),
            "every": self.settings.every,
            "new": self._n_new(),
            "learning": self._learning(),
            "curve": [point._asdict() for point in points],
            "advice": curve.advice(points),
            "lacking": self._lacking(),
        }

    def next(self, window: str, n: int, without: Sequence[str] = ()) -> list[dict[str, Any]]:
        """Return the next graphs to label for a window.

        For a while, no other window gets them, unless nothing else is left: a window that was
        closed may hold them.
        """
        now, skipped, keys = time.monotonic(), set(without), self.pool.keys
        with self._lock:
            self._leases = {g: lease for g, lease in self._leases.items() if lease[1] > now}
            left = [
                (row, why)
                for row, why in self._queue()
                if keys[row] not in self.project.answers and keys[row] not in skipped
            ]
            free = [each for each in left if self._holder(keys[each[0]]) in (None, window)]
            found = (free or left)[: min(n, _MOST_AT_ONCE)]
            self._leases |= {keys[row]: (window, now + _LEASE_SECONDS) for row, _ in found}
        return [{**self.pool.card(row, is_large=True), "why": why} for row, why in found]

    def _holder(self, key: str) -> str | None:
        return self._leases.get(key, (None, 0.0))[0]

    def graph(self, key: str) -> dict[str, Any]:
        """Return a graph with its answer and all that was ever answered about it."""
        card = self.pool.card(self.row(key), is_large=True)
        answer = self.project.answers.get(key)
        return {
            **card,
            "answer": None if answer is None else _plain(answer),
            "history": [_plain(event) for event in self.project.history(key)],
        }

    def opinion(self, key: str) -> dict[str, Any] | None:
        """Return what the model says of a graph; None without a model."""
        row, said = self.row(key), self.outcome
        if said is None or not said.number:
            return None
        shares = zip(said.classes, said.proba[row].tolist(), strict=True)
        return {
            "model": said.number,
            "probabilities": sorted(shares, key=lambda each: -each[1]),
            "unlike": said.novelty_reasons.get(row, ""),
        }

    def table(self) -> dict[str, Any]:
        """Return all graphs by column, for the page that explores them."""
        said, n = self.outcome, len(self.pool)
        answers = [self.project.answers.get(key) for key in self.pool.keys]
        has_model = said is not None and said.number > 0
        doubted = {row: likely for row, _, likely, _ in self._suspicious()}
        best = said.proba.argmax(axis=1).tolist() if said and has_model else []
        return {
            "version": self.project.version,
            "asked": said.number if said else None,
            "classes": self.project.classes,
            "graph": self.pool.keys,
            "name": self.pool.names,
            "nodes": self.pool.graphs.graph_sizes.tolist(),
            "edges": self.pool.graphs.edge_counts.tolist(),
            "answer": [None if each is None else each.kind for each in answers],
            "label": [None if each is None else each.label for each in answers],
            "seen": [0 if each is None else each.id for each in answers],
            "prediction": [said.classes[at] for at in best] if said and best else [None] * n,
            "confidence": _rounded(said.proba.max(axis=1) if said and has_model else None, n),
            "disagreement": _rounded(said.disagreement if said else None, n),
            "novelty": _rounded(said.novelty if said and has_model else None, n),
            "unlike": [said.novelty_reasons.get(row) if said else None for row in range(n)],
            "suspicious": [doubted.get(row) for row in range(n)],
            "x": _rounded(None if self.places is None else self.places[:, 0], n),
            "y": _rounded(None if self.places is None else self.places[:, 1], n),
        }

    def doubts(self) -> list[dict[str, Any]]:
        """Return suspicious labels, each beside labeled graphs of the likely class that it is like.

        Answers that were given since the model was fitted are taken into account.
        """
        found = []
        for row, given, likely, confidence in self._suspicious():
            key = self.pool.keys[row]
            found.append(
                {
                    **self.pool.card(row),
                    "seen": self.project.answers[key].id,
                    "given": given,
                    "likely": likely,
                    "confidence": confidence,
                    "contradicting": self._alike(row, likely),
                }
            )
        return found

    def labels_csv(self, for_spreadsheets: bool = False) -> str:
        """Return all answers as a table that ``--labels`` takes; other columns say more.

        With ``for_spreadsheets``, an apostrophe goes before text that would be run as a formula.
        """
        kept = harmless if for_spreadsheets else str
        lines = io.StringIO()
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow(["id", "label", "answer", "who", "at"])
        for key, name in zip(self.pool.keys, self.pool.names, strict=True):
            if each := self.project.answers.get(key):
                cells = [name, each.label or "", each.kind, each.who, each.at]
                writer.writerow(map(kept, cells))
        return lines.getvalue()

    # -- what pages do ----------------------------------------------------------------------------

    def answer(
        self,
        given: Sequence[Given],
        *,
        who: str,
        action: str,
        shown: Mapping[str, Any] | None = None,
    ) -> list[dict[str, Any]]:
        """Record answers about graphs, and fit again if there are enough new ones."""
        for each in given:
            self.row(each.graph)
        advising = self.outcome.number if self.outcome else None
        events = self.project.answer(given, who=who, action=action, model=advising, shown=shown)
        self._changed()
        return [_plain(event) for event in events]

    def undo(self, action: str, *, who: str, by: str) -> list[str]:
        """Undo an action, and return the graphs whose answers it was."""
        graphs = self.project.undo(action, who=who, by=by)
        self._changed()
        return graphs

    def add_class(self, name: str, *, who: str) -> None:
        """Make a class."""
        self.project.add_class(name.strip(), who=who)
        self._changed()

    def import_labels(
        self, path: Path, *, who: str, ignore_unknown: bool = False
    ) -> dict[str, Any]:
        """Take labels from a CSV file; answers that there are already stay."""
        labeled, unknown = label_graphs(
            self.pool.graphs, read_labels(path), ignore_unknown=ignore_unknown
        )
        labels = {
            self.pool.keys[graph.row]: graph.target for graph in labeled if graph.target is not None
        }
        added, differing = self.project.add_labels(labels, who=who)
        self._changed()
        names = [self.pool.names[self.pool.row_of[key]] for key in differing]
        return {"added": added, "differing": names, "unknown": unknown}

    def learn(self) -> None:
        """Fit a model on the answers."""
        if lacking := self._lacking():
            raise ParameterError(lacking)
        with self._lock:
            version = self.project.version
            folder = self.project.folder_of_model(f"{version}-{secrets.token_hex(3)}")
            if not self._learner.submit(self._job(folder, is_fit=True)):
                # It is still asking the last model; or it fits already, which is as good.
                self._is_wanted = not self._fitting
                return
            self._is_wanted = False
            self._fitting, self._failure, self._progress = True, "", None
            self._fit_started, self._fit_version = time.monotonic(), version
            self._fit_name = folder.name
        self.on_change()

    def stop_learning(self) -> None:
        """Give up the fit that is running; the model stays as it is."""
        with self._lock:
            if self._fitting:
                self._learner.stop()
                self._fitting, self._progress = False, None
        self.on_change()

    # -- explanations -----------------------------------------------------------------------------

    def explanation(self, key: str) -> Any:
        """Explain what the model says of a graph; None without a model. Takes a while."""
        graph = self.pool.graphs[self.row(key)]
        with self._model_lock:
            model = self._opened()
            return None if model is None else model.explain(graph, neighbors=_NEIGHBORS)

    def _alike(self, row: int, label: str) -> list[dict[str, Any]]:
        """Return the graphs labeled so that are most like a graph."""
        from kgnn.estimator.explanation import plain_similarity

        held = self._held()
        rows = [
            self.pool.row_of[key]
            for key, each in held.items()
            if each.label == label and self.pool.row_of[key] != row
        ]
        if not rows:
            return []
        graphs = self.pool.graphs
        values = plain_similarity(graphs[[row]], graphs[rows])[0]
        best = np.argsort(-values, kind="stable")[:_CONTRADICTING]
        return [
            {**self.pool.card(rows[at]), "label": label, "similarity": float(values[at])}
            for at in best.tolist()
        ]

    def neighbors(self, key: str) -> list[dict[str, Any]]:
        """Return the labeled graphs that are most like a graph, where there is no model yet."""
        row = self.row(key)
        found = [each for name in self.project.classes for each in self._alike(row, name)]
        return sorted(found, key=lambda each: -each["similarity"])[:_NEIGHBORS]

    def _opened(self) -> Any:
        """Return the model that advises, which is kept open."""
        from kgnn.estimator.saving import open_model

        number = self.outcome.number if self.outcome else 0
        event = next((each for each in self.project.models if each.id == number), None)
        if event is None:
            return None
        if self._model is None or self._model[0] != number:
            folder = self.project.folder_of_model(event.details["folder"])
            self._model = (number, open_model(folder))
        return self._model[1]

    # -- inside -----------------------------------------------------------------------------------

    def row(self, key: str) -> int:
        """Return where a graph is, or say that there is none."""
        if key not in self.pool.row_of:
            raise UnknownNameError(f"There is no graph '{excerpt(key)}' in this project.")
        return self.pool.row_of[key]

    def _held(self) -> dict[str, Event]:
        """Return the answers about graphs that are in the data now."""
        row_of = self.pool.row_of
        return {key: each for key, each in list(self.project.answers.items()) if key in row_of}

    def _queue(self) -> list[tuple[int, str]]:
        """Return all rows in the order in which they are asked about."""
        said = self.outcome
        if said is None:
            return [(row, "") for row in range(len(self.pool))]
        first = {row for row, _ in said.queue}
        rest = np.arange(len(self.pool))
        if said.number:
            rest = np.argsort(said.proba.max(axis=1), kind="stable")
        why = "the model is not certain" if said.number else "no label yet"
        return [*said.queue, *((row, why) for row in rest.tolist() if row not in first)]

    def _suspicious(self) -> list[tuple[int, str, str, float]]:
        """Return labels that the model contradicts and that nobody has confirmed or changed since.

        An answer that is newer than the model has been looked at with the doubt in view.
        """
        said = self.outcome
        if said is None or not said.number:
            return []
        upto = next((e.details["upto"] for e in self.project.models if e.id == said.number), 0)
        answers = self.project.answers
        return [
            each
            for each in said.suspicious
            if (held := answers.get(self.pool.keys[each[0]])) is not None
            and held.label == each[1]
            and held.id <= upto
            and held.details.get("source") != "check"
        ]

    def _n_new(self) -> int:
        """Count the labels that the latest model, or the fit that is running, does not know."""
        upto = self.project.models[-1].details["upto"] if self.project.models else 0
        if self._fitting:
            upto = max(upto, self._fit_version)
        return sum(each.id > upto and each.kind != UNSURE for each in self._held().values())

    def _lacking(self) -> str:
        """Say what is still missing before a model can be fitted; empty if nothing is."""
        counts = dict.fromkeys(self.project.classes, 0)
        for each in self._held().values():
            if each.label is not None:
                counts[each.label] += 1
        if sum(n > 1 for n in counts.values()) < 2:
            return "A model needs two graphs of each of at least two classes."
        return ""

    def _latest_model(self) -> tuple[int, Path | None]:
        for event in reversed(self.project.models):
            folder = self.project.folder_of_model(event.details["folder"])
            if (folder / "model.safetensors").is_file():
                return event.id, folder
        return 0, None

    def _job(self, folder: Path | None, number: int = 0, *, is_fit: bool = False) -> Job:
        held, classes = self._held(), tuple(self.project.classes)
        targets = np.full(len(self.pool), -1)
        is_asked, is_valid = (np.ones(len(self.pool), dtype=np.int64) for _ in range(2))
        for key, each in held.items():
            row = self.pool.row_of[key]
            is_asked[row] = 0
            is_valid[row] = each.kind != INVALID
            if each.label is not None:
                targets[row] = classes.index(each.label)
        used = sorted({int(target) for target in targets if target >= 0})
        place = {code: n for n, code in enumerate(used)}
        targets = np.array([place.get(int(target), -1) for target in targets])
        named = tuple(classes[code] for code in used)
        return Job(targets, named, is_asked, is_valid, number, folder, is_fit)

    def _learning(self) -> dict[str, Any]:
        progress = self._progress
        told = {"is_running": self._fitting, "failure": self._failure}
        if not self._fitting:
            return told
        seconds = time.monotonic() - self._fit_started
        earlier = [self._told_of(each).get("seconds") for each in self.project.models]
        left = None if progress is None else progress.seconds_left
        if left is not None and left < _WORTH_SAYING:  # one of many short steps
            left = None
        if earlier and earlier[-1]:  # the whole fit, not one of its parts
            left = max(1.0, earlier[-1] - seconds)
        return {
            **told,
            "what": "starting" if progress is None else progress.what,
            "done": 0 if progress is None else progress.done,
            "total": 1 if progress is None else progress.total,
            "seconds": round(seconds, 1),
            "seconds_left": left,
        }

    def _told_of(self, event: Event) -> dict[str, Any]:
        return {"number": event.id, "at": event.at, **event.details}

    def _changed(self) -> None:
        enough = self.settings.every and self._n_new() >= self.settings.every
        if enough and not self._fitting and not self._lacking():
            self.learn()
        self.on_change()

    def _note_progress(self, progress: Progress) -> None:
        self._progress = progress
        self.on_change()

    def _note_map(self, found: Map) -> None:
        self.places = found.places
        self.on_change()

    def _note_outcome(self, outcome: Outcome) -> None:
        with self._lock:
            if outcome.facts:
                details = {
                    **outcome.facts,
                    "upto": self._fit_version,
                    "folder": self._fit_name,
                }
                event = self.project.add_model(details)
                outcome = replace(outcome, number=event.id)
            self.outcome, self._fitting, self._progress = outcome, False, None
        if self._is_wanted and not self._lacking():
            self.learn()
        self._changed()
        # Loading it takes seconds, which the first who asks for evidence need not wait.
        threading.Thread(target=self._open_ahead, daemon=True, name="open model").start()

    def _open_ahead(self) -> None:
        try:
            with self._model_lock:
                self._opened()
        except KgnnError as error:  # who asks will be told
            logger.warning("the model cannot be opened: %s", error)

    def _note_failure(self, message: str) -> None:
        logger.warning("learning failed: %s", message)
        with self._lock:
            self._fitting, self._progress, self._failure = False, None, message
        self.on_change()


def _plain(event: Event) -> dict[str, Any]:
    return {
        "event": event.id,
        "graph": event.graph,
        "kind": event.kind,
        "label": event.label,
        "who": event.who,
        "at": event.at,
        "action": event.action,
        "undone": event.undone,
    }


def _rounded(values: Any, n: int) -> list[float | None]:
    return [None] * n if values is None else np.round(values, 4).tolist()


def import_targets(project: Project, pool: Pool, *, who: str) -> tuple[int, list[str]]:
    """Take the classes that graphs have in the data as labels."""
    given = {
        pool.keys[graph.row]: graph.target for graph in pool.graphs if graph.target is not None
    }
    return project.add_labels(given, who=who)


def require_same_data(project: Project, pool: Pool, source: str) -> None:
    """Refuse data that have nothing to do with the answers of a project."""
    answered = set(project.answers)
    if answered and not answered & set(pool.keys):
        raise KgnnError(
            f"The project {project.folder} has {len(answered):,} answers, and none is about a "
            f"graph of {source}; it is about {project.fact('data')}. Name another folder with -o."
        )
