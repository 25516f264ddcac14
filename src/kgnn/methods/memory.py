"""The family of methods with a memory network: what it is made of, and what it can explain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Literal, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted
from torch import nn

from kgnn.engine.calibration import PULL, choose, log_likelihoods
from kgnn.engine.linear import PENALTY, fit_linear, make_projection
from kgnn.engine.memory import Memory, Rows, plain
from kgnn.engine.network import Fitted
from kgnn.engine.task import Task
from kgnn.errors import ParameterError
from kgnn.estimator.classifier import Graphs
from kgnn.estimator.explanation import plain_similarity
from kgnn.estimator.parameters import Bounds, Count, parameters
from kgnn.graphs.graph import Floats, GraphDataset, Ints
from kgnn.graphs.interop import as_dataset
from kgnn.kernels import make_kernel
from kgnn.kernels.base import cosines
from kgnn.methods.neural import TrainingSettings
from kgnn.progress import track

Attention = Literal["distance", "dot"]
Reading = Literal["query", "output"]

# What ``kernel="auto"`` chooses from, the usual one first.
DEFAULT_KERNELS = (
    "wl(iterations=2, coarse=(0.5, 1.0), counts='log', min_df=2, normalize='dataset')",
    "wl(iterations=2, coarse=(0.5, 1.0), counts='log', min_df=2, normalize='level')",
)
# What ``linear_penalty="auto"`` chooses from, the usual one first.
PENALTIES = tuple(PENALTY * factor for factor in (1, 3, 10, 30))
_CAUTION = 1.0  # standard errors; with 2, a weaker penalty comes too late on REDDIT-BINARY


@parameters
class MemorySettings:
    """The parts of a memory; `TrainingSettings` beside them say how it is trained.

    Parameters
    ----------
    hops : int
        Times that the memory is read.
    attention : {"distance", "dot"}
        How the memory is compared with the query; see `kgnn.methods.kgnn.MemoryNetwork`.
    reading : {"query", "output"}
        What the classifier of the memory reads.
    learn_sharpness : bool
        Whether comparisons have a factor that is learned for each hop.
    mask_own : bool
        Whether a graph in the memory is kept from attending to itself.
    kernel : str or featurizer
        What graphs are compared by: a kernel's name with its settings, such as
        ``"wl(iterations=3, counts='raw')"``, or any object with ``fit`` and ``transform``; see
        `kgnn.kernels.make_kernel`. ``auto`` is the Weisfeiler-Lehman kernel with coarse colors,
        scaled so that the size of a graph counts or, where held-out graphs clearly say so, so that
        it does not.
    dimensions : int, "auto" or None
        Coordinates that the features are projected to; None for the sparse features themselves.
        ``auto`` is half as many as there are labeled graphs, at least 64 and at most 256.
    linear_start : bool
        Whether the memory starts as a logistic regression on the coordinates, which is hard to beat
        with a few labels, and learns the rest; not without coordinates.
    gaussian_start : bool
        Whether that regression also has a Gaussian around each labeled graph (256 at most), for
        classes that no hyperplane separates.
    linear_penalty : float or "auto"
        Inverse of the penalty of that regression, as ``C`` of `kgnn.methods.wl_linear.WLLinear`.
        ``auto`` is that of WL-Linear or, where held-out graphs say so, a weaker one, which suits
        REDDIT-BINARY and spoils PROTEINS.
    use_node_attributes, use_edge_labels : bool
        Whether what nodes and edges carry is read, where the graphs have it.
    slots, step_slots : int or None
        Most graphs in the memory, and most that a training step attends to; None for no limit.
    """

    hops: Count = 3
    attention: Attention = "distance"
    reading: Reading = "query"
    learn_sharpness: bool = True
    mask_own: bool = True
    # Paper silent: sizes of graphs tell much in some datasets and nothing in others.
    kernel: object = "auto"
    dimensions: Count | Literal["auto"] | None = "auto"
    linear_start: bool = True
    gaussian_start: bool = True
    linear_penalty: Annotated[float, Bounds(1e-9)] | Literal["auto"] = "auto"
    use_node_attributes: bool = True
    use_edge_labels: bool = True
    slots: Count | None = 1024
    step_slots: Count | None = 256

    # Of the classifier that these settings are part of.
    labeled_graphs_: ClassVar[GraphDataset]
    labeled_rows_: ClassVar[Ints]

    def _memory(
        self,
        task: Task,
        module: Callable[..., nn.Module],
        *,
        learning_rate: float,
        labels: bool = True,
        grows: bool = True,
    ) -> Memory:
        """Return the memory for these graphs, not yet trained.

        ``module`` is `kgnn.methods.kgnn.MemoryNetwork`, or takes the same arguments.
        """
        training = cast("TrainingSettings", self)  # which every method with a memory has

        has_linear_start = self.linear_start and self.dimensions is not None

        def build(n_features: int, sharpness: float, centers: int) -> nn.Module:
            return module(
                n_features,
                task.n_classes,
                width=training.width,
                hops=self.hops,
                dropout=training.dropout,
                attention=self.attention,
                reading=self.reading,
                labels=labels,
                sharpness=sharpness if self.learn_sharpness else None,
                identity=self.dimensions is not None,
                norm=training.readout_norm,
                linear=has_linear_start,
                centers=centers,
            )

        def with_kernel(kernel: Any) -> Memory:
            memory = Memory(
                task.graphs,
                build,
                training._optimizer_config(learning_rate),
                kernel=make_kernel(kernel),
                projection=make_projection(self.dimensions, task),
                grows=grows,
                mask_own=self.mask_own,
                slots=self.slots,
                step_slots=self.step_slots,
                linear_start=has_linear_start,
                gaussians=self.gaussian_start,
            )
            memory.n_jobs = training.n_jobs
            return memory

        is_judged = task.validation is not None or any(map(len, task.folds))
        is_auto = isinstance(self.kernel, str) and self.kernel == "auto"
        kernels = DEFAULT_KERNELS[: 2 if is_judged else 1] if is_auto else (self.kernel,)
        candidates = [with_kernel(each) for each in track(kernels, "choosing a scaling")]
        memory = candidates[0]
        if len(candidates) > 1:
            judged = [_by_linear(each, task) for each in candidates]
            memory = candidates[choose(np.stack(judged), default=0)]
        if has_linear_start and self.linear_penalty != "auto":
            memory.penalty = self.linear_penalty
        elif has_linear_start and is_judged:
            judged = [_by_start(memory, task, each) for each in PENALTIES]
            memory.penalty = PENALTIES[choose(np.stack(judged), 0, _CAUTION)]
        return memory

    def _trained_memory(self) -> tuple[Memory, list[Fitted]] | None:
        """Return the memory and its trainings that predict, if the model has one."""
        return None

    def attended(self, X: Graphs) -> Floats:
        """Return how much the memory attends to each training graph.

        ``(n_hops, n_graphs, n_training)``, the mean over the rounds that predict. Rows sum to 1;
        graphs that are in no round's memory have 0.
        """
        check_is_fitted(self, "classes_")
        found = self._trained_memory()
        if found is None:
            raise ParameterError(
                f"{type(self).__name__} attends to no graphs: it was fitted on one class, or has "
                "no memory network by itself."
            )
        memory, rounds = found
        return memory.attention(memory.prepare(as_dataset(X)), rounds)

    def attention_to_labeled(self, graphs: GraphDataset) -> Floats:
        """Return attention to the labeled graphs, ``(n_hops, n_graphs, n_labeled)``, if any."""
        found = self._trained_memory()
        if found is None:
            return np.zeros((0, len(graphs), len(self.labeled_graphs_)))
        memory, trained = found
        return memory.attention(memory.prepare(graphs), trained)[:, :, self.labeled_rows_]

    def similarity_to_labeled(self, graphs: GraphDataset) -> Floats:
        """Return cosines of kernel features with the labeled graphs, ``(n_graphs, n_labeled)``."""
        found = self._trained_memory()
        if found is None:
            return plain_similarity(graphs, self.labeled_graphs_)
        kernel = found[0].kernel
        return cosines(kernel.transform(graphs), kernel.transform(self.labeled_graphs_))


def _by_linear(memory: Memory, task: Task) -> Floats:
    """Return how likely held-out classes are by a linear machine on a memory's features.

    It tells which features are better in a hundredth of the time that the memory would take.
    """

    def fit(known: Ints) -> Callable[[Rows], Floats]:
        features, targets = plain(memory.part(known)), task.targets[known]
        coefficients, biases = fit_linear(features, targets, task.n_classes, penalty=1.0)
        return lambda asked: np.asarray(plain(asked) @ coefficients.T + biases)

    return _log_likelihoods(memory, task, fit)


def _by_start(memory: Memory, task: Task, penalty: float) -> Floats:
    """Return how likely held-out classes are by what a memory starts from."""

    def fit(known: Ints) -> Callable[[Rows], Floats]:
        machine = memory.machine(known, task.targets[known], task.n_classes, penalty=penalty)
        return lambda asked: machine.scores(plain(asked))

    return _log_likelihoods(memory, task, fit)


def _log_likelihoods(
    memory: Memory, task: Task, fit: Callable[[Ints], Callable[[Rows], Floats]]
) -> Floats:
    if task.validation is not None:
        graphs, truth = task.validation
        return log_likelihoods(fit(task.labeled)(memory.prepare(graphs)), truth)
    members = [member for member in task.members() if len(member.held_out)]
    found = [fit(each.labeled)(memory.part(each.held_out)) for each in members]
    truth = np.concatenate([task.targets[each.held_out] for each in members])
    return log_likelihoods(np.concatenate(found), truth, PULL)
