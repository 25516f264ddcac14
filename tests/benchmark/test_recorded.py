"""The records that the results are made of are those of the methods as they are."""

from pathlib import Path

import pytest

from kgnn.benchmark.cell_run import run_cell
from kgnn.benchmark.store import Store

_RESULTS = Path(__file__).parents[2] / "results"


@pytest.fixture(scope="module")
def recorded():
    return {(r.cell.method, r.cell.dataset, r.cell.seed): r for r in Store(_RESULTS)}


@pytest.mark.data
@pytest.mark.parametrize(
    # Points: another processor rounds otherwise, and a training may then go another way.
    ("method", "dataset", "seed", "near"),
    [
        ("wl", "PROTEINS", 0, 1.0),
        ("sp", "IMDB-BINARY", 1, 1.0),
        ("ldp", "IMDB-MULTI", 2, 1.0),
        ("gnn-sup", "IMDB-MULTI", 1, 5.0),
        ("gnn-sup", "PROTEINS", 3, 5.0),
        ("memnn-sup", "IMDB-BINARY", 1, 5.0),
        ("entmin", "IMDB-BINARY", 0, 5.0),
    ],
)
def test_a_cell_gives_what_is_recorded(
    recorded, datasets_folder, monkeypatch, method, dataset, seed, near
):
    monkeypatch.setenv("KGNN_DATASETS", str(datasets_folder))
    record = recorded[method, dataset, seed]
    again = run_cell(record.cell)
    assert again.outcome == "done", again.reason
    for name in ("accuracy", "validation_accuracy"):
        assert again.result[name] == pytest.approx(record.result[name], abs=near)
