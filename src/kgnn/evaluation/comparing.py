"""Compare methods on your own graphs by cross-validation."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import t as student_t

from kgnn.errors import (
    GraphDataError,
    KgnnError,
    KgnnWarning,
    MissingExtraError,
    ParameterError,
)
from kgnn.estimator.calibration import HeldOut
from kgnn.estimator.classifier import GraphClassifier, Graphs
from kgnn.estimator.labels import encode_labels
from kgnn.estimator.metrics import METRICS, Metric, choosing_by, require_metric
from kgnn.estimator.registry import entries, method_class
from kgnn.evaluation.holding_out import check_labels, left_out_rows, why_unjudged
from kgnn.evaluation.metrics import out_of_fold_interval
from kgnn.evaluation.paired_tests import ALPHA, fewest_apart, holm, resamples, sign_test
from kgnn.graphs.graph import Floats, GraphDataset, Ints
from kgnn.graphs.interop import as_dataset
from kgnn.progress import checking, without_messages
from kgnn.seeds import generator

BASELINE = "majority class"
# Cost of a fit relative to `ldp`, to one digit: geometric mean over the seven datasets in
# ``results``, or over three of them for methods without records. Left out are ablations of KGNN and
# methods similar to a cheaper one: LTP (to LDP) and SimGRACE (to GraphCL).
_COSTS = {
    "label-propagation": 0.1,
    "wl-linear": 1,
    "random-gin": 1,
    "ldp": 1,
    "wl-forest": 1,
    "wl": 3,
    "gk": 3,
    "sp": 3,
    "gnn-sup": 4,
    "memnn-sup": 7,
    "dgk": 10,
    "graph2vec": 20,
    "entmin": 20,
    "kgnn": 30,
    "graphcl": 30,
    "mean-teacher": 30,
    "sub2vec": 30,
    "joao": 40,
    "vat": 50,
    "pi-model": 50,
    "asgn": 60,
    "infograph": 80,
}
_FOLDS = GraphClassifier.cross_fit  # the same for every method
_LENIENCE = 5  # factor by which a method may be faster than its cost suggests
_RESAMPLES = 200  # the standard error over them has a relative error of 5 %
_BY_HAND = "stopped by hand"

Standing = Literal[
    "best",
    "level",  # not significantly different from the best
    "worse",
    "better",  # than the best method; only the majority class can be
    "waiting",
    "not begun",
    "stopped",
    "missing",  # an optional dependency is missing
    "failed",
]


class Row(NamedTuple):
    """The result of one method."""

    method: str
    score: float | None = None
    interval: tuple[float, float] | None = None  # 95 % confidence interval
    log_loss: float | None = None
    seconds: float | None = None
    standing: Standing = "waiting"
    # Of the difference to the best method, corrected for comparing all pairs of methods.
    p_value: float | None = None
    note: str = ""  # for the table


@dataclass(frozen=True)
class Comparison:
    """A table of methods, the best first; those without a score are last."""

    metric: str  # a name in `METRICS`
    labels: int  # labeled graphs on which the methods were evaluated
    rows: tuple[Row, ...]
    unjudged: tuple[str, ...] = ()  # classes without a graph that could be held out
    interrupted: bool = False  # by Ctrl-C

    @property
    def best(self) -> Row | None:
        """The method with the best score; None if none was finished."""
        return next((row for row in self.rows if row.standing == "best"), None)

    @property
    def level(self) -> tuple[Row, ...]:
        """The best method and those that do not differ significantly from it."""
        own = [row for row in self.rows if row.method != BASELINE]
        return tuple(row for row in own if row.standing in ("best", "level"))

    @property
    def cheapest(self) -> Row | None:
        """The fastest method among those level with the best."""
        return min(self.level, key=lambda row: row.seconds or 0.0, default=None)

    @property
    def baseline(self) -> Row:
        """The result of always predicting the most frequent class."""
        return next(row for row in self.rows if row.method == BASELINE)

    def in_words(self) -> list[str]:
        """Return sentences about the best method, the significance, and methods without a score."""
        told = ["No method was finished."] if self.best is None else self._winner(self.best)
        if self.best is not None and self.baseline.standing != "worse":
            told.append(
                "That is not significantly better than always predicting the most frequent class: "
                f"{self.labels:,} labels are too few, or the classes do not differ in the features "
                "that the methods use."
            )
        if self.unjudged:
            told.append(
                f"No method was evaluated on graphs of {', '.join(self.unjudged)}: a graph can be "
                "held out only if its class has another one that looks different."
            )
        late = [row.method for row in self.rows if row.standing == "not begun"]
        if late and not self.interrupted:
            told.append(f"No time was left for {', '.join(late)}.")
        broken = [row for row in self.rows if row.standing in ("failed", "missing")]
        return told + [f"{row.method} {row.standing}: {row.note}" for row in broken]

    def record(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "metric": self.metric,
            "labels": self.labels,
            "best": None if self.best is None else self.best.method,
            "cheapest": None if self.cheapest is None else self.cheapest.method,
            "level": [row.method for row in self.level],
            "unjudged": list(self.unjudged),
            "interrupted": self.interrupted,
            "rows": [row._asdict() for row in self.rows],
        }

    def columns(self) -> tuple[str, ...]:
        """Return the headings of `cells`."""
        metric = METRICS[self.metric]
        title = f"{metric.title}, %" if metric.is_percent else metric.title
        return "method", title, "95 % interval", "log loss", "seconds", ""

    def cells(self) -> list[tuple[str, ...]]:
        """Return the rows as text, for tables, without methods that were not begun."""
        metric = METRICS[self.metric]
        return [
            (
                row.method.rpartition("/")[2],  # FILE.py:Class without folders
                "" if row.score is None else metric.written(metric.in_units(row.score)),
                "" if row.interval is None else interval_in_words(metric, row.interval),
                "" if row.log_loss is None else f"{row.log_loss:.3f}",
                "" if row.seconds is None else f"{row.seconds:.1f}",
                row.standing if row.note else "",
            )
            for row in self.rows
            if row.standing not in ("waiting", "not begun")
        ]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        lines = [self.columns(), *self.cells()]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join([*(_aligned(line, widths) for line in lines), "", *self.in_words()])

    def _scored(self) -> list[Row]:
        return [row for row in self.rows if row.score is not None and row.method != BASELINE]

    def _winner(self, best: Row) -> list[str]:
        """Name the best method, those level with it, and the fastest of them."""
        metric, n = METRICS[self.metric], len(self._scored())
        told = f"Best: {best.method}, {metric.title} {metric.in_words(best.score)}"
        others = [row.method for row in self.level if row is not best]
        if not others:
            return [f"{told}; significantly better than all others." if n > 1 else f"{told}."]
        if len(others) == n - 1:
            told += f", but {self._nothing_to_tell()}"
        else:
            told += f", but not significantly better than {', '.join(others)}"
        cheapest = self.cheapest
        assert cheapest is not None
        if cheapest is best:
            return [f"{told}. It was also the fastest of them ({best.seconds:.1f} s)."]
        paces = f"{cheapest.seconds:.1f} s, {best.method} {best.seconds:.1f} s"
        return [f"{told}. The fastest of them was {cheapest.method} ({paces})."]

    def _nothing_to_tell(self) -> str:
        """Say that no difference is significant, and how large one would have to be."""
        told = f"{self.labels:,} labels show no significant difference between methods"
        if self.metric != "accuracy":
            return told
        n = len(self._scored())
        least = fewest_apart(n * (n - 1) // 2)  # pairs with the majority class may be decided
        if least > self.labels:
            return f"{told}, and are too few for one"
        share = f"{100 * least / self.labels:.0f} points"
        return f"{told}: one would have to be at least {least} graphs ({share})"


def interval_in_words(metric: Metric, interval: tuple[float, float]) -> str:
    """Format an interval without its unit."""
    return " to ".join(metric.written(metric.in_units(end)) for end in interval)


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *numbers, last = cells
    middle = [cell.rjust(width) for cell, width in zip(numbers, widths[1:-1], strict=True)]
    return "  ".join([first.ljust(widths[0]), *middle, last]).rstrip()


def compare(
    graphs: Graphs,
    labels: ArrayLike | None = None,
    *,
    methods: Sequence[str] | None = None,
    minutes: float = 5,
    metric: str = "accuracy",
    seed: int = 0,
) -> Comparison:
    """Compare methods on your own graphs, and test which differences are significant.

    Each method is fitted once, with cross-fitting, and evaluated on its out-of-fold predictions.
    The folds are the same for all methods. Methods that do not differ significantly from the best
    are level with it. The tests are McNemar's exact test for accuracy and a paired bootstrap for
    other metrics, with Holm's correction over all pairs of methods.

    The result is a table: print it, iterate over its rows, or use ``best``, ``cheapest`` (of those
    level with the best) and ``record()``. A method that fails gets a row with its error. Ctrl-C
    returns the results up to that moment.

    Parameters
    ----------
    graphs : GraphDataset or list of graphs
        Labeled and unlabeled graphs. At least two classes need two labeled graphs that look
        different; other classes are not evaluated.
    labels : array, optional
        As in `fit` of every method. Default: the dataset's targets.
    methods : list of str, optional
        Names from ``kgnn methods``, or ``FILE.py:Class``, in the order in which to fit them.
        Default: all but three ablations of KGNN, ``ltp`` and ``simgrace``, the cheapest first.
    minutes : float
        Time limit for all methods. A method that is clearly too slow for the time left, judging by
        those before it, is skipped; one that exceeds the limit is stopped.
    metric : str
        ``"accuracy"``, ``"balanced_accuracy"``, ``"macro_f1"``, ``"matthews"``, ``"roc_auc"``,
        ``"average_precision"``, ``"log_loss"`` or ``"brier"``.
    seed : int
        Random seed of folds and methods.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> found = compare(cycles_and_trees(20), methods=["memnn-sup"])
    >>> found.best.method, found.best.score, found.baseline.score
    ('memnn-sup', 1.0, 0.5)
    """
    chosen = methods_of(methods)
    *_, last = comparisons(
        graphs, labels, methods=chosen, minutes=minutes, metric=metric, seed=seed
    )
    return last


def methods_of(names: Sequence[str] | None) -> dict[str, type[GraphClassifier]]:
    """Return the classes of methods by name; see `compare` for the default."""
    if names is None:
        plug_ins = [each.name for each in entries().values() if each.family == "plug-in"]
        names = [*_COSTS, *plug_ins]
    listed = [names] if isinstance(names, str) else list(names)
    if not listed:
        raise ParameterError("The 'methods' must name at least one method, got none.")
    return {name if ".py:" in name else name.lower(): method_class(name) for name in listed}


def comparisons(
    graphs: Graphs,
    labels: ArrayLike | None = None,
    *,
    methods: dict[str, type[GraphClassifier]],
    minutes: float = 5,
    metric: str = "accuracy",
    seed: int = 0,
) -> Iterator[Comparison]:
    """Yield the table before the first method and after each; see `compare`."""
    if not minutes > 0:
        raise ParameterError(f"The 'minutes' must be more than 0, got {minutes}.")
    metric = require_metric(metric)
    known = as_dataset(graphs)
    judged = _held_out_graphs(known, labels, METRICS[metric], seed)
    deadline = time.monotonic() + 60 * minutes
    contest = _Contest(metric, judged, seed, tuple(methods))
    yield contest.table()
    for name, cls in methods.items():
        least, left = contest.least_seconds(name), deadline - time.monotonic()
        if left <= 0:
            contest.pass_over(name, "no time left")
        elif least > left:
            contest.pass_over(name, f"would take at least {least:.0f} s")
        else:
            contest.enter(name, cls, known, labels, deadline)
        yield contest.table()
        if contest.interrupted:
            return


class _Judged(NamedTuple):
    """The labeled graphs on which methods are evaluated, out of fold."""

    rows: Ints
    targets: Ints
    unjudged: tuple[str, ...]  # classes without such a graph
    n_classes: int


def _held_out_graphs(
    graphs: GraphDataset, labels: ArrayLike | None, metric: Metric, seed: int
) -> _Judged:
    """Return the graphs that are in a fold; refuse labels that allow no comparison."""
    codes, classes = encode_labels(graphs, labels)
    names = tuple(map(str, classes))
    counts = check_labels(replace(graphs, class_names=names).with_targets(codes))
    rows = left_out_rows(graphs, _FOLDS, seed, labels)
    unjudged = tuple(names[code] for code in range(len(names)) if code not in codes[rows])
    are_few = len(names) - len(unjudged) < 2
    if are_few or (unjudged and metric.needs_all_classes):
        other = "" if are_few else f", or choose another metric than {metric.title}"
        raise GraphDataError(
            f"{why_unjudged(unjudged[0], counts[unjudged[0]])}, so cross-validation is not "
            f"possible: label another graph of it{other}"
        )
    return _Judged(rows, codes[rows], unjudged, len(names))


class _OutOfTime(Exception):
    """Raised inside a fit that exceeds the time limit."""


class _Scored(NamedTuple):
    """The score of a finished method."""

    score: float
    interval: tuple[float, float]
    log_loss: float
    sample: NDArray[Any]  # for tests: whether each graph is right, or scores of resamples


class _Judge:
    """Scores predictions for the same graphs by one metric, and tests differences."""

    def __init__(self, metric: str, targets: Ints, seed: int) -> None:
        self.metric, self.targets = metric, targets
        self._draws = resamples(targets, _RESAMPLES, generator(seed, "comparing methods"))
        _, counts = np.unique(targets, return_counts=True)
        self._freedom = max(1, int(counts.min()) - 1)

    def scored(self, proba: Floats) -> _Scored:
        """Score probabilities, ``(n, n_classes)``."""
        metric = METRICS[self.metric]
        score = metric.judge(self.targets, proba)
        loss = METRICS["log_loss"].judge(self.targets, proba)
        if self.metric == "accuracy":
            right = proba.argmax(axis=1) == self.targets
            return _Scored(score, out_of_fold_interval(score, len(right)), loss, right)
        sample = np.array([metric.judge(self.targets[rows], proba[rows]) for rows in self._draws])
        half = student_t.ppf(1 - ALPHA / 2, self._freedom) * self._error(sample)
        low, high = metric.bounds
        ends = float(max(low, score - half)), float(min(high, score + half))
        return _Scored(score, ends, loss, sample)

    def p_value(self, one: _Scored, other: _Scored) -> float:
        """Return the two-sided p-value of a difference."""
        if self.metric == "accuracy":
            better, worse = one.sample & ~other.sample, other.sample & ~one.sample
            return sign_test(int(better.sum()), int(worse.sum()))
        apart = abs(one.score - other.score) / self._error(one.sample - other.sample)
        return float(2 * student_t.sf(apart, self._freedom))

    def _error(self, sample: NDArray[Any]) -> float:
        """Return the standard error of a score or difference, given its values on resamples.

        It is at least 1 / n: a perfect score is the same on every resample, however few graphs
        there are.
        """
        return max(float(sample.std(ddof=1)), 1 / len(self.targets))


class _Contest:
    """Fits methods one after another and collects their results."""

    def __init__(self, metric: str, judged: _Judged, seed: int, methods: tuple[str, ...]) -> None:
        self.seed, self.interrupted = seed, False
        self._judged, self._judge = judged, _Judge(metric, judged.targets, seed)
        self._rows = {name: Row(name) for name in methods}
        shares = np.bincount(judged.targets, minlength=judged.n_classes) / len(judged.rows)
        constant = np.tile(shares, (len(judged.rows), 1))
        self._scored = {BASELINE: self._judge.scored(constant)}
        self._seconds: dict[str, float] = {}

    def least_seconds(self, name: str) -> float:
        """Return a lower bound on the time of a method, by those so far; 0 if unknown.

        The estimate is lenient, since a fit started in vain only uses time that would be left over.
        """
        paces = [
            seconds / _COSTS[done] for done, seconds in self._seconds.items() if done in _COSTS
        ]
        return min(paces, default=0.0) * _COSTS.get(name, 0) / _LENIENCE

    def pass_over(self, name: str, why: str) -> None:
        """Record that a method was skipped."""
        self._rows[name] = Row(name, standing="not begun", note=f"not begun: {why}")

    def add(self, name: str, proba: Floats, seconds: float) -> None:
        """Score the out-of-fold predictions of a method."""
        self._seconds[name] = seconds
        self._scored[name] = self._judge.scored(proba)

    def enter(
        self,
        name: str,
        cls: type[GraphClassifier],
        graphs: GraphDataset,
        labels: ArrayLike | None,
        deadline: float,
    ) -> None:
        """Fit and score a method; record any error, so that the other methods go on."""
        start = time.monotonic()
        standing: Standing = "failed"
        try:
            model = cls(random_state=self.seed, cross_fit=_FOLDS)
            model.set_params(**choosing_by(type(model), self._judge.metric))
            held_out = _fitted(model, graphs, labels, deadline)
            assert np.array_equal(held_out.rows, self._judged.rows)
            assert np.array_equal(held_out.targets, self._judged.targets)
            self.add(name, held_out.proba, time.monotonic() - start)
            return
        except KeyboardInterrupt:
            self.interrupted = True
            standing, note = "stopped", _BY_HAND
            for other, row in self._rows.items():
                if row.standing == "waiting" and other not in self._scored:
                    self.pass_over(other, _BY_HAND)
        except _OutOfTime:
            standing, note = "stopped", "stopped: time is up"
        except MissingExtraError as error:
            standing, note = "missing", str(error)
        except KgnnError as error:
            note = str(error)
        except Exception as error:
            note = f"{type(error).__name__}: {error}"
        self._rows[name] = Row(name, seconds=time.monotonic() - start, standing=standing, note=note)

    def table(self) -> Comparison:
        """Return the results so far."""
        metric = self._judge.metric
        sign = -1 if METRICS[metric].is_best_high else 1

        def place(name: str) -> tuple[float, float]:
            return sign * self._scored[name].score, self._scored[name].log_loss

        ranked = sorted(self._scored, key=place)
        best = next((name for name in ranked if name != BASELINE), None)
        p_values = self._p_values(best)
        rows = [self._row(name, best, p_values.get(name)) for name in ranked]
        rest = [row for name, row in self._rows.items() if name not in self._scored]
        judged = self._judged
        known = (*rows, *rest)
        return Comparison(metric, len(judged.rows), known, judged.unjudged, self.interrupted)

    def _p_values(self, best: str | None) -> dict[str, float]:
        """Return the p-value of the difference between each method and the best.

        The correction counts all pairs, because the best method is known only afterwards: with
        fewer, the luckiest of equal methods would often seem significantly better.
        """
        pairs = list(combinations(self._scored, 2))
        found = holm(
            [self._judge.p_value(*(self._scored[name] for name in pair)) for pair in pairs]
        )
        return {
            one if other == best else other: p
            for (one, other), p in zip(pairs, found, strict=True)
            if best in (one, other)
        }

    def _row(self, name: str, best: str | None, p_value: float | None) -> Row:
        own = self._scored[name]
        standing: Standing = "level"
        note = ""
        if name == best:
            standing, note = "best", "best"
        elif best is not None and p_value is not None:
            is_above = own.score > self._scored[best].score
            is_better = is_above == METRICS[self._judge.metric].is_best_high
            if p_value < ALPHA:
                standing = "better" if is_better else "worse"
            note = "level with the best" if standing == "level" else standing
        known = own.score, own.interval, own.log_loss, self._seconds.get(name)
        return Row(name, *known, standing, p_value, note)


def _fitted(
    model: GraphClassifier, graphs: GraphDataset, labels: ArrayLike | None, deadline: float
) -> HeldOut:
    """Fit a method and return its out-of-fold predictions."""

    def check() -> None:
        if time.monotonic() > deadline:
            raise _OutOfTime

    with checking(check), without_messages(), warnings.catch_warnings():
        # That warning is about a model to keep; this one is discarded.
        warnings.filterwarnings("ignore", ".* was stopped by hand", KgnnWarning)
        model.fit(graphs, labels)
    if model.interrupted_:
        raise KeyboardInterrupt
    assert model.held_out_ is not None
    return model.held_out_
