"""Pages of HTML that need nothing but themselves, from templates."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from kgnn.colors import DARK, LIGHT
from kgnn.errors import MissingExtraError


def render(template: str, title: str, summary: str, parts: Mapping[str, str], **values: Any) -> str:
    """Return a page, light or dark as the reader's system is; all values are escaped.

    ``parts`` names its sections and gives their headings.
    """
    style = stylesheet()
    script = _file("page.js")
    # Its own style and script and nothing else: no network, no other code.
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        _environment()
        .get_template(template)
        .render(
            title=title,
            summary=summary,
            parts=parts,
            style=Markup(style),
            script=Markup(script),
            policy=policy,
            **values,
        )
    )


def render_part(template: str, **values: Any) -> Markup:
    """Return a part of a page, for another page with the same style; all values are escaped."""
    return Markup(_environment().get_template(template).render(**values))


@cache
def stylesheet() -> str:
    """Return the style of all pages, in colors for white and for black."""
    style = _file("page.css")
    for name, own in {"LIGHT": LIGHT, "DARK": DARK}.items():
        style = style.replace(f"/*{name}*/", "".join(f"--{k}:{v};" for k, v in own.items()))
    return style


def drawings(module: str, kind: str, *arguments: Any) -> tuple[list[dict[str, Any]], str]:
    """Return the figures that a function of a module of ours draws; or why there are none."""
    try:
        from kgnn.reports.chart import svg

        made = getattr(import_module(f"kgnn.reports.{module}"), kind)(*arguments)
    except MissingExtraError as error:
        return [], str(error)
    charts = made if isinstance(made, list) else [made]
    return [
        {
            "name": chart.name,
            "title": chart.title,
            "caption": chart.caption,
            "panels": [Markup(svg(f, panel.title or chart.title)) for _, panel, f in chart.apart()],
        }
        for chart in charts
    ], ""


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("kgnn.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
    return made


def _file(name: str) -> str:
    return files("kgnn.reports").joinpath("templates", name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
