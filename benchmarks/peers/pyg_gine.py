"""PyTorch Geometric's GINE as most scripts train it: no folds, no committee, the last epoch.

A method of its own file, for `kgnn run benchmarks/peers/pyg_gine.py:PyGGINE fgfr1`.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GINEConv, global_add_pool

from kgnn.engine.task import Task
from kgnn.estimator.classifier import GraphClassifier
from kgnn.estimator.parameters import Count, NonNegative, parameters
from kgnn.graphs.graph import Floats, GraphDataset, Ints


@parameters
class PyGGINE(GraphClassifier):
    """Layers of GINE with BatchNorm, summed over nodes, and a linear classifier.

    Parameters
    ----------
    width, layers, epochs, batch_size : int
    learning_rate : float
        Of Adam.
    use_node_attributes, use_edge_labels : bool
    """

    width: Count = 64
    layers: Count = 3
    epochs: Count = 100
    batch_size: Count = 32
    learning_rate: NonNegative = 1e-3
    use_node_attributes: bool = True
    use_edge_labels: bool = True

    def _fit(self, task: Task) -> None:
        torch.manual_seed(task.seed % 2**31)
        labeled = task.graphs[task.labeled]
        self.scales_ = _scales(labeled)
        pool = _as_data(labeled, task.targets[task.labeled], self.scales_)
        self.network_ = _GINE(
            pool[0].x.shape[1], pool[0].edge_attr.shape[1], self.width, self.layers, task.n_classes
        )
        weight = None if task.class_weights is None else torch.tensor(task.class_weights).float()
        loss_of = nn.CrossEntropyLoss(weight)
        optimizer = torch.optim.Adam(self.network_.parameters(), lr=self.learning_rate)
        loader = DataLoader(pool, batch_size=self.batch_size, shuffle=True)
        self.network_.train()
        for _ in range(self.epochs):
            for batch in loader:
                if len(batch.y) > 1:  # BatchNorm needs two
                    optimizer.zero_grad()
                    loss_of(self.network_(batch), batch.y).backward()
                    optimizer.step()

    @torch.no_grad()
    def _predict_proba(self, graphs: GraphDataset) -> Floats:
        self.network_.eval()
        data = _as_data(graphs, np.zeros(len(graphs), dtype=np.int64), self.scales_)
        logits = torch.cat([self.network_(batch) for batch in DataLoader(data, batch_size=256)])
        return np.asarray(logits.softmax(dim=1).double().numpy())


class _GINE(nn.Module):
    def __init__(self, n_node: int, n_edge: int, width: int, layers: int, n_classes: int) -> None:
        super().__init__()
        self.start = nn.Linear(n_node, width)
        self.convolutions = nn.ModuleList(
            GINEConv(
                nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width)),
                edge_dim=n_edge,
            )
            for _ in range(layers)
        )
        self.norms = nn.ModuleList(nn.BatchNorm1d(width) for _ in range(layers))
        self.classifier = nn.Sequential(
            nn.Linear(width, width), nn.ReLU(), nn.Dropout(0.5), nn.Linear(width, n_classes)
        )

    def forward(self, batch: Data) -> Tensor:
        nodes = self.start(batch.x)
        for convolution, norm in zip(self.convolutions, self.norms, strict=True):
            nodes = norm(convolution(nodes, batch.edge_index, batch.edge_attr)).relu()
        logits: Tensor = self.classifier(global_add_pool(nodes, batch.batch, len(batch.y)))
        return logits


def _scales(graphs: GraphDataset) -> tuple[Floats, Floats] | None:
    if graphs.node_attributes is None:
        return None
    spread = graphs.node_attributes.std(axis=0)
    return graphs.node_attributes.mean(axis=0), np.where(spread > 0, spread, 1.0)


def _as_data(
    graphs: GraphDataset, targets: Ints, scales: tuple[Floats, Floats] | None
) -> list[Data]:
    """Return PyG's graphs: one-hot labels and standardized attributes; a 1 where there are none."""
    nodes, edges = [np.ones((graphs.n_nodes, 1))], [np.ones((graphs.n_arcs, 1))]
    if graphs.node_labels is not None:
        nodes.append(np.eye(len(graphs.node_label_names))[graphs.node_labels])
    if graphs.node_attributes is not None and scales is not None:
        nodes.append((graphs.node_attributes - scales[0]) / scales[1])
    if graphs.edge_labels is not None:
        edges.append(np.eye(len(graphs.edge_label_names))[graphs.edge_labels])
    if graphs.edge_attributes is not None:
        edges.append(graphs.edge_attributes)
    x = torch.from_numpy(np.concatenate(nodes, axis=1)).float()
    edge_attr = torch.from_numpy(np.concatenate(edges, axis=1)).float()
    arcs = torch.from_numpy(np.stack([graphs.arc_sources, graphs.neighbors])).long()
    data = []
    for number, first in enumerate(graphs.node_offsets[:-1]):
        last = graphs.node_offsets[number + 1]
        own = slice(graphs.arc_offsets[first], graphs.arc_offsets[last])
        y = torch.tensor([targets[number]])
        data.append(Data(x[first:last], arcs[:, own] - int(first), edge_attr[own], y))
    return data
