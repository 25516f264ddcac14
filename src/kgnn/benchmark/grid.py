"""A grid of cells, written down as a small TOML file.

::

    title = "Accuracy against hops"       # for people
    methods = ["kgnn", "memnn-sup"]
    datasets = ["PROTEINS", "COLLAB"]
    labels = [0.1]                        # shares of all graphs; 0.1 if not given
    protocol = "fair"                     # or "paper"
    splits = 3                            # 5 if not given
    splits-of = { PROTEINS = 10 }         # where it differs
    cases = 0                             # graphs to keep that p gets wrong and q gets right

    [sweep]                               # every combination of these parameters
    hops = [1, 2, 3]

    [[rule]]                              # parameters for some of the cells
    datasets = ["COLLAB"]                 # all, if not given
    methods = ["kgnn"]                    # all, if not given
    set = { width = 64 }
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

from kgnn.benchmark.cell import Cell
from kgnn.errors import DatasetUnavailableError, KgnnError, ParameterError, UnknownNameError
from kgnn.evaluation.splits import PROTOCOLS
from kgnn.graphs.catalog import find, is_known
from kgnn.methods.parameters import check
from kgnn.methods.registry import entries, make

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_PACKAGE = Path(__file__).resolve().parents[1]
# In an installed package, beside this file; in a checkout, at its root.
FOLDERS = (_PACKAGE / "benchmark" / "grids", _PACKAGE.parents[1] / "benchmarks")


class GridError(KgnnError, ValueError):
    """A grid file that says something that cannot be run."""


@dataclass(frozen=True)
class Grid:
    """What a grid file says; see the module.

    Attributes
    ----------
    name : str
    title : str
    methods, datasets : tuple of str
    labels : tuple of float
    protocol : str
    splits : int
    splits_of : dict of str to int
    cases : int
    sweep : dict of str to list
    rules : tuple of dict
    """

    name: str
    title: str
    methods: tuple[str, ...]
    datasets: tuple[str, ...]
    labels: tuple[float, ...] = (0.1,)
    protocol: str = "fair"
    splits: int = 5
    splits_of: Mapping[str, int] = field(default_factory=dict)
    cases: int = 0
    sweep: Mapping[str, list[Any]] = field(default_factory=dict)
    rules: tuple[Mapping[str, Any], ...] = ()

    @classmethod
    def load(cls, source: str) -> Grid:
        """Read a grid by name (``table2``) or from a file."""
        path = _find(source)
        try:
            values = tomllib.loads(path.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise GridError(f"{path} is not TOML: {error}") from error
        return cls.of(path.stem, values, str(path))

    @classmethod
    def of(cls, name: str, values: dict[str, Any], source: str = "the grid") -> Grid:
        """Build a grid from what a file says, and refuse what could not run."""
        named = {key.replace("-", "_"): value for key, value in values.items()}
        named["rules"] = tuple(named.pop("rule", ()))
        fields = set(cls.__dataclass_fields__) - {"name"}
        for key in named:
            if key not in fields:
                raise UnknownNameError.of(f"key of a grid in {source}", key, fields)
        for needed in ("title", "methods", "datasets"):
            if not named.get(needed):
                raise GridError(f"{source} has no '{needed}'.")
        as_fields: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in named.items()
        }
        grid = cls(name, **as_fields)
        grid._check(source)
        return grid

    def _check(self, source: str) -> None:
        if self.protocol not in PROTOCOLS:
            raise ParameterError(
                f"{source}: the protocol must be one of {PROTOCOLS}, got '{self.protocol}'."
            )
        for method in self.methods:
            if method not in entries():
                raise UnknownNameError.of(f"method ({source})", method, entries())
        for rule in self.rules:
            if set(rule) - {"datasets", "methods", "set"} or not isinstance(rule.get("set"), dict):
                raise GridError(
                    f"{source}: a rule has 'set' and perhaps 'datasets' and 'methods', got {rule}."
                )

    def only(self, **chosen: Iterable[str]) -> Grid:
        """Return the part of the grid with these methods or datasets.

        Examples
        --------
        >>> grid = Grid("g", "", ("wl", "kgnn"), ("PROTEINS", "COLLAB"))
        >>> part = grid.only(method=["kgnn"])
        >>> part.methods, part.datasets
        (('kgnn',), ('PROTEINS', 'COLLAB'))
        """
        kept: dict[str, Any] = {}
        for key, names in chosen.items():
            field_name = f"{key}s"
            if field_name not in ("methods", "datasets"):
                raise UnknownNameError.of("part of a grid", key, ("method", "dataset"))
            there = getattr(self, field_name)
            by_name = {_canonical(name): name for name in there}
            for name in names:
                if _canonical(name) not in by_name:
                    raise UnknownNameError.of(f"{key} of the grid '{self.name}'", name, there)
            wanted = {_canonical(name) for name in names}
            kept[field_name] = tuple(name for name in there if _canonical(name) in wanted)
        return replace(self, **kept)

    def n_splits(self, dataset: str) -> int:
        """Return how many splits a dataset gets."""
        return self.splits_of.get(dataset, self.splits)

    def cells(self, fingerprints: Mapping[str, str]) -> Iterator[Cell]:
        """Yield all cells.

        Parameters
        ----------
        fingerprints : dict of str to str
            Content of each dataset.
        """
        listed = entries()
        for dataset, method, labels in product(self.datasets, self.methods, self.labels):
            for chosen in product(*self.sweep.values()):
                swept = dict(zip(self.sweep, chosen, strict=True))
                parameters = _changed(method, {**self._set(dataset, method), **swept})
                for seed in range(self.n_splits(dataset)):
                    yield Cell(
                        dataset=dataset,
                        fingerprint=fingerprints[dataset],
                        method=method,
                        parameters=parameters,
                        protocol=self.protocol,
                        labels=labels,
                        seed=seed,
                        revision=listed[method].revision,
                        cases=self.cases,
                    )

    def _set(self, dataset: str, method: str) -> dict[str, Any]:
        parameters: dict[str, Any] = {}
        for rule in self.rules:
            if dataset in rule.get("datasets", [dataset]) and method in rule.get(
                "methods", [method]
            ):
                parameters |= rule["set"]
        return parameters


def _changed(method: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Leave out what is the default anyway: the cell is the same, and so is its record."""
    if not parameters:
        return {}
    as_fields = {k: tuple(v) if isinstance(v, list) else v for k, v in parameters.items()}
    defaults = make(method).get_params()
    check(make(method, **as_fields))
    return {key: value for key, value in as_fields.items() if value != defaults[key]}


def grid_names() -> list[str]:
    """Return the grids that come with the package."""
    return sorted({path.stem for folder in FOLDERS for path in folder.glob("*.toml")})


def _find(source: str) -> Path:
    if source.endswith(".toml"):
        path = Path(source)
        if not path.is_file():
            raise DatasetUnavailableError(f"There is no grid file {path}.")
        return path
    for folder in FOLDERS:
        if (folder / f"{source}.toml").is_file():
            return folder / f"{source}.toml"
    raise UnknownNameError.of("grid", source, grid_names())


def _canonical(name: str) -> str:
    return find(name).name if is_known(name) else name.lower()
