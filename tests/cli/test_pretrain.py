import json

import pytest
import typer
from typer.testing import CliRunner

from kgnn.cli.pretrain import pretrain
from kgnn.errors import KgnnError, ParameterError, UnknownNameError
from kgnn.estimator import registry
from kgnn.estimator.parameters import fields_of
from kgnn.graphs.datasets.toy import cycles_and_trees
from kgnn.graphs.readers import jsonl
from kgnn.methods.graphcl import GraphCL
from kgnn.methods.pretrained import SavedEncoder

METHODS = {
    "asgn": "ASGN",
    "graphcl": "GraphCL",
    "infograph": "InfoGraph",
    "joao": "JOAO",
    "simgrace": "SimGRACE",
}
FAST = ("--set", "pretrain_epochs=2", "--set", "width=8")


@pytest.fixture(autouse=True)
def listed(monkeypatch):
    """List what this command is for, whether or not the registry has it already."""
    entries = {entry.name: entry for entry in registry._ENTRIES}
    for name, cls in METHODS.items():
        path = f"kgnn.methods.{name}:{cls}"
        entries.setdefault(name, registry.Entry(name, path, "pre-trained", name, ""))
    monkeypatch.setattr(registry, "_ENTRIES", tuple(entries.values()))


@pytest.fixture
def graphs_file(tmp_path):
    jsonl.write(cycles_and_trees(30), tmp_path / "graphs.jsonl")
    return str(tmp_path / "graphs.jsonl")


def run(*arguments):
    app = typer.Typer()
    app.command()(pretrain)
    return CliRunner().invoke(app, [str(each) for each in arguments])


def test_an_encoder_is_written_and_can_be_used(graphs_file, tmp_path):
    done = run("graphcl", graphs_file, "-o", tmp_path / "encoder", *FAST)
    assert done.exit_code == 0, done.output
    assert "2 epochs on 30 graphs" in done.output
    assert "--set pretrained=" in done.output
    assert "no class" in done.output
    graphs = cycles_and_trees(30)
    options = {"width": 8, "epochs": 2}
    model = GraphCL(pretrained=str(tmp_path / "encoder"), **options).fit(graphs, graphs.targets)
    here = GraphCL(pretrain_epochs=2, **options).fit(graphs, graphs.targets)
    assert (model.predict_proba(graphs) == here.predict_proba(graphs)).all()


def test_settings_of_the_training_that_comes_later_are_refused(graphs_file, tmp_path):
    done = run("graphcl", graphs_file, "-o", tmp_path / "encoder", "--set", "epochs=2")
    assert done.exit_code == 1
    assert "use pretrain_epochs=" in str(done.exception)
    assert not (tmp_path / "encoder").exists()


@pytest.mark.parametrize("name", METHODS)
def test_every_method_that_pre_trains_writes_an_encoder_and_takes_it(name, graphs_file, tmp_path):
    done = run(name, graphs_file, "-o", tmp_path / "encoder", *FAST)
    assert done.exit_code == 0, done.output
    assert f"encoder of {name}, 2 epochs on 30 graphs" in done.output
    assert SavedEncoder.open(tmp_path / "encoder").method == METHODS[name]
    cls, graphs = registry.method_class(name), cycles_and_trees(30)
    folder = str(tmp_path / "encoder")
    options = {"width": 8, "epochs": 1, "teacher_epochs": 1, "pretrained": folder}
    model = cls(**{key: options[key] for key in options if key in fields_of(cls)})
    model.fit(graphs, graphs.targets)
    assert model.predict_proba(graphs).shape == (30, 2)


def test_json_has_the_promised_shape(graphs_file, tmp_path):
    done = run("JOAO", graphs_file, "-o", tmp_path / "e", "--seed", 3, "--json", *FAST)
    assert done.exit_code == 0, done.output
    record = json.loads(done.stdout)
    assert list(record) == ["method", "dataset", "graphs", "seed", "loss", "seconds", "folder"]
    assert (record["method"], record["graphs"], record["seed"]) == ("joao", 30, 3)
    assert record["loss"] == SavedEncoder.open(record["folder"]).loss
    assert len(record["loss"]) == 2


def test_the_seed_decides_the_encoder(graphs_file, tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        assert (
            run("graphcl", graphs_file, "-o", tmp_path / name, "--seed", seed, *FAST).exit_code == 0
        )
    a, b, c = (
        [each.tolist() for each in SavedEncoder.open(tmp_path / name).weights.values()]
        for name in "abc"
    )
    assert a == b != c


def test_methods_without_pre_training_are_refused_with_a_list(tmp_path):
    for name in ("wl", "gnn-sup"):
        done = run(name, "cycles-and-trees", "-o", tmp_path / "encoder")
        assert isinstance(done.exception, ParameterError)
        assert f"The method '{name}' has no pre-training" in str(done.exception)
        assert "Methods that do: asgn, graphcl, infograph, joao, simgrace." in str(done.exception)
    done = run("graphcll", "cycles-and-trees", "-o", tmp_path / "encoder")
    assert isinstance(done.exception, UnknownNameError)
    assert list(tmp_path.iterdir()) == []


def test_misuse_is_refused_before_any_work(graphs_file, tmp_path):
    (tmp_path / "taken").write_text("")
    done = run("graphcl", graphs_file, "-o", tmp_path / "taken")
    assert "it is a file, not a folder" in str(done.exception)
    done = run("graphcl", graphs_file, "-o", tmp_path / "e", "--set", "depth=3")
    assert "no parameter of GraphCL 'depth'" in str(done.exception)
    assert run("graphcl", graphs_file).exit_code == 2  # nowhere to write to
    assert not (tmp_path / "e").exists()


def test_a_place_that_cannot_be_written_to_is_refused_before_training(graphs_file, tmp_path):
    (tmp_path / "occupied").write_text("")
    done = run("graphcl", graphs_file, "-o", tmp_path / "occupied" / "encoder", *FAST)
    assert isinstance(done.exception, KgnnError)
    assert "Cannot write to" in str(done.exception)


def test_a_table_of_smiles_is_read_as_it_is_told_to(tmp_path):
    pytest.importorskip("rdkit")
    lines = [f"{'C' * n}\n" for n in range(3, 33)]
    (tmp_path / "a.csv").write_text("".join(["structure\n", *lines]))
    options = ("-o", tmp_path / "encoder", *FAST, "--read", "smiles_column=structure")
    done = run("graphcl", tmp_path / "a.csv", *options)
    assert done.exit_code == 0, done.output
