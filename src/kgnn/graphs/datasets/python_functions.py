"""The dataset ``python-functions``: syntax trees of the functions in Python's standard library.

One graph per function or method of some packages of the standard library on this machine. Nodes are
the nodes of the abstract syntax tree, labeled by their type; edges lead from parent to child (label
``child``) and from each child to the next (label ``next``). The class is the package.
"""

from __future__ import annotations

import ast
import sys
import sysconfig
import warnings
from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from kgnn.errors import DatasetUnavailableError, GraphDataError
from kgnn.graphs.collector import Found, collect_readable, is_directed
from kgnn.graphs.datasets.cache import cached
from kgnn.graphs.graph import GraphDataset

NAME = "python-functions"
PACKAGES = ("asyncio", "email", "multiprocessing", "unittest", "xml")
MIN_NODES, MAX_NODES = 10, 300

# Raised when the graphs change, so that older ones in the cache do not match.
_REVISION = 1

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def build(*, directed: bool | str = False) -> GraphDataset:
    """Build the dataset, or open it from the cache; it is the same for a given Python.

    With ``directed``, edges lead from parent to child and from each child to the next.
    """
    way = is_directed(directed)
    return cached(NAME, sys.version, _REVISION, *["directed"] * way, build=partial(_build, way))


def from_source(
    source: str | bytes,
    *,
    module: str = "source",
    target: str | None = None,
    min_nodes: int = 1,
    max_nodes: int | None = None,
    directed: bool = False,
) -> GraphDataset:
    """Turn the functions of any Python source into graphs like those of the dataset.

    Parameters
    ----------
    source : str or bytes
    module : str
        Name of the dataset, and what the names of the functions begin with.
    target : str, optional
        Class of all the functions.
    min_nodes, max_nodes : int, optional
        Leave out smaller and larger functions.
    directed : bool
        Whether edges lead from parent to child and from each child to the next.

    Examples
    --------
    >>> function = from_source("def double(x): return 2 * x")[0]
    >>> function.name, function.node_labels[:4]
    ('source.double', ['FunctionDef', 'arguments', 'Return', 'arg'])
    """
    try:
        found = _graphs_in(source, module, target, min_nodes, max_nodes)
        graphs = collect_readable(module, lambda _: found, directed=directed)
    except SyntaxError as error:
        raise GraphDataError(f"{module}, line {error.lineno}: {error.msg}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise GraphDataError(f"{module} cannot be read as Python: {error!r}") from error
    if not len(graphs):
        raise GraphDataError(f"{module} holds no function of {min_nodes} or more nodes")
    return graphs


def _build(directed: bool = False) -> GraphDataset:
    library = Path(sysconfig.get_path("stdlib"))
    graphs = collect_readable(NAME, lambda _: _graphs_of_packages(library), directed=directed)
    if not len(graphs):
        raise DatasetUnavailableError(
            f"{NAME} is built from the source of Python's standard library, but {library} holds "
            f"no source of {', '.join(PACKAGES)}. Use a Python that is installed with its library."
        )
    return graphs


def _graphs_of_packages(library: Path) -> Found:
    for package in PACKAGES:
        for path in sorted((library / package).rglob("*.py")):
            parts = path.relative_to(library).with_suffix("").parts
            if not {"test", "tests"} & set(parts):
                module = ".".join(parts).removesuffix(".__init__")
                yield from _graphs_in(path.read_bytes(), module, package, MIN_NODES, MAX_NODES)


def _graphs_in(
    source: str | bytes, module: str, target: str | None, min_nodes: int, max_nodes: int | None
) -> Found:
    seen: Counter[str] = Counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the style of the source
        tree = ast.parse(source)
    for qualname, function in _functions(tree, module):
        seen[qualname] += 1
        graph = _graph(function)
        if min_nodes <= graph["n_nodes"] <= (max_nodes or graph["n_nodes"]):
            name = qualname if seen[qualname] == 1 else f"{qualname}#{seen[qualname]}"
            yield name, {**graph, "target": target, "name": name}


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, _Function]]:
    """Yield functions and methods by qualified name; nested ones are part of their outer one."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _Function):
            yield f"{prefix}.{child.name}", child
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{prefix}.{child.name}")
        elif isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield from _functions(child, prefix)


def _graph(function: _Function) -> dict[str, Any]:
    """Return the arguments of `GraphCollector.add`.

    Nodes are numbered by their position in a walk through the tree, since Python shares one object
    between all places of an operator. Contexts (load, store) carry no information.
    """
    nodes: list[ast.AST] = [function]
    edges: list[tuple[int, int]] = []
    edge_labels: list[str] = []
    for number, node in enumerate(nodes):  # grows during the walk
        children = [c for c in ast.iter_child_nodes(node) if not isinstance(c, ast.expr_context)]
        numbers = range(len(nodes), len(nodes) + len(children))
        edges += [(number, child) for child in numbers]
        edges += pairwise(numbers)
        edge_labels += ["child"] * len(numbers) + ["next"] * (len(numbers) - 1)
        nodes += children
    labels = [type(node).__name__ for node in nodes]
    return {
        "n_nodes": len(nodes),
        "edges": edges,
        "node_labels": labels,
        "edge_labels": edge_labels,
    }
