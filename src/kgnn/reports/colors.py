"""The colors of methods and networks."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from kgnn.estimator.registry import entries

# Color and name of the methods of a family.
_FAMILIES = {
    "kgnn": ("s0", "KGNN"),
    "kernel": ("s1", "kernels"),
    "embedding": ("s5", "embeddings"),
    "semi-supervised": ("s2", "semi-supervised"),
    "ablation": ("s3", "ablations of KGNN"),
    "peer": ("s4", "peers"),
    "plug-in": ("s6", "plug-ins"),
}
_NETWORKS = {"gnn": "s1", "memory": "s4", "forest": "s2", "all": "s0"}


def network_color(name: str) -> str:
    """Return the color of a network of a model."""
    return _NETWORKS.get(name, "s6")


def method_color(method: str) -> str:
    """Return the color of a method, which is that of its family."""
    return _FAMILIES[_family(method)][0]


def families_of(methods: Iterable[str]) -> list[tuple[str, str]]:
    """Return color and name of the families that there are."""
    there = {_family(method) for method in methods}
    return [named for family, named in _FAMILIES.items() if family in there]


@cache  # searching the installed packages for methods is slow
def _family(method: str) -> str:
    entry = entries().get(method)
    return entry.family if entry and entry.family in _FAMILIES else "plug-in"
