"""A pre-trained encoder as a file."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
import torch

from kgnn.engine.gin import GIN
from kgnn.engine.node_features import NodeFeatures
from kgnn.errors import KgnnError, ParameterError
from kgnn.estimator.saved_files import ModelFileError, pack, unpack
from kgnn.methods.pretrained import EncoderPlan, SavedEncoder

NODES = NodeFeatures(("C", "N", "Ö"))
PLAN = EncoderPlan("gin", 4, 2, NODES)
INNER = "layers.0.inner.weight"


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
    example().save(tmp_path / "encoder")
    return tmp_path / "encoder"


def test_what_was_saved_is_opened(folder):
    opened = SavedEncoder.open(folder)
    assert opened.weights.keys() == example().weights.keys()
    assert all(torch.equal(own, opened.weights[k]) for k, own in example().weights.items())
    told = (opened.plan, opened.method, opened.dataset, opened.loss)
    assert told == (PLAN, "GraphCL", "toy", [3.5, 3.0])
    opened.require(PLAN, gin())
    assert [each.name for each in folder.iterdir()] == ["encoder.safetensors"]


def test_the_folders_above_are_made_and_an_older_encoder_is_replaced(tmp_path):
    place = tmp_path / "a" / "b" / "encoder"
    example().save(str(place))
    example(method="JOAO").save(place)
    assert SavedEncoder.open(str(place)).method == "JOAO"


@pytest.mark.parametrize("moment", ["write_bytes", "replace"])
@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
def test_an_interruption_leaves_the_old_encoder(folder, monkeypatch, moment, error):
    def fail(*_):
        raise error

    expected = KeyboardInterrupt if isinstance(error, KeyboardInterrupt) else KgnnError
    with monkeypatch.context() as patch:
        patch.setattr(f"pathlib.Path.{moment}", fail)
        with pytest.raises(expected):
            example(method="JOAO").save(folder)
    assert SavedEncoder.open(folder).method == "GraphCL"
    assert [each.name for each in folder.iterdir()] == ["encoder.safetensors"]


def test_weights_that_are_not_finite_are_not_saved(tmp_path):
    weights = {**example().weights, "layers.0.inner.bias": torch.full((4,), float("nan"))}
    with pytest.raises(KgnnError, match="training has diverged; nothing was written"):
        example(weights=weights).save(tmp_path / "encoder")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(KgnnError, match="cannot be written to"):
        example().save(tmp_path / "file" / "encoder")


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ParameterError, match="no encoder at .*; give a folder"):
        SavedEncoder.open(tmp_path / "nowhere")


def test_an_encoder_of_an_earlier_version_is_refused_with_the_way_out(tmp_path):
    (tmp_path / "encoder.json").write_text(json.dumps({"format": 1}))
    with pytest.raises(ModelFileError, match="earlier version.* `kgnn pretrain`"):
        SavedEncoder.open(tmp_path)


def _state(told):
    return told["encoder"]["state"]


def _plan(told):
    return _state(told)["plan"]["state"]


def _nodes(told):
    return _plan(told)["node_features"]["state"]


@pytest.mark.parametrize(
    "change",
    [
        lambda told, arrays: told.update(format="one"),
        lambda told, arrays: told.update(kind="model"),
        lambda told, arrays: told.update(encoder=None),
        lambda told, arrays: _state(told).pop("loss"),
        lambda told, arrays: _state(told).update(method=3),
        lambda told, arrays: _state(told).update(loss=["low"]),
        lambda told, arrays: _state(told).update(loss=[10**400]),
        lambda told, arrays: _state(told).update(weights=[]),
        lambda told, arrays: _state(told).update(plan={}),
        lambda told, arrays: _plan(told).pop("width"),
        lambda told, arrays: _plan(told).update(width=-1),
        lambda told, arrays: _plan(told).update(layers="3"),
        lambda told, arrays: _plan(told).update(encoder="rnn"),
        lambda told, arrays: _plan(told).update(encoder=["gin"]),
        lambda told, arrays: _plan(told).update(node_features=None),
        lambda told, arrays: _nodes(told).update(label_names=[1]),
        lambda told, arrays: _nodes(told).update(degrees=1),
        lambda told, arrays: arrays.update({"0": np.full((4, 3), np.nan, np.float32)}),
        lambda told, arrays: arrays.update({"0": np.full((4, 3), np.inf, np.float32)}),
        lambda told, arrays: arrays.pop("0"),
        lambda told, arrays: arrays.update(more=np.zeros(3)),
    ],
)
def test_crafted_files_are_refused_by_name(folder, change):
    file = folder / "encoder.safetensors"
    told, arrays = unpack(file.read_bytes())
    change(told, arrays)
    file.write_bytes(pack(told, arrays))
    with pytest.raises(ModelFileError, match=re.escape(str(file))):
        SavedEncoder.open(folder)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({INNER: None}, f"lacks weights '{INNER}'"),
        ({"layers.9.x": torch.zeros(2)}, "has unknown weights 'layers.9.x'"),
        ({"classifier.0.bias": torch.zeros(2)}, "unknown weights 'classifier.0.bias'"),
        ({INNER: torch.zeros(4, 2)}, r"are \(4, 2\) of float32, expected \(4, 3\) of float32"),
        ({INNER: torch.zeros(4, 3).double()}, r"\(4, 3\) of float64, expected"),
    ],
)
def test_weights_of_another_network_are_refused(folder, changes, message):
    weights = {k: v for k, v in {**example().weights, **changes}.items() if v is not None}
    example(weights=weights).save(folder)
    with pytest.raises(ModelFileError, match=message):
        SavedEncoder.open(folder).require(PLAN, gin())


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
        (
            replace(PLAN, node_features=replace(NODES, middles=(0.0, 1.0), distances=(1.0, 1.0))),
            "and 2 attributes",
        ),
        (
            replace(PLAN, node_features=NodeFeatures(tuple("abcdefgh"))),
            r"8 node labels \(a, b, c, d, e, …\)",
        ),
    ],
)
def test_an_encoder_for_other_networks_is_refused(folder, wanted, message):
    with pytest.raises(ParameterError, match=message):
        SavedEncoder.open(folder).require(wanted, gin())


def test_a_claim_of_endless_layers_costs_nothing(folder):
    example(plan=replace(PLAN, layers=10**12, width=10**12)).save(folder)
    assert SavedEncoder.open(folder).plan.layers == 10**12


def test_every_flipped_bit_and_every_cut_is_noticed(folder):
    file, rng = folder / "encoder.safetensors", np.random.default_rng(0)
    content = file.read_bytes()
    for place in [*range(8), *rng.integers(0, len(content), 200)]:
        damaged = bytearray(content)
        damaged[place] ^= 1 << int(rng.integers(8))
        file.write_bytes(damaged)
        with pytest.raises(ModelFileError):
            SavedEncoder.open(folder)
    for length in rng.integers(0, len(content), 50):
        file.write_bytes(content[:length])
        with pytest.raises(ModelFileError):
            SavedEncoder.open(folder)
