"""Scripts of the pages fit together, also where no browser is there to say so."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

_STATIC = files("kgnn.web").joinpath("static")
_TEMPLATES = files("kgnn.web").joinpath("templates")
_MODULES = {each.name: each.read_text() for each in _STATIC.iterdir() if each.name.endswith(".js")}
_IMPORT = re.compile(r'^import (?:\{ (.+) \}|\* as (\w+)) from "\./(.+)";$', re.MULTILINE)
_USED = r"\b{}\.(\w+)(?!\w|\")"  # of a module that was imported whole
_EXPORT = re.compile(r"^export (?:const|let|class|function) (\w+)", re.MULTILINE)


@pytest.mark.parametrize("name", sorted(_MODULES))
def test_a_module_imports_what_there_is_and_uses_it(name):
    text = _MODULES[name]
    assert text.count("import ") >= len(_IMPORT.findall(text))
    assert len(re.findall("^import ", text, re.MULTILINE)) == len(_IMPORT.findall(text))
    for names, namespace, file in _IMPORT.findall(text):
        assert file in _MODULES, f"{name} imports {file}, which is not there"
        exported = set(_EXPORT.findall(_MODULES[file]))
        if namespace:
            imported = set(re.findall(_USED.format(namespace), text))
        else:
            imported = set(names.split(", "))
            for each in imported:
                assert len(re.findall(rf"\b{each}\b", text)) > 1, f"{name} does not use {each}"
        assert imported <= exported, f"{file} does not export {imported - exported}"


def test_what_a_module_exports_is_imported_somewhere():
    imported = {
        (file, each)
        for text in _MODULES.values()
        for names, namespace, file in _IMPORT.findall(text)
        for each in (re.findall(_USED.format(namespace), text) if namespace else names.split(", "))
    }
    exported = {(name, each) for name, text in _MODULES.items() for each in _EXPORT.findall(text)}
    assert exported == imported


def test_every_element_that_a_script_asks_for_is_on_its_page():
    base = _TEMPLATES.joinpath("base.html").read_text()
    figure = _TEMPLATES.joinpath("figure.html").read_text()
    shared = [name for name in _MODULES if not _TEMPLATES.joinpath(f"{name[:-3]}.html").is_file()]
    for name, text in _MODULES.items():
        if name in shared:
            continue
        page = _TEMPLATES.joinpath(f"{name[:-3]}.html").read_text()
        there = set(re.findall(r'id="([\w-]+)"', page + (base if "base.html" in page else "")))
        there |= set(re.findall(r'id="([\w-]+)"', figure if "figure.html" in page else ""))
        assert set(re.findall(r'byId\("([\w-]+)"\)', text)) <= there, name
