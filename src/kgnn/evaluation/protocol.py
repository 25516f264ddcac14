"""Fit on TRAIN, choose on VAL if there is one, score once on TEST: this alone sees test labels."""

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

# Some rounds more than any method of ours looks.
_DEPTH = 6
_NEIGHBORS = 3  # of a case
_DRAWABLE = 250  # nodes; larger graphs are a blot of ink
# A seed to a method that has not been fitted.
Builder = Callable[[int], GraphClassifier]
# That sets of labels promise.
_ERROR = 0.1
_FIFTHS = 5


@dataclass(frozen=True)
class SplitResult:
    """What one split gave; in percent, but for log loss, Brier score and calibration error."""

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
    recalls: dict[str, float]  # how many TEST graphs of each class are found
    validation_accuracy: float | None  # None without VAL
    # What the method itself knows: its accuracy on the graphs that were held out of training (VAL,
    # or all labeled graphs where it was cross-fitted), and how many these are.
    expected_accuracy: float | None
    expected_on: int
    # On the TEST graphs of which no copy is in TRAIN or VAL; None where there are none.
    accuracy_without_twins: float | None
    without_twins: int  # how many these are
    calibration_error: float  # of the probabilities on TEST
    # How many TEST graphs have their true label in the set that promises an error of 10 %; see
    # `kgnn.estimator.calibration`. The graphs that it is set up on, VAL or all labeled ones, have
    # also made the method's choices.
    coverage: float | None
    set_size: float | None  # mean number of labels in these sets
    # Numbers of graphs.
    labeled: int
    unlabeled: int
    validation: int
    test: int
    # For fitting and predicting.
    seconds: float
    cpu_seconds: float
    # For methods that annotate unlabeled graphs: how many each round was taught, how many of these
    # annotations are right (percent; known to the evaluation alone), on how many of the unlabeled
    # graphs the networks agree (percent), accuracy on VAL.
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

        ``mean`` and ``std`` are those of the metric, None where no split has it; ``metrics`` has
        the means of all.
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
    """Return the settings with which a method is evaluated on a dataset, where none are given.

    On the paper's datasets nodes have their labels alone, as in the paper. PROTEINS has an
    attribute as well, and numbers of methods that read it could not be compared with any other.

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

    The method gets graphs without targets, the labels of the labeled graphs, and VAL to choose on
    where the split has one.
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
        raise KeyboardInterrupt  # half a fit is no result
    # A stratified split has the classes in turn: in that order, places would give classes away.
    test = generator(split.seed, "order of TEST").permutation(split.test)
    proba = method.predict_proba(hidden[test])
    seconds, cpu_seconds = time.perf_counter() - wall, time.process_time() - cpu
    known, proba = proba, np.zeros((len(test), dataset.n_classes))
    proba[:, method.classes_] = known  # classes of which no graph was labeled have zeros
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
    """Return what the method expected, how often label sets hold the true label, their size."""
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
    """Tell how right the annotations of each round were, which the method cannot know."""
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
    """Return the most memory that this process has ever used, in MiB, if known."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


@lru_cache(maxsize=2)  # every split of a dataset asks
def twin_colors(graphs: GraphDataset) -> Colors:
    """Return a number for each graph, the same for those that colors of nodes cannot tell apart.

    Isomorphic graphs always look alike. Graphs that look alike need not be isomorphic, but no
    method here that looks at colors could classify them differently, unless it is told to read
    attributes or labels of edges, too; `kgnn.kernels.colors` sees these.
    """
    *_, last = colors(graphs, _DEPTH)
    return graph_colors(graphs, last)


def has_twin(graphs: GraphDataset, rows: Ints, among: Ints) -> NDArray[np.bool_]:
    """Tell for each of ``rows`` whether a graph of ``among`` looks alike."""
    found = twin_colors(graphs)
    return np.isin(found[rows], found[among])


def find_cases(
    method: GraphClassifier, graphs: GraphDataset, split: Split, n: int
) -> list[dict[str, Any]]:
    """Return unlabeled graphs that only the memory gets right, the clearest ones first (§5.5).

    Of each: its row, class, edges, the probabilities of both networks by class, and the labeled
    graphs that the memory attends to most at its first hop, with their weights.
    """
    hidden = graphs.with_targets(np.full(len(graphs), -1))
    proba = method.predict_proba_each(hidden[split.unlabeled])
    if not {"gnn", "memory"} <= set(proba):
        raise ParameterError(
            f"Cases compare two networks; {type(method).__name__} does not have both."
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
