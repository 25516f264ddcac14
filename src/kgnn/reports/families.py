"""Families of methods, each with a style and a name of its own in figures."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from kgnn.estimator.registry import entries

# Style and name of the methods of a family.
_FAMILIES = {
    "kgnn": ("s0", "KGNN"),
    "kernel": ("s1", "kernels"),
    "embedding": ("s5", "embeddings"),
    "semi-supervised": ("s2", "semi-supervised"),
    "ablation": ("s3", "parts of KGNN"),
    "peer": ("s4", "peers"),
    "plug-in": ("s6", "plug-ins"),
}


def style_of(method: str) -> str:
    """Return the class of a method's marks.

    Examples
    --------
    >>> style_of("kgnn"), style_of("wl"), style_of("of-my-own")
    ('s0', 's1', 's6')
    """
    return _FAMILIES.get(_family(method), _FAMILIES["plug-in"])[0]


def styles_of(methods: Iterable[str]) -> list[tuple[str, str]]:
    """Return style and name of the families that there are."""
    there = {_family(method) for method in methods}
    return [told for family, told in _FAMILIES.items() if family in there]


@cache  # asking the installed packages takes a while
def _families() -> dict[str, str]:
    return {name: entry.family for name, entry in entries().items()}


def _family(method: str) -> str:
    return _families().get(method, "plug-in")
