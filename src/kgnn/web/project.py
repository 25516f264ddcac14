"""The record of a labeling project: an append-only log of events in one SQLite file.

::

    project/project.sqlite     who answered what and when, and what they had seen
    project/models/NAME/       models fitted on the answers

An event is an answer about a graph, the undoing of an answer, a new class or a new model. The
current state follows from the events: the answer about a graph is the latest one that was not
undone. Events are flushed to the disk before a call returns, so a killed process loses at most what
it had not confirmed. Several processes may write at the same time: each names the answer that it
had seen, and is refused if another one came in between.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from kgnn.errors import KgnnError, ParameterError, excerpt

FILE = "project.sqlite"
LABEL, UNSURE, INVALID = "label", "unsure", "invalid"  # kinds of answers
_UNDO, _CLASS, _MODEL = "undo", "class", "model"  # kinds of other events
_APPLICATION = 0x6B676E6E
_BUSY_SECONDS = 30.0  # to wait while another process writes
_LONGEST_NAME = 200  # characters of a class or a person

# A new version of the schema appends a step; the version of a file counts the steps applied to it.
_STEPS = (
    """
    CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
    CREATE TABLE events (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        at TEXT NOT NULL,
        who TEXT NOT NULL,
        action TEXT NOT NULL,  -- chosen by the client, so that a repeated request is done once
        kind TEXT NOT NULL CHECK (kind IN ('label', 'unsure', 'invalid', 'undo', 'class', 'model')),
        graph TEXT,            -- hash of its content
        label TEXT,            -- of an answer, or the name of a new class
        undone INTEGER REFERENCES events (id),
        model INTEGER,         -- the event of the model in use
        shown TEXT,            -- JSON: what the person had seen, or the facts about a model
        UNIQUE (action, graph)
    ) STRICT;
    CREATE TRIGGER events_are_not_changed BEFORE UPDATE ON events
        BEGIN SELECT RAISE(ABORT, 'events are only ever added'); END;
    CREATE TRIGGER events_are_not_removed BEFORE DELETE ON events
        BEGIN SELECT RAISE(ABORT, 'events are only ever added'); END;
    """,
)
_COLUMNS = "id, at, who, action, kind, graph, label, undone, model, shown"


class ProjectError(KgnnError, ValueError):
    """A folder that is not a project, or was written by a newer version of kgnn."""


class ConflictError(KgnnError, ValueError):
    """An answer to a graph that somebody else has answered in the meantime."""

    def __init__(self, graphs: Sequence[str]) -> None:
        super().__init__(f"Somebody else has already answered {len(graphs):,} of these graphs.")
        self.graphs = list(graphs)


class Event(NamedTuple):
    """A row of the record."""

    id: int
    at: str
    who: str
    action: str
    kind: str
    graph: str | None
    label: str | None
    undone: int | None
    model: int | None
    shown: str | None

    @property
    def details(self) -> dict[str, Any]:
        """The content of ``shown``."""
        return json.loads(self.shown) if self.shown else {}


class Given(NamedTuple):
    """An answer to record."""

    graph: str
    kind: str
    label: str | None = None
    seen: int = 0  # event of the answer that was current when this one was given; 0 for none


class Project:
    """A labeling project; thread-safe.

    Examples
    --------
    >>> import tempfile
    >>> project = Project(tempfile.mkdtemp())
    >>> project.add_class("ring", who="Ada")
    >>> given = project.answer([Given("a1b2", LABEL, "ring")], who="Ada", action="1")
    >>> project.answers["a1b2"].label, project.undo("1", who="Ada"), project.answers
    ('ring', ['a1b2'], {})
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.version = 0  # the latest event read
        self.classes: list[str] = []  # in order of creation
        self.answers: dict[str, Event] = {}  # current ones, by graph
        self.models: list[Event] = []
        self._given: dict[str, list[Event]] = {}  # by graph, those that were not undone
        self._by_action: dict[str, list[Event]] = {}
        self._lock = threading.RLock()
        self._open()

    def _open(self) -> None:
        path = self.folder / FILE
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._base = sqlite3.connect(
                path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            weakref.finalize(self, self._base.close)
            self._base.execute("PRAGMA trusted_schema = OFF")
            self._prepare(path)
            self._base.execute("PRAGMA journal_mode = WAL")
            # Flush each event before confirming it, so that it survives a power failure.
            self._base.execute("PRAGMA synchronous = FULL")
            self._catch_up()
        except (sqlite3.Error, OSError) as error:
            raise ProjectError(f"{path} cannot be opened as a project: {error}") from error

    def _prepare(self, path: Path) -> None:
        """Create the tables of a new file, or refuse a foreign one."""
        self._base.execute("BEGIN IMMEDIATE")
        (application,) = self._base.execute("PRAGMA application_id").fetchone()
        (version,) = self._base.execute("PRAGMA user_version").fetchone()
        (n_tables,) = self._base.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        if n_tables and application != _APPLICATION:
            raise ProjectError(f"{path} belongs to another program; choose another folder.")
        if version > len(_STEPS):
            raise ProjectError(
                f"{path} has schema version {version}, but this kgnn supports up to "
                f"{len(_STEPS)}; install a newer kgnn."
            )
        for step in _STEPS[version:]:
            for statement in _statements(step):
                self._base.execute(statement)
        self._base.execute(f"PRAGMA application_id = {_APPLICATION}")
        self._base.execute(f"PRAGMA user_version = {len(_STEPS)}")
        self._base.execute("COMMIT")

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._base.close()

    def folder_of_model(self, name: str) -> Path:
        """Return the folder of a model."""
        return self.folder / "models" / name

    # -- reading ----------------------------------------------------------------------------------

    def refresh(self) -> int:
        """Read what other processes have written, and return the latest event."""
        with self._lock:
            self._catch_up()
            return self.version

    def history(self, graph: str) -> list[Event]:
        """Return all events about a graph, the oldest first."""
        query = f"SELECT {_COLUMNS} FROM events WHERE graph = ? ORDER BY id"
        with self._lock:
            return [Event(*row) for row in self._base.execute(query, (graph,))]

    def fact(self, name: str) -> Any:
        """Return a fact about the project, such as where its data come from; None if unknown."""
        query = "SELECT value FROM facts WHERE name = ?"
        with self._lock:
            row = self._base.execute(query, (name,)).fetchone()
        return None if row is None else json.loads(row[0])

    def labels(self) -> dict[str, str]:
        """Return the current labels, by graph."""
        with self._lock:
            held = self.answers.items()
            return {graph: each.label for graph, each in held if each.label is not None}

    # -- writing ----------------------------------------------------------------------------------

    def set_fact(self, name: str, value: Any) -> None:
        """Store a fact about the project."""
        with self._writing():
            self._base.execute("REPLACE INTO facts VALUES (?, ?)", (name, json.dumps(value)))

    def add_class(self, name: str, *, who: str) -> None:
        """Add a class unless it exists."""
        with self._writing():
            if _checked(name, "name of a class") not in self.classes:
                self._add(who, uuid4().hex, _CLASS, label=name)

    def answer(
        self,
        given: Sequence[Given],
        *,
        who: str,
        action: str,
        model: int | None = None,
        shown: Mapping[str, Any] | None = None,
    ) -> list[Event]:
        """Record all of the answers or none, and return them.

        Raise `ConflictError` if the current answer of a graph is not the one that the caller had
        seen. Answers already recorded with the same ``action`` are returned, not recorded again.
        """
        told = None if not shown else json.dumps(shown)
        if len({each.graph for each in given}) < len(given):
            raise ParameterError("A graph takes one answer, but one of these graphs has two.")
        with self._writing():
            if action not in self._by_action:
                self._check(given)
                for each in given:
                    self._add(who, action, each.kind, each.graph, each.label, None, model, told)
        with self._lock:
            return [each for each in self._by_action.get(action, []) if each.kind != _UNDO]

    def undo(self, action: str, *, who: str, by: str | None = None) -> list[str]:
        """Undo the answers of an action that are still current, and return their graphs.

        ``by`` identifies the request, so that a repeated one is done once.
        """
        by = by or uuid4().hex
        with self._writing():
            if by not in self._by_action:
                for event in self._by_action.get(action, []):
                    held = self.answers.get(event.graph or "")
                    if held is not None and held.id == event.id:
                        self._add(who, by, _UNDO, event.graph, undone=event.id)
        with self._lock:
            return [each.graph for each in self._by_action.get(by, []) if each.graph]

    def add_labels(self, labels: Mapping[str, str], *, who: str) -> tuple[int, list[str]]:
        """Import labels of graphs without an answer; return how many, and which graphs differ.

        Existing answers are not changed.
        """
        with self._writing():
            differing = [
                graph for graph, label in labels.items()
                if graph in self.answers and self.answers[graph].label != label
            ]  # fmt: skip
            new = {graph: label for graph, label in labels.items() if graph not in self.answers}
            for name in dict.fromkeys(new.values()):
                if _checked(name, "label") not in self.classes:
                    self._add(who, uuid4().hex, _CLASS, label=name)
            action = uuid4().hex
            for graph, label in new.items():
                self._add(who, action, LABEL, graph, label)
        return len(new), differing

    def add_model(self, facts: Mapping[str, Any]) -> Event:
        """Record a fitted and saved model."""
        with self._writing():
            self._add("kgnn", uuid4().hex, _MODEL, shown=json.dumps(facts))
        return self.models[-1]

    def _check(self, given: Iterable[Given]) -> None:
        """Refuse invalid answers, and answers that would overwrite one not seen."""
        for each in given:
            if each.kind not in (LABEL, UNSURE, INVALID):
                raise ParameterError(f"There is no kind of answer '{excerpt(each.kind)}'.")
            if (each.kind == LABEL) != (each.label is not None):
                raise ParameterError(
                    "An answer of kind 'label' needs a label; other kinds take none."
                )
            if each.label is not None and each.label not in self.classes:
                raise ParameterError(f"There is no class '{excerpt(each.label)}'; add it first.")
        held = {graph: event.id for graph, event in self.answers.items()}
        stale = [each.graph for each in given if held.get(each.graph, 0) != each.seen]
        if stale:
            raise ConflictError(stale)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Run a transaction that starts from all that other processes have written."""
        with self._lock:
            try:
                self._base.execute("BEGIN IMMEDIATE")
                try:
                    self._catch_up()
                    yield
                    self._base.execute("COMMIT")
                except BaseException:
                    if self._base.in_transaction:
                        self._base.execute("ROLLBACK")
                    raise
                # Update the state in memory only after the commit.
                self._catch_up()
            except sqlite3.Error as error:
                raise ProjectError(f"{self.folder / FILE} cannot be written: {error}") from error

    def _add(
        self,
        who: str,
        action: str,
        kind: str,
        graph: str | None = None,
        label: str | None = None,
        undone: int | None = None,
        model: int | None = None,
        shown: str | None = None,
    ) -> None:
        at = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        values = (at, _checked(who, "name of a person"), action, kind, graph, label)
        self._base.execute(
            f"INSERT INTO events ({_COLUMNS.removeprefix('id, ')}) VALUES (?,?,?,?,?,?,?,?,?)",
            (*values, undone, model, shown),
        )

    def _catch_up(self) -> None:
        query = f"SELECT {_COLUMNS} FROM events WHERE id > ? ORDER BY id"
        for row in self._base.execute(query, (self.version,)).fetchall():
            self._apply(Event(*row))

    def _apply(self, event: Event) -> None:
        """Update the state by one event."""
        self.version = event.id
        self._by_action.setdefault(event.action, []).append(event)
        if event.kind == _CLASS and event.label is not None:
            if event.label not in self.classes:
                self.classes.append(event.label)
        elif event.kind == _MODEL:
            self.models.append(event)
        elif event.graph is not None:
            given = self._given.setdefault(event.graph, [])
            if event.kind == _UNDO:
                given[:] = [each for each in given if each.id != event.undone]
            else:
                given.append(event)
            if given:
                self.answers[event.graph] = given[-1]
            else:
                self.answers.pop(event.graph, None)


def _statements(script: str) -> list[str]:
    """Split a script into statements; `executescript` would commit in between."""
    found, rest = [], ""
    for line in script.splitlines(keepends=True):
        rest += line
        if sqlite3.complete_statement(rest):
            found.append(rest)
            rest = ""
    return found


def _checked(name: str, what: str) -> str:
    if not name.strip() or len(name) > _LONGEST_NAME or not name.isprintable():
        raise ParameterError(
            f"The {what} must be 1 to {_LONGEST_NAME} printable characters, got '{excerpt(name)}'."
        )
    return name
