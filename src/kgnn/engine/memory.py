"""The memory as a network to train: kernel features of a pool of graphs, some of them in slots."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor, nn

from kgnn.engine.configured import drawn
from kgnn.engine.linear import MOST_CENTERS, PENALTY, KernelMachine, typical_distance
from kgnn.engine.network import Examples, Fitted, Network, OptimizerConfig
from kgnn.graphs.graph import Floats, GraphDataset, Ints
from kgnn.kernels.base import Featurizer
from kgnn.kernels.projection import Projection

# Bound of the attention weights in one pass without gradients: the memory may be large.
ATTENTION_PER_PASS = 1 << 20


@dataclass(frozen=True)
class SparseRows:
    """Rows of a CSR matrix as tensors."""

    columns: Tensor  # (n_entries,) int32
    values: Tensor  # (n_entries,)
    offsets: Tensor  # (n_rows + 1,) int32
    n_columns: int

    @classmethod
    def of(cls, matrix: sparse.csr_array) -> SparseRows:
        """Convert a scipy matrix."""
        return cls(
            torch.from_numpy(matrix.indices.astype(np.int32)),
            torch.from_numpy(matrix.data).to(torch.get_default_dtype()),
            torch.from_numpy(matrix.indptr.astype(np.int32)),
            matrix.shape[1],
        )

    def require_sound(self) -> None:
        """Refuse rows, read from a file, that compiled code could not trust."""
        columns, ends = self.columns, self.offsets
        is_sound = (
            columns.shape == self.values.shape == (len(self.values),)
            and ends.ndim == 1
            and len(ends) >= 1
            and (columns.dtype, ends.dtype) == (torch.int32, torch.int32)
            and self.values.dtype == torch.get_default_dtype()
            and int(ends[0]) == 0
            and int(ends[-1]) == len(columns)
            and bool((ends.diff() >= 0).all())
            and bool(((columns >= 0) & (columns < self.n_columns)).all())
        )
        if not is_sound:
            raise ValueError("the rows of a sparse matrix do not belong together")

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, rows: Tensor) -> SparseRows:
        lengths = self.offsets.diff()[rows].long()
        ends = lengths.cumsum(0)
        place = torch.arange(int(ends[-1]) if len(ends) else 0)
        place += (self.offsets[rows].long() - (ends - lengths)).repeat_interleave(lengths)
        offsets = torch.cat([ends.new_zeros(1), ends]).int()
        return SparseRows(self.columns[place], self.values[place], offsets, self.n_columns)


Rows = Tensor | SparseRows


def plain(rows: Rows) -> Any:
    """Return rows as an array, or as a sparse matrix of scipy."""
    if isinstance(rows, Tensor):
        return rows.numpy()
    parts = (rows.values.numpy(), rows.columns.numpy(), rows.offsets.numpy())
    return sparse.csr_array(parts, shape=(len(rows), rows.n_columns))


class Embedding(nn.Module):
    """``rows @ weight`` for dense or sparse rows: the matrices A and B."""

    def __init__(self, n_features: int, width: int) -> None:
        super().__init__()
        shape = (n_features, width)
        start = drawn(shape, lambda: torch.randn(shape) / np.sqrt(n_features))
        self.weight = nn.Parameter(start)

    def forward(self, rows: Rows) -> Tensor:
        """Return ``(n_rows, width)``."""
        if isinstance(rows, Tensor):
            return rows @ self.weight
        return nn.functional.embedding_bag(
            rows.columns,
            self.weight,
            rows.offsets,
            per_sample_weights=rows.values,
            mode="sum",
            include_last_offset=True,
        )


class Memory(Network):
    """q_φ as a network that can be trained on rows of a pool of graphs.

    Parameters
    ----------
    pool : GraphDataset
        All training graphs. The kernel and the projection are fitted on all of them; the memory
        holds the labeled ones and, if it grows, those that were annotated.
    build : callable
        Maps the number of features, the initial sharpness and the number of Gaussians that it
        starts from to a module.
    optimizer_config : OptimizerConfig
    kernel : Featurizer
    projection : Projection or None
        Without one, the module reads the kernel features themselves.
    grows : bool
        Whether annotated graphs join the memory.
    mask_own : bool
        Whether a graph in the memory is kept from attending to itself.
    slots, step_slots : int or None
        Most graphs in the memory, and most that a training step attends to, which are drawn anew
        for each step. Without these bounds, time grows with the square of the number of graphs.
    linear_start : bool
        Whether the module starts from a logistic regression (``start_from``) on the coordinates.
    gaussians : bool
        Whether that has a Gaussian around each labeled graph, or around 256 graphs.

    Attributes
    ----------
    penalty : float
        Of that logistic regression; see `kgnn.engine.linear.fit_linear`.
    """

    name = "memory"
    needed = ("kernel", "projection", "pool", "fitted")  # the slots are rows of the pool

    def __init__(
        self,
        pool: GraphDataset,
        build: Callable[[int, float, int], nn.Module],
        optimizer_config: OptimizerConfig,
        *,
        kernel: Featurizer,
        projection: Projection | None,
        grows: bool = True,
        mask_own: bool = True,
        slots: int | None = None,
        step_slots: int | None = None,
        linear_start: bool = False,
        gaussians: bool = True,
    ) -> None:
        super().__init__(optimizer_config)
        self.build, self.kernel, self.grows, self.mask_own = build, kernel, grows, mask_own
        self.slots, self.step_slots, self.starts_well = slots, step_slots, linear_start
        self.penalty, self.n_centers = PENALTY, MOST_CENTERS if gaussians else 0
        fit_transform = getattr(
            kernel, "fit_transform", lambda pool: kernel.fit(pool).transform(pool)
        )
        features = sparse.csr_array(fit_transform(pool))
        self.projection = None if projection is None else projection.fit(features)
        self.n_features = features.shape[1]
        self.pool = self._rows(features)

    def prepare(self, graphs: GraphDataset) -> Rows:
        """Compute z, the kernel features of graphs."""
        return self._rows(sparse.csr_array(self.kernel.transform(graphs)))

    def _rows(self, features: sparse.csr_array) -> Rows:
        if self.projection is None:
            return SparseRows.of(features)
        return torch.from_numpy(self.projection.transform(features))

    def part(self, rows: Ints) -> Rows:
        """Return some of the training graphs, prepared."""
        part: Rows = self.pool[torch.from_numpy(rows)]
        return part

    def _slots(self, examples: Examples) -> Ints:
        labeled, annotated = examples.labeled, examples.annotated
        if not self.grows:
            annotated = annotated[:0]  # Eq. 9: the labeled graphs
        if self.slots is None or len(labeled) + len(annotated) <= self.slots:
            return np.concatenate([labeled, annotated])
        if len(labeled) >= self.slots:
            return labeled[_draw_by_class(examples.targets[labeled], self.slots)]
        more = _draw_by_class(examples.targets[annotated], self.slots - len(labeled))
        return np.concatenate([labeled, annotated[more]])

    def _own_slots(self, rows: Ints, fitted: Fitted) -> Tensor | None:
        return fitted.slots_of(rows) if self.mask_own else None

    def _build(self, examples: Examples) -> nn.Module:
        if self.projection is None:
            return self.build(self.n_features, 1.0, 0)
        typical = typical_distance(self.pool[examples.labeled].double().numpy())
        machine = self._start(examples, typical) if self.starts_well else None
        # At half the typical squared distance, neighbors weigh some seven times as much.
        n_centers = 0 if machine is None else len(machine.centers)
        module = self.build(self.pool.shape[1], 4.0 / typical, n_centers)
        if machine is not None:
            module.start_from(machine)  # type: ignore[operator]
        return module

    def _start(self, examples: Examples, typical: float) -> KernelMachine:
        """Fit the logistic regression that the module starts from."""
        rows, n_labeled = examples.rows, len(examples.labeled)
        targets = examples.targets[rows]
        weights = np.where(np.arange(len(rows)) < n_labeled, 1.0, examples.weight)
        if examples.class_weights is not None:
            weights = weights * (targets @ examples.class_weights).numpy()
        classes = targets.argmax(dim=1).numpy()
        return self.machine(
            rows, classes, targets.shape[1], penalty=self.penalty, typical=typical, weights=weights
        )

    def machine(
        self,
        rows: Ints,
        classes: Ints,
        n_classes: int,
        *,
        penalty: float,
        typical: float | None = None,
        weights: Floats | None = None,
    ) -> KernelMachine:
        """Fit a logistic regression on the coordinates of rows of the pool."""
        return KernelMachine.fit(
            self.pool[rows].double().numpy(),
            classes,
            n_classes,
            n_centers=self.n_centers,
            typical=typical,
            penalty=penalty,
            weights=weights,
        )

    def for_step(self, fitted: Fitted) -> Fitted:
        """Return the module with the slots that a training step attends to."""
        if self.step_slots is None or len(fitted.memory) <= self.step_slots:
            return fitted
        return fitted.with_slots(_draw_by_class(fitted.memory_targets, self.step_slots))

    def _on_batch(self, module: nn.Module, rows: Ints, fitted: Fitted) -> Tensor:
        fitted = self.for_step(fitted)
        memory, own = self.part(fitted.memory), self._own_slots(rows, fitted)
        logits: Tensor = module(self.part(rows), memory, fitted.memory_targets, own)
        return logits

    def _on_all(
        self, module: nn.Module, prepared: Rows, fitted: Fitted, own: Tensor | None = None
    ) -> Tensor:
        memory, targets = self.part(fitted.memory), fitted.memory_targets
        size = max(1, ATTENTION_PER_PASS // max(1, len(memory)))
        parts = torch.arange(len(prepared)).split(size)
        return torch.cat(
            [module(prepared[p], memory, targets, None if own is None else own[p]) for p in parts]
        )

    @torch.no_grad()
    def attention(self, prepared: Rows, rounds: list[Fitted]) -> Floats:
        """Return the mean attention over several trainings, ``(n_hops, n_graphs, n_pool)``."""
        n_hops = int(rounds[0].module.n_hops)
        mean = np.zeros((n_hops, len(prepared), len(self.pool)))
        for fitted in rounds:
            fitted.module.eval()
            hops = fitted.module.hops(prepared, self.part(fitted.memory))
            for hop, (weights, *_) in enumerate(hops):
                mean[hop][:, fitted.memory] += weights.double().numpy() / len(rounds)
        return mean


def _draw_by_class(targets: Tensor, n: int) -> Ints:
    """Draw n rows at random, by torch's generator, each class in proportion.

    ``targets`` are class probabilities; a row counts as one of its most probable class. Every
    class has at least one row, unless there are more than n classes.
    """
    classes = targets.argmax(dim=1)
    shuffled = torch.randperm(len(classes))
    place = torch.empty(len(classes), dtype=torch.float64)  # in its class, as a share of it
    for each in classes.unique():
        own = shuffled[classes[shuffled] == each]
        place[own] = torch.arange(len(own)).double() / len(own)
    drawn = shuffled[place[shuffled].argsort(stable=True)[:n]]
    return np.asarray(drawn.sort().values.numpy())
