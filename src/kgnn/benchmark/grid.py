"""A grid of cells, described by a small TOML file.

::

    title = "Accuracy against hops"
    methods = ["kgnn", "memnn-sup"]       # from ``kgnn methods``, or your own as ``FILE.py:Class``;
                                          # its class attribute ``revision`` marks new versions
    datasets = ["PROTEINS", "COLLAB"]
    labels = [0.1]                        # shares of all graphs, at most 0.2; default 0.1
    protocol = "fair"                     # or "paper", or "budget": labels may then be numbers (20)
                                          # or numbers per class ("5/class")
    metric = "accuracy"                   # the headline that `kgnn bench` shows; see
                                          # `kgnn.estimator.metrics.METRICS`
    splits = 3                            # default 5
    splits-of = { PROTEINS = 10 }         # exceptions
    first-split = 100                     # seed of the first split; default 0. Defaults were chosen
                                          # on splits that are in no table of results
    cases = 0                             # number of graphs that only the memory gets right to
                                          # record

    variants = [{}, { width = 64 }]       # parameters to run in turn; "None" stands for None;
                                          # preset = "paper" for those of the method's paper()

    [sweep]                               # all combinations of these parameters, in each variant
    hops = [1, 2, 3]

    [[rule]]                              # parameters for some of the cells
    datasets = ["COLLAB"]                 # default: all
    methods = ["kgnn"]                    # default: all
    set = { width = 64 }
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

from kgnn.benchmark.record import Cell
from kgnn.errors import ParameterError, UnknownNameError
from kgnn.estimator.metrics import require_metric
from kgnn.estimator.parameters import check, fields_of, preset
from kgnn.estimator.registry import entry_of, make, method_class
from kgnn.evaluation.splits import MOST_LABELS, Labels, require_terms
from kgnn.graphs.datasets.catalog import find, is_known

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_PACKAGE = Path(__file__).resolve().parents[1]
# Beside this file in an installed package; at the root of a checkout.
FOLDERS = (_PACKAGE / "benchmark" / "grids", _PACKAGE.parents[1] / "benchmarks")
_PRESET = "preset"  # a key of variants beside parameters


class GridError(ParameterError):
    """An invalid grid file."""


def require_keys(values: dict[str, Any], source: str) -> None:
    """Refuse unknown keys, values of the wrong type, and missing required keys."""
    for key, value in values.items():
        if key not in _KEYS:
            raise UnknownNameError.of(f"key of a grid in {source}", key, _KEYS)
        wanted, is_right = _KEYS[key]
        if not is_right(value):
            raise GridError(f"{source}: '{key}' must be {wanted}, got {value!r}.")
    for needed in ("title", "methods", "datasets"):
        if not values.get(needed):
            raise GridError(f"{source} has no '{needed}'.")


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _is_count(value: Any, least: int = 0) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _is_positive(value: Any) -> bool:
    return _is_count(value, 1)


def _is_choice(value: Any) -> bool:
    return isinstance(value, list) and bool(value)


def _is_labels(value: Any) -> bool:
    """Tell whether a value is a list of shares, numbers, or numbers per class."""
    return _is_choice(value) and all(
        isinstance(each, float | str) or _is_count(each) for each in value
    )


def _is_tables(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, dict) for each in value)


def _is_table_of(value: Any, holds: Callable[[Any], bool]) -> bool:
    return isinstance(value, dict) and all(map(holds, value.values()))


# Keys of a grid file: a description of valid values, and their check.
_KEYS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "title": ("a text", lambda value: isinstance(value, str)),
    "methods": ("a list of names", _is_names),
    "datasets": ("a list of names", _is_names),
    "labels": (
        f"a list of shares of all graphs, above 0 and at most {MOST_LABELS} (TRAIN-L); in the "
        "protocol budget also of numbers",
        _is_labels,
    ),
    "protocol": ("a text", lambda value: isinstance(value, str)),
    "metric": ("a text", lambda value: isinstance(value, str)),
    "splits": ("a number from 1", _is_positive),
    "splits-of": ("a table of numbers from 1", lambda value: _is_table_of(value, _is_positive)),
    "first-split": ("a number from 0", _is_count),
    "cases": ("a number from 0", _is_count),
    "variants": ("a list of tables", lambda value: bool(value) and _is_tables(value)),
    "sweep": (
        "a table of lists, each of one value or more",
        lambda value: _is_table_of(value, _is_choice),
    ),
    "rule": ("tables, written [[rule]]", _is_tables),
}


@dataclass(frozen=True)
class Grid:
    """The content of a grid file; see the module."""

    name: str
    title: str
    methods: tuple[str, ...]
    datasets: tuple[str, ...]
    labels: tuple[Labels, ...] = (0.1,)
    protocol: str = "fair"
    metric: str = "accuracy"
    splits: int = 5
    splits_of: Mapping[str, int] = field(default_factory=dict)
    first_split: int = 0
    cases: int = 0
    variants: tuple[Mapping[str, Any], ...] = ({},)
    sweep: Mapping[str, list[Any]] = field(default_factory=dict)
    rules: tuple[Mapping[str, Any], ...] = ()

    @classmethod
    def load(cls, source: str) -> Grid:
        """Read a grid by name (``table2``) or from a file."""
        path = _find(source)
        try:
            values = tomllib.loads(path.read_text(encoding="utf-8-sig"))
        except (OSError, ValueError, RecursionError) as error:
            raise GridError(f"{path} is not TOML: {error}") from error
        try:
            return cls.of(path.stem, values, str(path))
        except (ParameterError, UnknownNameError) as error:
            if str(path) in str(error):
                raise
            raise type(error)(f"{path}: {error}") from error

    @classmethod
    def of(cls, name: str, values: dict[str, Any], source: str = "the grid") -> Grid:
        """Build a grid from the content of a file, and check that it can run."""
        require_keys(values, source)
        as_fields: dict[str, Any] = {
            "rules" if key == "rule" else key.replace("-", "_"): _tuple(value)
            for key, value in values.items()
        }
        as_fields["datasets"] = tuple(map(_catalog_name, as_fields["datasets"]))
        as_fields["splits_of"] = {
            _catalog_name(dataset): n for dataset, n in values.get("splits-of", {}).items()
        }
        as_fields["rules"] = tuple(map(_with_catalog_names, as_fields.get("rules", ())))
        grid = cls(name, **as_fields)
        grid._require_names(source)
        return grid

    def __post_init__(self) -> None:
        for labels in self.labels:
            require_terms(self.protocol, labels)
        object.__setattr__(self, "metric", require_metric(self.metric))

    def _require_names(self, source: str) -> None:
        """Refuse unknown names and invalid parameters, so that typos are not ignored."""
        for method in self.methods:
            entry_of(method)
        _require_known(f"dataset of splits-of in {source}", self.splits_of, self.datasets)
        for rule in self.rules:
            if set(rule) - {"datasets", "methods", "set"} or not isinstance(rule.get("set"), dict):
                raise GridError(
                    f"{source}: a rule needs 'set' and may have 'datasets' and 'methods', got "
                    f"{rule}."
                )
            for key in ("datasets", "methods"):
                known = getattr(self, key)
                _require_known(f"name of a rule's {key} in {source}", rule.get(key, ()), known)
        for method in self.methods:
            if self.cases and not _has_both_networks(method):
                raise GridError(
                    f"{source}: 'cases' compare the GNN and the memory, but '{method}' does not "
                    "have both. Remove the method or the cases."
                )
        for dataset, method in product(self.datasets, self.methods):
            for parameters in self._parameters(dataset, method):
                if parameters:  # importing a method is slow, and its defaults are valid
                    check(make(method, **parameters))

    def only(self, **chosen: Iterable[str]) -> Grid:
        """Return the part of the grid with these methods or datasets."""
        kept: dict[str, Any] = {}
        for key, names in chosen.items():
            field_name = f"{key}s"
            if field_name not in ("methods", "datasets"):
                raise UnknownNameError.of("part of a grid", key, ("method", "dataset"))
            there = getattr(self, field_name)
            spelled = {name.lower(): name for name in there}
            wanted = [spelled.get(name.lower(), _catalog_name(name)) for name in names]
            _require_known(f"{key} of the grid '{self.name}'", wanted, there)
            kept[field_name] = tuple(name for name in there if name in wanted)
        return replace(self, **kept)

    def n_splits(self, dataset: str) -> int:
        """Return the number of splits of a dataset."""
        return self.splits_of.get(dataset, self.splits)

    def cells(self, fingerprints: Mapping[str, str]) -> Iterator[Cell]:
        """Yield all cells."""
        revisions = {name: entry_of(name).revision for name in self.methods}
        seen: set[str] = set()  # run cells that are listed twice only once
        for dataset, method, labels in product(self.datasets, self.methods, self.labels):
            for parameters in self._parameters(dataset, method):
                for seed in range(self.first_split, self.first_split + self.n_splits(dataset)):
                    cell = Cell(
                        dataset=dataset,
                        fingerprint=fingerprints[dataset],
                        method=method,
                        parameters=_changed(method, parameters),
                        protocol=self.protocol,
                        labels=labels,
                        seed=seed,
                        revision=revisions[method],
                        cases=self.cases,
                    )
                    if cell.key not in seen:
                        seen.add(cell.key)
                        yield cell

    def _parameters(self, dataset: str, method: str) -> Iterator[dict[str, Any]]:
        """Yield the parameters of each variant and combination of the sweep, after the rules."""
        ruled: dict[str, Any] = {}
        for rule in self.rules:
            is_for_dataset = dataset in rule.get("datasets", [dataset])
            if is_for_dataset and method in rule.get("methods", [method]):
                ruled |= rule["set"]
        for variant, *chosen in product(self.variants, *self.sweep.values()):
            swept = dict(zip(self.sweep, chosen, strict=True))
            given = {**ruled, **variant, **swept}
            name = given.pop(_PRESET, None)
            own = {} if name is None else preset(method_class(method), str(name))
            yield own | {key: _value(value) for key, value in given.items()}


def _changed(method: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Drop parameters equal to the defaults, so that equal settings share a record."""
    if not parameters:
        return {}
    defaults = make(method).get_params()
    return {key: value for key, value in parameters.items() if value != defaults[key]}


def _has_both_networks(method: str) -> bool:
    cls = method_class(method)
    own = set(fields_of(cls)) - set(getattr(cls, "idle_parameters", ()))
    return {"layers", "hops", "predict_with"} <= own


def _require_known(kind: str, names: Iterable[str], known: Iterable[str]) -> None:
    for name in names:
        if name not in known:
            raise UnknownNameError.of(kind, name, known)


def _tuple(value: Any) -> Any:
    """Convert a list from a file to a tuple, as fields of grids and methods need."""
    return tuple(value) if isinstance(value, list) else value


def _value(value: Any) -> Any:
    """Convert a value from a file to a value of a parameter."""
    return None if value == "None" else _tuple(value)


def grid_names() -> list[str]:
    """Return the names of the grids shipped with the package."""
    return sorted({path.stem for folder in FOLDERS for path in folder.glob("*.toml")})


def _find(source: str) -> Path:
    if source.endswith(".toml"):
        path = Path(source)
        if not path.is_file():
            raise GridError(f"There is no grid file {path}.")
        return path
    for folder in FOLDERS:
        if (folder / f"{source}.toml").is_file():
            return folder / f"{source}.toml"
    raise UnknownNameError.of("grid", source, grid_names())


def _with_catalog_names(rule: Mapping[str, Any]) -> Mapping[str, Any]:
    if "datasets" not in rule:
        return rule
    return {**rule, "datasets": [_catalog_name(each) for each in rule["datasets"]]}


def _catalog_name(dataset: str) -> str:
    """Return the catalog's name of a dataset that has several."""
    return find(dataset).name if is_known(dataset) else dataset
