"""VAT: the worst small change of a graph's nodes should not change its class.

With ``P = softmax f(0)``, taken as given, and a direction d, of length 1 in each graph, random at
first, a power iteration is ``d ← ∇_r KL(P ‖ softmax f(r)) at r = ξ d``, scaled to length 1 again.
The loss is ``mean_G KL(P ‖ softmax f(ε d))``.

A graph is a block of rows, one for each node. Its length is the Frobenius norm of the whole block:
to normalize row by row, as implementations for images do, would move every node of every graph
equally far.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from kgnn.engine.frozen import frozen_statistics, without_dropout
from kgnn.engine.task import Task
from kgnn.estimator.parameters import Count, NonNegative, parameters
from kgnn.methods.semi_supervised import SemiSupervisedClassifier, Step, Term

LogitsOf = Callable[[Tensor], Tensor]
Norm = Literal["graph", "rms"]


@parameters
class VAT(SemiSupervisedClassifier):
    """Virtual adversarial training, on the nodes' vectors after the first layer.

    Graphs are discrete and nodes without labels are all alike, so the change is applied to what the
    first layer makes of nodes. See `SemiSupervisedClassifier` for the other parameters.

    Parameters
    ----------
    eps : float
        Length of the change of a graph, ε.
    norm : {"graph", "rms"}
        Whether a graph changes by ``eps``, or by ``eps √n`` for n nodes, which is as far for each
        node of a large graph as for those of a small one.
    xi : float
        Length ξ at which the worst direction is looked for.
    power_iterations : int
        Steps of that search.
    use_edge_labels : bool
        Whether to use labels, directions, weights and attributes of edges.

    References
    ----------
    Miyato et al., *Virtual adversarial training*, TPAMI 2019.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> graphs = cycles_and_trees(60)
    >>> labels = graphs.targets.copy()
    >>> labels[10:40] = -1
    >>> VAT(epochs=5).fit(graphs[:40], labels[:40]).predict_proba(graphs[40:]).shape
    (20, 2)
    """

    use_edge_labels: bool = True
    weight: NonNegative | tuple[NonNegative, ...] = (0.3, 0.1, 1.0)
    eps: NonNegative = 1.0
    norm: Norm = "graph"
    xi: NonNegative = 0.1
    power_iterations: Count = 1

    def _term(self, task: Task) -> Term:
        return _Smoothness(
            self.width,
            eps=self.eps,
            norm=self.norm,
            xi=self.xi,
            power_iterations=self.power_iterations,
        )


class _Smoothness(Term):
    name = "smoothness"

    def __init__(self, width: int, **settings: Any) -> None:
        self.width, self.settings = width, settings

    def __call__(self, step: Step) -> Tensor:
        rows, weights = step.batch.graph_of_rows(1), step.batch.weights(1)
        with frozen_statistics(step.module), without_dropout(step.module):
            return local_smoothness(
                lambda change: step.module(step.batch, change),
                step.logits.new_zeros(len(rows), self.width),
                rows,
                counts=None if weights is None else weights.counts,
                **self.settings,
            )


def local_smoothness(
    logits_of: LogitsOf,
    like: Tensor,
    graph_of_row: Tensor,
    *,
    eps: float = 1.0,
    norm: Norm = "graph",
    counts: Tensor | None = None,
    clean_logits: Tensor | None = None,
    **search: Any,
) -> Tensor:
    """Return how much predictions change in the worst direction: ``mean_G KL(P ‖ softmax f(r))``.

    For ``eps`` and ``norm`` see `VAT`, for the others `adversarial_direction`.

    Examples
    --------
    >>> weights, nodes = torch.tensor([[1.0, 0.0], [0.0, 0.0]]), torch.zeros(3, 2)
    >>> graph_of_node = torch.tensor([0, 0, 1])
    >>> def logits_of(r):
    ...     return torch.zeros(2, 2).index_add(0, graph_of_node, (nodes + r) @ weights.T)
    >>> local_smoothness(logits_of, nodes, graph_of_node) > 0.1
    tensor(True)
    """
    if clean_logits is None:
        clean_logits = _clean(logits_of, like)
    direction = adversarial_direction(
        logits_of, like, graph_of_row, counts=counts, clean_logits=clean_logits, **search
    )
    change = _Blocks(graph_of_row, len(clean_logits), counts).times(direction, eps, norm)
    return divergences(clean_logits, logits_of(change)).mean()


def adversarial_direction(
    logits_of: LogitsOf,
    like: Tensor,
    graph_of_row: Tensor,
    *,
    xi: float = 0.1,
    power_iterations: int = 1,
    counts: Tensor | None = None,
    clean_logits: Tensor | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Return the direction in which predictions change most, of length 1 in each graph.

    ``logits_of`` maps what is added to the nodes' vectors to logits, and must be deterministic:
    switch dropout off (`kgnn.engine.frozen`). Of ``like`` only shape and type are read; ``counts``
    are the numbers of nodes that rows stand for; ``clean_logits`` are ``logits_of`` zeros. With
    ``xi`` below 0.01 only rounding is left of the gradient in single precision.

    The result has no gradient, and none is left in any parameter. A graph whose prediction does not
    move keeps its random direction, and so do all with 0 ``power_iterations``.
    """
    if clean_logits is None:
        clean_logits = _clean(logits_of, like)
    blocks = _Blocks(graph_of_row, len(clean_logits), counts)
    # Rows of n equal nodes: a normal vector along them is 1/√n long, a gradient by one is 1/n of
    # the gradient by all.
    n_nodes = like.new_ones(len(like), 1) if counts is None else counts[:, None].to(like.dtype)
    start = torch.randn(like.shape, dtype=like.dtype, generator=generator) / n_nodes.sqrt()
    direction = blocks.to_unit(start, start)
    for _ in range(power_iterations):
        probe = direction.requires_grad_()
        with torch.enable_grad():
            change = divergences(clean_logits, logits_of(xi * probe)).sum()
        (gradient,) = torch.autograd.grad(change, probe)
        direction = blocks.to_unit(gradient / n_nodes, probe.detach())
    return direction


@dataclass(frozen=True)
class _Blocks:
    """Which rows of a matrix make up a graph.

    ``counts`` is the number of nodes that a row stands for (`kgnn.engine.fast.quotients`), by
    default 1 each. All lengths are those that the nodes' rows would have.
    """

    graph_of_row: Tensor
    n_graphs: int
    counts: Tensor | None = None

    def to_unit(self, rows: Tensor, otherwise: Tensor) -> Tensor:
        """Scale each graph's block to length 1; a block of zeros takes other rows instead."""
        largest = rows.new_zeros(self.n_graphs)
        largest = largest.scatter_reduce(0, self.graph_of_row, rows.abs().amax(dim=1), "amax")
        has_length = largest > 0
        # The largest entry first: squares of gradients of 1e-30 are zero.
        rows = rows / self._of_rows(largest.where(has_length, 1.0))
        lengths = self._total(rows.square().sum(dim=1)).sqrt()
        rows = rows / self._of_rows(lengths.where(has_length, 1.0))
        return rows.where(self._of_rows(has_length), otherwise)

    def times(self, rows: Tensor, eps: float, norm: Norm) -> Tensor:
        """Stretch unit blocks to ε, or with ``"rms"`` to ε √n for n nodes."""
        if norm == "graph":
            return eps * rows
        return eps * self._of_rows(self._total(rows.new_ones(len(rows))).sqrt()) * rows

    def _total(self, values: Tensor) -> Tensor:
        if self.counts is not None:
            values = values * self.counts
        return values.new_zeros(self.n_graphs).index_add(0, self.graph_of_row, values)

    def _of_rows(self, values: Tensor) -> Tensor:
        return values[self.graph_of_row][:, None]


def divergences(clean_logits: Tensor, other_logits: Tensor) -> Tensor:
    """Return KL(clean ‖ other) of each graph, ``(n_graphs,)``; no gradient goes to the clean ones.

    Examples
    --------
    >>> divergences(torch.tensor([[9.0, 9.0]]), torch.tensor([[0.0, 1.0]]))
    tensor([0.1201])
    """
    log_p = clean_logits.detach().log_softmax(dim=1)
    return (log_p.exp() * (log_p - other_logits.log_softmax(dim=1))).sum(dim=1)


def _clean(logits_of: LogitsOf, like: Tensor) -> Tensor:
    with torch.no_grad():
        return logits_of(torch.zeros_like(like))
