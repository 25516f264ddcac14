"""Every error and warning that the package raises on purpose.

::

    KgnnError
    ├── GraphDataError          (ValueError)         a graph or file that cannot be read
    │   └── ArchiveError                             a damaged or suspicious archive
    ├── ParameterError          (ValueError)         a parameter outside its range
    ├── UnknownNameError        (KeyError)           a method, dataset or option that does not exist
    ├── MissingExtraError       (ImportError)        an optional dependency that is not installed
    └── DatasetUnavailableError (FileNotFoundError)  a dataset that cannot be found
    KgnnWarning                 (UserWarning)        worth knowing, but no error
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

# Control characters of terminals, and characters that reverse the direction of text. Line breaks
# are not among them, because messages contain some.
_OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    r"""Escape the control characters in a text, such as ``\x1b``.

    Examples
    --------
    >>> print(visible("red: \x1b[31m"))
    red: \x1b[31m
    """
    return _OBEYED.sub(lambda found: ascii(found[0])[1:-1], text)


class KgnnError(Exception):
    """Root of all errors of this package; its message has no control characters."""

    def __init__(self, *told: object) -> None:
        super().__init__(*(visible(each) if isinstance(each, str) else each for each in told))


class GraphDataError(KgnnError, ValueError):
    """Input that does not describe valid graphs; the message names file and line."""


class ArchiveError(GraphDataError):
    """An archive that is damaged, or that unpacks to more than a dataset may."""


class ParameterError(KgnnError, ValueError):
    """A parameter outside its range."""


class UnknownNameError(KgnnError, KeyError):
    """A name that is not in the list of known names."""

    __str__ = Exception.__str__  # KeyError would show the message in quotes

    @classmethod
    def of(cls, kind: str, name: str, known: Iterable[str]) -> UnknownNameError:
        """Build the message: the unknown name, the nearest names, all names."""
        names = sorted(known)
        by_lower = {n.lower(): n for n in names}
        near = difflib.get_close_matches(name.lower(), by_lower, n=3, cutoff=0.6)
        hint = f" Did you mean {' or '.join(by_lower[n] for n in near)}?" if near else ""
        return cls(f"There is no {kind} '{name}'.{hint} Known: {', '.join(names)}.")


class MissingExtraError(KgnnError, ImportError):
    """An optional dependency that is not installed."""

    @classmethod
    def of(cls, what: str, package: str, extra: str) -> MissingExtraError:
        """Build the message with the exact command that installs the extra."""
        return cls(
            f"{what} needs the package '{package}'. Install it with: pip install 'kgnn[{extra}]'"
        )


class DatasetUnavailableError(KgnnError, FileNotFoundError):
    """A dataset that is not on this machine and could not be downloaded."""


class KgnnWarning(UserWarning):
    """Something worth knowing about the data or a result that is not an error."""

    def __init__(self, *told: object) -> None:
        super().__init__(*(visible(each) if isinstance(each, str) else each for each in told))


def excerpt(value: object, length: int = 80) -> str:
    """Return the beginning of a value's text, for messages about input that may be very long.

    Examples
    --------
    >>> excerpt("short"), excerpt(["a" * 9, "b" * 9], length=14)
    ('short', "['aaaaaaaaa', …")
    """
    text = str(value).replace("\n", r"\n")  # keep quotes on one line
    return text if len(text) <= length else f"{text[:length]}…"


# Readers call this with the error for a graph, and continue with the next one if it returns.
ErrorHandler = Callable[[GraphDataError], None]
_MAX_REASONS = 20


def raise_error(error: GraphDataError) -> None:
    """Stop reading at the first graph that cannot be read."""
    raise error


@dataclass
class Skipped:
    """An error handler that skips graphs: counts them and keeps the first reasons.

    Examples
    --------
    >>> skipped = Skipped()
    >>> skipped(GraphDataError("graphs.jsonl, line 3: not valid JSON"))
    >>> skipped
    Skipped(n=1, reasons=['graphs.jsonl, line 3: not valid JSON'])
    """

    n: int = 0
    reasons: list[str] = field(default_factory=list)

    def __call__(self, error: GraphDataError) -> None:
        """Skip one graph."""
        self.add(Skipped(1, [str(error)]))

    def add(self, other: Skipped) -> None:
        """Add the graphs skipped by another handler."""
        self.n += other.n
        self.reasons = [*self.reasons, *other.reasons][:_MAX_REASONS]

    def lines(self) -> list[str]:
        """Return a line for each unreadable graph; of many, for the first ones."""
        more = self.n - len(self.reasons)
        rest = [f"  … and {more:,} more"] if more else []
        return [*(f"  {reason}" for reason in self.reasons), *rest]

    def error(self, source: str, hint: str = "") -> GraphDataError:
        """Return an error that lists the unreadable graphs."""
        if self.n == 1:
            return GraphDataError(f"{self.reasons[0]} {hint}".strip())
        told = [f"{self.n:,} graphs of {source} cannot be read:", *self.lines(), hint]
        return GraphDataError("\n".join(filter(None, told)))
