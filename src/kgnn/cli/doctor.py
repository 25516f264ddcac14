"""``kgnn doctor``: the state of this installation and its problems."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import typer
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from kgnn.cli.own_graphs import JsonOption
from kgnn.cli.show import out, print_json, progress_bars, say, table

# Import names of packages that differ from the names of their distributions.
_MODULES = {
    "scikit-learn": "sklearn",
    "lazy-loader": "lazy_loader",
    "torch-geometric": "torch_geometric",
    "adjusttext": "adjustText",
}
_NOT_FOR_USERS = ("dev", "docs")
_ENOUGH_MIB = 1024  # for the parsed datasets of the paper, with room to spare


def doctor(as_json: JsonOption = False) -> None:
    """Check the installation: versions, extras, threads, devices and folders.

    For example: kgnn doctor --json
    """
    problems: list[str] = []
    with progress_bars() as bars:
        bars.add_task("checking the installation", total=None)
        record = {
            "kgnn": _own_version(),
            "python": platform.python_version(),
            "platform": platform.platform(terse=True),
            "place": str(Path(__file__).parents[1]),
            "packages": _packages(problems),
            "extras": _extras(problems),
            "mib": _weights(),
            "computing": _computing(problems),
            "folders": _folders(problems),
            "problems": problems,
        }
    print_json(record) if as_json else _show(record)
    if problems:
        raise typer.Exit(1)


def _own_version() -> str:
    try:
        return metadata.version("kgnn")
    except metadata.PackageNotFoundError:
        return "not installed"


def _requirements() -> list[Requirement]:
    try:
        return [Requirement(line) for line in metadata.requires("kgnn") or ()]
    except metadata.PackageNotFoundError:  # run from a checkout
        return []


def _packages(problems: list[str]) -> dict[str, str]:
    """Return the version of each required package."""
    needed = [each for each in _requirements() if not each.marker or each.marker.evaluate()]
    if not needed:
        problems.append(
            "kgnn is not installed, only on the path, so the versions that it requires are "
            "unknown: run python -m pip install kgnn."
        )
    return {each.name: _version_of(each, problems) or "missing" for each in needed}


def _extras(problems: list[str]) -> dict[str, dict[str, str | None]]:
    """Return the versions of the packages of each extra; None if missing."""
    requirements = _requirements()
    found: dict[str, dict[str, str | None]] = {}
    for each in requirements:
        named = [] if each.marker is None else _extras_of(each)
        for extra in named:
            if extra not in _NOT_FOR_USERS:
                # A missing extra is fine; a broken or outdated one is a problem.
                told: list[str] = []
                version = _version_of(each, told)
                problems += told if version else []
                found.setdefault(extra, {})[each.name] = version
    return found


def _weights() -> dict[str, Any]:
    """Return the size on disk, in MiB, of kgnn's requirements and of what each extra adds."""
    requirements = _requirements()
    own = [each for each in requirements if not each.marker or each.marker.evaluate()]
    needed, of_extras = _with_dependencies(own), dict[str, list[Requirement]]()
    for each in requirements:
        for extra in set(_extras_of(each)).difference(_NOT_FOR_USERS):
            of_extras.setdefault(extra, []).append(each)
    return {
        "kgnn": _mib_of(needed),
        "packages": {each.name: _mib_alone(each, own) for each in own},
        "extras": {
            extra: _mib_of(_with_dependencies(added) - needed) for extra, added in of_extras.items()
        },
    }


def _mib_alone(requirement: Requirement, among: list[Requirement]) -> int:
    """Return the size of a package and of what only it requires, such as torch's GPU libraries."""
    others = [each for each in among if each is not requirement]
    alone = _with_dependencies([requirement]) - _with_dependencies(others)
    return _mib_of({requirement.name, *alone})


def _with_dependencies(requirements: list[Requirement]) -> set[str]:
    """Return the names of installed packages, including dependencies."""
    found, seen, waiting = set[str](), set[tuple[str, frozenset[str]]](), [*requirements]
    while waiting:
        each = waiting.pop()
        name, extras = canonicalize_name(each.name), frozenset(each.extras)
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        with suppress(metadata.PackageNotFoundError):
            needed = [Requirement(line) for line in metadata.requires(name) or ()]
            found.add(name)
            waiting += [
                other
                for other in needed
                if other.marker is None
                or any(other.marker.evaluate({"extra": extra}) for extra in ("", *extras))
            ]
    return found


def _mib_of(names: Iterable[str]) -> int:
    """Return the size on disk of packages in MiB; packages that are not installed count as 0."""
    total = 0
    for name in names:
        with suppress(metadata.PackageNotFoundError):
            total += sum(file.size or 0 for file in metadata.files(name) or ())
    return total >> 20


def _extras_of(requirement: Requirement) -> list[str]:
    """Return the extras that a requirement belongs to."""
    try:
        known = metadata.metadata("kgnn").get_all("Provides-Extra") or []
    except metadata.PackageNotFoundError:
        return []
    marker = requirement.marker
    without = marker is not None and marker.evaluate({"extra": ""})
    return [
        extra
        for extra in known
        if marker is not None and marker.evaluate({"extra": extra}) and not without
    ]


def _version_of(requirement: Requirement, problems: list[str]) -> str | None:
    """Return the version of an installed package; report a missing, old or broken one."""
    name = requirement.name
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        problems.append(
            f"{name} is missing: run python -m pip install '{name}{_bounds(requirement)}'."
        )
        return None
    if not requirement.specifier.contains(version, prereleases=True):
        problems.append(
            f"{name} is {version}, but kgnn needs {requirement.specifier}: run python -m pip "
            f"install '{name}{_bounds(requirement)}'."
        )
    try:
        import_module(_MODULES.get(name.lower(), name.replace("-", "_")))
    except Exception as error:  # a library may raise anything when it is broken
        told = " ".join(str(error).split())[:200]
        problems.append(f"{name} {version} cannot be imported ({type(error).__name__}: {told}).")
    return version


def _bounds(requirement: Requirement) -> str:
    return str(requirement.specifier)


def _computing(problems: list[str]) -> dict[str, Any]:
    """Return cores, threads, the torch build and GPUs."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    limits = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    found: dict[str, Any] = {
        "cores": usable,
        "threads": 1,  # default of --threads
        "limits": {name: os.environ[name] for name in limits if os.environ.get(name)},
    }
    try:
        import numpy as np
        import torch

        if float(torch.from_numpy(np.ones(2)).sum()) != 2:
            problems.append("torch and numpy are incompatible: reinstall both.")
        found["device"] = "cpu"
        found["torch_build"] = f"CUDA {torch.version.cuda}" if torch.version.cuda else "CPU"
        found["gpus"] = [
            torch.cuda.get_device_name(place) for place in range(torch.cuda.device_count())
        ]
    except Exception as error:  # a broken torch may raise anything
        told = " ".join(str(error).split())[:200]
        problems.append(f"torch does not work ({type(error).__name__}: {told}).")
    return found


def _folders(problems: list[str]) -> dict[str, Any]:
    """Return the folders of datasets and of the cache."""
    from kgnn.graphs.datasets.cache import cache_folder
    from kgnn.graphs.datasets.catalog import ENTRIES
    from kgnn.graphs.datasets.sources import OFFICIAL_URL, local_path

    cache = cache_folder()
    is_writable = _is_writable(cache)
    if not is_writable:
        problems.append(
            f"The cache {cache} is not writable, so datasets are parsed again on every run. Set "
            "KGNN_CACHE to another folder."
        )
    free = _free_mib(cache)
    if is_writable and free < _ENOUGH_MIB:
        problems.append(f"The disk of the cache {cache} has only {free:,} MiB left.")
    chosen = os.environ.get("KGNN_DATASETS")
    if chosen and not Path(chosen).expanduser().is_dir():
        problems.append(f"KGNN_DATASETS is {chosen}, which is not a folder.")
    here = [entry.name for entry in ENTRIES if local_path(entry) is not None]
    return {
        "cache": str(cache),
        "cache_writable": is_writable,
        "cache_mib": _mib(cache),
        "datasets": chosen,
        "datasets_here": here,
        "datasets_known": len(ENTRIES),
        "downloads_from": os.environ.get("KGNN_DATASETS_URL") or OFFICIAL_URL,
    }


def _nearest(folder: Path) -> Path:
    """Return the folder or its nearest existing parent."""
    return next((each for each in (folder, *folder.parents) if each.exists()), Path.cwd())


def _is_writable(folder: Path) -> bool:
    """Tell whether files can be created in a folder, or in its nearest parent if it is missing."""
    try:
        with tempfile.TemporaryFile(dir=_nearest(folder)):
            return True
    except OSError:
        return False


def _free_mib(folder: Path) -> int:
    import shutil

    return shutil.disk_usage(_nearest(folder)).free >> 20


def _mib(folder: Path) -> int:
    return sum(each.stat().st_size for each in folder.rglob("*") if each.is_file()) >> 20


def _show(record: dict[str, Any]) -> None:
    console = out()
    grid = table(f"kgnn {record['kgnn']}", "", "")
    grid.show_header = False
    grid.add_row("Python", f"{record['python']} ({sys.executable})")
    grid.add_row("machine", record["platform"])
    grid.add_row("kgnn is in", record["place"])
    grid.add_row("packages", ", ".join(" ".join(each) for each in record["packages"].items()))
    mib = record["mib"]
    heaviest = sorted(mib["packages"].items(), key=lambda each: -each[1])[:3]
    weights = ", ".join(f"{name} {weight:,}" for name, weight in heaviest)
    grid.add_row("MiB", f"{mib['kgnn']:,} in all, with dependencies; {weights}")
    computing, folders = record["computing"], record["folders"]
    limits = "".join(f", {name}={value}" for name, value in computing["limits"].items())
    grid.add_row("threads", f"1 by default (--threads), {computing['cores']} cores{limits}")
    if "device" in computing:
        gpus = ", ".join(computing["gpus"])
        unused = f"; kgnn does not use {gpus}" if gpus else ""
        grid.add_row("device", f"CPU, with torch built for {computing['torch_build']}{unused}")
    state = "" if folders["cache_writable"] else ", not writable"
    grid.add_row("cache", f"{folders['cache']} ({folders['cache_mib']:,} MiB{state})")
    grid.add_row("datasets", folders["datasets"] or "KGNN_DATASETS is not set")
    here = f"{len(folders['datasets_here'])} of {folders['datasets_known']} named datasets"
    grid.add_row("", f"{here} are on this machine; downloads come from {folders['downloads_from']}")
    console.print(grid, highlight=False)
    grid = table("Extras", "extra", "", "packages", ">MiB more")
    for extra, packages in record["extras"].items():
        missing = [name for name, version in packages.items() if version is None]
        told = [f"{name} {version or '–'}" for name, version in packages.items()]
        state = "missing" if missing else "ready"
        weight = "" if missing else f"{mib['extras'][extra]:,}"
        grid.add_row(extra, state, ", ".join(told), weight)
    console.print(grid, highlight=False)
    say("To install an extra: python -m pip install 'kgnn[NAME]'")
    if record["problems"]:
        say(*(f"problem: {each}" for each in record["problems"]))
    else:
        say("No problems found.")
