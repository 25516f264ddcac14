"""The small change of node vectors that changes the prediction of each graph most.

With ``P = softmax f(0)``, taken as given, and a direction d, of length 1 in each graph, random at
first, a power iteration is ``d ← ∇_r KL(P ‖ softmax f(r)) at r = ξ d``, made to length 1 again.

A graph is a block of rows. Its length is the Frobenius norm of the whole block: to normalize row by
row, as implementations for images do, would move every node of every graph equally far.

References
----------
Miyato et al., *Virtual adversarial training*, TPAMI 2019.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from kgnn.engine.losses import divergence, divergences

LogitsOf = Callable[[Tensor], Tensor]
Norm = Literal["graph", "rms"]


@dataclass(frozen=True)
class Blocks:
    """Which rows of a matrix make up a graph.

    Attributes
    ----------
    graph_of_row : (n_rows,) int64
    n_graphs : int
    counts : (n_rows,), optional
        Number of nodes that a row stands for (`kgnn.engine.fast.quotients`); by default 1 each. All
        lengths are those that the nodes' rows would have.
    """

    graph_of_row: Tensor
    n_graphs: int
    counts: Tensor | None = None

    def to_unit(self, rows: Tensor, otherwise: Tensor) -> Tensor:
        """Make each graph's block of length 1; a block of zeros takes other rows instead."""
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

    Parameters
    ----------
    logits_of : callable
        What is added to the nodes' vectors, shaped as ``like``, to logits, ``(n_graphs,
        n_classes)``. It must answer alike when asked twice: switch dropout off. See
        `kgnn.engine.frozen`.
    like : (n_rows, d)
        Only shape and type are read.
    graph_of_row : (n_rows,) int64
    xi : float
        Step at which the gradient is taken. Below 0.01 nothing but rounding is left of it in
        single precision.
    power_iterations : int
        0 gives a random direction.
    counts : (n_rows,), optional
        Number of nodes that a row stands for, where it is not one.
    clean_logits : (n_graphs, n_classes), optional
        ``logits_of`` zeros, where they are known already.
    generator : torch.Generator, optional

    Returns
    -------
    (n_rows, d) Tensor
        Without gradient. A graph whose prediction does not move keeps its random direction. No
        gradient is left in any parameter.
    """
    if clean_logits is None:
        clean_logits = _clean(logits_of, like)
    blocks = Blocks(graph_of_row, len(clean_logits), counts)
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


def local_smoothness(
    logits_of: LogitsOf,
    like: Tensor,
    graph_of_row: Tensor,
    *,
    eps: float = 1.0,
    norm: Norm = "graph",
    xi: float = 0.1,
    power_iterations: int = 1,
    counts: Tensor | None = None,
    clean_logits: Tensor | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Return how much predictions change in the worst direction: ``mean_G KL(P ‖ softmax f(r))``.

    Parameters
    ----------
    eps : float
        How far to go.
    norm : {"graph", "rms"}
        Whether r of a graph has the length ε, or ε √n for n nodes, which is as far for each node of
        a large graph as for those of a small one.
    logits_of, like, graph_of_row, xi, power_iterations, counts, clean_logits, generator
        See `adversarial_direction`.

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
        logits_of,
        like,
        graph_of_row,
        xi=xi,
        power_iterations=power_iterations,
        counts=counts,
        clean_logits=clean_logits,
        generator=generator,
    )
    blocks = Blocks(graph_of_row, len(clean_logits), counts)
    return divergence(clean_logits, logits_of(blocks.times(direction, eps, norm)))


def _clean(logits_of: LogitsOf, like: Tensor) -> Tensor:
    with torch.no_grad():
        return logits_of(torch.zeros_like(like))
