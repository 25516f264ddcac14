"""Why a model predicts a class for a graph, as plain data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kgnn.errors import ParameterError
from kgnn.estimator.carried import comparable
from kgnn.estimator.evidence import PREDICTION, Evidence, Substructure, measure
from kgnn.estimator.novelty import Novelty
from kgnn.graphs.drawing import Mark, Sketch
from kgnn.graphs.graph import Floats, Graph, GraphDataset
from kgnn.graphs.interop import as_dataset
from kgnn.kernels.weisfeiler_lehman import WeisfeilerLehman
from kgnn.progress import track

if TYPE_CHECKING:
    from kgnn.estimator.classifier import GraphClassifier

NETWORK_NAMES = {"gnn": "GNN"}  # how names of networks are displayed
_SHOWN = 5  # substructures for, and against
_COMPARED_AT_ONCE = 1024  # graphs; bounds the memory for similarities


@dataclass(frozen=True)
class Neighbor:
    """A labeled graph that is similar to another graph."""

    row: int  # position among the model's ``labeled_graphs_``
    name: str
    label: Any  # its class
    # Cosine of the two graphs' kernel features: 1 if the kernel cannot tell them apart, 0 if they
    # have nothing in common.
    kernel_value: float
    # Share of the memory's attention at each hop; empty without a memory.
    attention: tuple[float, ...] = ()


@dataclass(frozen=True, repr=False)
class Explanation:
    """Why a model predicts a class for a graph."""

    method: str  # class name of the model
    graph: Sketch  # the graph that is explained
    classes: tuple[Any, ...]  # all labels
    predicted: Any  # the most probable one
    # Probability of each class: of the model (``prediction``) and, if it has several networks, of
    # each of them and of ``all`` together.
    proba: dict[str, tuple[float, ...]]
    # Conformal label set with an error rate of at most ``error``; None without held-out graphs.
    label_set: tuple[Any, ...] | None
    error: float
    novelty: Novelty  # how it differs from the training graphs
    evidence: Evidence  # for and against the predicted class; see `kgnn.estimator.evidence`
    # Labeled graphs that the memory attends to most; without a memory, the most similar ones.
    neighbors: tuple[Neighbor, ...]
    neighbor_graphs: tuple[Sketch, ...]  # the same, to be drawn
    # Share of the attention, by hop, that goes to graphs annotated by the model.
    elsewhere: tuple[float, ...] = ()

    @property
    def confidence(self) -> float:
        """Probability of the predicted class."""
        return self.proba[PREDICTION][self.classes.index(self.predicted)]

    def speaking(self, *, against: bool = False, n: int = _SHOWN) -> tuple[Substructure, ...]:
        """Return the substructures with the most evidence for or against the predicted class."""
        sign = -1 if against else 1
        found = [s for s in self.evidence.substructures if sign * s.evidence[PREDICTION] > 0]
        found.sort(key=lambda each: -abs(each.evidence[PREDICTION]))
        return tuple(found[:n])

    def to_json(self) -> dict[str, Any]:
        """Return plain data for `from_json`."""
        return {**asdict(self), "novelty": self.novelty._asdict()}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Explanation:
        """Rebuild an explanation from `to_json`, also after a round trip through JSON."""
        plain = _tupled(data)
        evidence = plain["evidence"]
        found = tuple(Substructure(**each) for each in evidence["substructures"])
        return cls(
            **{
                **plain,
                "graph": Sketch(**plain["graph"]),
                "novelty": Novelty(**plain["novelty"]),
                "evidence": Evidence(**{**evidence, "substructures": found}),
                "neighbors": tuple(Neighbor(**each) for each in plain["neighbors"]),
                "neighbor_graphs": tuple(Sketch(**each) for each in plain["neighbor_graphs"]),
            }
        )

    def __repr__(self) -> str:
        return (
            f"Explanation({self.method} of graph '{self.graph.name}': {self.predicted!r} with "
            f"probability {self.confidence:.2f}, {len(self.evidence.substructures)} substructures, "
            f"{len(self.neighbors)} neighbors)"
        )

    def __str__(self) -> str:
        return "\n".join(_lines(self))

    def _repr_html_(self) -> str:
        from kgnn.estimator.notebook import explanation_html

        return explanation_html(self)


def explain(model: GraphClassifier, graph: Any, *, neighbors: int, error: float) -> Explanation:
    """Explain the prediction for one graph; see `GraphClassifier.explain`."""
    one = _one_graph(graph)
    proba = model.predict_proba_all(one)
    classes = model.classes_.tolist()
    best = int(proba[PREDICTION][0].argmax())
    evidence = measure(model.predict_proba_all, one, best)
    attention = model.attention_to_labeled(one)
    found = _neighbors(model, one, neighbors, attention)[0]
    has_sets = model.held_out_ is not None or len(classes) == 1
    return Explanation(
        type(model).__name__,
        Sketch.of(one[0], evidence.nodes),
        tuple(classes),
        classes[best],
        {who: tuple(each[0].tolist()) for who, each in proba.items()},
        tuple(model.sets_of(proba[PREDICTION], error=error)[0]) if has_sets else None,
        error,
        model.novelty(one)[0],
        evidence,
        found,
        tuple(Sketch.of(model.labeled_graphs_[each.row]) for each in found),
        tuple(np.maximum(0.0, 1 - attention[:, 0].sum(axis=1)).tolist()),
    )


def most_similar_labeled(
    model: GraphClassifier, graphs: GraphDataset, n: int
) -> list[tuple[Neighbor, ...]]:
    """Return for each graph the labeled graphs with the largest kernel values, largest first."""
    starts = range(0, max(1, len(graphs)), _COMPARED_AT_ONCE)
    found = []
    for start in track(list(starts), "comparing"):
        found += _neighbors(model, graphs[start : start + _COMPARED_AT_ONCE], n)
    return found


def _neighbors(
    model: GraphClassifier, graphs: GraphDataset, n: int, by: Floats | None = None
) -> list[tuple[Neighbor, ...]]:
    """Return the labeled graphs most similar to each graph, or with the most attention."""
    if n < 1:
        raise ParameterError(f"The number of similar graphs must be at least 1, got {n}.")
    labeled, classes = model.labeled_graphs_, model.classes_.tolist()
    values = model.similarity_to_labeled(graphs)
    attention = model.attention_to_labeled(graphs) if by is None else by
    found = []
    for row in range(len(graphs)):
        order = np.argsort(-values[row], kind="stable")
        if by is not None and len(by):
            # Rounded, so that kernel values decide between equal attention.
            order = np.lexsort([-values[row], -by[:, row].mean(axis=0).round(12)])
        found.append(
            tuple(
                Neighbor(
                    at,
                    labeled[at].name,
                    classes[labeled.targets[at]],
                    float(values[row, at]),
                    tuple(attention[:, row, at].tolist()),
                )
                for at in order[:n].tolist()
            )
        )
    return found


def plain_similarity(graphs: GraphDataset, labeled: GraphDataset) -> Floats:
    """Return normalized Weisfeiler-Lehman kernel values, for models without a kernel.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> graphs = cycles_and_trees(4)
    >>> plain_similarity(graphs[:1], graphs).round(2).tolist()
    [[1.0, 0.24, 1.0, 0.06]]
    """
    graphs, labeled = comparable(graphs, labeled)
    has_labels = labeled.node_labels is not None and graphs.node_labels is not None
    start = "labels" if has_labels else "degree"
    kernel = WeisfeilerLehman(2, start=start, normalize="graph")
    return np.minimum(kernel.fit(labeled).gram(graphs, labeled), 1.0)


def promised(explanation: Explanation) -> str:
    """Describe the label set, or say why there is none."""
    if explanation.label_set is None:
        return "No label set: that needs a model fitted with validation graphs or cross_fit."
    labels = ", ".join(map(str, explanation.label_set)) or "none"
    return (
        f"Label set: {labels}. For graphs like the training graphs, the set contains the true "
        f"class in {1 - explanation.error:.0%} of cases."
    )


def familiarity(explanation: Explanation) -> str:
    """Say whether the graph looks like the training graphs."""
    if not explanation.novelty.is_novel:
        return "The graph looks like the training graphs."
    return f"Unlike the training graphs: {'; '.join(explanation.novelty.reasons)}."


def evidence_marks(explanation: Explanation) -> list[Mark]:
    """Return how each drawn node is marked: blue for the class, orange against it."""
    evidence = explanation.evidence.nodes
    most = max(map(abs, evidence), default=0.0) or 1.0
    return [
        Mark("s1" if evidence[node] > 0 else "s0", abs(evidence[node]) / most)
        for node in explanation.graph.nodes
    ]


def signed(evidence: float) -> str:
    """Format evidence with about three digits.

    Examples
    --------
    >>> signed(0.123), signed(-12.34), signed(1234.5)
    ('+0.12', '−12.3', '+1,234')
    """
    decimals = 2 if abs(evidence) < 10 else 1 if abs(evidence) < 100 else 0
    return f"{evidence:+,.{decimals}f}".replace("-", "−")


def node_list(nodes: tuple[int, ...], most: int = 8, word: str = "node") -> str:
    """Format a list of nodes, shortened.

    Examples
    --------
    >>> node_list((3,)), node_list((1, 2, 5)), node_list(tuple(range(100)), most=2)
    ('node 3', 'nodes 1, 2, 5', 'nodes 0, 1 and 98 more')
    """
    listed = ", ".join(map(str, nodes[:most]))
    more = f" and {len(nodes) - most:,} more" if len(nodes) > most else ""
    return f"{word}{'s' if len(nodes) > 1 else ''} {listed}{more}"


def _lines(explanation: Explanation) -> Iterator[str]:
    graph = explanation.graph
    place = explanation.classes.index(explanation.predicted)
    parts = {who: each for who, each in explanation.proba.items() if who != PREDICTION}
    each = [f"{NETWORK_NAMES.get(who, who)} {proba[place]:.1%}" for who, proba in parts.items()]
    own = f" ({', '.join(each)})" if each else ""
    yield f"Graph {graph.name}: {', '.join(graph.size)}"
    yield f"Prediction: class {explanation.predicted}, {explanation.confidence:.1%}{own}"
    yield promised(explanation)
    yield familiarity(explanation)
    for against in (False, True):
        found = explanation.speaking(against=against)
        if found:
            yield f"Evidence {'against' if against else 'for'} class {explanation.predicted}:"
        for part in found:
            told = f"{node_list(part.nodes, word=graph.words[0])}; {part.without:.1%} without"
            yield f"  {signed(part.evidence[PREDICTION]):>6}  {part.text}  ({told})"
    yield from explanation.evidence.notes
    has_memory = any(each.attention for each in explanation.neighbors)
    yield "Labeled graphs attended to:" if has_memory else "Most similar labeled graphs:"
    for near in explanation.neighbors:
        weights = "".join(f" {weight:6.1%}" for weight in near.attention)
        yield f"  {near.name}: class {near.label}, kernel {near.kernel_value:.2f}" + (
            f", attention{weights}" if weights else ""
        )


def _tupled(value: Any) -> Any:
    """Turn lists into tuples, all the way down."""
    if isinstance(value, dict):
        return {key: _tupled(each) for key, each in value.items()}
    return tuple(map(_tupled, value)) if isinstance(value, (list, tuple)) else value


def _one_graph(graph: Any) -> GraphDataset:
    graphs = as_dataset(graph if isinstance(graph, (GraphDataset, list, tuple)) else [graph])
    if len(graphs) != 1:
        raise ParameterError(f"Pass one graph to explain, got {len(graphs)}.")
    # Outside its dataset, a graph without a name would get another number.
    is_named = not isinstance(graph, Graph) or graphs.graph_names is not None
    return graphs if is_named else replace(graphs, graph_names=np.array([graph.name]))
