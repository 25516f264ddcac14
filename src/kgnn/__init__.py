"""Semi-supervised graph classification: kernel-based graph neural networks and their peers."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kgnn.errors import KgnnError, KgnnWarning
    from kgnn.estimator.model_file import open_model
    from kgnn.estimator.registry import make
    from kgnn.graphs.graph import Graph, GraphDataset
    from kgnn.graphs.interop import from_networkx, from_pyg, to_networkx, to_pyg
    from kgnn.graphs.loading import load
    from kgnn.graphs.readers.smiles import from_smiles
    from kgnn.kernels.graphlets import Graphlets
    from kgnn.kernels.optimal_assignment import OptimalAssignment
    from kgnn.kernels.shortest_paths import ShortestPaths
    from kgnn.kernels.similarity import most_similar
    from kgnn.kernels.weisfeiler_lehman import WeisfeilerLehman
    from kgnn.methods.gnn_sup import GNNSup
    from kgnn.methods.kgnn import KGNN
    from kgnn.methods.wl import WL

__version__ = "0.1.0"

# Names are imported on first use: `import kgnn` alone loads neither numpy nor torch.
_PUBLIC = {
    "GNNSup": "kgnn.methods.gnn_sup",
    "Graph": "kgnn.graphs.graph",
    "GraphDataset": "kgnn.graphs.graph",
    "Graphlets": "kgnn.kernels.graphlets",
    "KGNN": "kgnn.methods.kgnn",
    "KgnnError": "kgnn.errors",
    "KgnnWarning": "kgnn.errors",
    "OptimalAssignment": "kgnn.kernels.optimal_assignment",
    "ShortestPaths": "kgnn.kernels.shortest_paths",
    "WL": "kgnn.methods.wl",
    "WeisfeilerLehman": "kgnn.kernels.weisfeiler_lehman",
    "from_networkx": "kgnn.graphs.interop",
    "from_pyg": "kgnn.graphs.interop",
    "from_smiles": "kgnn.graphs.readers.smiles",
    "load": "kgnn.graphs.loading",
    "make": "kgnn.estimator.registry",
    "most_similar": "kgnn.kernels.similarity",
    "open_model": "kgnn.estimator.model_file",
    "to_networkx": "kgnn.graphs.interop",
    "to_pyg": "kgnn.graphs.interop",
}

__all__ = [
    "GNNSup",
    "Graph",
    "GraphDataset",
    "Graphlets",
    "KGNN",
    "KgnnError",
    "KgnnWarning",
    "OptimalAssignment",
    "ShortestPaths",
    "WL",
    "WeisfeilerLehman",
    "from_networkx",
    "from_pyg",
    "from_smiles",
    "load",
    "make",
    "most_similar",
    "open_model",
    "to_networkx",
    "to_pyg",
]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'kgnn' has no attribute '{name}'")
    return getattr(import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_PUBLIC])
