"""`kgnn doctor` tells what there is, and finds what is wrong."""

from __future__ import annotations

import json
from importlib import metadata

import pytest
from packaging.requirements import Requirement

from tests.cli.calling import kgnn  # noqa: F401

_REAL = metadata.version


def _size(*names):
    return sum(file.size or 0 for name in names for file in metadata.files(name)) >> 20


def test_it_tells_versions_extras_threads_devices_and_folders(kgnn, cache_folder):  # noqa: F811
    done = kgnn("doctor", "--json")
    told = json.loads(done.out)
    assert (done.code, told["problems"]) == (0, [])
    assert told["packages"]["numpy"] == metadata.version("numpy")
    assert told["extras"]["networkx"] == {"networkx": metadata.version("networkx")}
    assert "dev" not in told["extras"]
    mib = told["mib"]
    assert mib["kgnn"] > sum(mib["packages"][name] for name in ("torch", "scipy", "numpy")) > 0
    # With what it brings along, and without what kgnn needs anyway.
    assert mib["extras"]["plot"] > _size(*told["extras"]["plot"])
    assert mib["extras"]["networkx"] == 0
    assert told["computing"]["cores"] >= 1
    assert told["computing"]["device"] == "cpu"
    assert told["folders"]["cache"] == str(cache_folder)
    assert told["folders"]["datasets"] is None


def test_for_people_it_says_that_nothing_is_wrong(kgnn, cache_folder):  # noqa: F811
    done = kgnn("doctor")
    assert done.code == 0
    assert str(cache_folder) in done.out
    assert "No problems found" in done.err


@pytest.mark.parametrize(
    ("name", "version", "expected"),
    [("scipy", "1.0", "1.0"), ("scikit-learn", None, "missing")],
)
def test_a_package_that_is_too_old_or_missing_is_a_problem(
    kgnn,  # noqa: F811
    monkeypatch,
    name,
    version,
    expected,
):
    def changed(asked):
        if asked != name:
            return _REAL(asked)
        if version is None:
            raise metadata.PackageNotFoundError(asked)
        return version

    monkeypatch.setattr(metadata, "version", changed)
    done = kgnn("doctor", "--json")
    told = json.loads(done.out)
    assert done.code == 1
    (problem,) = told["problems"]
    assert expected in problem
    needed = next(r for r in map(Requirement, metadata.requires("kgnn")) if r.name == name)
    assert f"python -m pip install '{name}{needed.specifier}'" in problem


def test_an_extra_that_is_not_installed_is_no_problem(kgnn, monkeypatch):  # noqa: F811
    def changed(asked):
        if asked == "gensim":
            raise metadata.PackageNotFoundError(asked)
        return _REAL(asked)

    monkeypatch.setattr(metadata, "version", changed)
    done = kgnn("doctor", "--json")
    told = json.loads(done.out)
    assert told["extras"]["embeddings"] == {"gensim": None}
    assert told["problems"] == []
    assert "kgnn[NAME]" in kgnn("doctor").err


def test_a_package_that_cannot_be_imported_is_a_problem(kgnn, monkeypatch):  # noqa: F811
    monkeypatch.setitem(__import__("sys").modules, "rdkit", None)
    done = kgnn("doctor", "--json")
    assert done.code == 1
    (problem,) = json.loads(done.out)["problems"]
    assert "rdkit" in problem


def test_folders_that_cannot_be_used_are_problems(kgnn, monkeypatch, tmp_path):  # noqa: F811
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("KGNN_CACHE", str(tmp_path / "file" / "cache"))
    monkeypatch.setenv("KGNN_DATASETS", str(tmp_path / "nowhere"))
    done = kgnn("doctor", "--json")
    told = json.loads(done.out)["problems"]
    assert done.code == 1
    assert [name in " ".join(told) for name in ("KGNN_CACHE", "nowhere")] == [True, True]
