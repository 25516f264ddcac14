"""``kgnn evaluate`` and ``kgnn model show``: what a saved model is and what it is worth."""

import json

import numpy as np
import pytest

from kgnn.graphs import jsonl
from kgnn.graphs.toy import cycles_and_trees
from kgnn.methods.kgnn import KGNN
from kgnn.methods.ldp import LDP
from tests.cli.calling import kgnn

__all__ = ["kgnn"]

GRAPHS = cycles_and_trees(100)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("evaluate")
    LDP(trees=20, cross_fit=5).fit(GRAPHS[:40]).save(path / "ldp")
    jsonl.write(GRAPHS[40:], path / "new.jsonl")
    jsonl.write(GRAPHS[40:].with_targets(np.full(60, -1)), path / "hidden.jsonl")
    return path


@pytest.fixture
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)
    return folder


def test_targets_in_the_data_and_a_table_give_the_same_numbers(kgnn, here):
    first = json.loads(kgnn("evaluate", "ldp", "new.jsonl", "--json").out)
    lines = [f"{row},{GRAPHS[40 + row].target}" for row in range(60)]
    (here / "truth.csv").write_text("\n".join(["id,label", *lines]))
    again = json.loads(
        kgnn("evaluate", "ldp", "hidden.jsonl", "--labels", "truth.csv", "--json").out
    )
    assert first == again
    assert first["n"] == 60
    assert [each["error"] for each in first["sets"]] == [0.05, 0.1, 0.2]
    right = sum(first["confusion"][i][i] for i in range(2))
    assert first["accuracy"] == pytest.approx(right / 60)


def test_for_people_it_is_tables(kgnn, here):
    done = kgnn("evaluate", "ldp", "new.jsonl")
    assert done.code == 0, done.err
    for told in ("of 60 graphs right", "Brier", "True classes", "Sets of labels", "promised"):
        assert told in done.out


def test_a_class_that_the_model_does_not_know_counts_as_wrong(kgnn, here, tmp_path):
    (tmp_path / "truth.csv").write_text("id,label\n0,cycle\n1,[star]\n")
    done = kgnn("evaluate", "ldp", "hidden.jsonl", "--labels", tmp_path / "truth.csv")
    assert done.code == 0
    assert "does not know the classes [star]" in done.err
    assert "of 2 graphs right" in done.out


def test_graphs_without_labels_cannot_be_compared(kgnn, here):
    done = kgnn("evaluate", "ldp", "hidden.jsonl")
    assert done.code == 1
    assert "none of the 60 graphs has a label to compare with" in done.err


def test_a_model_can_be_shown(kgnn, here):
    done = kgnn("model", "show", "ldp")
    assert done.code == 0, done.err
    for told in ("ldp", "cross_fit=5, trees=20", "40 labeled, 0 unlabeled", "cycle, tree", "torch"):
        assert told in " ".join(done.out.split())
    record = json.loads(kgnn("model", "show", "ldp", "--json").out)
    assert record["parameters"] == {"cross_fit": 5, "trees": 20}
    assert record["held_out"]["n"] == 40
    assert record["rounds"] == []
    assert record["bytes"] == (here / "ldp" / "model.safetensors").stat().st_size


def test_rounds_of_kgnn_are_shown(kgnn, here, tmp_path):
    labels = [graph.target if graph.row < 20 else None for graph in GRAPHS[:40]]
    KGNN(epochs=2, rounds=1).fit(GRAPHS[:40], labels).save(tmp_path / "model")
    assert "Rounds" in kgnn("model", "show", tmp_path / "model").out
    assert len(json.loads(kgnn("model", "show", tmp_path / "model", "--json").out)["rounds"]) == 2


def test_what_is_no_model_is_said_to_be_none(kgnn, here, tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"nothing")
    done = kgnn("model", "show", tmp_path)
    assert done.code == 1
    assert "is not a model, or damaged" in done.err
