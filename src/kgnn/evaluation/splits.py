"""Splits of a dataset into labeled, unlabeled, validation (VAL) and test graphs (TEST)."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgnn.errors import GraphDataError, ParameterError
from kgnn.estimator.labels import require_classes_of
from kgnn.files import write_text
from kgnn.graphs.graph import GraphDataset, Ints
from kgnn.seeds import generator

PROTOCOLS = ("fair", "paper", "budget")
# Amount of labels: a share of all graphs (0.1); with the protocol ``budget`` also a number (20) or
# a number per class ("5/class").
Labels = float | str
MOST_LABELS = 0.2  # share of TRAIN-L in all graphs
# Ends of TRAIN-L, TRAIN-U and VAL as shares of all graphs (§5.1 of the paper: 2 : 5 : 1 : 2).
_TRAIN_L, _TRAIN_U, _VAL = MOST_LABELS, 0.7, 0.8
_PER_CLASS = re.compile("[1-9][0-9]*/class")
_FEWEST = 7  # graphs; with fewer, a part would be empty
_PAPER_SEED = 21
_FORMAT = 1


@dataclass(frozen=True, eq=False)
class Split:
    """Rows of a dataset for one run; rows in none of the four arrays are not used."""

    labeled: Ints
    unlabeled: Ints
    validation: Ints
    test: Ints
    protocol: str
    labels: Labels
    seed: int  # seed of the split (not of ``paper``) and of the method
    dataset: str  # fingerprint of the dataset that the rows belong to
    draw: int = 0  # draws rejected because a class had no labeled graph

    def save(self, path: str | Path) -> None:
        """Write the split as JSON."""
        rows = ("labeled", "unlabeled", "validation", "test")
        values: dict[str, Any] = {"format": _FORMAT, **vars(self)}
        values.update({name: getattr(self, name).tolist() for name in rows})
        write_text(Path(path), json.dumps(values))

    @classmethod
    def load(cls, path: str | Path, dataset: GraphDataset) -> Split:
        """Read a split; refuse one made for other graphs."""
        values = json.loads(Path(path).read_text(encoding="utf-8"))
        if values.pop("format", None) != _FORMAT:
            raise GraphDataError(f"{path} is not a split of format {_FORMAT}")
        if values["dataset"] != dataset.fingerprint:
            raise GraphDataError(f"{path} was made for another dataset than '{dataset.name}'")
        for name in ("labeled", "unlabeled", "validation", "test"):
            values[name] = np.array(values[name], dtype=np.int64)
        return cls(**values)


def parse_labels(text: str) -> Labels:
    """Parse an amount of labels from the command line.

    Examples
    --------
    >>> parse_labels("0.1"), parse_labels("20"), parse_labels("5/class")
    (0.1, 20, '5/class')
    """
    given = text.strip()
    if re.fullmatch("[0-9]+", given):
        return int(given)
    try:
        return float(given)
    except ValueError:
        return given


def labels_in_words(labels: Labels) -> str:
    """Describe an amount of labels.

    Examples
    --------
    >>> labels_in_words(0.1), labels_in_words(20), labels_in_words("5/class")
    ('10 % labels', '20 labels', '5 labels per class')
    """
    if isinstance(labels, str):
        return f"{labels.partition('/')[0]} labels per class"
    return f"{labels:,} labels" if isinstance(labels, int) else f"{100 * labels:g} % labels"


def require_terms(protocol: str, labels: Labels) -> None:
    """Refuse an unknown protocol, and amounts of labels that it does not allow."""
    if protocol not in PROTOCOLS:
        raise ParameterError(f"The 'protocol' must be one of {PROTOCOLS}, got '{protocol}'.")
    is_share = isinstance(labels, float)
    if protocol == "budget":
        if not _is_budget(labels):
            raise ParameterError(
                f"The 'labels' of a budget must be a share of all graphs above 0 and below {_VAL} "
                "(the rest is TEST), a whole number from 1, or a number per class, such as "
                f"5/class, got {labels}."
            )
    elif not is_share or not 0 < float(labels) <= MOST_LABELS:
        advice = "" if is_share else ". A number of labels needs the protocol 'budget'"
        raise ParameterError(
            f"The share of 'labels' must be above 0 and at most {MOST_LABELS} (TRAIN-L), got "
            f"{labels}{advice}."
        )


def _is_budget(labels: Labels) -> bool:
    if isinstance(labels, str):
        return bool(_PER_CLASS.fullmatch(labels))
    return labels >= 1 if isinstance(labels, int) else 0 < labels < _VAL


def make_split(
    dataset: GraphDataset, *, protocol: str = "fair", labels: Labels = 0.1, seed: int = 0
) -> Split:
    """Split a dataset.

    ``fair`` is a stratified random 7:1:2 split for each seed. ``paper`` is the fixed permutation of
    the paper's code; the seed then varies only the method. In both, ``labels`` is the share of
    labeled graphs in all graphs, at most 0.2, the size of TRAIN-L.

    ``budget`` has the TEST of ``fair`` and no VAL. ``labels`` is a share of all graphs (0.1), a
    number (20) or a number per class ("5/class"); all other graphs outside TEST are unlabeled.
    Labels are stratified, with at least one per class. With the same seed, a smaller set of labels
    is a subset of a larger one.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> split = make_split(cycles_and_trees(100))
    >>> [len(rows) for rows in (split.labeled, split.unlabeled, split.validation, split.test)]
    [10, 50, 10, 20]
    >>> split = make_split(cycles_and_trees(100), protocol="budget", labels="5/class")
    >>> [len(rows) for rows in (split.labeled, split.unlabeled, split.validation, split.test)]
    [10, 70, 0, 20]
    """
    require_terms(protocol, labels)
    require_classes_of(dataset)
    if (dataset.targets < 0).any():
        raise GraphDataError(
            f"'{dataset.name}' has {int((dataset.targets < 0).sum())} graphs without a target; "
            "an evaluation needs the class of every graph"
        )
    if len(dataset) < _FEWEST:
        raise GraphDataError(
            f"'{dataset.name}' has {len(dataset)} graphs; training, validation and test sets need "
            f"at least {_FEWEST}"
        )
    if protocol == "budget":
        return _within_budget(dataset, labels, seed)
    share = float(labels)
    if protocol == "paper":
        order = np.random.RandomState(_PAPER_SEED).permutation(len(dataset))  # noqa: NPY002
        return _cut(order, dataset, protocol, share, seed, draw=0)
    splits = (
        _cut(_stratified_order(dataset.targets, seed, draw), dataset, protocol, share, seed, draw)
        for draw in range(100)
    )
    first = next(splits)
    if _covers_classes(first, dataset):
        return first
    # Paper silent: a class without any labeled graph cannot be learned, so the draw is repeated.
    return next((s for s in splits if _covers_classes(s, dataset)), first)


def _cut(
    order: Ints, dataset: GraphDataset, protocol: str, labels: float, seed: int, draw: int
) -> Split:
    def end(share: float) -> int:
        return _count(share, len(order))

    return Split(
        labeled=order[: end(labels)],
        unlabeled=order[end(_TRAIN_L) : end(_TRAIN_U)],
        validation=order[end(_TRAIN_U) : end(_VAL)],
        test=order[end(_VAL) :],
        protocol=protocol,
        labels=labels,
        seed=seed,
        dataset=dataset.fingerprint,
        draw=draw,
    )


def _count(share: float, n: int) -> int:
    return math.ceil(round(share * n, 9))


def _within_budget(dataset: GraphDataset, labels: Labels, seed: int) -> Split:
    order = _stratified_order(dataset.targets, seed, draw=0)
    end = _count(_VAL, len(order))
    pool, test = order[:end], order[end:]
    # A class with graphs only in TEST, such as a single one, could not be learned.
    is_learnable = np.isin(dataset.targets[test], dataset.targets[pool])
    pool, test = np.concatenate([pool, test[~is_learnable]]), test[is_learnable]
    pool = pool[_dealing_order(dataset.targets[pool])]
    is_labeled = _first(labels, pool, dataset)
    # The dealing order would reveal classes by position.
    unlabeled = generator(seed, "order of the unlabeled").permutation(pool[~is_labeled])
    return Split(
        labeled=pool[is_labeled],
        unlabeled=unlabeled,
        validation=np.empty(0, dtype=np.int64),
        test=test,
        protocol="budget",
        labels=labels,
        seed=seed,
        dataset=dataset.fingerprint,
    )


def _first(labels: Labels, pool: Ints, dataset: GraphDataset) -> NDArray[np.bool_]:
    """Tell which graphs of a pool, in dealing order, are labeled."""
    targets = dataset.targets[pool]
    counts = np.bincount(targets)
    present = np.flatnonzero(counts)
    if isinstance(labels, str):
        wanted = int(labels.partition("/")[0])
        rarest = min(present, key=lambda target: counts[target])
        if counts[rarest] < wanted:
            raise GraphDataError(
                f"class '{dataset.class_names[rarest]}' of '{dataset.name}' has {counts[rarest]} "
                f"graphs outside TEST, fewer than {wanted} labels per class"
            )
        return _turns(targets) < wanted
    is_share = isinstance(labels, float)
    wanted = max(_count(labels, len(dataset)), len(present)) if is_share else int(labels)
    if not len(present) <= wanted <= len(pool):
        raise GraphDataError(
            f"'{dataset.name}' has {len(present)} classes, which need a label each, and "
            f"{len(pool)} graphs outside TEST; got a budget of {wanted} labels"
        )
    return np.arange(len(pool)) < wanted


def _dealing_order(targets: Ints) -> Ints:
    """Order rows so that every prefix is stratified, but starts with one row of each class.

    After the first of each class, the next row is of the class that is furthest behind its share,
    like seats in Webster's apportionment. So longer prefixes contain the shorter ones.
    """
    turns = _turns(targets)
    position = np.where(turns == 0, 0.0, (turns + 0.5) / np.bincount(targets)[targets])
    return np.argsort(position, kind="stable")


def _turns(targets: Ints) -> Ints:
    """Count for each row how many of the same class come before it."""
    turns = np.empty(len(targets), dtype=np.int64)
    for target in np.unique(targets):
        rows = np.flatnonzero(targets == target)
        turns[rows] = np.arange(len(rows))
    return turns


def _stratified_order(targets: Ints, seed: int, draw: int) -> Ints:
    """Order rows at random so that every contiguous part is stratified.

    The members of a class, in random order, are spread evenly over [0, 1); sorting by position
    then interleaves the classes.
    """
    rng = generator(seed, "split", draw)
    position = np.empty(len(targets))
    for target in np.unique(targets):
        rows = np.flatnonzero(targets == target)
        position[rng.permutation(rows)] = (np.arange(len(rows)) + rng.random()) / len(rows)
    return np.argsort(position, kind="stable")


def _covers_classes(split: Split, dataset: GraphDataset) -> bool:
    return len(np.unique(dataset.targets[split.labeled])) == len(np.unique(dataset.targets))
