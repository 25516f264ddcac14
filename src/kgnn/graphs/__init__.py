"""What a graph is, and how graphs come in."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kgnn.graphs.datasets.catalog import CatalogEntry, find
    from kgnn.graphs.datasets.python_functions import from_source
    from kgnn.graphs.graph import Graph, GraphDataset
    from kgnn.graphs.interop import as_dataset, from_networkx, from_pyg, to_networkx, to_pyg
    from kgnn.graphs.joining import concatenate
    from kgnn.graphs.loading import dataset_names, load
    from kgnn.graphs.packing import pack
    from kgnn.graphs.readers.smiles import from_smiles

__all__ = [
    "CatalogEntry",
    "Graph",
    "GraphDataset",
    "as_dataset",
    "concatenate",
    "dataset_names",
    "find",
    "from_networkx",
    "from_pyg",
    "from_smiles",
    "from_source",
    "load",
    "pack",
    "to_networkx",
    "to_pyg",
]

_MODULES = {
    "CatalogEntry": "datasets.catalog",
    "Graph": "graph",
    "GraphDataset": "graph",
    "as_dataset": "interop",
    "concatenate": "joining",
    "dataset_names": "loading",
    "find": "datasets.catalog",
    "from_networkx": "interop",
    "from_pyg": "interop",
    "from_smiles": "readers.smiles",
    "from_source": "datasets.python_functions",
    "load": "loading",
    "pack": "packing",
    "to_networkx": "interop",
    "to_pyg": "interop",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'kgnn.graphs' has no attribute '{name}'")
    return getattr(import_module(f"kgnn.graphs.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
