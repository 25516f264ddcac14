"""A page of HTML without script that needs nothing but itself: title, contents, sections."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files
from string import Template
from typing import NamedTuple

from kgnn.reports.markup import Markup, element, escaped, joined
from kgnn.reports.palette import DARK, LIGHT, variables


class Part(NamedTuple):
    """A part of a page; its name is what links lead to."""

    name: str
    title: str
    content: Markup


def document(title: str, summary: str, parts: Sequence[Part], style: str = "") -> str:
    """Return a page, light or dark as the reader's system is.

    Parameters
    ----------
    title, summary : str
    parts : sequence of Part
    style : str
        The name of a template with further CSS.

    Examples
    --------
    >>> page = document("A & B", "", [Part("one", "One", element("p", "text"))])
    >>> page[:15], "A &amp; B" in page, 'href="#one"' in page
    ('<!doctype html>', True, True)
    """
    colors = {"light": variables(LIGHT), "dark": variables(DARK)}
    css = Template(_template("page.css")).substitute(colors) + _template("figures.css")
    css += _template(style) if style else ""
    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    return Template(_template("document.html")).substitute(
        title=escaped(title),
        # Its own style and nothing else: no network, no script.
        policy=escaped(f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'"),
        style=css,
        summary=escaped(summary),
        contents=joined(*map(_entry, parts)),
        sections=joined(*map(_section, parts)),
    )


def _entry(part: Part) -> Markup:
    return element("li", element("a", part.title, href=f"#{part.name}"))


def _section(part: Part) -> Markup:
    return element("section", element("h2", part.title), part.content, id=part.name, class_="part")


def _template(name: str) -> str:
    folder = files("kgnn.reports").joinpath("templates")
    return folder.joinpath(name).read_text(encoding="utf-8")
