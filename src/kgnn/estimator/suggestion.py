"""Which graphs to label next: uncertain ones that represent many others and differ from each other.

A short list is drawn at random, with larger weights for more uncertain graphs. Graphs are then
chosen from it greedily: each time the one that is most similar to graphs not yet covered by a
labeled or chosen graph. The most uncertain graphs alone would be redundant and often outliers;
docs/label-next.md has figures. The draw is a hash of the graphs, so the same candidates give the
same list.

References
----------
Wei, Iyer & Bilmes, *Submodularity in data subset selection and active learning*, ICML 2015:
a short list by uncertainty, and facility location to choose from it.
Kirsch et al., *Stochastic batch acquisition*, TMLR 2023: sampling by a power of the uncertainty.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata

from kgnn.engine.calibration import ALL
from kgnn.errors import ParameterError
from kgnn.estimator.carried import comparable
from kgnn.estimator.evidence import PREDICTION, Predict
from kgnn.graphs.graph import Floats, GraphDataset, Ints
from kgnn.kernels.base import gram
from kgnn.kernels.colors import looks, mix
from kgnn.kernels.weisfeiler_lehman import WeisfeilerLehman

_POWER = 4.0  # of the uncertainty, in the draw of the short list
_LISTED_PER_CHOSEN = 5
_LONGEST_LIST = 2048  # graphs, compared in all pairs: 32 MB
_COMPARED_AT_ONCE = 1 << 22  # pairs of graphs
_HIGH_ENTROPY, _HIGH_DISAGREEMENT = 0.9, 0.2  # worth mentioning


class Suggestion(NamedTuple):
    """A graph worth labeling."""

    row: int  # position among the given graphs
    name: str
    predicted: Any  # predicted label
    confidence: float  # probability of that label
    # How much the networks' probabilities differ, from 0 to 1; None for a single network.
    disagreement: float | None
    # To the most similar labeled graph: 0 if the Weisfeiler-Lehman kernel cannot tell the two
    # apart, 1 if the graph has nothing in common with any.
    distance: float
    alike: (
        int  # number of other candidates that look exactly the same and need no label of their own
    )
    why: str


class Suggestions(list[Suggestion]):
    """Graphs worth labeling, best first; a table in a notebook."""

    def _repr_html_(self) -> str:
        from kgnn.estimator.notebook import suggestions_html

        return suggestions_html(self)


def next_to_label(
    graphs: GraphDataset, labeled: GraphDataset, ask: Predict, classes: Sequence[Any], n: int
) -> Suggestions:
    """Return at most ``n`` graphs to label next, the most useful first.

    Not suggested are graphs with a target, graphs that look exactly like a labeled one, and graphs
    with the name of a labeled one unless the name is a number. Of graphs that look exactly alike,
    one is suggested. ``labeled`` are the labeled graphs that the model was fitted on.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> graphs = cycles_and_trees(60)
    >>> candidates = graphs[10:].with_targets([-1] * 50)
    >>> ask = lambda some: {"prediction": np.full((len(some), 2), 0.5)}
    >>> found = next_to_label(candidates, graphs[:10], ask, ["cycle", "tree"], 2)
    >>> found[0].why.split("; ")[0]
    'undecided between cycle (50%) and tree (50%)'
    """
    if n < 1:
        raise ParameterError(f"The number of suggestions must be at least 1, got n={n}.")
    known = [labeled, graphs[graphs.targets >= 0]]
    candidates = Candidates.of(graphs, known)
    if len(candidates.rows) == 0:
        return Suggestions()
    predictions = Predictions.of(ask(graphs[candidates.rows]))
    order = candidates.drawn(predictions.uncertainty)
    length = min(_LISTED_PER_CHOSEN * n, _LONGEST_LIST)
    suggestions = Suggestions()
    while len(suggestions) < n and len(order):
        listed, order = order[:length], order[length:]
        among, covered = _similarities(graphs[candidates.rows[listed]], known)
        chosen = most_covering(
            among, covered, predictions.uncertainty[listed], n - len(suggestions)
        )
        typical = float(np.median(1 - covered))
        suggestions += [
            _suggestion(
                graphs, candidates, predictions, classes, listed[at], 1 - covered[at], typical
            )
            for at in chosen.tolist()
        ]
    return suggestions


@dataclass(frozen=True, eq=False)
class Candidates:
    """Graphs that may be suggested, one from each set of graphs that look alike."""

    rows: Ints  # (n,)
    alike: Ints  # (n,), how many others look the same
    noise: Floats  # (n,), from 0 to 1, a hash of the graph and of the labeled graphs

    @classmethod
    def of(cls, graphs: GraphDataset, known: Sequence[GraphDataset]) -> Candidates:
        """Exclude labeled graphs, and graphs that look like one or have its name."""
        own, theirs = looks(graphs), np.concatenate([looks(each) for each in known])
        names = set[str]().union(*map(_telling_names, known))
        has_known_name = np.array([graph.name in names for graph in graphs], dtype=np.bool_)
        free = np.flatnonzero((graphs.targets < 0) & ~np.isin(own, theirs) & ~has_known_name)
        found, first, counts = np.unique(own[free], return_index=True, return_counts=True)
        bits = mix(found + theirs.sum(dtype=np.uint64)) >> np.uint64(11)
        return cls(free[first], counts - 1, (bits.astype(np.float64) + 0.5) / 2.0**53)

    def drawn(self, uncertainty: Floats) -> Ints:
        """Draw all candidates without replacement, weighted by a power of their uncertainty."""
        gumbel = -np.log(-np.log(self.noise))
        return np.argsort(-(_POWER * np.log(uncertainty) + gumbel), kind="stable")


@dataclass(frozen=True, eq=False)
class Predictions:
    """The probabilities of a model for graphs, and how uncertain they are."""

    proba: Floats  # (n, n_classes)
    entropy: Floats  # (n,), of the probabilities, as a share of its maximum
    disagreement: Floats | None  # (n,), how much the networks' probabilities differ, from 0 to 1

    @classmethod
    def of(cls, asked: Mapping[str, Floats]) -> Predictions:
        """Summarize the probabilities of a model and its networks."""
        proba = asked[PREDICTION]
        logs = np.log(np.maximum(proba, np.finfo(np.float64).tiny))
        entropy = -(proba * logs).sum(axis=1) / np.log(max(proba.shape[1], 2))
        parts = [each for who, each in asked.items() if who not in (PREDICTION, ALL)]
        together = np.min(parts, axis=0).sum(axis=1) if len(parts) > 1 else None
        return cls(proba, entropy, None if together is None else np.clip(1 - together, 0, 1))

    @property
    def uncertainty(self) -> Floats:
        """Rank of entropy plus disagreement among all graphs, from 0 to 1.

        Ranks do not depend on whether the model is over- or underconfident.
        """
        disputed = 0.0 if self.disagreement is None else self.disagreement
        total = np.asarray(self.entropy + disputed)
        return np.asarray(rankdata(total) / max(len(total), 1))


def _telling_names(graphs: GraphDataset) -> set[str]:
    """Return the names of graphs, except numbers, which other graphs may have, too."""
    names = [] if graphs.graph_names is None else graphs.graph_names.tolist()
    return {name for name in names if not name.isdecimal()}


def n_without_label(labeled: GraphDataset, given: GraphDataset) -> int:
    """Count the labeled graphs of a model that look like none of the given labeled graphs."""
    return int((~np.isin(looks(labeled), looks(given))).sum())


def most_covering(similarity: Floats, covered: Floats, uncertainty: Floats, n: int) -> Ints:
    """Choose rows that represent the others (greedy facility location).

    The gain of a row is by how much it raises each row's similarity to the most similar known or
    chosen one, summed over rows and multiplied by the row's uncertainty.

    ``covered`` is the similarity of each row to the most similar known graph.

    Examples
    --------
    >>> near = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> most_covering(near, np.zeros(3), np.ones(3), 2)
    array([0, 2])
    """
    covered = covered.copy()
    chosen: list[int] = []
    gains = np.maximum(similarity - covered, 0).sum(axis=1) * uncertainty
    heap = [(-gain, row) for row, gain in enumerate(gains.tolist())]
    heapq.heapify(heap)
    while heap and len(chosen) < n:
        _, row = heapq.heappop(heap)
        now = -float(np.maximum(similarity[row] - covered, 0).sum() * uncertainty[row])
        # Gains only shrink, so a gain that is still the largest when recomputed is the largest.
        if heap and (now, row) > heap[0]:
            heapq.heappush(heap, (now, row))
        else:
            chosen.append(row)
            np.maximum(covered, similarity[row], out=covered)
    return np.array(chosen, dtype=np.int64)


def _similarities(graphs: GraphDataset, known: Sequence[GraphDataset]) -> tuple[Floats, Floats]:
    """Return kernel values of the graphs with each other, and with the most similar known graph.

    The kernel is fitted on the graphs, so features that no known graph has count, too.
    """
    graphs, *known = comparable(graphs, *known)
    has_labels = all(each.node_labels is not None for each in (graphs, *known))
    kernel = WeisfeilerLehman(
        2,
        coarse=(0.5, 1.0),  # exact colors of large graphs hardly recur
        counts="log",
        normalize="level",
        start="labels" if has_labels else "degree",
    )
    features = kernel.fit_transform(graphs)
    n_levels, covered = len(kernel.levels_), np.zeros(len(graphs))
    at_once = max(1, _COMPARED_AT_ONCE // len(graphs))
    for each in known:
        for start in range(0, len(each), at_once):
            others = kernel.transform(each[start : start + at_once])
            covered = np.maximum(covered, gram(features, others).max(axis=1) / n_levels)
    return gram(features) / n_levels, np.minimum(covered, 1.0)


def _suggestion(
    graphs: GraphDataset,
    candidates: Candidates,
    predictions: Predictions,
    classes: Sequence[Any],
    place: int,
    distance: float,
    typical: float,
) -> Suggestion:
    row, proba = int(candidates.rows[place]), predictions.proba[place]
    disagreement = (
        None if predictions.disagreement is None else float(predictions.disagreement[place])
    )
    best, *others = np.argsort(-proba, kind="stable").tolist()
    why = []
    if others and predictions.entropy[place] >= _HIGH_ENTROPY:
        one, two = (f"{classes[c]} ({proba[c]:.0%})" for c in (best, others[0]))
        why.append(f"undecided between {one} and {two}")
    if disagreement is not None and disagreement >= _HIGH_DISAGREEMENT:
        why.append(f"the networks disagree ({disagreement:.2f})")
    # A distance that would be printed as 0.00 is not far, even if the median is 0.
    if distance >= typical and round(distance, 2) > 0:
        why.append(f"farther from labeled graphs than most (distance {distance:.2f})")
    alike = int(candidates.alike[place])
    if alike:
        why.append(f"{alike} more look exactly like it")
    return Suggestion(
        row,
        graphs[row].name,
        classes[best],
        float(proba[best]),
        disagreement,
        float(distance),
        alike,
        "; ".join(why) or "represents graphs that no other suggestion resembles",
    )
