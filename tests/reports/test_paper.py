import pytest

from kgnn.estimator.registry import entries
from kgnn.graphs.datasets.catalog import ENTRIES
from kgnn.reports.paper import METHOD_TITLES, PAPER_DATASETS, TABLE_2, TABLE_3, dataset_title


@pytest.mark.parametrize(
    ("table", "rows", "means", "stds"), [(TABLE_2, 15, 5978.7, 185.8), (TABLE_3, 6, 2485.2, 75.3)]
)
def test_the_tables_add_up(table, rows, means, stds):
    printed = [each for by_dataset in table.values() for each in by_dataset.values()]
    assert len(printed) == 7 * rows
    assert sum(each.mean for each in printed) == pytest.approx(means)
    assert sum(each.std for each in printed) == pytest.approx(stds)
    assert table["kgnn"]["COLLAB"] == (67.4, 0.5)
    assert table["kgnn"] == TABLE_2["kgnn"]


def test_names_are_ours():
    peers = {name for name, entry in entries().items() if entry.family == "peer"}
    assert set(TABLE_2) | set(TABLE_3) | peers == set(METHOD_TITLES)
    assert set(METHOD_TITLES) <= set(entries())
    assert set(PAPER_DATASETS) == {entry.name for entry in ENTRIES if entry.in_paper}
    assert dataset_title("C:\\data\\mine") == dataset_title("data/mine/") == "mine"
