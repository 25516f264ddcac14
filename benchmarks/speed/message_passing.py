"""How fast a GIN is trained and predicts: against PyG, on the same graphs with the same network.

    python benchmarks/speed/message_passing.py [DATASET ...] [-o build/speed-message-passing.json]

Where edges have labels or directions, it is GINE on both sides, with a vector for each kind of edge
in each layer. Attributes of nodes are read, too, but no weights and attributes of edges.

Three layers of width 64, BatchNorm, sum readout, Adam, batches of 32, one thread each; cutting
batches is part of the time on both sides. A ratio is CPU time of the peer over ours in one run.
The peer predicts in batches of 32 as well, ours in passes of bounded size; the peer's Adam is
torch's default, ours updates all weights as one vector. *Prepare* is what ours does once before the
first epoch; the peer's graphs are made beforehand.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from peers import PAPER, cpu_seconds, save, show
from torch import Tensor, nn

from kgnn.engine.fast.flat import Adam, Flat
from kgnn.engine.fast.quotients import batches_of
from kgnn.engine.gin import GIN
from kgnn.engine.loop import batches
from kgnn.engine.network import passes
from kgnn.engine.node_features import NodeFeatures
from kgnn.graphs.graph import GraphDataset
from kgnn.graphs.loading import load
from kgnn.threads import limit_threads

WIDTH, LAYERS, BATCH = 64, 3, 32


class PeerGIN(nn.Module):
    """The same network out of PyG's parts."""

    def __init__(self, n_features: int, n_classes: int, edge_kinds: int) -> None:
        from torch_geometric.nn import GINConv, GINEConv

        super().__init__()
        sizes = [n_features] + [WIDTH] * LAYERS
        self.layers = nn.ModuleList(
            (GINEConv if edge_kinds else GINConv)(
                nn.Sequential(nn.Linear(a, b), nn.ReLU(), nn.Linear(b, b))
            )
            for a, b in zip(sizes[:-1], sizes[1:], strict=True)
        )
        self.edges = nn.ModuleList(nn.Embedding(edge_kinds, n) for n in sizes[:-1] if edge_kinds)
        self.norms = nn.ModuleList(nn.BatchNorm1d(WIDTH) for _ in range(LAYERS))
        self.pooled_norm = nn.BatchNorm1d(WIDTH)
        self.classifier = nn.Sequential(
            nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Dropout(0.5), nn.Linear(WIDTH, n_classes)
        )

    def forward(self, data: Any) -> Tensor:
        """Return logits."""
        from torch_geometric.nn import global_add_pool

        x = data.x
        for depth, (layer, norm) in enumerate(zip(self.layers, self.norms, strict=True)):
            edges = [self.edges[depth](data.edge_kind)] if self.edges else []
            x = norm(torch.relu(layer(x, data.edge_index, *edges)))
        total = global_add_pool(x, data.batch, data.num_graphs)
        logits: Tensor = self.classifier(self.pooled_norm(total))
        return logits


def epoch(
    module: nn.Module, optimizer: torch.optim.Optimizer | Adam, parts: Iterator[tuple[Any, Tensor]]
) -> None:
    """Train once over all batches."""
    module.train()
    for batch, targets in parts:
        optimizer.zero_grad()
        nn.functional.cross_entropy(module(batch), targets).backward()
        optimizer.step()


def peer_times(graphs: GraphDataset, repeats: int) -> tuple[float, float]:
    """Return CPU seconds of an epoch and of predicting everything, with PyG."""
    from torch_geometric.data import Data
    from torch_geometric.loader import DataLoader

    seen = NodeFeatures.of(graphs)
    features, kinds = seen(graphs), seen.arc_kinds(graphs)
    arc_firsts = graphs.arc_offsets[graphs.node_offsets]
    listed = []
    for row, y in enumerate(graphs.targets.tolist()):
        nodes = slice(*graphs.node_offsets[row : row + 2])
        arcs = slice(*arc_firsts[row : row + 2])
        ends = np.stack([graphs.neighbors[arcs], graphs.arc_sources[arcs]]) - nodes.start
        data = Data(features[nodes], torch.from_numpy(ends).long(), y=torch.tensor([y]))
        if kinds is not None:
            data.edge_kind = torch.from_numpy(kinds[arcs] - 1).long()
        listed.append(data)
    module = PeerGIN(features.shape[1], graphs.n_classes, seen.n_edge_kinds)
    optimizer = torch.optim.Adam(module.parameters(), lr=0.01)
    loader = DataLoader(listed, batch_size=BATCH, shuffle=True)
    trained, _ = cpu_seconds(
        lambda: epoch(module, optimizer, ((data, data.y) for data in loader)), repeats
    )
    whole = DataLoader(listed, batch_size=BATCH)
    predicted, _ = cpu_seconds(lambda: _predicted(module, iter(whole)), repeats)
    return trained, predicted


def our_times(graphs: GraphDataset, repeats: int) -> tuple[float, float, float]:
    """Return CPU seconds of an epoch, of predicting everything, and of preparing."""
    features = NodeFeatures.of(graphs)
    prepared_in, prepared = cpu_seconds(lambda: batches_of(graphs, features, LAYERS), 1)
    kinds = features.n_edge_kinds
    module = GIN(features.width, graphs.n_classes, width=WIDTH, layers=LAYERS, edge_kinds=kinds)
    flat = Flat(module)
    optimizer = Adam(flat, learning_rate=0.01, weight_decay=0.0)
    targets = torch.from_numpy(graphs.targets.copy())
    rng, rows = np.random.default_rng(0), np.arange(len(graphs))
    trained, _ = cpu_seconds(
        lambda: epoch(
            module,
            optimizer,
            ((prepared[part], targets[part]) for part in batches(rows, BATCH, rng)),
        ),
        repeats,
    )
    predicted, _ = cpu_seconds(
        lambda: _predicted(module, (prepared[part] for part in passes(prepared))), repeats
    )
    return trained, predicted, prepared_in


@torch.no_grad()
def _predicted(module: nn.Module, parts: Iterator[Any]) -> Tensor:
    module.eval()
    return torch.cat([module(part) for part in parts])


def compare(name: str) -> dict[str, Any]:
    """Return one line of the table."""
    graphs = load(name)
    repeats = 2 if graphs.n_arcs > 1_000_000 else 4
    epoch_peer, whole_peer = peer_times(graphs, repeats)
    epoch_ours, whole_ours, prepare = our_times(graphs, 2 * repeats)
    return {
        "dataset": graphs.name,
        "kinds of edges": NodeFeatures.of(graphs).n_edge_kinds,
        "epoch (s)": epoch_ours,
        "PyG (s)": epoch_peer,
        "epoch ratio": epoch_peer / epoch_ours,
        "prediction (s)": whole_ours,
        "PyG prediction (s)": whole_peer,
        "prediction ratio": whole_peer / whole_ours,
        "prepare (s)": prepare,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("datasets", nargs="*", default=PAPER)
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("build/speed-message-passing.json")
    )
    chosen = parser.parse_args()
    with limit_threads(1):
        rows = [compare(name) for name in chosen.datasets]
    show("A GIN of three layers, width 64: one epoch, and prediction of all graphs", rows)
    save(chosen.output, {"message passing": rows})


if __name__ == "__main__":
    main()
