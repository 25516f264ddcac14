"""``kgnn pack`` as a person runs it."""

import json

import pytest

from kgnn.benchmark.store import Store
from tests.benchmark.cases import case, record_with_cases
from tests.benchmark.stores import records, unfinished
from tests.cli.calling import kgnn  # noqa: F401


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path / "store")
    made = records(["kgnn", "wl", "sp"], ["DD", "PROTEINS"], [0, 1])
    made.append(unfinished("declined", "gk", "DD", "no labels"))
    made.append(record_with_cases(case(), seed=0))
    for record in made:
        store.put(record)
    return store.folder


@pytest.mark.parametrize("form", ["html", "markdown", "latex", "csv"])
def test_reports_of_packed_records_are_the_same_to_the_byte(store, tmp_path, kgnn, form):  # noqa: F811
    before, after = tmp_path / "before", tmp_path / "after"
    assert kgnn("report", store, "--format", form, "-o", before).code == 0
    done = kgnn("pack", store)
    assert (done.code, done.out) == (0, ""), done.err
    assert not list(store.rglob("*.json"))
    assert kgnn("report", store, "--format", form, "-o", after).code == 0
    assert after.read_bytes() == before.read_bytes()


def test_a_packed_grid_is_not_run_again(tmp_path, kgnn):  # noqa: F811
    grid, store = tmp_path / "grid.toml", tmp_path / "store"
    grid.write_text('title = "t"\nmethods = ["wl"]\ndatasets = ["cycles-and-trees"]\nsplits = 2')
    words = ("bench", grid, "-o", store, "--engine", "here", "--json")
    first = json.loads(kgnn(*words).out)
    assert kgnn("pack", store).code == 0
    assert [path.name for path in store.iterdir()] == ["cycles-and-trees.jsonl"]
    again = json.loads(kgnn(*words).out)
    assert (again["found"], again["done"]) == (2, 0)
    assert again["scores"] == first["scores"]
    more = json.loads(kgnn(*words, "--splits", 3).out)
    assert (more["found"], more["done"]) == (2, 1)


def test_it_says_what_became_of_each_store(store, tmp_path, kgnn):  # noqa: F811
    n = len(list(Store(store)))
    done = kgnn("pack", store, store)
    first, second = done.err.splitlines()
    assert f"{n} records in 2 files, {n} newly packed" in first
    assert f"{n} records in 2 files, 0 newly packed" in second
    dropped = kgnn("pack", store, "--newest")
    assert "of older revisions dropped" in dropped.err


def test_what_cannot_be_packed_is_an_error_and_stays(store, tmp_path, kgnn):  # noqa: F811
    with Store(store).locked():
        held = kgnn("pack", store)
    assert held.code == 1
    assert "Another process is writing to the store" in held.err
    assert kgnn("pack", tmp_path / "nowhere").code == 1
    assert "Pass the stores in it" in kgnn("pack", tmp_path).err
    kgnn("pack", store)
    with (store / "DD.jsonl").open("a") as file:
        file.write("<<<<<<< HEAD\n")
    refused = kgnn("pack", store)
    assert refused.code == 1
    assert "DD.jsonl, line" in refused.err
