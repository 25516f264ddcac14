"""What nodes send along edges of several kinds, with gradients: the messages of GINE.

A node v receives ``ReLU(x_u + e_k)`` from a neighbor u over an edge of kind k, with a vector e_k
learned for each kind and layer, and its own vector as it is. A node sends the same to all
neighbors over edges of one kind, so there is one message for each row and kind of edge that it has.

References
----------
Hu et al., *Strategies for pre-training graph neural networks*, ICLR 2020.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor

from kgnn.engine.sparse import Product, Rows
from kgnn.graphs.graph import GraphDataset, Ints, ShortInts, offsets_of, ranges


class Messages(NamedTuple):
    """The messages of all rows, those of a row side by side, its own vector first."""

    starts: ShortInts  # (n_rows,), where the messages of each row begin
    kinds: ShortInts  # (n_messages,), of the edge; 0 for a row's own vector

    def forward(self, x: Rows, edges: Rows) -> tuple[Rows, Rows]:
        """Return the messages, and where they depend on what they are made of.

        ``x`` is ``(n_rows, d)`` and ``edges`` ``(n_kinds, d)``; kinds beyond these add nothing.
        """
        is_own = self.kinds == 0
        if isinstance(x, Tensor):
            added = torch.cat(
                [edges.new_zeros(1, x.shape[1]), edges, edges.new_zeros(1, x.shape[1])]
            )
            sent = x.index_select(0, torch.from_numpy(self._sources))
            sent += added.index_select(0, torch.from_numpy(self.kinds))
            depends = (sent > 0) | torch.from_numpy(is_own)[:, None]
            return sent.mul_(depends), depends
        nothing = np.zeros((1, x.shape[1]), dtype=x.dtype)
        made = x[self._sources]
        made += np.concatenate([nothing, edges, nothing])[self.kinds]
        counts = (made > 0) | is_own[:, None]
        made *= counts
        return made, counts

    def by_rows(self, grad: Rows) -> Rows:
        """Return the sums of gradients over the messages of each row."""
        return Product(np.arange(len(self.kinds), dtype=np.int32), self.starts)(grad)

    def by_kinds(self, grad: Rows, n_kinds: int) -> Rows:
        """Return the sums of gradients over the messages of each kind of edge."""
        has_kind = self.kinds[:, None] == np.arange(1, n_kinds + 1)
        if isinstance(grad, Tensor):
            return torch.from_numpy(has_kind).to(grad.dtype).t() @ grad
        return np.dot(has_kind.T.astype(grad.dtype), grad)

    @property
    def _sources(self) -> ShortInts:
        """The row that sends each message."""
        lengths = np.diff(self.starts, append=np.int32(len(self.kinds)))
        return np.repeat(np.arange(len(self.starts), dtype=np.int32), lengths)


class Sent(torch.autograd.Function):
    """Messages with their gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, edges: Tensor, messages: Messages) -> Tensor:
        """Return the messages of rows x over edges of given kinds."""
        sent, depends = messages.forward(x, edges)
        ctx.messages, ctx.n_kinds = messages, len(edges)
        ctx.save_for_backward(depends)
        return sent

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, Tensor, None]:
        """Return the gradients by x and by the vectors of the kinds."""
        (depends,) = ctx.saved_tensors
        grad = grads[0] * depends
        by_rows = ctx.messages.by_rows(grad) if ctx.needs_input_grad[0] else None
        return by_rows, ctx.messages.by_kinds(grad, ctx.n_kinds), None


class Received(NamedTuple):
    """Which messages each of some nodes receives."""

    matrix: sparse.csr_array  # (n_receivers, n_messages), how often
    messages: Messages


def received(
    graphs: GraphDataset, arc_kinds: ShortInts, receivers: Ints, row_of: NDArray[Any]
) -> Received:
    """Find the messages that nodes receive from themselves and their neighbors.

    ``row_of`` is the row that stands for each node when messages are sent; every row must stand for
    one of the receivers.
    """
    degrees = graphs.degrees[receivers]
    offsets = offsets_of(degrees + 1)
    senders = np.empty(offsets[-1], dtype=np.int64)
    kinds = np.zeros(offsets[-1], dtype=np.int64)
    is_neighbor = np.ones(len(senders), dtype=np.bool_)
    is_neighbor[offsets[:-1]] = False
    arcs = ranges(graphs.arc_offsets[receivers], degrees)
    senders[~is_neighbor] = row_of[receivers]
    senders[is_neighbor] = row_of[graphs.neighbors[arcs]]
    kinds[is_neighbor] = arc_kinds[arcs]
    n_kinds = int(arc_kinds.max(initial=0)) + 1
    messages, column = np.unique(senders * n_kinds + kinds, return_inverse=True)
    matrix = sparse.csr_array(
        (np.ones(len(column), dtype=np.float32), column.astype(np.int32), offsets),
        shape=(len(receivers), len(messages)),
    )
    matrix.sum_duplicates()
    # A row's own vector has kind 0 and is the first of its messages.
    starts = np.flatnonzero(messages % n_kinds == 0).astype(np.int32)
    return Received(matrix, Messages(starts, (messages % n_kinds).astype(np.int32)))
