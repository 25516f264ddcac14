"""What the documentation says is so: code runs, commands exist, links lead somewhere."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import re
import runpy
import shlex
import sys
from dataclasses import fields
from pathlib import Path
from typing import NamedTuple

import pytest
import typer

from kgnn.benchmark.record import Cell, Record
from kgnn.cli.main import app
from kgnn.evaluation.protocol import SplitResult

_ROOT = Path(__file__).parents[1]
_PAGES = sorted([*_ROOT.glob("*.md"), *(_ROOT / "docs").glob("*.md")])
_EXAMPLES = sorted((_ROOT / "examples").glob("*.py"))
_FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMANDS = typer.main.get_command(app).commands


class Block(NamedTuple):
    """A fenced block of a page."""

    language: str
    text: str
    line: int


def _blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [Block(m[1], m[2], text.count("\n", 0, m.start()) + 1) for m in _FENCE.finditer(text)]


def _name(path: Path) -> str:
    return path.relative_to(_ROOT).as_posix()


# tests/recipes runs the file that CONTRIBUTING.md shows.
_PAGES_WITH_CODE = [
    page
    for page in _PAGES
    if page.name != "CONTRIBUTING.md" and any(b.language == "python" for b in _blocks(page))
]


@pytest.mark.parametrize("page", _PAGES_WITH_CODE, ids=_name)
def test_python_blocks_run_and_print_what_they_say(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__docs__"}
    printed = ""
    for block in _blocks(page):
        place = f"{_name(page)}, line {block.line}"
        if block.language == "python":
            out = io.StringIO()
            # Blank lines in front: line numbers in a traceback are those of the page.
            code = compile("\n" * block.line + block.text, str(page), "exec")
            with contextlib.redirect_stdout(out):
                exec(code, namespace)
            printed = out.getvalue()
        elif block.language == "output":
            assert printed == block.text, f"{place}: the block above prints something else"


def test_pages_with_code_are_found():
    assert {"README.md", "docs/tutorial.md", "docs/formats.md"} <= set(map(_name, _PAGES_WITH_CODE))


def _command_lines(page: Path) -> list[tuple[int, str]]:
    """All lines of shell blocks, without comments."""
    return [
        (block.line + 1 + number, line.split("  #")[0].removeprefix("$ ").strip())
        for block in _blocks(page)
        if block.language in ("bash", "console", "sh")
        for number, line in enumerate(block.text.splitlines())
    ]


@pytest.mark.parametrize("page", _PAGES, ids=_name)
def test_commands_in_shell_blocks_are_understood(page):
    for line, text in _command_lines(page):
        program, *words = shlex.split(text) or [""]
        if program != "kgnn" or not words:
            continue
        assert words[0] in _COMMANDS, f"{_name(page)}, line {line}: no command '{words[0]}'"
        # Raises where an option or an argument is not known.
        _COMMANDS[words[0]].make_context(words[0], words[1:])


@pytest.mark.parametrize("page", _PAGES, ids=_name)
def test_commands_and_targets_in_the_text_exist(page):
    spans = re.findall(r"`((?:kgnn|make) [^`]+)`", page.read_text(encoding="utf-8"))
    targets = re.findall(r"^([\w-]+):", (_ROOT / "Makefile").read_text(), re.MULTILINE)
    known = {"kgnn": list(_COMMANDS), "make": targets}
    for span in [*spans, *(text for _, text in _command_lines(page))]:
        program, *words = span.split()[:3] or [""]
        if program in known and (named := [w for w in words if not w.startswith("-")]):
            assert named[0] in known[program], f"{_name(page)}: `{span}` does not exist"


def _anchors(page: Path) -> set[str]:
    """Anchors of the headings, as hosting sites make them."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


@pytest.mark.parametrize("page", _PAGES, ids=_name)
def test_links_lead_somewhere(page):
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if link.startswith(("http://", "https://")):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{_name(page)} links to {link}, which is not there"
        if anchor:
            assert anchor in _anchors(target), f"{_name(page)} links to {link}: no such heading"


@pytest.mark.parametrize("page", _PAGES, ids=_name)
def test_files_named_in_the_text_exist(page):
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    ours = [path.name for path in (_ROOT / "src" / "kgnn").iterdir() if path.is_dir()]
    folders = "|".join(["src", "tests", "docs", "examples", "benchmarks", *ours])
    for path in re.findall(rf"`((?:kgnn/)?(?:{folders})/[\w/.-]+\.\w+)`", text):
        inside = _ROOT / "src" / "kgnn" / path.removeprefix("kgnn/")
        assert (_ROOT / path).exists() or inside.exists(), f"{_name(page)} names {path}"


@pytest.mark.parametrize("page", _PAGES, ids=_name)
def test_dotted_names_in_the_text_exist(page):
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    for name in set(re.findall(r"`(kgnn(?:\.\w+)+)", text)):
        assert _resolves(name), f"{_name(page)} names {name}, which is not there"


def _resolves(dotted: str) -> bool:
    """Tell whether a module, or something in a module or class, has that name."""
    try:
        _named(dotted)
    except (AttributeError, ImportError):
        return False
    return True


def _named(dotted: str) -> object:
    try:
        return importlib.import_module(dotted)
    except ImportError:
        owner, _, name = dotted.rpartition(".")
        if not owner:
            raise
        return getattr(_named(owner), name)


def test_every_note_on_what_the_paper_does_not_say_is_collected():
    collected = (_ROOT / "docs" / "paper-map.md").read_text(encoding="utf-8")
    for path in sorted((_ROOT / "src").rglob("*.py")):
        if "# Paper silent:" in path.read_text(encoding="utf-8"):
            name = path.relative_to(_ROOT / "src" / "kgnn").as_posix()
            assert f"`{name}`" in collected.partition("silent")[2], f"{name} is not in paper-map"


@pytest.mark.parametrize("example", _EXAMPLES, ids=_name)
def test_examples_run(example, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out
    assert len(example.read_text(encoding="utf-8").splitlines()) <= 40


def _imported(path: Path):
    """Import a script of the docs or of the benchmarks."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, path.stem, module)  # where dataclasses look for types
        spec.loader.exec_module(module)
    return module


def _script(name: str):
    return _imported(_ROOT / "docs" / f"{name}.py")


@pytest.mark.parametrize("script", sorted((_ROOT / "benchmarks").rglob("*.py")), ids=_name)
def test_benchmarks_name_what_is_there(script, monkeypatch):
    monkeypatch.syspath_prepend(script.parent)
    if script.stem == "chemprop_mpnn":
        pytest.importorskip("chemprop", reason="a peer of its own, with dozens of dependencies")
    _imported(script)


def test_the_reference_is_up_to_date():
    module = _script("make_reference")
    written = module.TARGET.read_text(encoding="utf-8")
    assert written == module.render(), "run: python docs/make_reference.py"


def test_what_pages_say_of_the_records_is_so():
    made = _script("make_results").pages()
    pages = {"docs/results.md", "docs/few-labels.md", "README.md", "docs/paper-map.md"}
    assert pages <= set(map(_name, made))
    for page, text in made.items():
        # Where a processor rounds otherwise, lines of drawings may end a hair beside.
        new, old = (
            re.sub(r"<svg.*?</svg>", "", each, flags=re.DOTALL)
            for each in (text, page.read_text(encoding="utf-8"))
        )
        assert old == new, f"{_name(page)} is not up to date; run: python docs/make_results.py"


def test_what_the_audit_says_of_its_numbers_is_so():
    audit = _imported(_ROOT / "benchmarks" / "honesty.py")
    told = audit.PAGE.read_text(encoding="utf-8")
    assert told == audit.page(), "run: python benchmarks/honesty.py"


def test_the_audit_chooses_epochs_as_it_says():
    audit = _imported(_ROOT / "benchmarks" / "honesty.py")
    keys = ("dataset", "method", "split", "test", "chosen_on_val", "right")
    rows = [
        ("a", "m", 1, 10, 0, [7, 5, 6]),
        ("a", "m", 0, 10, 2, [1, 9, 2]),
        ("b", "m", 0, 10, 0, [0, 0, 0]),
    ]
    runs = [dict(zip(keys, row, strict=True)) for row in rows]
    found = {
        rule: values.round(6).tolist() for rule, values in audit.by_choice(runs, "a", "m").items()
    }
    assert found == {
        "last epoch": [20, 60],
        "chosen on VAL": [20, 70],
        "one epoch for all splits, on TEST": [90, 50],
        "an epoch for each split, on TEST": [90, 70],
    }


def test_every_key_of_a_record_is_described():
    page = (_ROOT / "docs" / "benchmark.md").read_text(encoding="utf-8")
    section = page.partition("## Publish records")[2].partition("\n## ")[0]
    described = set(re.findall(r"`(\w+)`", section))
    kept = {"format", "key", "peak_mib", "cases"}  # beside what the fields say
    named = {each.name for kind in (Record, Cell, SplitResult) for each in fields(kind)}
    assert kept | named <= described, "docs/benchmark.md lacks a key of records"


def test_the_paper_map_says_what_each_difference_is_worth():
    module = _script("make_results")
    page = """| a | b | --set x=1 |
## Where we differ from the paper on purpose

| paper | here | accuracy with the paper's | to get the paper's |
| --- | --- | --- | --- |
| one | two | old | `--set x=1 --set y=2` |
| three | four | old | `--set x=1` |
| five | six | old | – |
"""
    filled = module._with_worths(page, {"x=1": "+1.0 ± 0.5"})
    assert filled.splitlines()[0] == page.splitlines()[0]
    assert filled.splitlines()[-3:] == [
        "| one | two | not measured | `--set x=1 --set y=2` |",
        "| three | four | +1.0 ± 0.5 | `--set x=1` |",
        "| five | six | – | – |",
    ]


def test_the_picture_of_the_home_page_is_what_the_library_draws():
    module = _script("make_picture")

    def plain(text):  # a hair may differ where a processor rounds otherwise
        return re.sub(r"(\d)\.\d", r"\1", text)

    written = module.TARGET.read_text(encoding="utf-8")
    assert plain(written) == plain(module.render()), "run: python docs/make_picture.py"
