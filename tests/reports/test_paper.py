import re
from pathlib import Path

import pytest

from kgnn.estimator.registry import entries
from kgnn.graphs.datasets.catalog import ENTRIES
from kgnn.reports.paper import (
    DATASET_TITLES,
    METHOD_TITLES,
    TABLE_2,
    TABLE_3,
    dataset_title,
    method_title,
)
from kgnn.reports.results import PAPER_DATASETS

# The paper's tables as text; not in the repository.
_TEXT = Path(__file__).parents[3] / "shared" / "methods.md"


@pytest.mark.parametrize(
    ("table", "rows", "means", "stds"), [(TABLE_2, 15, 5978.7, 185.8), (TABLE_3, 6, 2485.2, 75.3)]
)
def test_the_tables_add_up(table, rows, means, stds):
    printed = [each for by_dataset in table.values() for each in by_dataset.values()]
    assert len(printed) == 7 * rows
    assert sum(each.mean for each in printed) == pytest.approx(means)
    assert sum(each.std for each in printed) == pytest.approx(stds)


def test_single_numbers_are_those_that_were_printed():
    assert TABLE_2["graphcl"]["IMDB-MULTI"] == (43.7, 1.3)
    assert TABLE_2["sub2vec"]["DD"] == (46.4, 3.2)
    assert TABLE_2["kgnn"]["COLLAB"] == (67.4, 0.5)
    assert TABLE_3["ensemble-self"]["REDDIT-BINARY"] == (72.4, 0.3)
    assert TABLE_3["memnn-sup"]["PROTEINS"] == (59.8, 2.4)


def test_kgnn_is_the_same_in_both_tables():
    assert TABLE_2["kgnn"] == TABLE_3["kgnn"]


def test_names_are_ours():
    peers = {name for name, entry in entries().items() if entry.family == "peer"}
    assert set(TABLE_2) | set(TABLE_3) | peers == set(METHOD_TITLES)
    assert set(METHOD_TITLES) <= set(entries())
    assert tuple(DATASET_TITLES) == PAPER_DATASETS
    assert set(DATASET_TITLES) == {entry.name for entry in ENTRIES if entry.in_paper}


def test_titles_are_the_papers_or_the_name_itself():
    assert [method_title(m) for m in ("mean-teacher", "ldp", "x")] == ["Mean-Teacher", "LDP", "x"]
    assert dataset_title("REDDIT-MULTI-5K") == "REDDIT-M-5k"
    assert dataset_title("C:\\data\\mine") == dataset_title("data/mine/") == "mine"


@pytest.mark.skipif(not _TEXT.is_file(), reason="the text of the paper's tables is not here")
@pytest.mark.parametrize(("number", "table"), [(2, TABLE_2), (3, TABLE_3)])
def test_every_number_is_in_the_text(number, table):
    text = _TEXT.read_text(encoding="utf-8").partition(f"**Table {number}.")[2]
    rows = {}
    for line in text.partition("\n\n")[2].partition("\n\n")[0].splitlines()[2:]:
        name, *cells = [cell.strip(" *") for cell in line.strip("|").split("|")]
        rows[name.lower()] = [tuple(map(float, re.split(r" \+- ", cell))) for cell in cells]
    assert rows == {method: list(by_dataset.values()) for method, by_dataset in table.items()}
