"""HTML from Python values: elements, escaping, and whole self-contained pages."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from string import Template
from typing import Any, NamedTuple

# Okabe & Ito's colors, which people with any kind of color vision tell apart; yellow is left out,
# since it is hardly seen on white. The first one is for the method that a chart is about.
LIGHT: Mapping[str, str] = {
    "paper": "#ffffff",
    "raised": "#f6f7f8",
    "ink": "#1c2126",
    "soft": "#5b6570",
    "rule": "#dfe3e7",
    "muted": "#a3abb3",
    "accent": "#0b5d8f",
    "good": "#00704f",
    "bad": "#a63d00",
    "s0": "#d55e00",
    "s1": "#0072b2",
    "s2": "#009e73",
    "s3": "#cc79a7",
    "s4": "#e69f00",
    "s5": "#56b4e9",
    "s6": "#1c2126",
}
DARK: Mapping[str, str] = {
    "paper": "#14181c",
    "raised": "#1c2228",
    "ink": "#e6e9ec",
    "soft": "#9aa5b0",
    "rule": "#323a43",
    "muted": "#66717c",
    "accent": "#6db9ec",
    "good": "#45c49b",
    "bad": "#f08a4b",
    "s0": "#f07a1f",
    "s1": "#4a9fd8",
    "s2": "#1fbd90",
    "s3": "#d98fb8",
    "s4": "#e6ae35",
    "s5": "#86cdf5",
    "s6": "#e6e9ec",
}
# Elements that never have content; of the others even empty ones must be closed.
_VOID = frozenset({"br", "hr", "input", "link", "meta"})
_SHAPES = frozenset({"circle", "line", "path", "polygon", "rect"})
_DECIMALS = 1


class Markup(str):
    """A string that is markup; any other string is text from somewhere and is escaped."""

    __slots__ = ()


def element(tag: str, *children: str | float | None, **attributes: Any) -> Markup:
    """Return one element.

    Children that are markup go in as they are, all else as text; None is left out. Underscores of
    attributes become hyphens, and one at the end is dropped (``class_``). None and False are left
    out, True stands alone, numbers are rounded.

    Examples
    --------
    >>> element("p", "a < b, ", element("b", "not c"), class_="note", hidden=True)
    '<p class="note" hidden>a &lt; b, <b>not c</b></p>'
    >>> element("circle", cx=1.26, cy=2.0)
    '<circle cx="1.3" cy="2"/>'
    """
    start = f"<{tag}{''.join(_attribute(k, v) for k, v in attributes.items())}"
    if tag in _VOID:
        return Markup(start + ">")
    if tag in _SHAPES and not children:
        return Markup(start + "/>")
    return Markup(f"{start}>{joined(*children)}</{tag}>")


def joined(*children: str | float | None) -> Markup:
    """Return all children, one after the other."""
    return Markup("".join(escaped(child) for child in children if child is not None))


def escaped(value: str | float) -> Markup:
    """Return text that means itself wherever it stands in a page."""
    return value if isinstance(value, Markup) else Markup(html.escape(str(value)))


def number(value: float) -> str:
    """Write a coordinate in as few characters as show the same picture."""
    rounded = round(float(value), _DECIMALS) + 0.0  # no "-0"
    return f"{rounded:g}" if abs(rounded) < 1e5 else f"{rounded:.0f}"


def script_json(value: Any) -> Markup:
    r"""Return JSON that can stand in a script element: nothing in it ends the element.

    Examples
    --------
    >>> script_json({"reason": "</script>"})
    '{"reason":"\\u003c/script\\u003e"}'
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def _attribute(name: str, value: Any) -> str:
    if value is None or value is False:
        return ""
    key = name.rstrip("_").replace("_", "-")
    if value is True:
        return f" {key}"
    if isinstance(value, (int, float)):
        value = number(value)
    return f' {key}="{html.escape(str(value))}"'


class Part(NamedTuple):
    """A part of a page; its name is what links lead to."""

    name: str
    title: str
    content: Markup


def document(
    title: str, summary: str, parts: Sequence[Part], style: str = "", data: Any = None
) -> str:
    """Return a page, light or dark as the reader's system is.

    ``style`` names a template with further CSS. ``data`` is what the script of the page of results
    reads; without it the page has no script.

    Examples
    --------
    >>> page = document("A & B", "", [Part("one", "One", element("p", "text"))])
    >>> page[:15], "A &amp; B" in page, 'href="#one"' in page
    ('<!doctype html>', True, True)
    """
    colors = {"light": _variables(LIGHT), "dark": _variables(DARK)}
    css = Template(template("page.css")).substitute(colors) + template("figures.css")
    css += template(style) if style else ""
    script = template("page.js") if data is not None else ""
    # Its own style and script and nothing else: no network, no other code.
    policy = f"default-src 'none'; style-src '{_digest(css)}'; base-uri 'none'; form-action 'none'"
    policy += f"; script-src '{_digest(script)}'" if script else ""
    page = template("document.html") if data is None else template("page.html")
    return Template(page).substitute(
        title=escaped(title),
        policy=escaped(policy),
        style=css,
        script=script,
        summary=escaped(summary),
        contents=joined(
            *(element("li", element("a", each.title, href=f"#{each.name}")) for each in parts)
        ),
        sections=joined(
            *(
                element("section", element("h2", name), content, id=key, class_="part")
                for key, name, content in parts
            )
        ),
        data=script_json(data),
    )


def scrolling(title: str, headings: Sequence[str], rows: Iterable[Markup]) -> Markup:
    """Return rows under headings, in a box that scrolls by itself, with keys too."""
    head = element("tr", *(element("th", heading, scope="col") for heading in headings))
    grid = element("table", element("thead", head), element("tbody", *rows))
    return element("div", grid, class_="scroll", tabindex=0, role="region", aria_label=title)


def template(name: str) -> str:
    """Return the text of a file beside this module: a page, a style or a script."""
    folder = files("kgnn.reports").joinpath("templates")
    return folder.joinpath(name).read_text(encoding="utf-8")


def _variables(colors: Mapping[str, str]) -> str:
    return "".join(f"--{name}:{value};" for name, value in colors.items())


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
