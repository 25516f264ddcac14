"""InfoGraph: a second encoder maximizes the mutual information of graphs and their nodes.

A node's *patch* is the concatenation of its vectors in all layers of an encoder; the patches of a
graph add up to the graph's vector. A discriminator scores pairs of a patch and a graph's vector,

    T(u, G) = f_l(h_u) · f_g(H_G),

and the Jensen-Shannon estimate of mutual information measures how well it distinguishes pairs from
the same graph from others (Sun et al., ICLR 2020, §3.3). The semi-supervised loss (§3.4) is

    CE(labeled; φ) + L_unsup(all; ψ) + λ L_tie(all; φ, ψ)

with a GIN φ that predicts, a second encoder ψ, and a tie between the graph vectors of both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from kgnn.engine.batch import Batch, GraphBatch, batch_of
from kgnn.engine.configured import configured
from kgnn.engine.fast.layers import batch_norm
from kgnn.engine.frozen import frozen_statistics
from kgnn.engine.gin import GIN, Encoder, make_layer
from kgnn.engine.network import GraphNetwork, OptimizerConfig
from kgnn.engine.pretraining import Pretrained, pretrain_layers
from kgnn.engine.task import Task
from kgnn.estimator.parameters import NonNegative, parameters
from kgnn.graphs.graph import GraphDataset, Ints
from kgnn.methods.pretrained import Pretraining
from kgnn.methods.semi_supervised import SemiSupervisedClassifier, Step, Term
from kgnn.seeds import generator, seeded_torch


@parameters
class InfoGraph(SemiSupervisedClassifier, Pretraining):
    """InfoGraph*: a supervised encoder for prediction and an unsupervised second one.

    The second encoder ψ learns, without labels, graph vectors that distinguish the nodes of a graph
    from those of others. The graph vectors of the GIN φ, which predicts, are tied to those of ψ.
    `pretrain` trains ψ's task alone; both encoders start from a ``pretrained`` one, if given. See
    `SemiSupervisedClassifier` and `Pretraining` for the other parameters.

    Parameters
    ----------
    tie : float
        Weight λ of the tie, beside ``weight``. With 0 nothing of ψ would reach φ, and
        unlabeled graphs are left out, as with a ``weight`` of 0.
    separate_encoder : bool
        Without it there is no ψ and no tie: φ is taught both, ψ's task with ``weight``.

    References
    ----------
    Sun et al., *InfoGraph: Unsupervised and semi-supervised graph-level representation learning via
    mutual information maximization*, ICLR 2020.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> graphs = cycles_and_trees(60)
    >>> labels = graphs.targets.copy()
    >>> labels[10:40] = -1
    >>> InfoGraph(epochs=5).fit(graphs[:40], labels[:40]).predict_proba(graphs[40:]).shape
    (20, 2)
    """

    weight: NonNegative | tuple[NonNegative, ...] = (0.1, 1.0, 0.01)
    tie: NonNegative = 0.1
    separate_encoder: bool = True

    def _term(self, task: Task) -> Term:
        return _MutualInformation(self.tie, self.separate_encoder)

    def _weights(self) -> tuple[float, ...]:
        return (0.0,) if self.separate_encoder and not self.tie else super()._weights()

    def _pretrain(self, task: Task, network: GraphNetwork) -> Pretrained:
        # Paper silent: one encoder learns ψ's task, and φ starts from it as well.
        with seeded_torch(task.seed, "pre-training"):
            gin = self._plain_gin(network)
            module = self._infomax(gin, network.node_features.width, separate=False)

        def loss(rows: Ints) -> Tensor:
            some = task.graphs[rows]
            return module.infomax(module.patches(batch_of(some, network.node_features(some))))

        rng = generator(task.seed, "pre-training")
        return pretrain_layers(module, loss, network, self._pretraining_config(), rng)

    def _gnn(self, task: Task) -> GraphNetwork:
        network = super()._gnn(task)
        saved = self._saved_encoder(task, network)
        if saved is not None:
            both = any(self._weights())
            weights = saved.weights
            network.start = for_both_encoders(weights, self.separate_encoder) if both else weights
        return network

    def _network(
        self,
        task: Task,
        graphs: GraphDataset,
        build: Callable[[int], nn.Module],
        optimizer_config: OptimizerConfig,
        **options: Any,
    ) -> GraphNetwork:
        def build_both(n_features: int) -> nn.Module:
            phi = build(n_features)
            assert isinstance(phi, GIN)
            # A seed of its own: φ begins and drops out as it does without ψ.
            with seeded_torch(torch.initial_seed(), "infomax"):
                return self._infomax(phi, n_features, self.separate_encoder)

        # Without a weight there is nothing for ψ to learn.
        module = build_both if any(self._weights()) else build
        return super()._network(task, graphs, module, optimizer_config, **options)

    def _infomax(self, phi: GIN, n_features: int, separate: bool) -> InfoMax:
        return InfoMax(
            phi,
            n_features,
            width=self.width,
            layers=self.layers,
            encoder=self.encoder,
            separate=separate,
        )


class _MutualInformation(Term):
    name = "infomax"

    def __init__(self, tie: float, separate: bool) -> None:
        self.tie = tie
        # ψ learns its task in full from the beginning, however little φ is tied to it.
        self.aside = (self.name,) if separate else ()

    def __call__(self, step: Step) -> dict[str, Tensor]:
        module = step.module
        assert isinstance(module, InfoMax)
        patches = module.patches(step.nodes)
        parts = {self.name: module.infomax(patches)}
        if module.separate:
            parts["tie"] = self.tie * module.tie(step.batch, patches)
        return parts


class Patches(NamedTuple):
    """An encoder's vectors of nodes, ``(n_nodes, d)``, and of graphs, ``(n_graphs, d)``."""

    nodes: Tensor
    graphs: Tensor
    graph_of_node: Tensor  # (n_nodes,) int64


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

    If it is not ``separate``, there is no ψ: φ makes the patches itself, with nothing to tie.
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
        """Return the vectors of nodes and graphs by ψ, or by φ if there is no ψ."""
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
        """Return L_unsup: how hard it is to tell by a graph's vector which nodes are its own."""
        scores = self.of_node(patches.nodes) @ self.of_graph(patches.graphs).T
        return jensen_shannon(scores, patches.graph_of_node)

    def tie(self, batch: Batch, patches: Patches) -> Tensor:
        """Return L_tie: how hard it is to tell by the vector of ψ which one of φ is the same graph.

        ``batch`` has the graphs of the patches, for φ.
        """
        with frozen_statistics(self.phi):
            vectors = self.phi.embed(batch)
        # Paper silent: InfoGraph's formula ties each layer, its code graph vectors alone, as here.
        scores = self.of_phi(vectors) @ self.of_psi(patches.graphs).T
        return jensen_shannon(scores, torch.arange(len(batch)))


def jensen_shannon(scores: Tensor, own: Tensor) -> Tensor:
    """Return the negative of the Jensen-Shannon estimate of mutual information, ``E⁻ − E⁺``.

    E⁺ is the mean of ``log 2 − softplus(−T)`` over the scores T of rows with their own graph, E⁻
    that of ``softplus(T) − log 2`` over those with all other graphs.

    ``scores`` are those of each row, a node or a graph, with each graph; ``own`` is the graph that
    a row belongs to. The estimate is above −2 log 2; without another graph it is zero, with a
    gradient of zero.

    Examples
    --------
    >>> nodes = torch.tensor([0, 0, 1])
    >>> jensen_shannon(torch.zeros(3, 2), nodes)
    tensor(0.)
    >>> jensen_shannon(torch.tensor([[50.0, -50.0], [50.0, -50.0], [-50.0, 50.0]]), nodes)
    tensor(-1.3863)
    """
    n_rows, n_graphs = scores.shape
    if n_rows == 0 or n_graphs < 2:
        return scores[:0].sum()
    column = own[:, None]
    positive = math.log(2) - softplus(-scores.gather(1, column)).mean()
    # Zeros instead of a difference of sums, which large positive scores would swallow.
    others = softplus(scores).scatter(1, column, 0.0).sum() / (n_rows * (n_graphs - 1))
    return others - math.log(2) - positive


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
