"""``kgnn evaluate`` and ``kgnn model show``: what a saved model is and what it is worth."""

import json

import numpy as np
import pytest

from kgnn.estimator.metrics import METRICS
from kgnn.estimator.saving import open_model
from kgnn.evaluation.protocol import has_twin
from kgnn.graphs.collector import named
from kgnn.graphs.datasets.toy import cycles_and_trees, planted_motifs
from kgnn.graphs.readers import jsonl
from kgnn.methods.kgnn import KGNN
from kgnn.methods.ldp import LDP
from tests.cli.calling import kgnn

__all__ = ["kgnn"]

GRAPHS = cycles_and_trees(100)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("evaluate")
    LDP(trees=20).fit(GRAPHS[:40]).save(path / "ldp")
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
    for told in ("of 60 graphs right", "Brier", "true classes", "Label sets", "allowed error"):
        assert told in done.out


def test_all_metrics_are_shown_the_headline_first(kgnn, here):
    record = json.loads(kgnn("evaluate", "ldp", "new.jsonl", "--metric", "matthews", "--json").out)
    assert record["metric"] == "matthews"
    assert set(METRICS) <= set(record)
    done = kgnn("evaluate", "ldp", "new.jsonl", "--metric", "matthews")
    table = done.out[done.out.index("Metrics") :]
    assert table.index("Matthews correlation") < table.index("accuracy")
    assert "the largest class alone is 50.0 %" in done.out
    assert kgnn("evaluate", "ldp", "new.jsonl", "--metric", "mcc").code == 2


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
    for told in ("ldp", "trees=20", "40 labeled, 0 unlabeled", "cycle, tree", "torch"):
        assert told in " ".join(done.out.split())
    record = json.loads(kgnn("model", "show", "ldp", "--json").out)
    assert record["parameters"] == {"trees": 20}
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
    assert "is not a saved model, or damaged" in done.err


def fitted(path, n_held=0):
    """Save a model of the first 40 of 100 graphs, the last of which are held out."""
    motifs = named(planted_motifs(100))
    held = motifs[40 - n_held : 40]
    labels = [graph.target for graph in held]
    model = LDP(trees=20)
    if n_held:
        model.fit(motifs[: 40 - n_held], validation=(held, labels))
    else:
        model.fit(motifs[:40])
    model.save(path / "model")
    jsonl.write(motifs, path / "all.jsonl")
    jsonl.write(motifs[40:], path / "new.jsonl")
    jsonl.write(motifs[:40], path / "old.jsonl")
    return str(path / "model")


def test_graphs_that_were_trained_on_do_not_count(kgnn, tmp_path):
    model = fitted(tmp_path)
    record = json.loads(kgnn("evaluate", model, tmp_path / "all.jsonl", "--json").out)
    assert (record["trained_on"], record["n"], record["counts_trained_on"]) == (40, 60, False)
    new = json.loads(kgnn("evaluate", model, tmp_path / "new.jsonl", "--json").out)
    assert new == {**record, "trained_on": 0}
    done = kgnn("evaluate", model, tmp_path / "all.jsonl")
    assert "of 60 graphs right" in done.out
    assert "40 of these 100 graphs were in the training set and are not counted." in done.err
    assert "validation" not in done.err
    assert "training set" not in kgnn("evaluate", model, tmp_path / "new.jsonl").err


def test_labels_that_were_held_out_are_warned_of(kgnn, tmp_path):
    model = fitted(tmp_path, n_held=10)
    done = kgnn("evaluate", model, tmp_path / "all.jsonl")
    assert "of 70 graphs right" in done.out
    assert "30 of these 100 graphs were in the training set" in done.err
    assert "The others may include the 10 graphs of the validation set" in done.err


def test_a_warning_says_if_all_graphs_were_trained_on(kgnn, tmp_path):
    model = fitted(tmp_path)
    done = kgnn("evaluate", model, tmp_path / "old.jsonl")
    assert done.code == 0
    assert "All 40 graphs were in the training set" in done.err
    assert "nothing about new graphs" in done.err
    record = json.loads(kgnn("evaluate", model, tmp_path / "old.jsonl", "--json").out)
    assert (record["trained_on"], record["n"], record["counts_trained_on"]) == (40, 40, True)
    assert (record["without_twins"], record["accuracy_without_twins"]) == (0, None)


def test_graphs_that_only_look_like_known_ones_count_but_are_told_of(kgnn, here):
    done = kgnn("evaluate", "ldp", "new.jsonl")
    record = json.loads(kgnn("evaluate", "ldp", "new.jsonl", "--json").out)
    twins = has_twin(GRAPHS, np.arange(40, 100), np.arange(40))
    assert 0 < twins.sum() < 60
    assert (record["n"], record["without_twins"]) == (60, 60 - twins.sum())
    right = open_model("ldp").predict(GRAPHS[40:]) == [graph.target for graph in GRAPHS[40:]]
    assert record["accuracy_without_twins"] == pytest.approx(right[~twins].mean())
    assert f"{twins.sum()} of the 60 graphs look exactly like a training graph" in done.err


def test_options_of_a_table_that_is_not_given_are_refused(kgnn, here):
    done = kgnn("evaluate", "ldp", "new.jsonl", "--label-column", "kind")
    assert done.code == 2
    assert "--label-column needs --labels, which is not given" in done.err
