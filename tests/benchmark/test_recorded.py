"""The records that the results are made of are those of the methods as they are."""

from pathlib import Path

import pytest

from kgnn.benchmark.cell_run import run_cell
from kgnn.benchmark.store import Store
from kgnn.estimator.registry import entries

_RESULTS = Path(__file__).parents[2] / "results"


@pytest.fixture(scope="module")
def records():
    return list(Store(_RESULTS))


def test_no_record_is_newer_than_its_method_and_none_mixes_revisions(records):
    revisions = {(r.cell.method, r.cell.revision) for r in records}
    assert len(revisions) == len({method for method, _ in revisions})
    assert all(revision <= entries()[method].revision for method, revision in revisions)


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
        ("kgnn", "IMDB-BINARY", 0, 5.0),
    ],
)
def test_a_cell_gives_what_is_recorded(records, method, dataset, seed, near):
    usual = [
        r for r in records if not r.cell.parameters and (r.cell.labels, r.cell.cases) == (0.1, 0)
    ]
    named = [
        r for r in usual if (r.cell.method, r.cell.dataset, r.cell.seed) == (method, dataset, seed)
    ]
    (record,) = named
    if record.cell.revision != entries()[method].revision:
        pytest.skip(f"the records are of revision {record.cell.revision} of {method}")
    again = run_cell(record.cell)
    assert again.outcome == "done", again.reason
    for name in ("accuracy", "validation_accuracy"):
        assert again.result[name] == pytest.approx(record.result[name], abs=near)
