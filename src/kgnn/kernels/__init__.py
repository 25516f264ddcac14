"""Graph kernels as explicit features, whose inner products are the kernel values."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from typing import TYPE_CHECKING, Any

from kgnn.errors import ParameterError, UnknownNameError

if TYPE_CHECKING:
    from kgnn.kernels.base import Featurizer

# To add a kernel, write kernels/<name>.py and its line here.
KERNELS = {
    "wl": "kgnn.kernels.weisfeiler_lehman:WeisfeilerLehman",
    "wl-oa": "kgnn.kernels.optimal_assignment:OptimalAssignment",
    "sp": "kgnn.kernels.shortest_paths:ShortestPaths",
    "graphlets": "kgnn.kernels.graphlets:Graphlets",
    "degrees": "kgnn.kernels.degree_profiles:DegreeProfiles",
}
_PLUS = re.compile(r"\s*\+\s*(?=[A-Za-z])")  # before a name
_NAME_AND_SETTINGS = re.compile(r"\s*([\w-]+)\s*(\(.*\))?\s*", re.DOTALL)


def make_kernel(spec: Any) -> Featurizer:
    """Return a new kernel: by name, by name with settings, or as a copy of a given one.

    Parameters
    ----------
    spec : str or featurizer
        A name such as ``"wl"``, text such as ``"wl(iterations=3, counts='raw')"``, a sum such as
        ``"wl + sp(max_distance=8)"`` (`kgnn.kernels.kernel_sum.KernelSum`), or any object with
        ``fit`` and ``transform``, which is copied unfitted.

    Examples
    --------
    >>> make_kernel("wl(iterations=2, counts='log')")
    WeisfeilerLehman(counts='log', iterations=2)
    """
    if isinstance(spec, str):
        terms = _PLUS.split(spec)
        if len(terms) > 1:
            from kgnn.kernels.kernel_sum import KernelSum

            for term in terms:
                make_kernel(term)  # report errors now, not in `fit`
            return KernelSum(terms)
        name, arguments, settings = _parse(spec)
        module, _, kernel = KERNELS[name].partition(":")
        try:
            made: Featurizer = getattr(import_module(module), kernel)(*arguments, **settings)
        except TypeError as error:
            raise ParameterError(f"The kernel {spec!r} cannot be made: {error}.") from error
        return made
    verbs = (getattr(spec, verb, None) for verb in ("fit", "transform"))
    if isinstance(spec, type) or not all(callable(verb) for verb in verbs):
        raise ParameterError(
            f"A kernel is one of {', '.join(KERNELS)}, with settings or without, such as "
            f'"wl(iterations=2)", or an object with fit and transform; got {spec!r}.'
        )
    from sklearn.base import clone  # imported late, to keep importing this module cheap

    copy: Featurizer = clone(spec, safe=False)
    return copy


def _parse(text: str) -> tuple[str, list[Any], dict[str, Any]]:
    """Split ``name(…)`` into the name and its arguments, which must be literals."""
    found = _NAME_AND_SETTINGS.fullmatch(text)
    if found is None:
        raise ParameterError(f'A kernel looks like "wl" or "wl(iterations=2)", got {text!r}.')
    name, arguments = found[1], found[2] or "()"
    if name not in KERNELS:
        raise UnknownNameError.of("kernel", name, KERNELS)
    try:
        call = ast.parse(f"kernel{arguments}", mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            raise ValueError("more than one pair of parentheses")
        settings = {each.arg or "**": ast.literal_eval(each.value) for each in call.keywords}
        if len(settings) < len(call.keywords):
            raise ValueError("a setting is given twice")
        return name, [ast.literal_eval(each) for each in call.args], settings
    except (SyntaxError, ValueError) as error:
        raise ParameterError(
            f"The settings of a kernel are plain values, such as \"wl(iterations=2, counts='log')\""
            f"; got {text!r}."
        ) from error
