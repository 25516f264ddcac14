"""The record of a project: nothing confirmed is lost, nothing overwritten, all can be undone."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgnn.errors import ParameterError
from kgnn.web.project import (
    FILE,
    INVALID,
    LABEL,
    UNSURE,
    ConflictError,
    Given,
    Project,
    ProjectError,
)


@pytest.fixture
def project(tmp_path):
    made = Project(tmp_path / "project")
    for name in ("ring", "tree"):
        made.add_class(name, who="Ada")
    yield made
    made.close()


def _held(project):
    return {graph: (each.kind, each.label) for graph, each in project.answers.items()}


def test_answers_are_there_again_when_the_project_is_opened_again(project):
    project.answer([Given("a", LABEL, "ring")], who="Ada", action="1", shown={"opinion": True})
    project.answer([Given("b", UNSURE), Given("c", INVALID)], who="Bob", action="2", model=7)
    project.add_model({"accuracy": 0.5, "upto": 4})
    again = Project(project.folder)
    assert _held(again) == {"a": (LABEL, "ring"), "b": (UNSURE, None), "c": (INVALID, None)}
    assert again.classes == ["ring", "tree"]
    assert again.answers["a"].details == {"opinion": True}
    assert (again.answers["b"].who, again.answers["b"].model) == ("Bob", 7)
    assert [model.details["accuracy"] for model in again.models] == [0.5]


def test_undoing_is_an_event_that_brings_back_what_was_before(project):
    first = project.answer([Given("a", LABEL, "ring")], who="Ada", action="1")[0]
    project.answer([Given("a", LABEL, "tree", seen=first.id)], who="Bob", action="2")
    assert project.undo("2", who="Bob") == ["a"]
    assert project.answers["a"].label == "ring"
    assert project.undo("1", who="Ada") == ["a"]
    assert project.answers == {}
    kinds = [event.kind for event in project.history("a")]
    assert kinds == [LABEL, LABEL, "undo", "undo"]


def test_an_action_that_somebody_has_answered_over_is_not_undone(project):
    first = project.answer([Given("a", LABEL, "ring")], who="Ada", action="1")[0]
    project.answer([Given("a", LABEL, "tree", seen=first.id)], who="Bob", action="2")
    assert project.undo("1", who="Ada") == []
    assert project.answers["a"].label == "tree"


def test_what_is_sent_twice_is_recorded_once(project):
    sent = [Given("a", LABEL, "ring")]
    first, again = (project.answer(sent, who="Ada", action="1") for _ in range(2))
    assert first == again
    assert [project.undo("1", who="Ada", by="2") for _ in range(2)] == [["a"], ["a"]]
    assert len(project.history("a")) == 2


def test_an_answer_without_knowledge_of_a_later_one_is_refused_with_all_of_its_action(project):
    project.answer([Given("a", LABEL, "ring")], who="Ada", action="1")
    with pytest.raises(ConflictError) as refused:
        project.answer([Given("b", UNSURE), Given("a", LABEL, "tree")], who="Bob", action="2")
    assert refused.value.graphs == ["a"]
    assert _held(project) == {"a": (LABEL, "ring")}


@pytest.mark.parametrize("statement", ["UPDATE events SET label = 'x'", "DELETE FROM events"])
def test_the_file_itself_refuses_to_change_or_to_forget(project, statement):
    project.answer([Given("a", LABEL, "ring")], who="Ada", action="1")
    with (
        sqlite3.connect(project.folder / FILE) as base,
        pytest.raises(sqlite3.IntegrityError, match="only ever added"),
    ):
        base.execute(statement)


@pytest.mark.parametrize(
    "answer",
    [
        Given("a", LABEL, "unknown"),
        Given("a", LABEL),
        Given("a", UNSURE, "ring"),
        Given("a", "guess"),
    ],
)
def test_answers_that_make_no_sense_are_refused(project, answer):
    with pytest.raises(ParameterError):
        project.answer([answer], who="Ada", action="1")
    assert project.answers == {}


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "x" * 201])
def test_names_that_cannot_be_shown_are_refused(project, name):
    with pytest.raises(ParameterError):
        project.add_class(name, who="Ada")
    assert project.classes == ["ring", "tree"]


def test_an_import_changes_nobodys_answer(project):
    project.answer([Given("a", LABEL, "ring")], who="Ada", action="1")
    assert project.add_labels({"a": "tree", "b": "star"}, who="file") == (1, ["a"])
    assert project.labels() == {"a": "ring", "b": "star"}
    assert project.classes == ["ring", "tree", "star"]


def test_files_of_others_and_of_later_versions_are_refused(tmp_path):
    with sqlite3.connect(tmp_path / FILE) as base:
        base.execute("CREATE TABLE theirs (x)")
    with pytest.raises(ProjectError, match="another program"):
        Project(tmp_path)
    later = tmp_path / "later"
    Project(later).close()
    with sqlite3.connect(later / FILE) as base:
        base.execute("PRAGMA user_version = 99")
    with pytest.raises(ProjectError, match="newer kgnn"):
        Project(later)
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / FILE).write_text("no database " * 100)
    with pytest.raises(ProjectError, match="cannot be opened"):
        Project(tmp_path / "text")


_WRITER = """
import sys
from kgnn.web.project import LABEL, ConflictError, Given, Project

folder, who, n_answers = sys.argv[1:]
project = Project(folder)
for n in range(int(n_answers)):
    try:
        project.answer([Given(str(n), LABEL, "ring")], who=who, action=f"{who}{n}")
    except ConflictError:
        print("refused", n, flush=True)
    else:
        print("kept", n, flush=True)
"""


def _writer(project, who, n=1000):
    words = [sys.executable, "-c", _WRITER, str(project.folder), who, str(n)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("confirmed", [1, 7, 40])
def test_what_was_confirmed_survives_a_killed_process(project, confirmed):
    with _writer(project, "Bob") as writer:
        told = [writer.stdout.readline().split()[1] for _ in range(confirmed)]
        writer.kill()
        told += [line.split()[1] for line in writer.stdout.read().splitlines()]
    again = Project(project.folder)
    assert set(told) <= set(again.answers)
    # The answer that was under way may be there, whole, although nobody was told.
    assert len(again.answers) <= len(told) + 1
    assert again._base.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    again.answer([Given("after", LABEL, "tree")], who="Ada", action="after")


def test_two_processes_write_at_once_and_one_of_them_wins_each_graph(project):
    writers = [_writer(project, who, 40) for who in ("Bob", "Eve")]
    told = [writer.communicate(timeout=60)[0].splitlines() for writer in writers]
    project.refresh()
    assert len(project.answers) == 40
    kept = [{line.split()[1] for line in lines if line.startswith("kept")} for lines in told]
    assert kept[0] | kept[1] == set(project.answers)
    assert not kept[0] & kept[1]
    by = {graph: each.who for graph, each in project.answers.items()}
    assert {graph for graph, who in by.items() if who == "Bob"} == kept[0]


def test_what_another_process_has_written_is_known_before_anything_is_added(project):
    other = Project(project.folder)
    project.answer([Given("a", LABEL, "ring")], who="Ada", action="1")
    with pytest.raises(ConflictError):
        other.answer([Given("a", LABEL, "tree")], who="Bob", action="2")
    assert other.add_labels({"a": "tree"}, who="file") == (0, ["a"])
    assert other.undo("1", who="Bob") == ["a"]


def test_threads_may_write_at_once(project):
    def write(who):
        for n in range(10):
            given = [Given(f"{who}{n}", LABEL, "ring")]
            project.answer(given, who=who, action=f"{who}{n}")

    threads = [threading.Thread(target=write, args=(f"t{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(project.answers) == 40


_ACTIONS = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from(["ring", "tree", None, "undo"])),
    max_size=12,
)


@settings(max_examples=25)
@given(_ACTIONS)
def test_any_course_of_answers_and_undoing_is_what_a_plain_stack_says(tmp_path_factory, actions):
    project = Project(tmp_path_factory.mktemp("course"))
    for name in ("ring", "tree"):
        project.add_class(name, who="Ada")
    stacks = {graph: [] for graph in "abc"}
    for number, (graph, label) in enumerate(actions):
        stack = stacks[graph]
        if label == "undo":
            if stack:
                project.undo(stack.pop()[0], who="Ada")
            continue
        held = project.answers.get(graph)
        kind = UNSURE if label is None else LABEL
        answer = Given(graph, kind, label, held.id if held else 0)
        project.answer([answer], who="Ada", action=str(number))
        stack.append((str(number), label))
    expected = {graph: stack[-1][1] for graph, stack in stacks.items() if stack}
    for each in (project, Project(project.folder)):
        assert {graph: held.label for graph, held in each.answers.items()} == expected
