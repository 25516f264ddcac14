"""Graph vectors that tell much about the nodes of their graph, beside a GIN that is taught classes.

Both encoders pass messages as a GIN does. A node's *patch* is what all layers of an encoder made of
it, side by side; a discriminator tells the patches of a graph from those of other graphs by the
graph's vector, which is to succeed.

References
----------
Sun et al., *InfoGraph*, ICLR 2020, §3.3 and §3.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn

from kgnn.engine.batch import Batch, GraphBatch
from kgnn.engine.configured import configured
from kgnn.engine.fast.layers import batch_norm
from kgnn.engine.frozen import frozen_statistics
from kgnn.engine.gin import GIN, Encoder, make_layer
from kgnn.engine.losses import jensen_shannon


class Patches(NamedTuple):
    """What an encoder has made of nodes and of their graphs.

    Attributes
    ----------
    nodes : (n_nodes, d)
    graphs : (n_graphs, d)
    graph_of_node : (n_nodes,) int64
    """

    nodes: Tensor
    graphs: Tensor
    graph_of_node: Tensor


class Discriminator(nn.Module):
    """One half of a score: three times ``ReLU(W x + b)``, and a linear shortcut beside them."""

    def __init__(self, n_in: int, width: int) -> None:
        super().__init__()
        blocks: list[nn.Module] = []
        for size in (n_in, width, width):
            blocks += [nn.Linear(size, width), nn.ReLU()]
        self.blocks = nn.Sequential(*blocks)
        self.shortcut = nn.Linear(n_in, width)

    def forward(self, x: Tensor) -> Tensor:
        """Map ``(n, n_in)`` to ``(n, width)``."""
        result: Tensor = self.blocks(x) + self.shortcut(x)
        return result


@configured
class InfoMax(nn.Module):
    """A GIN φ that predicts, and a second encoder ψ that learns from all graphs without labels.

    Parameters
    ----------
    phi : GIN
    n_features : int
        Length of a node's vector.
    width, layers, encoder
        Of ψ; see `GIN`.
    separate : bool
        Without it there is no ψ: φ makes the patches itself, and there is nothing to tie.
    """

    def __init__(
        self,
        phi: GIN,
        n_features: int,
        *,
        width: int = 64,
        layers: int = 3,
        encoder: Encoder = "gin",
        separate: bool = True,
    ) -> None:
        super().__init__()
        self.phi, self.separate = phi, separate
        n_patch = width * layers
        self.patch_norm = nn.BatchNorm1d(n_patch)
        # Paper silent: discriminators are as wide as the layers and not as patches, which are
        # several times wider; on large graphs they would take longer than the encoders.
        self.of_node = Discriminator(n_patch, width)
        self.of_graph = Discriminator(n_patch, width)
        if separate:
            sizes = [n_features] + [width] * layers
            self.psi = nn.ModuleList(
                make_layer(encoder, a, b) for a, b in zip(sizes[:-1], sizes[1:], strict=True)
            )
            self.of_phi = Discriminator(phi.n_pooled, width)
            self.of_psi = Discriminator(n_patch, width)

    def forward(self, batch: Batch, change: Tensor | None = None) -> Tensor:
        """Return the logits of φ, which alone predicts; for ``change`` see `GIN.rows`."""
        logits: Tensor = self.phi(batch, change)
        return logits

    def patches(self, nodes: GraphBatch) -> Patches:
        """Return what ψ, or φ if there is no other, makes of nodes and graphs."""
        layers = self.psi if self.separate else self.phi.layers
        x, every = nodes.features, []
        # φ has been through these graphs already; running statistics of ψ are of no use.
        with frozen_statistics(layers):
            for depth, layer in enumerate(layers, start=1):
                x = layer(x, nodes, depth)
                every.append(x)
        of_nodes = torch.cat(every, dim=1)
        # Paper silent: sums grow with a graph, and scores would with them. So a graph's vector is
        # compressed and normalized as in the readout of the GIN; what it can tell stays the same.
        total = nodes.pool(of_nodes, len(layers))
        of_graphs = batch_norm(self.patch_norm, total.sign() * total.abs().log1p())
        return Patches(of_nodes, of_graphs, nodes.graph_of_rows(len(layers)))

    def infomax(self, patches: Patches) -> Tensor:
        """Return how hard it is to tell by a graph's vector which nodes are its own."""
        scores = self.of_node(patches.nodes) @ self.of_graph(patches.graphs).T
        return jensen_shannon(scores, patches.graph_of_node)

    def tie(self, batch: Batch, patches: Patches) -> Tensor:
        """Return how hard it is to tell by the vector of ψ which one of φ is of the same graph.

        Parameters
        ----------
        batch : Batch
            The graphs that the patches are of, for φ.
        patches : Patches
        """
        with frozen_statistics(self.phi):
            vectors = self.phi.embed(batch)
        # Paper silent: InfoGraph's formula ties each layer, its code graph vectors alone, as here.
        scores = self.of_phi(vectors) @ self.of_psi(patches.graphs).T
        return jensen_shannon(scores, torch.arange(len(batch)))


def for_both_encoders(layers: Mapping[str, Tensor], separate: bool) -> dict[str, Tensor]:
    """Name the weights of a GIN's layers as an `InfoMax` does, once for φ and once for ψ if any.

    Examples
    --------
    >>> list(for_both_encoders({"layers.0.inner.bias": torch.zeros(2)}, separate=True))
    ['phi.layers.0.inner.bias', 'psi.0.inner.bias']
    """
    phi = {f"phi.{name}": weights for name, weights in layers.items()}
    psi = {f"psi.{name.removeprefix('layers.')}": weights for name, weights in layers.items()}
    return phi | psi if separate else phi
