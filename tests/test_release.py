"""What a release is made of agrees with itself."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

import kgnn

_ROOT = Path(__file__).parents[1]


def _notes(tag):
    spec = importlib.util.spec_from_file_location("notes", _ROOT / "docs" / "release_notes.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.notes(tag)


def test_the_notes_of_a_release_are_its_section_of_the_changelog():
    notes = _notes(f"v{kgnn.__version__}")
    assert "### Added" in notes
    assert not re.search("^## ", notes, re.MULTILINE)


def test_a_tag_of_another_version_is_refused():
    with pytest.raises(SystemExit, match="v9.9"):
        _notes("v9.9")


def test_citation_and_package_have_the_same_version():
    citation = (_ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search("^version: (.+)$", citation, re.MULTILINE)[1] == kgnn.__version__


def test_workflows_try_every_python_that_is_promised():
    workflow = (_ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8")
    tried = re.search(r"python: \[(.+)\]", workflow)[1].replace('"', "").split(", ")
    promised = (_ROOT / "pyproject.toml").read_text(encoding="utf-8")
    oldest = re.search(r'requires-python = ">=(.+)"', promised)[1]
    assert tried[0] == oldest
    assert tried == [f"3.{minor}" for minor in range(10, 14)]
