"""A project learns from answers, asks about the rest, and doubts what contradicts the others."""

from __future__ import annotations

import csv
import io
import time

import pytest

from kgnn.errors import ParameterError, UnknownNameError
from kgnn.graphs.datasets.toy import cycles_and_trees
from kgnn.graphs.graph import GraphDataset
from kgnn.web.pool import Pool
from kgnn.web.project import INVALID, LABEL, UNSURE, Given, Project
from kgnn.web.workbench import Settings, Workbench, import_targets

_FAST = {"trees": 20}


@pytest.fixture(scope="module")
def graphs() -> GraphDataset:
    return cycles_and_trees(60)


@pytest.fixture
def make(graphs, tmp_path):
    """A function that opens the project, as after a restart."""
    opened = []

    def open_project(every=0, *, learns=True):
        project = Project(tmp_path / "project")
        for name in graphs.class_names:
            project.add_class(name, who="Ada")
        bench = Workbench(project, Pool(graphs), Settings("ldp", _FAST, every))
        opened.append(bench)
        if learns:
            bench.start()
            _wait(lambda: bench.outcome is not None)
        return bench

    yield open_project
    for bench in opened:
        bench.stop()
        bench.project.close()


def _wait(until, seconds=60.0):
    end = time.monotonic() + seconds
    while not until():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.02)


def _label(bench, rows, *, wrong=()):
    graphs = bench.pool.graphs
    for row in rows:
        name = graphs[row].target
        if row in wrong:
            name = next(each for each in graphs.class_names if each != name)
        given = [Given(bench.pool.keys[row], LABEL, name)]
        bench.answer(given, who="Ada", action=f"label {row}")


def _all_asked(bench):
    """Return what a window is asked that skips every graph."""
    asked = []
    while cards := bench.next("window", 20, asked):
        asked += [card["graph"] for card in cards]
    return asked


def _learn(bench):
    before = bench.outcome
    bench.learn()
    _wait(lambda: bench.outcome is not before)


def test_without_a_model_all_graphs_are_asked_about_each_once(make):
    bench = make()
    assert sorted(_all_asked(bench)) == sorted(bench.pool.keys)
    with pytest.raises(ParameterError, match="two graphs"):
        bench.learn()


def test_two_windows_are_asked_about_different_graphs(make):
    bench = make(learns=False)
    first, second = ({card["graph"] for card in bench.next(each, 20)} for each in "ab")
    assert len(first) == len(second) == 20
    assert not first & second
    assert {card["graph"] for card in bench.next("a", 20)} == first


def test_what_a_closed_window_was_asked_about_is_not_lost(make):
    bench = make(learns=False)
    held = [card["graph"] for window in "abc" for card in bench.next(window, 20)]
    assert len(set(held)) == 60
    assert {card["graph"] for card in bench.next("d", 20)} <= set(held)
    assert len(bench.next("d", 20, held[:45])) == 15
    assert bench.next("d", 20, held) == []


def test_answers_are_learned_from_and_the_model_is_there_after_a_restart(make):
    bench = make()
    _label(bench, range(20))
    bench.answer([Given(bench.pool.keys[20], INVALID)], who="Ada", action="x")
    bench.answer([Given(bench.pool.keys[21], UNSURE)], who="Ada", action="d")
    _learn(bench)
    state = bench.state()
    assert (state["labeled"], state["invalid"], state["unsure"]) == (20, 1, 1)
    (point,) = state["curve"]
    assert point["labels"] == 20
    assert point["low"] <= point["accuracy"] <= point["high"]
    assert sorted(_all_asked(bench)) == sorted(bench.pool.keys[22:])
    assert bench.next("window", 1)[0]["why"]
    shares = bench.opinion(bench.pool.keys[30])["probabilities"]
    assert sum(share for _, share in shares) == pytest.approx(1)
    assert bench.explanation(bench.pool.keys[30]).predicted == shares[0][0]
    bench.stop()
    again = make()
    assert again.outcome.number == bench.outcome.number
    told = again.opinion(again.pool.keys[30])["probabilities"]
    assert dict(told) == pytest.approx(dict(shares))
    assert again.state()["curve"] == state["curve"]


def test_it_learns_by_itself_after_some_answers(make):
    bench = make(every=8)
    _label(bench, range(8))
    _wait(lambda: bench.project.models)
    assert bench.project.models[0].details["labels"] == 8


def test_stopping_gives_up_the_fit_and_the_next_one_works(make):
    bench = make()
    _label(bench, range(10))
    bench.learn()
    bench.stop_learning()
    assert not bench.state()["learning"]["is_running"]
    assert not bench.project.models
    before = bench.outcome
    bench.learn()
    _label(bench, range(10, 13))  # which come too late for this fit
    _wait(lambda: bench.outcome is not before)
    assert bench.state()["new"] == 3
    assert [model.details["labels"] for model in bench.project.models] == [10]


def test_the_time_that_is_left_follows_from_the_last_fit(make):
    bench = make()
    _label(bench, range(10))
    _learn(bench)
    assert bench.state()["learning"]["is_running"] is False
    before = bench.outcome
    bench.learn()
    learning = bench.state()["learning"]
    assert learning["is_running"]
    took = bench.project.models[-1].details["seconds"]
    assert learning["seconds_left"] == pytest.approx(max(1.0, took - learning["seconds"]), abs=0.1)
    _wait(lambda: bench.outcome is not before)


def test_a_wrong_label_is_doubted_until_somebody_has_looked(make):
    bench = make()
    _label(bench, range(40), wrong={5})
    _learn(bench)
    (doubt,) = (each for each in bench.doubts() if each["graph"] == bench.pool.keys[5])
    assert doubt["likely"] == bench.pool.graphs[5].target
    assert {near["label"] for near in doubt["contradicting"]} == {doubt["likely"]}
    assert bench.table()["suspicious"][5] == doubt["likely"]
    given = [Given(doubt["graph"], LABEL, doubt["given"], doubt["seen"])]
    bench.answer(given, who="Ada", action="keep", shown={"source": "check"})
    assert doubt["graph"] not in {each["graph"] for each in bench.doubts()}
    _learn(bench)
    assert doubt["graph"] not in {each["graph"] for each in bench.doubts()}


def test_labels_go_out_and_come_in_as_files(make, tmp_path):
    bench = make(learns=False)
    _label(bench, range(4))
    bench.answer([Given(bench.pool.keys[4], UNSURE)], who="Bob", action="d")
    rows = list(csv.DictReader(io.StringIO(bench.labels_csv())))
    assert [row["label"] for row in rows] == [*(g.target for g in bench.pool.graphs[:4]), ""]
    assert (rows[4]["answer"], rows[4]["who"]) == (UNSURE, "Bob")
    file = tmp_path / "labels.csv"
    other = next(name for name in bench.project.classes if name != rows[0]["label"])
    file.write_text(f"id,label\n0,{other}\n4,{other}\n9,star\n", encoding="utf-8")
    told = bench.import_labels(file, who="file")
    assert told == {"added": 1, "differing": ["0", "4"], "unknown": []}
    assert bench.project.labels()[bench.pool.keys[9]] == "star"
    assert "star" in bench.project.classes


def test_labels_for_spreadsheets_have_no_formulas(make):
    bench = make(learns=False)
    bench.answer([Given(bench.pool.keys[0], UNSURE)], who="=1+1", action="d")
    assert ",=1+1," in bench.labels_csv()
    assert ",'=1+1," in bench.labels_csv(for_spreadsheets=True)


def test_targets_in_the_data_are_labels(graphs, tmp_path):
    project, pool = Project(tmp_path), Pool(graphs)
    assert import_targets(project, pool, who="data") == (60, [])
    assert [project.labels()[key] for key in pool.keys] == [graph.target for graph in graphs]


def test_a_graph_that_is_not_there_is_named(graphs, tmp_path):
    bench = Workbench(Project(tmp_path), Pool(graphs), Settings())
    with pytest.raises(UnknownNameError, match="'nothing'"):
        bench.graph("nothing")
