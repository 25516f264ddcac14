import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgnn.engine.gin import GIN
from kgnn.engine.node_features import NodeFeatures
from kgnn.errors import GraphDataError, KgnnError, ParameterError
from kgnn.estimator import encoder_files
from kgnn.estimator.encoder_files import (
    EncoderPlan,
    SavedEncoder,
    open_encoder,
    require_place,
    save_encoder,
)
from tests.graphs.mutations import mutated

NODES = NodeFeatures(("C", "N", "Ö"))
PLAN = EncoderPlan("gin", 4, 2, NODES)


def gin(width=4, layers=2, n_features=3):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return GIN(n_features, 2, width=width, layers=layers)


def layers_of(module):
    return {k: v for k, v in module.state_dict().items() if k.startswith("layers.")}


def example(**changes):
    given = SavedEncoder(PLAN, layers_of(gin()), "GraphCL", "toy", [3.5, 3.0])
    return replace(given, **changes)


@pytest.fixture
def folder(tmp_path):
    save_encoder(example(), tmp_path / "encoder")
    return tmp_path / "encoder"


def same(first, second):
    return first.keys() == second.keys() and all(torch.equal(first[k], second[k]) for k in first)


def test_what_was_saved_is_opened(folder):
    opened = open_encoder(folder)
    assert same(opened.weights, example().weights)
    assert (opened.plan, opened.method, opened.dataset, opened.loss) == (
        PLAN,
        "GraphCL",
        "toy",
        [3.5, 3.0],
    )
    opened.require(PLAN, gin())
    assert sorted(each.name for each in folder.iterdir()) == ["encoder.json", "weights.npz"]
    assert sorted(each.name for each in folder.parent.iterdir()) == ["encoder"]
    assert json.loads((folder / "encoder.json").read_text())["kgnn"]


def test_the_folders_above_are_made(tmp_path):
    save_encoder(example(), str(tmp_path / "a" / "b" / "encoder"))
    assert open_encoder(str(tmp_path / "a" / "b" / "encoder")).plan == PLAN


def test_an_encoder_takes_the_place_of_another_and_of_an_empty_folder(folder, tmp_path):
    (tmp_path / "empty").mkdir()
    for place in (folder, tmp_path / "empty"):
        save_encoder(example(method="JOAO"), place)
        assert open_encoder(place).method == "JOAO"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["empty", "encoder"]


def test_any_other_folder_is_refused(folder, tmp_path):
    (folder / "thesis.tex").write_text("years of work")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "weights.npz").write_text("of another program")
    (tmp_path / "file").write_text("")
    for place, message in (
        (folder, "such as 'thesis.tex'; give the name of a new folder"),
        (tmp_path / "mine", "such as 'weights.npz'"),
        (tmp_path / "file", "is a file"),
    ):
        with pytest.raises(ParameterError, match=message):
            save_encoder(example(), place)
        with pytest.raises(ParameterError, match=message):
            require_place(place)
    assert (folder / "thesis.tex").read_text() == "years of work"
    assert (tmp_path / "mine" / "weights.npz").read_text() == "of another program"


@pytest.mark.parametrize("moment", ["weights", "description", "first rename", "second rename"])
@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
def test_an_interruption_leaves_the_old_encoder(folder, monkeypatch, moment, error):
    renames = []

    def fail(*_, **__):
        raise error

    def rename(path, target):
        renames.append(target)
        if len(renames) == {"first rename": 1, "second rename": 2}[moment]:
            raise error
        path.rename(target)

    with monkeypatch.context() as patch:
        if moment == "weights":
            patch.setattr(np, "savez", fail)
        elif moment == "description":
            patch.setattr(Path, "write_text", fail)
        else:
            patch.setattr(Path, "replace", rename)
        expected = KeyboardInterrupt if isinstance(error, KeyboardInterrupt) else KgnnError
        with pytest.raises(expected):
            save_encoder(example(method="JOAO"), folder)
    assert open_encoder(folder).method == "GraphCL"
    assert [each.name for each in folder.parent.iterdir()] == ["encoder"]


def test_an_old_encoder_that_cannot_be_put_back_is_not_deleted(folder, monkeypatch):
    def rename(path, target):
        if path.name == "encoder":
            return path.rename(target)
        raise OSError("gone")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", rename)
        with pytest.raises(KgnnError, match="gone"):
            save_encoder(example(method="JOAO"), folder)
    [aside] = folder.parent.iterdir()
    assert open_encoder(aside / "old").method == "GraphCL"


def test_weights_that_are_not_finite_are_not_saved(tmp_path):
    weights = {**example().weights, "layers.0.inner.bias": torch.full((4,), float("nan"))}
    with pytest.raises(KgnnError, match="diverged: weights 'layers.0.inner.bias'"):
        save_encoder(example(weights=weights), tmp_path / "encoder")
    assert list(tmp_path.iterdir()) == []


def described(**changes):
    """Change the description."""

    def damage(folder):
        file = folder / "encoder.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))

    return damage


def without(name):
    def damage(folder):
        file = folder / "encoder.json"
        description = json.loads(file.read_text())
        del description[name]
        file.write_text(json.dumps(description))

    return damage


def written(name, content):
    return lambda folder: (folder / name).write_bytes(content)


def truncated(name, share):
    def damage(folder):
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[: int(share * len(content))])

    return damage


def flipped(folder):
    content = bytearray((folder / "weights.npz").read_bytes())
    content[content.index(b"NUMPY") + 140] ^= 0xFF  # a number of the first array
    (folder / "weights.npz").write_bytes(bytes(content))


def weighing(**changes):
    """Change arrays of the weights; None leaves one out."""

    def damage(folder):
        with np.load(folder / "weights.npz") as old:
            arrays = {**old, **changes}
        np.savez(folder / "weights.npz", **{k: v for k, v in arrays.items() if v is not None})

    return damage


def pickled(folder):
    np.savez(folder / "weights.npz", evil=np.array([{"a": 1}], dtype=object))


def one_array(folder):
    with (folder / "weights.npz").open("wb") as file:
        np.save(file, np.zeros(3))


INNER = "layers.0.inner.weight"


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: (folder / "encoder.json").unlink(), "encoder.json is damaged or missing"),
        (lambda folder: (folder / "weights.npz").unlink(), "weights.npz is damaged or missing"),
        (written("encoder.json", b""), "encoder.json is damaged"),
        (written("encoder.json", b"\xff\xfe"), "encoder.json is damaged"),
        (written("encoder.json", b"[1, 2]"), "encoder.json is damaged"),
        (written("encoder.json", b"[" * 100_000), "encoder.json is damaged"),
        (truncated("encoder.json", 0.5), "encoder.json is damaged"),
        (described(format="one"), "its format is 'one'"),
        (described(format=2, kgnn="9.9"), r"has format 2, .* reads up to 1; .*\(9.9\)"),
        (without("format"), "no 'format'"),
        (without("width"), "no 'width'"),
        (without("node_features"), "no 'node_features'"),
        (without("loss"), "no 'loss'"),
        (described(width=0), "0 is not a number from 1 on"),
        (described(layers="3"), "'3' is not a number"),
        (described(encoder="rnn"), "'rnn' is none of gin"),
        (described(node_features=None), "encoder.json is damaged"),
        (
            described(node_features={"label_names": [1], "n_attributes": 0, "degrees": False}),
            "1 is not a text",
        ),
        (
            described(node_features={"label_names": [], "n_attributes": 0, "degrees": 1}),
            "1 is none of True, False",
        ),
        (described(method=3), "3 is not a text"),
        (described(loss=["low"]), "could not convert"),
        (described(loss=[10**400]), "too large to convert"),
        (written("weights.npz", b""), "weights.npz is damaged"),
        (written("weights.npz", b"PK\x03\x04 no zip at all"), "weights.npz is damaged"),
        (truncated("weights.npz", 0.3), "weights.npz is damaged"),
        (truncated("weights.npz", 0.98), "weights.npz is damaged"),
        (flipped, "weights.npz is damaged"),
        (pickled, "weights.npz is damaged"),
        (one_array, "weights.npz is damaged"),
        (weighing(**{INNER: np.full((4, 3), np.nan, np.float32)}), "numbers that are not finite"),
        (weighing(**{INNER: np.full((4, 3), np.inf, np.float32)}), "numbers that are not finite"),
        (weighing(**{INNER: np.array(["a"])}), "weights.npz is damaged"),
        (weighing(**{INNER: None}), f"lacks weights '{INNER}'"),
        (weighing(**{"layers.9.x": np.zeros(2)}), "has unknown weights 'layers.9.x'"),
        (weighing(**{"classifier.0.bias": np.zeros(2)}), "unknown weights 'classifier.0.bias'"),
        (
            weighing(**{INNER: np.zeros((4, 2), np.float32)}),
            r"are \(4, 2\) of float32, expected \(4, 3\) of float32",
        ),
        (weighing(**{INNER: np.zeros((4, 3))}), r"\(4, 3\) of float64, expected"),
    ],
)
def test_every_damage_is_refused(folder, damage, message):
    damage(folder)
    with pytest.raises(GraphDataError, match=message) as raised:
        open_encoder(folder).require(PLAN, gin())
    assert "kgnn pretrain" in str(raised.value) or "install" in str(raised.value)


def test_a_folder_that_is_not_there_is_named(tmp_path):
    for place in (tmp_path / "nowhere", tmp_path / "file"):
        (tmp_path / "file").write_text("")
        with pytest.raises(ParameterError, match="no encoder at .*; give a folder"):
            open_encoder(place)


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (replace(PLAN, width=8), "has width=4, the model width=8: set width=4, or pre-train"),
        (replace(PLAN, layers=3), "has layers=2, the model layers=3"),
        (replace(PLAN, encoder="gcn"), "has encoder='gin', the model encoder='gcn'"),
        (
            replace(PLAN, node_features=NodeFeatures(("N", "C", "Ö"))),
            r"reads 3 node labels \(C, N, Ö\), the model 3 node labels \(N, C, Ö\)",
        ),
        (replace(PLAN, node_features=NodeFeatures(())), "the model nodes without labels"),
        (replace(PLAN, node_features=NodeFeatures((), degrees=True)), "the model degrees of nodes"),
        (replace(PLAN, node_features=replace(NODES, n_attributes=2)), "and 2 attributes"),
        (
            replace(PLAN, node_features=NodeFeatures(tuple("abcdefgh"))),
            r"8 node labels \(a, b, c, d, e, …\)",
        ),
    ],
)
def test_an_encoder_for_other_networks_is_refused(folder, wanted, message):
    with pytest.raises(ParameterError, match=message):
        open_encoder(folder).require(wanted, gin())


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(KgnnError, match="cannot be written to"):
        save_encoder(example(), tmp_path / "file" / "encoder")


class Evil:
    """Does something when it is unpickled."""

    def __init__(self, file):
        self.file = file

    def __reduce__(self):
        return Path.touch, (self.file,)


def test_nothing_in_a_folder_is_executed(folder, tmp_path):
    np.savez(folder / "weights.npz", evil=np.array([Evil(tmp_path / "executed")], dtype=object))
    with pytest.raises(GraphDataError, match=r"weights.npz is damaged .*allow_pickle"):
        open_encoder(folder)
    assert not (tmp_path / "executed").exists()


def test_a_claim_of_endless_layers_costs_nothing(folder):
    described(layers=10**12, width=10**12)(folder)
    assert encoder_files.open_encoder(folder).plan.layers == 10**12


@pytest.mark.parametrize("name", ["encoder.json", "weights.npz"])
@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_a_damaged_file_is_refused_by_name_or_can_be_used(folder, name, data):
    original = (folder / name).read_bytes()
    (folder / name).write_bytes(data.draw(mutated(original)))
    try:
        open_encoder(folder).require(PLAN, gin())
    except KgnnError as error:
        told = str(error)
        assert str(folder) in told or "The pre-trained encoder" in told or "kgnn pretrain" in told
    finally:
        (folder / name).write_bytes(original)
