"""Networks trained alike from different random weights, which predict together.

With few labels, two trainings that differ in nothing but their seed differ in accuracy by more than
most ideas are worth; their mean does not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from kgnn.engine.calibration import combine
from kgnn.engine.network import Examples, Fitted, Network
from kgnn.graphs.graph import Floats, Ints


@dataclass
class Committee:
    """What several trainings of a network have made.

    Attributes
    ----------
    members : list of Fitted
    interrupted : bool
        Whether Ctrl-C came before all were trained.
    """

    members: list[Fitted] = field(default_factory=list)
    interrupted: bool = False

    def logits(self, network: Network, prepared: Any) -> Floats:
        """Return the logits of all together, ``(n_graphs, n_classes)``."""
        each = [network.logits(prepared, member) for member in self.members]
        return combine(each) if len(each) > 1 else each[0]


def fit_committee(
    network: Network,
    examples: Examples,
    validation: tuple[Any, Ints] | None,
    seeds: Sequence[int],
    *,
    before: Callable[[int], None] = lambda number: None,
    what: str = "training",
) -> Committee:
    """Train a network once for each seed.

    Ctrl-C ends it with the members that are complete, or with the first as far as it has come.

    Parameters
    ----------
    network : Network
    examples : Examples
    validation : prepared graphs and classes, or None
    seeds : list of int
    before : callable
        Told the number of the member to come, to prepare the network.
    what : str
        What to call this in reports of progress.
    """
    committee = Committee()
    for number, seed in enumerate(seeds):
        before(number)
        named = f"{what}, {number + 1} of {len(seeds)}" if len(seeds) > 1 else what
        try:
            committee.members.append(network.fit(examples, validation, seed, what=named))
        except KeyboardInterrupt:
            committee.interrupted = True
            first = None if committee.members else getattr(network, "fitted", None)
            if first is not None and first.history.interrupted:
                committee.members.append(first)
            if not committee.members:
                raise
            break
    return committee
