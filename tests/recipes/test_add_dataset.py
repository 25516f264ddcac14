"""A dataset is an entry of the catalog and nothing else."""

from __future__ import annotations

import json

import pytest

import kgnn as package
from kgnn.graphs import find
from kgnn.graphs.datasets import catalog
from kgnn.graphs.datasets.catalog import CatalogEntry
from kgnn.graphs.loading import dataset_names
from kgnn.graphs.readers import tu
from tests.cli.calling import kgnn
from tests.graphs.tu_files import folder, zipped

__all__ = ["kgnn"]


@pytest.fixture
def entry(tmp_path, monkeypatch):
    """A new entry, and the file that a mirror or the user's folder has."""
    fingerprint = tu.read(folder(tmp_path / "unpacked")).fingerprint
    added = CatalogEntry(
        "TINY", 2, 2.5, 1.5, 2, "molecules", "Nobody (2026).", fingerprint, aliases=("T&Y",)
    )
    monkeypatch.setattr(catalog, "ENTRIES", (*catalog.ENTRIES, added))
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "TINY.zip").write_bytes(zipped())
    monkeypatch.setenv("KGNN_DATASETS", str(tmp_path / "own"))
    monkeypatch.setenv("KGNN_CACHE", str(tmp_path / "cache"))
    return added


def test_python_loads_it_by_name_and_alias(entry):
    assert package.load("tiny").fingerprint == package.load("t&y").fingerprint == entry.fingerprint
    assert find("T&Y") is entry
    assert "TINY" in dataset_names()


def test_the_command_line_lists_it(kgnn, entry):
    done = kgnn("datasets", "--json")
    assert done.code == 0, done.err
    assert "TINY" in [each["name"] for each in json.loads(done.out)]
