"""Which graphs are labeled, unlabeled, for choosing (VAL) and for the final score (TEST)."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kgnn.errors import GraphDataError, ParameterError
from kgnn.files import write_text
from kgnn.graphs.graph import GraphDataset, Ints
from kgnn.seeds import generator

PROTOCOLS = ("fair", "paper")
# Ends of TRAIN-L, TRAIN-U and VAL as shares of all graphs (§5.1 of the paper: 2 : 5 : 1 : 2).
_TRAIN_L, _TRAIN_U, _VAL = 0.2, 0.7, 0.8
_FEWEST = 7  # graphs of which none of the parts is empty
_PAPER_SEED = 21
_FORMAT = 1


@dataclass(frozen=True, eq=False)
class Split:
    """Rows of a dataset for one run; what is in none of the four is not used."""

    labeled: Ints
    unlabeled: Ints
    validation: Ints
    test: Ints
    protocol: str
    labels: float  # labeled graphs as a share of all graphs
    seed: int  # seed of the split (``fair``) and of the method
    dataset: str  # fingerprint of the dataset that the rows belong to
    draw: int = 0  # how many draws were passed over because a class had no labeled graph

    def save(self, path: str | Path) -> None:
        """Write the split as JSON."""
        rows = ("labeled", "unlabeled", "validation", "test")
        values: dict[str, Any] = {"format": _FORMAT, **vars(self)}
        values.update({name: getattr(self, name).tolist() for name in rows})
        write_text(Path(path), json.dumps(values))

    @classmethod
    def load(cls, path: str | Path, dataset: GraphDataset) -> Split:
        """Read a split; refuse one that was made for other graphs."""
        values = json.loads(Path(path).read_text(encoding="utf-8"))
        if values.pop("format", None) != _FORMAT:
            raise GraphDataError(f"{path} is not a split of format {_FORMAT}")
        if values["dataset"] != dataset.fingerprint:
            raise GraphDataError(f"{path} was made for another dataset than '{dataset.name}'")
        for name in ("labeled", "unlabeled", "validation", "test"):
            values[name] = np.array(values[name], dtype=np.int64)
        return cls(**values)


def make_split(
    dataset: GraphDataset, *, protocol: str = "fair", labels: float = 0.1, seed: int = 0
) -> Split:
    """Split a dataset.

    ``fair`` is a stratified random 7:1:2 split for each seed. ``paper`` is the one fixed
    permutation of the paper's code, whatever the seed, which then varies the method alone.
    ``labels`` is the share of labeled graphs in all graphs; at most 0.2, the size of TRAIN-L.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> split = make_split(cycles_and_trees(100))
    >>> [len(rows) for rows in (split.labeled, split.unlabeled, split.validation, split.test)]
    [10, 50, 10, 20]
    """
    if protocol not in PROTOCOLS:
        raise ParameterError(f"The 'protocol' must be one of {PROTOCOLS}, got '{protocol}'.")
    if not 0 < labels <= _TRAIN_L:
        raise ParameterError(
            f"The share of 'labels' must be above 0 and at most {_TRAIN_L} (TRAIN-L), got {labels}."
        )
    if (dataset.targets < 0).any():
        raise GraphDataError(
            f"'{dataset.name}' has {int((dataset.targets < 0).sum())} graphs without a target; "
            "an evaluation needs the class of every graph"
        )
    if len(dataset) < _FEWEST:
        raise GraphDataError(
            f"'{dataset.name}' has {len(dataset)} graphs; an evaluation trains, chooses and tests "
            f"on different ones and needs at least {_FEWEST}"
        )
    if protocol == "paper":
        order = np.random.RandomState(_PAPER_SEED).permutation(len(dataset))  # noqa: NPY002
        return _cut(order, dataset, protocol, labels, seed, draw=0)
    splits = (
        _cut(_stratified_order(dataset.targets, seed, draw), dataset, protocol, labels, seed, draw)
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
        return math.ceil(round(share * len(order), 9))

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


def _stratified_order(targets: Ints, seed: int, draw: int) -> Ints:
    """Order rows at random so that every stretch of the order has the classes in proportion.

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
