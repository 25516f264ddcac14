"""Fit on TRAIN, select on VAL if any, score once on TEST; no other module sees test labels."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgnn.errors import ParameterError
from kgnn.estimator.calibration import label_sets, threshold
from kgnn.estimator.classifier import UNLABELED, GraphClassifier, Story
from kgnn.estimator.metrics import METRICS, accuracy
from kgnn.estimator.parameters import fields_of
from kgnn.evaluation.metrics import calibration_error, majority_share, mean_and_std, recalls, scores
from kgnn.evaluation.splits import Labels, Split, make_split
from kgnn.graphs.datasets.catalog import is_in_paper
from kgnn.graphs.graph import Floats, GraphDataset, Ints
from kgnn.kernels.colors import Colors, colors, graph_colors
from kgnn.seeds import generator

# Depth of the colors; deeper than that of any method here.
_DEPTH = 6
_NEIGHBORS = 3  # of a case
_DRAWABLE = 250  # nodes; drawings of larger graphs are unreadable
# Maps a seed to an unfitted method.
Builder = Callable[[int], GraphClassifier]
_ERROR = 0.1  # allowed error of label sets
_FIFTHS = 5


@dataclass(frozen=True)
class SplitResult:
    """Result on one split; in percent, except log loss, Brier score and calibration error."""

    seed: int
    # On TEST; see `kgnn.evaluation.metrics.Scores`.
    accuracy: float
    balanced_accuracy: float
    macro_f1: float
    matthews: float
    roc_auc: float | None
    average_precision: float | None
    log_loss: float
    brier: float
    majority_share: float  # of the most frequent class of TEST
    recalls: dict[str, float]  # by class, on TEST
    validation_accuracy: float | None  # None without VAL
    # The method's own estimate: its accuracy on VAL, or out of fold on the labeled graphs, and the
    # number of these graphs.
    expected_accuracy: float | None
    expected_on: int
    # On the TEST graphs that look like no graph in TRAIN or VAL; None if there are none.
    accuracy_without_twins: float | None
    without_twins: int  # number of these graphs
    calibration_error: float  # of the probabilities on TEST
    # Share of TEST graphs whose label set with an error of 10 % contains the true label; see
    # `kgnn.estimator.calibration`. The sets are calibrated on VAL or out of fold, on the same
    # graphs as the method's selection.
    coverage: float | None
    set_size: float | None  # mean size of these sets
    # Numbers of graphs.
    labeled: int
    unlabeled: int
    validation: int
    test: int
    # Time for fitting and predicting.
    seconds: float
    cpu_seconds: float
    # For methods that annotate unlabeled graphs, by round: number of annotations, their precision
    # (which only the evaluation can compute), agreement of the networks on the unlabeled graphs,
    # and accuracy on VAL; in percent.
    rounds: list[dict[str, Any]] = field(default_factory=list)
    # Mean loss of each epoch of the last training, by network.
    curves: dict[str, list[float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Evaluation:
    """A method on a dataset over several splits; in the units of `SplitResult`."""

    method: str
    dataset: str
    protocol: str
    labels: Labels
    splits: tuple[SplitResult, ...]

    def values(self, metric: str) -> list[float]:
        """Return a metric of each split; splits without it are left out."""
        found = (getattr(split, metric) for split in self.splits)
        return [value for value in found if value is not None]

    def recalls(self) -> dict[str, float]:
        """Return the recall of each class, mean over the splits whose TEST has the class."""
        names = dict.fromkeys(name for split in self.splits for name in split.recalls)
        return {
            name: mean_and_std([s.recalls[name] for s in self.splits if name in s.recalls])[0]
            for name in names
        }

    def summary(self, metric: str = "accuracy") -> dict[str, Any]:
        """Return the record that ``kgnn run --json`` prints.

        ``mean`` and ``std`` are those of ``metric``, None if no split has it; ``metrics`` has the
        means of all metrics; ``seconds`` is the total.
        """
        of_all = {name: mean_and_std(own) for name in METRICS if (own := self.values(name))}
        mean, std = of_all.get(metric, (None, None))
        return {
            "method": self.method,
            "dataset": self.dataset,
            "protocol": self.protocol,
            "labels": self.labels,
            "metric": metric,
            "mean": mean,
            "std": std,
            "majority_share": mean_and_std(self.values("majority_share"))[0],
            "metrics": {name: of_all.get(name, (None,))[0] for name in METRICS},
            "recalls": self.recalls(),
            "seconds": sum(split.seconds for split in self.splits),
            "peak_mib": peak_mib(),
            "splits": [asdict(split) for split in self.splits],
        }


def settings_for(dataset: str, method: type) -> dict[str, Any]:
    """Return the settings with which a method is evaluated on a dataset by default.

    On the paper's datasets only node labels are used, as in the paper. PROTEINS also has a node
    attribute; results that use it would not be comparable with others.

    Examples
    --------
    >>> from kgnn.methods.wl import WL
    >>> settings_for("PROTEINS", WL), settings_for("ENZYMES", WL)
    ({'use_node_attributes': False}, {})
    """
    switch = "use_node_attributes"
    return {switch: False} if is_in_paper(dataset) and switch in fields_of(method) else {}


def evaluate_split(method: GraphClassifier, dataset: GraphDataset, split: Split) -> SplitResult:
    """Fit a method on one split and score it once on TEST.

    The method gets graphs without targets, the labels of the labeled graphs, and VAL if the split
    has one.
    """
    hidden = dataset.with_targets(np.full(len(dataset), UNLABELED))
    rows = np.concatenate([split.labeled, split.unlabeled])
    labels = np.full(len(rows), UNLABELED)
    labels[: len(split.labeled)] = dataset.targets[split.labeled]
    validation = (hidden[split.validation], dataset.targets[split.validation])
    has_validation = len(split.validation) > 0
    wall, cpu = time.perf_counter(), time.process_time()
    method.fit(hidden[rows], labels, validation=validation if has_validation else None)
    if method.interrupted_:
        raise KeyboardInterrupt  # do not record an incomplete fit
    # The order of a stratified split would reveal classes by position.
    test = generator(split.seed, "order of TEST").permutation(split.test)
    proba = method.predict_proba(hidden[test])
    seconds, cpu_seconds = time.perf_counter() - wall, time.process_time() - cpu
    known, proba = proba, np.zeros((len(test), dataset.n_classes))
    proba[:, method.classes_] = known  # zeros for classes without a labeled graph
    truth = dataset.targets[test]
    predicted = proba.argmax(axis=1)
    right, found = predicted == truth, recalls(truth, predicted, dataset.class_names)
    alone = ~has_twin(dataset, test, np.concatenate([rows, split.validation]))
    story = method.story()
    return SplitResult(
        seed=split.seed,
        **scores(truth, proba).in_units(),
        majority_share=100 * majority_share(truth),
        recalls={name: 100 * share for name, share in found.items()},
        validation_accuracy=100 * accuracy(validation[1], method.predict(validation[0]))
        if has_validation
        else None,
        accuracy_without_twins=100 * float(right[alone].mean()) if alone.any() else None,
        without_twins=int(alone.sum()),
        calibration_error=calibration_error(truth, proba),
        **_promised(method, proba, truth),
        labeled=len(split.labeled),
        unlabeled=len(split.unlabeled),
        validation=len(split.validation),
        test=len(test),
        seconds=round(seconds, 3),
        cpu_seconds=round(cpu_seconds, 3),
        rounds=_rounds(story, dataset.targets[rows]),
        curves={
            name: [round(loss, 4) for loss in each.loss] for name, each in story.curves.items()
        },
    )


def _promised(method: GraphClassifier, proba: Floats, truth: Ints) -> dict[str, Any]:
    """Return the method's own estimate of its accuracy, and coverage and size of label sets."""
    held = method.held_out_
    if held is None:
        nothing = dict.fromkeys(("expected_accuracy", "coverage", "set_size"))
        return {**nothing, "expected_on": 0}
    sets = label_sets(proba, threshold(held.proba, held.targets, _ERROR))
    covered = sets[np.arange(len(truth)), truth]
    return {
        "expected_accuracy": 100 * accuracy(held.targets, held.proba.argmax(axis=1)),
        "expected_on": len(held.targets),
        "coverage": 100 * float(covered.mean()),
        "set_size": float(sets.sum(axis=1).mean()),
    }


def _rounds(story: Story, truth: Ints) -> list[dict[str, Any]]:
    """Return facts about each round, including the precision of its annotations."""
    told = []
    for each in story.rounds:
        right = truth[np.array(each["rows"], dtype=np.int64)] == np.array(each["targets"])
        told.append(
            {
                "selected": each["n_selected"],
                "precision": float(100 * right.mean()) if len(right) else None,
                "by_confidence": _by_confidence(np.array(each["confidence"]), right),
                "agreement": None if each["agreement"] is None else 100 * each["agreement"],
                "validation_accuracy": {k: 100 * v for k, v in each["accuracy"].items()},
            }
        )
    return told


def _by_confidence(confidence: Floats, right: NDArray[np.bool_]) -> list[list[float]]:
    """Return the mean confidence and the precision of each fifth, from the least confident on."""
    fifths = np.array_split(np.argsort(confidence, kind="stable"), _FIFTHS)
    return [
        [float(100 * confidence[rows].mean()), float(100 * right[rows].mean())]
        for rows in fifths
        if len(rows)
    ]


def evaluate_splits(
    build: Builder,
    dataset: GraphDataset,
    *,
    protocol: str = "fair",
    labels: Labels = 0.1,
    splits: int = 5,
    seed: int = 0,
) -> Iterator[SplitResult]:
    """Yield the results of ``splits`` runs with the seeds ``seed``, ``seed + 1``, and so on."""
    for each in range(seed, seed + splits):
        split = make_split(dataset, protocol=protocol, labels=labels, seed=each)
        yield evaluate_split(build(each), dataset, split)


def peak_mib() -> float | None:
    """Return the peak memory of this process in MiB; None if unknown."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


@lru_cache(maxsize=2)  # called for every split of a dataset
def twin_colors(graphs: GraphDataset) -> Colors:
    """Return a number for each graph, equal for graphs that node colors cannot tell apart.

    Isomorphic graphs get equal numbers. Graphs with equal numbers need not be isomorphic, but no
    method here that is based on colors can distinguish them, unless it also reads node attributes
    or edge labels.
    """
    *_, last = colors(graphs, _DEPTH)
    return graph_colors(graphs, last)


def has_twin(graphs: GraphDataset, rows: Ints, among: Ints) -> NDArray[np.bool_]:
    """Tell for each of ``rows`` whether a graph of ``among`` looks the same."""
    found = twin_colors(graphs)
    return np.isin(found[rows], found[among])


def find_cases(
    method: GraphClassifier, graphs: GraphDataset, split: Split, n: int
) -> list[dict[str, Any]]:
    """Return unlabeled graphs that only the memory gets right, the clearest ones first (§5.5).

    Each has its row, class, edges, the probabilities of both networks, and the labeled graphs with
    the most attention at the first hop of the memory.
    """
    hidden = graphs.with_targets(np.full(len(graphs), -1))
    proba = method.predict_proba_each(hidden[split.unlabeled])
    if not {"gnn", "memory"} <= set(proba):
        raise ParameterError(
            f"A case study needs a GNN and a memory; {type(method).__name__} does not have both."
        )
    truth = np.searchsorted(method.classes_, graphs.targets[split.unlabeled])
    gnn, memory = proba["gnn"], proba["memory"]
    is_case = (gnn.argmax(axis=1) != truth) & (memory.argmax(axis=1) == truth)
    every = np.arange(len(truth))
    clearness = np.where(is_case, memory[every, truth] - gnn[every, truth], -np.inf)
    clearness -= 10 * (graphs.graph_sizes[split.unlabeled] > _DRAWABLE)
    chosen = np.argsort(-clearness, kind="stable")[: min(n, int(is_case.sum()))]
    labeled_weights = method.attention_to_labeled(hidden[split.unlabeled[chosen]])[0]
    return [
        {
            **_described(graphs, int(split.unlabeled[row])),
            "classes": [graphs.class_names[column] for column in method.classes_.tolist()],
            "gnn": gnn[row].round(4).tolist(),
            "memory": memory[row].round(4).tolist(),
            "attended": [
                {
                    **_described(graphs, int(split.labeled[slot])),
                    "weight": round(float(own[slot]), 4),
                }
                for slot in np.argsort(-own, kind="stable")[:_NEIGHBORS]
            ],
        }
        for row, own in zip(chosen, labeled_weights, strict=True)
    ]


def _described(graphs: GraphDataset, row: int) -> dict[str, Any]:
    """Describe a graph so that it can be drawn without the dataset."""
    one = graphs[row]
    edges = one.edges.tolist()
    return {"graph": row, "class": one.target, "nodes": one.n_nodes, "edges": edges}
