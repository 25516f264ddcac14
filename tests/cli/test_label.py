"""``kgnn label`` and ``kgnn serve`` refuse at once what cannot work, in one line."""

from __future__ import annotations

import socket
import sys

import pytest

from kgnn.graphs.datasets.toy import cycles_and_trees, planted_motifs
from kgnn.graphs.readers import jsonl
from kgnn.web import running
from kgnn.web.project import LABEL, Given, Project
from tests.cli.calling import kgnn  # noqa: F401


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    jsonl.write(cycles_and_trees(10), "graphs.jsonl")
    jsonl.write(planted_motifs(10), "others.jsonl")
    return tmp_path


@pytest.fixture
def opened_again(data):
    """A function that opens the project as a process would that is started now."""
    projects = []

    def open_project():
        projects.append(Project(data / "project"))
        return projects[-1]

    yield open_project
    for project in projects:
        project.close()


@pytest.fixture
def served(monkeypatch):
    """The applications that would have been served."""
    apps = []
    monkeypatch.setattr(running, "run", lambda app, opened, **_: (apps.append(app), opened.close()))
    return apps


def test_targets_become_labels_once(kgnn, served, opened_again):  # noqa: F811
    assert kgnn("label", "graphs.jsonl", "-o", "project", "--port", "0").code == 0
    project = opened_again()
    assert len(project.labels()) == 10
    (first, *_) = project.answers
    project.undo(project.answers[first].action, who="Ada")
    project.close()
    assert kgnn("label", "graphs.jsonl", "-o", "project", "--port", "0").code == 0
    assert opened_again().labels() == {}
    assert len(served) == 2


def test_a_file_of_labels_adds_to_a_project_and_changes_nothing(kgnn, data, served, opened_again):  # noqa: F811
    words = ["label", "graphs.jsonl", "-o", "project", "--port", "0", "--without-targets"]
    assert kgnn(*words).code == 0
    project = opened_again()
    assert (project.classes, project.labels()) == (["cycle", "tree"], {})
    (data / "labels.csv").write_text("id,label\n0,cycle\n1,star\nnobody,tree\n")
    done = kgnn(*words, "--labels", "labels.csv")
    assert "nobody" in done.err
    (data / "labels.csv").write_text("id,label\n0,tree\n")
    assert "0" in kgnn(*words, "--labels", "labels.csv").err
    assert sorted(opened_again().labels().values()) == ["cycle", "star"]


def test_a_saved_model_advises_from_the_beginning(kgnn, served, opened_again):  # noqa: F811
    assert kgnn("fit", "graphs.jsonl", "-o", "model", "--method", "wl-linear").code == 0
    words = ["label", "graphs.jsonl", "-o", "project", "--port", "0", "--without-targets"]
    assert kgnn(*words, "--model", "model").code == 0
    (event,) = opened_again().models
    assert event.details["method"] == "wl-linear"


def test_a_project_about_other_graphs_is_refused(kgnn, data, served):  # noqa: F811
    assert kgnn("label", "graphs.jsonl", "-o", "project", "--port", "0").code == 0
    done = kgnn("label", "others.jsonl", "-o", "project", "--port", "0")
    assert done.code == 1
    assert "10 answers" in done.err


def test_a_project_that_is_open_is_not_opened_again(kgnn, data, served, monkeypatch):  # noqa: F811
    done = []

    def again(app, opened, **_):
        opened.close()
        monkeypatch.setattr(running, "run", lambda *_, **__: pytest.fail("opened twice"))
        done.append(kgnn("label", "graphs.jsonl", "-o", "project", "--port", "0"))

    monkeypatch.setattr(running, "run", again)
    kgnn("label", "graphs.jsonl", "-o", "project", "--port", "0")
    assert done[0].code == 1
    assert "already open" in done[0].err


@pytest.mark.parametrize("command", ["label", "serve"])
def test_without_the_extra_the_command_says_how_to_install_it(kgnn, data, command, monkeypatch):  # noqa: F811
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    done = kgnn(command, "graphs.jsonl", *(["-o", "project"] if command == "label" else []))
    assert done.code == 2
    assert "kgnn[serve]" in done.err
    assert not (data / "project").exists()


def test_a_port_that_is_taken_is_said_before_anything_is_read(kgnn, data):  # noqa: F811
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = kgnn("label", "graphs.jsonl", "-o", "project", "--port", port)
    assert done.code == 1
    assert f"port {port}" in done.err


def test_answers_survive_a_changed_order_of_the_data(kgnn, served, opened_again):  # noqa: F811
    words = ["-o", "project", "--port", "0", "--without-targets"]
    assert kgnn("label", "graphs.jsonl", *words).code == 0
    project = opened_again()
    from kgnn.web.pool import content_keys

    key = list(content_keys(cycles_and_trees(10)))[9]
    project.answer([Given(key, LABEL, "cycle")], who="Ada", action="1")
    project.close()
    jsonl.write(cycles_and_trees(10)[::-1], "reversed.jsonl")
    assert kgnn("label", "reversed.jsonl", *words).code == 0
    assert list(opened_again().labels()) == [key]
