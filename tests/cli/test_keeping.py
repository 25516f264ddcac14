"""What took long to make is not lost, and goes where it was to go."""

import pytest

from kgnn.estimator.saving import open_model
from tests.cli.calling import kgnn

__all__ = ["kgnn"]


@pytest.mark.parametrize("words", [("-o", ""), ("--output", ""), ("--output=",)])
def test_an_empty_place_is_refused_before_anything_is_read(kgnn, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = kgnn("fit", "cycles-and-trees", *words)
    assert done.code == 2
    assert "Is a variable unset?" in done.err
    assert not list(tmp_path.iterdir())


def test_a_model_that_cannot_be_written_is_saved_elsewhere(kgnn, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # As if the place had become unwritable during the fit.
    monkeypatch.setattr("kgnn.cli.fit.require_writable", lambda *_: None)
    (tmp_path / "file").write_text("not a folder")
    done = kgnn("fit", "cycles-and-trees", "--method", "wl", "-o", "file/model")
    assert done.code == 1
    (file,) = tmp_path.glob("kgnn-model-*.safetensors")
    assert file.name in done.err
    assert open_model(file).classes_.tolist() == ["cycle", "tree"]
