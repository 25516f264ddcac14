"""KGNN: a graph neural network and a kernel-based memory network that teach each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted

from kgnn.engine.calibration import combine
from kgnn.engine.cotraining import CoTraining, Plan, cotrain
from kgnn.engine.kernel_network import KernelNetwork
from kgnn.engine.memory import Attention, MemoryNetwork, Reading
from kgnn.engine.network import Examples, Network, one_hot
from kgnn.engine.selection import Selection, agreed
from kgnn.engine.task import Task
from kgnn.estimator.attending import Attending
from kgnn.estimator.calibration import sharpen
from kgnn.estimator.classifier import COMBINED, Graphs, Story
from kgnn.estimator.evidence import PREDICTION
from kgnn.estimator.parameters import Count, CountOrZero, NonNegative, Share, parameters
from kgnn.graphs.graph import Floats, GraphDataset
from kgnn.graphs.interop import as_dataset
from kgnn.kernels.projection import Projection
from kgnn.kernels.weisfeiler_lehman import WeisfeilerLehman
from kgnn.methods.neural import NeuralClassifier
from kgnn.progress import track

if TYPE_CHECKING:
    from typing_extensions import Self

_FEWEST_AND_MOST = 64, 256  # coordinates

# Parameters of one network alone, and of two, which ablations without them have no use for.
OF_THE_GNN = frozenset(
    {"encoder", "layers", "readout", "pooling", "features", "learning_rate", "use_attributes"}
)
OF_THE_MEMORY = frozenset(
    {
        "hops",
        "attention",
        "reading",
        "memory_labels",
        "iterations",
        "coarse",
        "counts",
        "normalize",
        "dimensions",
        "memory_learning_rate",
    }
)
OF_BOTH = frozenset({"candidates", "predict_with"})


@parameters
class KGNN(Attending, NeuralClassifier):
    """The kernel-based graph neural network.

    A GIN p_θ learns graph vectors; a memory network q_φ compares a graph with every labeled graph,
    and later with annotated ones, by Weisfeiler-Lehman features. Both are trained on the labeled
    graphs, then in turn on the unlabeled graphs that both are sure of and agree on. Predictions
    combine the two.

    Parameters
    ----------
    hops : int
        Times that the memory is read.
    attention : {"distance", "dot"}
        How the memory is compared with the query; see `kgnn.engine.memory.MemoryNetwork`.
    reading : {"query", "output"}
        What the memory network's classifier reads.
    memory_labels : bool
        Whether the classes of the graphs attended to count directly.
    iterations : int
        Depth of the exact Weisfeiler-Lehman colors.
    coarse : tuple of float
        Widths of the coarse colors beside them.
    counts : {"raw", "log", "sqrt", "binary"}
        What becomes of a count.
    normalize : {"auto", "dataset", "level", "graph", None}
        How features are scaled; see `kgnn.kernels.weisfeiler_lehman.WeisfeilerLehman`. ``auto`` is
        ``dataset``, where the size of a graph counts, or ``level``, where it does not: whichever
        the memory network likes better on VAL.
    dimensions : int, "auto" or None
        Coordinates that the features are projected to; None for the sparse features themselves.
        ``auto`` is half as many as there are labeled graphs, at least 64 and at most 256.
    memory_learning_rate : float
        Of the memory network; ``learning_rate`` is that of the GIN.
    rounds : int
        Rounds of annotation after the first training.
    growth : float
        Share of the unlabeled graphs by which the selection grows each round.
    candidates : int
        Each network lists so many times the graphs to select; what is on both lists with one class
        is selected, the most confident first.
    patience : int
        Rounds without a gain on VAL before stopping.
    annotated_weight : float
        Weight of annotated against labeled graphs in the loss.
    soft : bool
        Teach probabilities instead of the most probable class.
    balanced : bool
        Select from each predicted class in proportion to the labeled graphs.
    warm_start : bool
        Train on from round to round instead of anew.
    average_rounds : bool
        Predict with the networks of all rounds together, or with those of the round that is best
        on VAL.
    predict_with : {"both", "gnn", "memory"}
        Whose predictions `predict` returns.

    Attributes
    ----------
    networks_ : list of Network
        p_θ and q_φ.
    course_ : CoTraining
        What happened in each round.
    n_iter_ : int
        Number of rounds after the first training.
    termination_condition_ : str
        Why co-training ended.

    References
    ----------
    Ju et al., *KGNN: Harnessing Kernel-based Networks for Semi-supervised Graph Classification*,
    WSDM 2022.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> graphs = cycles_and_trees(60)
    >>> labels = graphs.targets.copy()
    >>> labels[10:40] = -1
    >>> model = KGNN(epochs=10, rounds=1).fit(graphs[:40], labels[:40])
    >>> model.score(graphs[40:], graphs.targets[40:])
    1.0
    """

    hops: Count = 3
    attention: Attention = "distance"
    reading: Reading = "query"
    memory_labels: bool = True
    iterations: CountOrZero = 2
    coarse: tuple[NonNegative, ...] | tuple[()] = (0.5, 1.0)
    counts: Literal["raw", "log", "sqrt", "binary"] = "log"
    # Paper silent: sizes of graphs tell much in some datasets and nothing in others.
    normalize: Literal["auto", "dataset", "level", "graph", None] = "auto"
    dimensions: Count | Literal["auto"] | None = "auto"
    memory_learning_rate: NonNegative = 0.01
    rounds: CountOrZero = 3
    growth: Share = 0.33
    candidates: Count = 2
    patience: Count = 2
    annotated_weight: NonNegative = 0.5
    soft: bool = False
    balanced: bool = True
    warm_start: bool = False
    average_rounds: bool = True
    predict_with: Literal["both", "gnn", "memory"] = "both"

    idle_parameters: ClassVar[frozenset[str]] = frozenset()  # in an ablation

    @classmethod
    def paper(cls, **settings: Any) -> Self:
        """Return the paper's settings, to the letter where it is not silent.

        ``width`` is 32 for bioinformatics and 64 otherwise in the paper; give 64 for the others.
        """
        letter = {
            "readout": "sum",
            "pooling": "last",
            "features": "paper",
            "epochs": 20,
            "learning_rate": 0.01,
            "averaging": 0.0,
            "attention": "dot",
            "reading": "output",
            "memory_labels": False,
            "iterations": 3,
            "coarse": (),
            "counts": "raw",
            "normalize": None,
            "dimensions": None,
            "rounds": 5,
            "growth": 0.2,
            "candidates": 1,
            "annotated_weight": 1.0,
            "balanced": False,
            "average_rounds": False,
            "predict_with": "gnn",
        }
        own = {name: value for name, value in letter.items() if name not in cls.idle_parameters}
        return cls(**{**own, **settings})

    def _fit(self, task: Task) -> None:
        counts = np.bincount(task.targets[task.labeled], minlength=task.n_classes)
        self.shares_: Floats = counts / counts.sum()
        self.networks_ = self._networks(task)
        self.course_: CoTraining = cotrain(
            self.networks_,
            labeled=task.labeled,
            unlabeled=task.unlabeled,
            targets=task.targets,
            n_classes=task.n_classes,
            validation=task.validation,
            select=self._select,
            plan=Plan(
                rounds=self.rounds,
                growth=self.growth,
                patience=self.patience,
                weight=self.annotated_weight,
                soft=self.soft,
                warm_start=self.warm_start,
                average=self.average_rounds,
                judge=self.predict_with,
            ),
            seed=task.seed,
        )
        self.n_iter_ = len(self.course_.rounds) - 1
        self.termination_condition_ = self.course_.termination_condition
        if self.termination_condition_ == "interrupted":
            raise KeyboardInterrupt

    def _can_predict(self) -> bool:
        return hasattr(self, "course_")

    def _networks(self, task: Task) -> list[Network]:
        return [self._gnn(task), self._memory(task)]

    def _memory(self, task: Task) -> KernelNetwork:
        if self.normalize != "auto":
            return self._scaled_memory(task, self.normalize)
        if task.validation is None:
            return self._scaled_memory(task, "dataset")
        graphs, targets = task.validation
        examples = Examples(task.labeled, one_hot(task.targets, task.n_classes))
        candidates = [self._scaled_memory(task, scaling) for scaling in ("dataset", "level")]
        for candidate in track(candidates, "choosing a scaling"):
            candidate.fit(examples, (candidate.prepare(graphs), targets), task.seed)
        return max(candidates, key=lambda candidate: max(candidate.fitted.history.score))

    def _scaled_memory(self, task: Task, normalize: str | None) -> KernelNetwork:
        def build(n_features: int, sharpness: float) -> MemoryNetwork:
            return MemoryNetwork(
                n_features,
                task.n_classes,
                width=self.width,
                hops=self.hops,
                dropout=self.dropout,
                attention=self.attention,
                reading=self.reading,
                labels=self.memory_labels,
                sharpness=sharpness,
                identity=self.dimensions is not None,
            )

        features = WeisfeilerLehman(
            self.iterations,
            coarse=self.coarse,
            counts=self.counts,
            normalize=normalize,
            min_df=2,  # a color of a single graph matches nothing
        )
        # A squared length of eight suits the rate of learning; the sharpness adapts to it anyway.
        dimensions = self.dimensions
        if dimensions == "auto":
            dimensions = int(np.clip(len(task.labeled) // 2, *_FEWEST_AND_MOST))
        projection = dimensions and Projection(dimensions, length=8.0, seed=task.seed)
        return KernelNetwork(
            task.graphs,
            build,
            self._optimizer_config(self.memory_learning_rate),
            features=features,
            projection=projection or None,
        )

    def _select(self, proba: list[Floats], k: int) -> list[Selection]:
        """Select where both networks agree; KGNN-Sep overrides this."""
        p, q = proba
        return [agreed(p, q, k, self._quotas(), self.candidates)] * 2

    def _quotas(self) -> Floats | None:
        return self.shares_ if self.balanced else None

    def _predict_proba(self, graphs: GraphDataset) -> Floats:
        return self._each(graphs)[self.predict_with]

    def predict_proba_each(self, X: Graphs) -> dict[str, Floats]:
        """Return the probabilities of each network (``gnn``, ``memory``) and of ``both``."""
        check_is_fitted(self, "classes_")
        graphs = as_dataset(X)
        if len(self.classes_) == 1 or len(self.networks_) == 1:
            return {}
        if len(graphs) == 0:
            nothing = np.ones((0, len(self.classes_)))
            return dict.fromkeys([*(n.name for n in self.networks_), COMBINED], nothing)
        each = self._each(graphs)
        return {**each, self.predict_with: sharpen(each[self.predict_with], self.sharpness_)}

    def _each(self, graphs: GraphDataset) -> dict[str, Floats]:
        logits = self.course_.logits(self.networks_, [n.prepare(graphs) for n in self.networks_])
        each = {n.name: own for n, own in zip(self.networks_, logits, strict=True)}
        each["both"] = self.course_.sharpness * combine(logits, self.course_.weights)
        return {name: np.asarray(softmax(own, axis=1)) for name, own in each.items()}

    def predict_proba_all(self, X: Graphs) -> dict[str, Floats]:
        """Return the model's own probabilities as ``prediction``, and those of its parts."""
        each = self.predict_proba_each(X)
        return {PREDICTION: each[self.predict_with] if each else self.predict_proba(X), **each}

    def story(self) -> Story:
        """Tell what happened in `fit`."""
        check_is_fitted(self, "classes_")
        if not hasattr(self, "course_"):  # one class
            return Story({}, [], "")
        curves = {network.name: network.fitted.history for network in self.networks_}
        rounds = [
            {
                "n_selected": each.n_selected,
                "agreement": each.agreement,
                "accuracy": dict(each.accuracy),
                "rows": [row for s in each.selections for row in s.rows.tolist()],
                "targets": [target for s in each.selections for target in s.targets.tolist()],
            }
            for each in self.course_.rounds
        ]
        return Story(curves, rounds, self.termination_condition_)
