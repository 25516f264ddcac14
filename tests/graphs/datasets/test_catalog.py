"""The catalog tells the truth about the real datasets."""

from __future__ import annotations

import numpy as np
import pytest

from kgnn.errors import Skipped, UnknownNameError
from kgnn.graphs.datasets.catalog import ENTRIES, find
from kgnn.graphs.readers import smiles, tu

# Table 1 of the paper: graphs, average nodes, average edges, classes.
TABLE_1 = {
    "PROTEINS": (1113, 39.06, 72.82, 2),
    "DD": (1178, 284.32, 715.66, 2),
    "IMDB-B": (1000, 19.77, 96.53, 2),
    "IMDB-M": (1500, 13.00, 65.94, 3),
    "REDDIT-B": (2000, 429.63, 497.75, 2),
    "REDDIT-M-5k": (4999, 508.52, 594.87, 5),
    "COLLAB": (5000, 74.49, 2457.78, 3),
}
NODES_WITHOUT_EDGES = {
    "PROTEINS": 5,
    "REDDIT-BINARY": 21,
    "REDDIT-MULTI-5K": 45,
    "ENZYMES": 106,
    "NCI1": 428,
    "Letter-med": 58,
    "Fingerprint": 2,
    "COIL-RAG": 70,
    "tox21-ahr": 62,
    "tox21-mmp": 57,
    "tox21-are": 54,
    "clintox": 11,
    "qm8-e1": 3,
}


@pytest.mark.data
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_a_real_dataset_is_as_its_entry_says(entry, datasets_folder):
    if entry.suffix == ".csv":
        dataset = smiles.read(datasets_folder / entry.places[1], on_error=Skipped())
    else:
        dataset = tu.read(datasets_folder / f"{entry.name}.zip", names_unread=False)
    assert len(dataset) == entry.graphs
    assert round(dataset.graph_sizes.mean(), 2) == entry.avg_nodes
    assert round(dataset.edge_counts.mean(), 2) == entry.avg_edges
    assert dataset.n_classes == entry.classes
    assert dataset.fingerprint == entry.fingerprint
    assert int((dataset.degrees == 0).sum()) == NODES_WITHOUT_EDGES.get(entry.name, 0)
    assert (np.bincount(dataset.targets) > 0).all()


def test_the_entries_of_the_paper_are_its_table_1():
    assert {find(name).name for name in TABLE_1} == {e.name for e in ENTRIES if e.in_paper}
    for name, row in TABLE_1.items():
        entry = find(name)
        assert (entry.graphs, entry.avg_nodes, entry.avg_edges, entry.classes) == row


@pytest.mark.parametrize(
    ("name", "official"),
    [
        ("PROTEINS", "PROTEINS"),
        ("proteins", "PROTEINS"),
        ("D&D", "DD"),
        ("imdb-b", "IMDB-BINARY"),
        ("IMDB_M", "IMDB-MULTI"),
        ("REDDIT-B", "REDDIT-BINARY"),
        ("Reddit-M-5k", "REDDIT-MULTI-5K"),
        ("ptc-mr", "PTC_MR"),
    ],
)
def test_names_and_short_names_resolve_in_any_spelling(name, official):
    assert find(name).name == official


def test_an_unknown_name_suggests_the_nearest():
    with pytest.raises(UnknownNameError, match=r"no dataset 'PROTEIN'\. Did you mean PROTEINS"):
        find("PROTEIN")


def test_every_entry_says_whom_to_cite():
    for entry in ENTRIES:
        assert entry.citation
        assert entry.license


def test_names_are_unambiguous():
    names = [name for entry in ENTRIES for name in (entry.name, *entry.aliases)]
    assert len({find(name).name for name in names}) == len(ENTRIES)
    assert len(set(names)) == len(names)
