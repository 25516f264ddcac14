"""Which graphs to label next: uncertain ones that represent many others, and no two alike.

A short list is drawn at random, with larger weights for more uncertain graphs. From it, graphs are
chosen one by one: each time the one most similar to graphs that no labeled or chosen graph is
similar to yet. Taking the most uncertain graphs instead would give graphs of one kind, often unlike
all others; docs/label-next.md has figures. The draw is a hash of the graphs: the same candidates
give the same list.

References
----------
Wei, Iyer & Bilmes, *Submodularity in data subset selection and active learning*, ICML 2015:
uncertainty makes a list, facility location chooses from it.
Kirsch et al., *Stochastic batch acquisition*, TMLR 2023: draws by a power of the uncertainty.
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
from kgnn.estimator.evidence import PREDICTION, Predict
from kgnn.graphs.graph import Floats, GraphDataset, Ints
from kgnn.kernels.base import gram
from kgnn.kernels.colors import looks, mix
from kgnn.kernels.weisfeiler_lehman import WeisfeilerLehman

_POWER = 4.0  # of the uncertainty, in the draw of the short list
_LISTED_PER_CHOSEN = 5
_LONGEST_LIST = 2048  # graphs, all of which are compared with each other: 32 MB
_COMPARED_AT_ONCE = 1 << 22  # pairs of graphs
_HIGH_ENTROPY, _HIGH_DISAGREEMENT = 0.9, 0.2  # worth mentioning


class Suggestion(NamedTuple):
    """A graph worth labeling."""

    row: int  # its position among the graphs that were given
    name: str
    predicted: Any  # the label that the model gives it
    confidence: float  # probability of that label
    # Probability that the parts of the model put on different classes, at most 1; None for a model
    # of one part.
    disagreement: float | None
    # To the most similar labeled graph: 0 for one that the Weisfeiler-Lehman kernel cannot tell
    # apart, 1 for a graph that has nothing in common with any.
    distance: float
    alike: int  # how many other candidates look exactly the same; one label serves them all
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

    Graphs with a target count as labeled, like ``labeled``, which the model was fitted on, and so
    do graphs with the name of one, unless it is a mere number. Of graphs that look exactly alike
    one is suggested, and none if one of them is labeled.

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
        raise ParameterError(f"At least one graph must be asked for, got n={n}.")
    known = [labeled, graphs[graphs.targets >= 0]]
    candidates = Candidates.of(graphs, known)
    if len(candidates.rows) == 0:
        return Suggestions()
    opinion = Opinion.of(ask(graphs[candidates.rows]))
    order = candidates.drawn(opinion.uncertainty)
    length = min(_LISTED_PER_CHOSEN * n, _LONGEST_LIST)
    suggestions = Suggestions()
    while len(suggestions) < n and len(order):
        listed, order = order[:length], order[length:]
        among, covered = _similarities(graphs[candidates.rows[listed]], known)
        chosen = most_covering(among, covered, opinion.uncertainty[listed], n - len(suggestions))
        typical = float(np.median(1 - covered))
        suggestions += [
            _suggestion(graphs, candidates, opinion, classes, listed[at], 1 - covered[at], typical)
            for at in chosen.tolist()
        ]
    return suggestions


@dataclass(frozen=True, eq=False)
class Candidates:
    """Graphs that may be suggested, one of each set of identical-looking graphs."""

    rows: Ints  # (n,)
    alike: Ints  # (n,), how many others look the same
    noise: Floats  # (n,), from 0 to 1, a hash of the graph and of what is labeled

    @classmethod
    def of(cls, graphs: GraphDataset, known: Sequence[GraphDataset]) -> Candidates:
        """Leave out labeled graphs, and graphs that look like one or have its name."""
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
class Opinion:
    """What a model says of graphs."""

    proba: Floats  # (n, n_classes)
    entropy: Floats  # (n,), of the probabilities, as a share of its maximum
    disagreement: Floats | None  # (n,), probability that the model's parts put on different classes

    @classmethod
    def of(cls, asked: Mapping[str, Floats]) -> Opinion:
        """Summarize the probabilities of a model and its parts."""
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
    """Return the names of graphs without mere numbers, which other graphs may have as well."""
    names = [] if graphs.graph_names is None else graphs.graph_names.tolist()
    return {name for name in names if not name.isdecimal()}


def n_without_label(labeled: GraphDataset, given: GraphDataset) -> int:
    """Count the labeled graphs of a model that none of the given labeled graphs looks like."""
    return int((~np.isin(looks(labeled), looks(given))).sum())


def most_covering(similarity: Floats, covered: Floats, uncertainty: Floats, n: int) -> Ints:
    """Choose rows that represent the others (greedy facility location).

    The gain of a row is how much more similar to the others it is than all known and chosen rows,
    summed over the others and multiplied by the row's uncertainty.

    ``covered`` is the similarity of each row to the most similar known one.

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
    """Return kernel values of graphs with each other, and with the most similar known one.

    Features that only candidates have count, too.
    """
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
    opinion: Opinion,
    classes: Sequence[Any],
    place: int,
    distance: float,
    typical: float,
) -> Suggestion:
    row, proba = int(candidates.rows[place]), opinion.proba[place]
    disagreement = None if opinion.disagreement is None else float(opinion.disagreement[place])
    best, *others = np.argsort(-proba, kind="stable").tolist()
    why = []
    if others and opinion.entropy[place] >= _HIGH_ENTROPY:
        one, two = (f"{classes[c]} ({proba[c]:.0%})" for c in (best, others[0]))
        why.append(f"undecided between {one} and {two}")
    if disagreement is not None and disagreement >= _HIGH_DISAGREEMENT:
        why.append(f"the networks disagree ({disagreement:.2f})")
    # If the typical distance is 0, it is not far; nor is one that would be printed as 0.00.
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
        "; ".join(why) or "represents graphs that no other suggestion is similar to",
    )
