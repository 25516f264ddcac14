import json
import re
import subprocess
import sys

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin

import kgnn
from kgnn.errors import KgnnError
from kgnn.estimator.saved_files import ModelFileError, pack, unpack
from kgnn.estimator.saving import describe_model, open_model
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
    """Write a file again with some things changed and the right checksum, as an attacker would."""
    told, found = unpack(file.read_bytes())
    if header:
        header(told)
    if arrays:
        arrays(found)
    file.write_bytes(pack(told, found))


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
    assert all((each[name] == again[name]).all() for name in ("gnn", "memory", "forest", "all"))
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
    assert info["method"] == "kgnn"
    assert info["fitted_on"]["labeled"] == 20
    assert info["fitted_on"]["classes"] == [0, 1]
    assert info["bytes"] == saved.stat().st_size


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

    def full(path, content):
        path.write_text("half")
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("pathlib.Path.write_bytes", full)
        with pytest.raises(KgnnError, match="No space left on device"):
            model.save(saved.parent)
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_a_model_that_has_diverged_is_not_written(saved, tmp_path):
    broken = open_model(saved)
    with torch.no_grad():
        broken.networks_[0].fitted[0].module.classifier[0].weight[0, 0] = torch.nan
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


def test_files_of_earlier_versions_are_refused_with_the_way_out(tmp_path):
    file = tmp_path / "model.safetensors"
    header = {"format": 1, "method": "wl", "versions": {"kgnn": "0.9"}}
    save_file({"0": torch.zeros(2)}, file, metadata={"kgnn": json.dumps(header)})
    for ask in (open_model, describe_model):
        with pytest.raises(ModelFileError, match=r"earlier .* \(0.9\).* fit the model"):
            ask(file)


def test_weights_that_are_no_numbers_are_refused(saved):
    def spoil(arrays):
        next(a for a in arrays.values() if a.dtype.kind == "f" and a.size)[:] = np.nan

    changed(saved, arrays=spoil)
    with pytest.raises(ModelFileError, match="not finite"):
        open_model(saved)


def test_changed_weights_do_not_pass_the_probe(saved):
    def change(arrays):
        for array in arrays.values():
            if array.dtype.kind == "f" and array.ndim == 2:
                array *= -1

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
    with pytest.raises(ModelFileError, match=r"no method '../../evil'"):
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
    with pytest.raises(ModelFileError, match="computes degrees"):
        open_model(file)


def _state(told, name):
    return told["model"][name]["state"]


@pytest.mark.parametrize(
    "change",
    [
        lambda told, arrays: told.update(versions=None),
        lambda told, arrays: told.update(fitted_on=None),
        lambda told, arrays: told.update(parameters=[]),
        lambda told, arrays: told.update(more=1),
        lambda told, arrays: told.pop("fitted_on"),
        lambda told, arrays: told.pop("probe"),
        lambda told, arrays: told.update(kind="encoder"),
        lambda told, arrays: told.update(probe={"$": "texts", "of": []}),
        lambda told, arrays: told.update(probe={"$": "texts", "of": [""] * 8}),
        lambda told, arrays: told["parameters"].update(rounds="three"),
        lambda told, arrays: told["parameters"].update(unknown=1),
        lambda told, arrays: told["model"].pop("labeled_graphs_"),
        lambda told, arrays: told["model"].update(predict_proba=1),
        lambda told, arrays: told["model"].update(classes_=[]),
        lambda told, arrays: _state(told, "familiar_").pop("usual"),
        lambda told, arrays: _state(told, "labeled_graphs_").update(more=[]),
        lambda told, arrays: arrays.update(more=np.zeros(3)),
        lambda told, arrays: arrays.pop("0"),
        *(
            lambda told, arrays, change=change: arrays.update(
                {name: change(array) for name, array in arrays.items()}
            )
            for change in (
                lambda array: array.reshape(1, -1),
                lambda array: array.ravel(),
                lambda array: np.asarray(array * 1.5),
                lambda array: array.ravel()[:0],
            )
        ),
    ],
)
def test_crafted_files_are_refused_by_name(saved, change):
    told, arrays = unpack(saved.read_bytes())
    change(told, arrays)
    saved.write_bytes(pack(told, arrays))
    with pytest.raises(ModelFileError, match=re.escape(str(saved))):
        open_model(saved)


class Homemade(WL):
    """A method that is not in the list."""


def test_a_method_that_is_not_in_the_list_needs_its_class(tmp_path):
    model = Homemade(iterations=(1,)).fit(GRAPHS[:30])
    file = model.save(tmp_path / "model")
    with pytest.raises(ModelFileError, match=r"open_model\('.*', classes=\(Homemade,\)\)"):
        open_model(file)
    opened = open_model(file, classes=(Homemade,))
    assert type(opened) is Homemade
    assert (opened.predict_proba(GRAPHS) == model.predict_proba(GRAPHS)).all()


class Walks(TransformerMixin, BaseEstimator):
    """A kernel of the user's: numbers of nodes and of arcs, scaled."""

    def __init__(self, power=1):
        self.power = power

    def fit(self, graphs, y=None):
        self.scale_ = np.array([graphs.n_nodes, graphs.n_arcs]) / len(graphs)
        return self

    def transform(self, graphs):
        arcs = np.array([len(graph.arcs) for graph in graphs])
        return sparse.csr_array(
            (np.stack([graphs.graph_sizes, arcs], 1) / self.scale_) ** self.power
        )


def test_a_kernel_of_the_users_needs_its_class(tmp_path):
    model = KGNN(kernel=Walks(2), epochs=2, rounds=1).fit(GRAPHS[:30])
    file = model.save(tmp_path / "model")
    with pytest.raises(ModelFileError, match=r"open_model\('.*', classes=\(Walks,\)\)"):
        open_model(file)
    opened = open_model(file, classes=(Walks,))
    assert opened.kernel.power == 2
    assert (opened.predict_proba(GRAPHS) == model.predict_proba(GRAPHS)).all()
    assert describe_model(file)["method"] == "kgnn"


def test_a_model_with_something_strange_in_it_is_not_saved(tmp_path):
    model = WL(iterations=(1,)).fit(GRAPHS[:30])
    model.strange_ = len
    with pytest.raises(KgnnError, match="cannot be saved"):
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


@pytest.mark.parametrize("encoder", ["gin", "gcn"])
@pytest.mark.parametrize("what", ["width", "n_features", "layers"])
def test_a_module_that_says_it_is_huge_takes_no_memory(tmp_path, encoder, what):
    model = kgnn.make("gnn-sup", encoder=encoder, epochs=1).fit(GRAPHS[:30])
    file = model.save(tmp_path / "model.safetensors")

    def enlarged(told):
        text = json.dumps(told["model"])
        assert f'"{what}": ' in text
        told["model"] = json.loads(re.sub(f'"{what}": [0-9]+', f'"{what}": 1000000000000', text))

    changed(file, header=enlarged)
    with pytest.raises(ModelFileError):
        open_model(file)
