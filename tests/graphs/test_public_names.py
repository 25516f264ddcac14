"""The public names of `kgnn.graphs` are these, and all are there."""

from __future__ import annotations

import pytest

import kgnn.graphs


def test_the_public_names_are_pinned():
    assert kgnn.graphs.__all__ == [
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
    assert dir(kgnn.graphs) == kgnn.graphs.__all__


@pytest.mark.parametrize("name", kgnn.graphs.__all__)
def test_every_public_name_is_there(name):
    assert getattr(kgnn.graphs, name).__name__ == name


def test_any_other_name_is_refused():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        kgnn.graphs.nothing  # noqa: B018
