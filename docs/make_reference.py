"""Write docs/reference.md from the docstrings of the public names."""

from __future__ import annotations

import inspect
import re
from functools import cached_property
from pathlib import Path
from typing import Any

import kgnn

TARGET = Path(__file__).with_name("reference.md")
_PREFACE = """\
# Reference

Every public name of `kgnn`. Written by `docs/make_reference.py` from the docstrings; do not edit.
"""
_GROUPS = {
    "Graphs in and out": (
        "load",
        "from_networkx",
        "from_pyg",
        "from_smiles",
        "to_networkx",
        "to_pyg",
    ),
    "Graphs": ("GraphDataset", "Graph"),
    "Methods": ("make", "compare", "KGNN", "GNNSup", "WL", "open_model"),
    "Features and kernels": (
        "WeisfeilerLehman",
        "OptimalAssignment",
        "ShortestPaths",
        "Graphlets",
        "most_similar",
    ),
    "Results and figures": ("Results", "plot"),
    "Progress": ("progress_bars",),
    "Errors and warnings": ("KgnnError", "KgnnWarning"),
}


def render() -> str:
    """Return the whole page."""
    grouped = [name for names in _GROUPS.values() for name in names]
    missing = sorted(set(kgnn.__all__) ^ set(grouped))
    if missing:
        raise SystemExit(f"not in _GROUPS, or no longer public: {', '.join(missing)}")
    parts = [_PREFACE]
    for title, names in _GROUPS.items():
        parts.append(f"## {title}\n")
        parts += [_public(name) for name in names]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(parts)).rstrip() + "\n"


def _public(name: str) -> str:
    thing = getattr(kgnn, name)
    if inspect.ismodule(thing):
        members = _members_of_module(thing)
        return f"### `kgnn.{name}`\n\n{_markdown(inspect.getdoc(thing))}\n{members}\n"
    if not inspect.isclass(thing):
        return f"### `kgnn.{name}`\n\n{_fenced(name, thing)}\n{_markdown(inspect.getdoc(thing))}\n"
    is_error = issubclass(thing, BaseException)
    parts = [f"### `kgnn.{name}`\n", "" if is_error else _fenced(name, thing)]
    parts.append(_markdown(inspect.getdoc(thing)))
    parts += [_inherited(base) for base in thing.__mro__[1:] if base.__module__.startswith("kgnn")]
    if is_error:
        parts.append("The whole tree is drawn in `kgnn.errors`.\n")
    else:
        parts.append(_members(thing))
    return "\n".join(parts) + "\n"


def _fenced(name: str, thing: Any) -> str:
    arguments = _arguments(thing)
    text = f"{name}({', '.join(arguments)})"
    if len(text) > 90:
        text = f"{name}(\n" + "".join(f"    {argument},\n" for argument in arguments) + ")"
    return f"```text\n{text}\n```\n"


def _arguments(thing: Any) -> list[str]:
    """Names and defaults; types are in the text below."""
    signature = inspect.signature(thing)
    bare = [
        p.replace(annotation=inspect.Parameter.empty)
        for p in signature.parameters.values()
        if p.name != "self"
    ]
    is_named = [p.kind is inspect.Parameter.KEYWORD_ONLY for p in bare]
    listed = [str(p) for p in bare]
    if True in is_named:
        listed.insert(is_named.index(True), "*")
    return listed


def _inherited(base: type) -> str:
    """Return what a base of ours says of its parameters and attributes."""
    wanted = ("Parameters", "Attributes")
    sections = [s for s in _sections(inspect.getdoc(base) or "") if s[0] in wanted]
    return "\n".join(
        f"**{title}, from `{base.__name__}`**\n\n{_listed(body)}\n" for title, body in sections
    )


def _members(cls: type) -> str:
    """Public methods and properties of ours with the first line of their documentation."""
    lines = []
    for name in dir(cls):
        member = inspect.getattr_static(cls, name)
        plain = member.fget if isinstance(member, property) else member
        plain = plain.func if isinstance(plain, cached_property) else plain
        if name.startswith("_") or not inspect.isfunction(plain):
            continue
        if plain.__module__.startswith("kgnn"):  # what others document changes with their versions
            call = f"({', '.join(_arguments(plain))})" if plain is member else ""
            summary = (plain.__doc__ or "").strip().splitlines()[0]
            lines.append(f"- `{name}{call}`: {_inline(summary)}")
    if hasattr(cls, "get_params"):
        known = ("get_params", "set_params")
        listed = ", ".join(f"`{name}`" for name in known if hasattr(cls, name))
        lines.append(f"- {listed}: as in scikit-learn.")
    return "**Methods and properties**\n\n" + "\n".join(lines) + "\n" if lines else ""


def _members_of_module(module: Any) -> str:
    """Public functions with the first line of their documentation."""
    found = {name: getattr(module, name) for name in module.__all__}
    return "\n".join(
        f"- `{name}({', '.join(_arguments(f))})`: {_inline(inspect.getdoc(f).splitlines()[0])}"
        for name, f in found.items()
    )


def _markdown(doc: str | None) -> str:
    """Turn a numpydoc docstring into Markdown."""
    parts = []
    for title, body in _sections(doc or ""):
        if title:
            parts.append(f"**{title}**\n")
        if title == "Examples":
            parts.append(f"```pycon\n{body}\n```\n")
        elif title in ("Parameters", "Attributes", "Raises"):
            parts.append(_listed(body))
        else:
            parts.append(_inline(body) + "\n")
    return "\n".join(parts)


def _sections(doc: str) -> list[tuple[str, str]]:
    """Cut a docstring at its underlined titles; the text before the first one has none."""
    pieces = re.split(r"^(\w[\w ]*)\n-{3,}\n", doc, flags=re.MULTILINE)
    titles = ["", *pieces[1::2]]
    bodies = [pieces[0], *pieces[2::2]]
    return [(t, b.strip("\n")) for t, b in zip(titles, bodies, strict=True) if b.strip()]


def _listed(body: str) -> str:
    """Turn ``name : type`` lines with indented text into a list."""
    items: list[tuple[str, list[str]]] = []
    for line in body.splitlines():
        if line and not line.startswith(" "):
            name, _, kind = line.partition(" : ")
            items.append((f"- `{name}`" + (f" ({_inline(kind)})" if kind else ""), []))
        elif line.strip():
            items[-1][1].append(_inline(line.strip()))
    return "\n".join(": ".join(filter(None, (h, " ".join(t)))) for h, t in items) + "\n"


def _inline(text: str) -> str:
    return text.replace("``", "`")


if __name__ == "__main__":
    TARGET.write_text(render(), encoding="utf-8")
