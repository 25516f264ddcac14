import json
import re
import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.torch import save_file

import kgnn
from kgnn.errors import KgnnError
from kgnn.estimator.model_file import ModelFileError, describe_model, open_model
from kgnn.graphs.datasets.toy import planted_motifs
from kgnn.methods.kgnn import KGNN
from kgnn.methods.wl import WL

GRAPHS = planted_motifs(60, n_nodes=12)


@pytest.fixture(scope="module")
def model():
    labels = GRAPHS.targets.copy()
    labels[20:] = -1
    return KGNN(epochs=3, rounds=1).fit(
        GRAPHS[:40], labels[:40], validation=(GRAPHS[40:50], GRAPHS.targets[40:50])
    )


@pytest.fixture
def saved(model, tmp_path):
    return model.save(tmp_path / "model")


def changed(file, *, header=None, arrays=None):
    """Write a model file again, with some things changed."""
    with safe_open(str(file), framework="pt") as opened:
        told = json.loads(opened.metadata()["kgnn"])
        found = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
    if header:
        header(told)
    if arrays:
        arrays(found)
    save_file(found, str(file), metadata={"kgnn": json.dumps(told)})


def test_another_process_gives_the_same_probabilities(model, saved, tmp_path):
    code = (
        "import sys, numpy as np, kgnn\n"
        "from kgnn.graphs.datasets.toy import planted_motifs\n"
        "graphs = planted_motifs(60, n_nodes=12)\n"
        "np.save(sys.argv[2], kgnn.open_model(sys.argv[1]).predict_proba(graphs))\n"
    )
    answer = tmp_path / "answer.npy"
    subprocess.run([sys.executable, "-c", code, str(saved), str(answer)], check=True)
    np.testing.assert_allclose(np.load(answer), model.predict_proba(GRAPHS), atol=1e-6)


def test_a_model_can_be_a_single_file(model, tmp_path):
    file = model.save(tmp_path / "small.safetensors")
    assert file == tmp_path / "small.safetensors"
    assert (kgnn.open_model(file).predict_proba(GRAPHS) == model.predict_proba(GRAPHS)).all()


def test_an_opened_model_can_be_looked_into_and_saved_again(model, saved, tmp_path):
    opened = open_model(saved)
    assert opened.termination_condition_ == model.termination_condition_
    assert len(opened.course_.rounds) == len(model.course_.rounds)
    assert opened.labeled_graphs_.fingerprint == model.labeled_graphs_.fingerprint
    each, again = model.predict_proba_each(GRAPHS), opened.predict_proba_each(GRAPHS)
    assert all((each[name] == again[name]).all() for name in ("gnn", "memory", "both"))
    assert (opened.attended(GRAPHS[:3]) == model.attended(GRAPHS[:3])).all()
    opened.save(tmp_path / "again")
    assert (open_model(tmp_path / "again").predict(GRAPHS) == model.predict(GRAPHS)).all()


def test_labels_of_any_kind_come_back(tmp_path):
    names = np.array(["no", "yes"])[GRAPHS.targets]
    model = WL(iterations=(1,)).fit(GRAPHS[:30], names[:30])
    model.save(tmp_path)
    assert open_model(tmp_path).predict(GRAPHS[30:]).tolist() == model.predict(GRAPHS[30:]).tolist()


def test_a_file_says_what_it_is_without_being_opened(saved):
    info = describe_model(saved.parent)
    assert info.method == "kgnn"
    assert info.parameters["rounds"] == 1
    assert info.fitted_on["labeled"] == 20
    assert info.fitted_on["classes"] == [0, 1]
    assert info.n_bytes == saved.stat().st_size


def test_a_model_is_as_readable_as_any_new_file(model, tmp_path):
    (tmp_path / "other").touch()
    model.save(tmp_path / "model")
    for name in ("model/model.safetensors", "other"):
        assert (tmp_path / name).stat().st_mode & 0o777 == (
            tmp_path / "other"
        ).stat().st_mode & 0o777


def test_there_is_no_pickle_in_a_file(saved):
    content = saved.read_bytes()
    assert b"pickle" not in content
    assert b"__reduce__" not in content


def test_a_failed_save_leaves_the_old_model(model, saved, monkeypatch):
    before = saved.read_bytes()

    def full(*args, **kwargs):
        from pathlib import Path

        Path(args[1]).write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("kgnn.estimator.model_file.save_file", full)
    with pytest.raises(KgnnError, match="No space left on device"):
        model.save(saved.parent)
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_a_model_that_has_diverged_is_not_written(saved, tmp_path):
    broken = open_model(saved)
    with torch.no_grad():
        broken.networks_[0].fitted.module.classifier[0].weight[0, 0] = torch.nan
    with pytest.raises(KgnnError, match="not finite"):
        broken.save(tmp_path / "broken")
    assert not (tmp_path / "broken").exists()


def test_missing_models_are_named(tmp_path):
    with pytest.raises(ModelFileError, match="There is no model at"):
        open_model(tmp_path / "nowhere")


def test_a_newer_format_is_refused_with_the_version_that_wrote_it(saved):
    changed(saved, header=lambda told: told.update(format=99, versions={"kgnn": "7.0"}))
    with pytest.raises(ModelFileError, match=r"has format 99, .* \(7\.0\)"):
        open_model(saved)


def test_weights_that_are_no_numbers_are_refused(saved):
    def spoil(arrays):
        next(a for a in arrays.values() if a.is_floating_point())[:] = torch.nan

    changed(saved, arrays=spoil)
    with pytest.raises(ModelFileError, match="not finite"):
        open_model(saved)


def test_changed_weights_do_not_pass_the_probe(saved):
    def change(arrays):
        for array in arrays.values():
            if array.is_floating_point() and array.dim() == 2:
                array.mul_(-1)

    changed(saved, arrays=change)
    with pytest.raises(ModelFileError):
        open_model(saved)


def test_a_class_from_elsewhere_is_refused(saved):
    def strange(told):
        told["model"]["networks_"] = {"$": "object", "class": "os:system", "state": {}}

    changed(saved, header=strange)
    with pytest.raises(ModelFileError, match="os:system"):
        open_model(saved)


def test_a_method_from_elsewhere_is_refused(saved):
    changed(saved, header=lambda told: told.update(method="../../evil"))
    with pytest.raises(ModelFileError, match="method that is not here"):
        open_model(saved)


def test_a_huge_declared_shape_is_refused_before_memory_is_taken(saved):
    content = saved.read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    name = next(key for key in header if key != "__metadata__")
    header[name]["shape"] = [2**40]
    header[name]["data_offsets"] = [0, 2**42]
    text = json.dumps(header).encode()
    saved.write_bytes(len(text).to_bytes(8, "little") + text + content[8 + size :])
    with pytest.raises(ModelFileError):
        open_model(saved)


def test_a_deep_nest_is_refused(saved):
    def nest(told):
        told["model"] = json.loads("[" * 500 + "]" * 500)

    changed(saved, header=nest)
    with pytest.raises(ModelFileError):
        open_model(saved)


def test_what_graphs_compute_of_themselves_is_neither_saved_nor_believed(model, tmp_path):
    before = model.save(tmp_path / "before").stat().st_size
    assert model.labeled_graphs_.degrees.sum() > 0  # computed once, and kept
    file = model.save(tmp_path / "after")
    assert file.stat().st_size == before

    def claim(told):
        told["model"]["labeled_graphs_"]["state"]["degrees"] = [1] * 240

    changed(file, header=claim)
    with pytest.raises(ModelFileError, match="computes degrees itself"):
        open_model(file)


@settings(
    max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(data=st.data())
def test_damaged_files_are_refused_or_can_still_be_asked(model, tmp_path, data):
    content = bytearray(model.save(tmp_path / "m").read_bytes())
    if data.draw(st.booleans()):
        content = content[: data.draw(st.integers(0, len(content) - 1))]
    else:
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] ^= 1 << data.draw(st.integers(0, 7))
    damaged = tmp_path / "damaged.safetensors"
    damaged.write_bytes(content)
    try:
        opened = open_model(damaged)
    except KgnnError:
        return
    # A flipped bit may be in what predictions do not need, or too small to matter.
    assert opened.predict_proba(opened.labeled_graphs_).shape == (20, 2)


class Homemade(WL):
    """A method that nobody has registered."""


def test_a_method_that_nobody_could_open_is_not_saved(tmp_path):
    model = Homemade(iterations=(1,)).fit(GRAPHS[:30])
    with pytest.raises(KgnnError, match="Homemade cannot be saved"):
        model.save(tmp_path / "model")


def test_a_model_with_something_strange_in_it_is_not_saved(tmp_path):
    model = WL(iterations=(1,)).fit(GRAPHS[:30])
    model.strange_ = print
    with pytest.raises(KgnnError, match="builtin_function_or_method cannot be saved"):
        model.save(tmp_path / "model")


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("wl", {"kernel": "assignment", "iterations": (1,)}),
        ("graph2vec", {"embedding": "ppmi"}),
        ("dgk", {"embedding": "word2vec"}),
        *(
            ("gnn-sup", {"encoder": name, "epochs": 1})
            for name in ("gin-pyg", "gcn", "sage", "gat")
        ),
        ("kgnn", {"dimensions": None, "epochs": 1, "rounds": 0}),
    ],
    ids=str,
)
def test_what_a_setting_puts_into_a_model_can_be_saved(tmp_path, method, settings):
    model = kgnn.make(method, **settings).fit(GRAPHS[:30])
    opened = open_model(model.save(tmp_path / "model"))
    np.testing.assert_array_equal(
        opened.predict_proba(GRAPHS[30:]), model.predict_proba(GRAPHS[30:])
    )


def test_a_layer_of_others_that_says_it_is_huge_takes_no_memory(tmp_path):
    model = kgnn.make("gnn-sup", encoder="gcn", epochs=1).fit(GRAPHS[:30])
    file = model.save(tmp_path / "model.safetensors")

    def enlarged(told):
        text = json.dumps(told)
        assert '"n_in": ' in text
        told.update(json.loads(re.sub('"n_in": [0-9]+', '"n_in": 1000000000000', text)))

    changed(file, header=enlarged)
    with pytest.raises(ModelFileError):
        open_model(file)
