"""The promises of ARCHITECTURE.md that a machine can check."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import kgnn

_PACKAGE = Path(kgnn.__file__).parent
_SOURCES = sorted(_PACKAGE.rglob("*.py"))
_MODULES = {
    ".".join(("kgnn", *path.relative_to(_PACKAGE).with_suffix("").parts)).removesuffix(
        ".__init__"
    ): path
    for path in _SOURCES
}
# From the bottom to the top; parts of one layer may not import each other, save at the bottom.
_LAYERS = (
    ("errors", "seeds", "files", "progress", "threads"),
    ("graphs",),
    ("kernels",),
    ("engine",),
    ("estimator",),
    ("methods",),
    ("evaluation",),
    ("benchmark",),
    ("reports",),
    ("cli",),
    ("__main__",),
)
_LEVEL = {name: level for level, names in enumerate(_LAYERS) for name in names}
_MAX_LINES = 400


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _imported(tree: ast.Module) -> Iterator[str]:
    """All modules of ours that a file names in imports, wherever in the file they stand."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name.split(".")[0] == "kgnn")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "kgnn":
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full if full in _MODULES else node.module


def _part(module: str) -> str:
    """``kgnn.graphs.readers.tu → graphs``; the package itself is ``""``."""
    return (module.split(".") + [""])[1]


def _breaches(part: str, imported: str) -> bool:
    target = _part(imported)
    if part == target:
        return False
    if not target:  # `from kgnn import __version__` is for the top alone
        return part != "cli"
    if target == "testing":
        return True
    level = _LEVEL["methods"] + 1 if part == "testing" else _LEVEL[part]
    return _LEVEL[target] > level or _LEVEL[target] == level > 0


@pytest.mark.parametrize("module", [m for m in _MODULES if m != "kgnn"])
def test_imports_point_down(module):
    part = _part(module)
    assert part == "testing" or part in _LEVEL, f"'{part}' is in no layer"
    upward = [name for name in _imported(_tree(_MODULES[module])) if _breaches(part, name)]
    assert not upward, f"{module} imports {upward} from the same or a higher layer"


@pytest.mark.parametrize(
    ("part", "imported", "is_breach"),
    [
        ("graphs", "kgnn.errors", False),
        ("graphs", "kgnn.graphs.readers.tu", False),
        ("graphs", "kgnn.estimator.classifier", True),
        ("kernels", "kgnn.engine.gin", True),
        ("methods", "kgnn.evaluation.splits", True),
        ("cli", "kgnn.testing", True),
        ("testing", "kgnn.estimator.classifier", False),
        ("testing", "kgnn.evaluation.splits", True),
        ("files", "kgnn.errors", False),
        ("errors", "kgnn", True),
    ],
)
def test_the_layer_rule_says_no_where_it_should(part, imported, is_breach):
    assert _breaches(part, imported) is is_breach


def test_imports_inside_functions_are_seen():
    tree = ast.parse("def f():\n    from kgnn.methods import wl\n    import kgnn.cli.main")
    assert list(_imported(tree)) == ["kgnn.methods.wl", "kgnn.cli.main"]


@pytest.mark.parametrize("module", _MODULES)
def test_a_module_is_documented_small_and_well_named(module):
    path = _MODULES[module]
    assert ast.get_docstring(_tree(path)), f"{module} has no docstring"
    n_lines = len(path.read_text(encoding="utf-8").splitlines())
    assert n_lines <= _MAX_LINES, f"{module} has {n_lines} lines; it says more than one thing"
    assert not {"utils", "helpers", "misc", "common"} & set(module.split("."))


@pytest.mark.parametrize("module", [m for m in _MODULES if _part(m) != "cli"])
def test_only_the_command_line_prints(module):
    calls = [n for n in ast.walk(_tree(_MODULES[module])) if isinstance(n, ast.Call)]
    prints = [c.lineno for c in calls if isinstance(c.func, ast.Name) and c.func.id == "print"]
    assert not prints, f"{module} prints in lines {prints}"


def test_the_public_names_are_pinned():
    assert kgnn.__all__ == [
        "GNNSup",
        "Graph",
        "GraphDataset",
        "Graphlets",
        "KGNN",
        "KgnnError",
        "KgnnWarning",
        "OptimalAssignment",
        "ShortestPaths",
        "WL",
        "WeisfeilerLehman",
        "from_networkx",
        "from_pyg",
        "from_smiles",
        "load",
        "make",
        "most_similar",
        "open_model",
        "to_networkx",
        "to_pyg",
    ]
    assert sorted(kgnn._PUBLIC) == sorted(kgnn.__all__)
    assert set(kgnn.__all__) <= set(dir(kgnn))


@pytest.mark.parametrize("name", kgnn.__all__)
def test_every_public_name_is_there_and_documented(name):
    public = getattr(kgnn, name)
    assert public is getattr(import_module(kgnn._PUBLIC[name]), name)
    assert public.__doc__


def test_type_checkers_see_the_public_names():
    blocks = [n for n in _tree(_PACKAGE / "__init__.py").body if isinstance(n, ast.If)]
    named = [a.name for n in ast.walk(blocks[0]) if isinstance(n, ast.ImportFrom) for a in n.names]
    assert sorted(named) == sorted(kgnn.__all__)


def test_any_other_name_is_refused():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        kgnn.nothing  # noqa: B018


@pytest.mark.parametrize(
    ("code", "forbidden"),
    [
        ("import kgnn", ("numpy", "scipy", "sklearn", "torch")),
        ("import kgnn; kgnn.KgnnError", ("numpy", "scipy", "sklearn", "torch")),
        ("import kgnn; kgnn.WeisfeilerLehman; kgnn.load; kgnn.WL", ("torch",)),
        ("from kgnn.cli.main import app; app(['--help'], standalone_mode=False)", ("torch",)),
        ("from kgnn.cli.main import app; app(['methods'], standalone_mode=False)", ("torch",)),
        ("import kgnn.testing", ("torch",)),
    ],
)
def test_what_is_not_used_is_not_loaded(code, forbidden):
    check = f"import sys\n{code}\nprint('loaded:', [m for m in {forbidden!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.rstrip().endswith("loaded: []")
