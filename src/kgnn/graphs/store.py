"""A `GraphDataset` as a folder of plain arrays that opens by memory map, without reading them."""

from __future__ import annotations

import json
import shutil
import tempfile
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from kgnn.errors import GraphDataError
from kgnn.graphs.graph import LAYOUT, GraphDataset


def save(dataset: GraphDataset, folder: Path) -> None:
    """Write a dataset to ``folder``; whoever looks sees all of it or nothing."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        _write(dataset, aside)
        aside.replace(folder)
    except OSError:
        if not folder.exists():  # otherwise another process was first with the same content
            raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _write(dataset: GraphDataset, folder: Path) -> None:
    arrays = dataset.arrays()
    for field, array in arrays.items():
        np.save(folder / f"{field}.npy", array, allow_pickle=False)
    meta = {
        "layout": LAYOUT,
        "fingerprint": dataset.fingerprint,
        "arrays": sorted(arrays),
        "fields": {
            f.name: getattr(dataset, f.name) for f in fields(dataset) if f.name not in arrays
        },
    }
    (folder / "dataset.json").write_text(json.dumps(meta), encoding="utf-8")


def open_folder(folder: Path) -> GraphDataset:
    """Open what `save` wrote; the arrays stay on disk until they are used."""
    try:
        meta = json.loads((folder / "dataset.json").read_text(encoding="utf-8"))
        if meta["layout"] != LAYOUT:
            raise GraphDataError(f"it has layout {meta['layout']}, expected {LAYOUT}")
        values: dict[str, Any] = {
            k: tuple(v) if isinstance(v, list) else v for k, v in meta["fields"].items()
        }
        for field in meta["arrays"]:
            values[field] = np.load(folder / f"{field}.npy", mmap_mode="r").view(np.ndarray)
        dataset = GraphDataset(**values)
        _require_consistent(dataset)
    except (OSError, EOFError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise GraphDataError(f"{folder} is not a stored dataset: {error}") from error
    vars(dataset)["fingerprint"] = meta["fingerprint"]  # as computed when it was written
    return dataset


def _require_consistent(dataset: GraphDataset) -> None:
    """Compare the lengths of all arrays; their content is trusted, for reading it takes long."""
    n_arcs = int(dataset.arc_offsets[-1])
    expected = {
        "arc_offsets": dataset.n_nodes + 1,
        "neighbors": n_arcs,
        "targets": len(dataset),
        "node_labels": dataset.n_nodes,
        "node_attributes": dataset.n_nodes,
        "edge_labels": n_arcs,
        "edge_weights": n_arcs,
        "graph_names": len(dataset),
    }
    for field, array in dataset.arrays().items():
        if len(array) != expected.get(field, len(array)):
            raise GraphDataError(f"{field} has {len(array)} rows, expected {expected[field]}")
