"""Templates, styles and scripts of the pages, all from the package itself."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined

from kgnn.reports.page import stylesheet

_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


@cache
def environment() -> Environment:
    """Return the templates; all values are escaped."""
    return Environment(
        loader=PackageLoader("kgnn.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render(template: str, **values: object) -> str:
    """Return a page."""
    return environment().get_template(template).render(version=version(), **values)


@cache
def static(name: str) -> tuple[bytes, str] | None:
    """Return a style sheet, script or picture with its type; None if there is no such file."""
    if not re.fullmatch(r"[a-z-]+\.(css|js|svg)", name):
        return None
    if name == "base.css":
        return stylesheet().encode(), _TYPES[".css"]
    file = files("kgnn.web").joinpath("static", name)
    return (file.read_bytes(), _TYPES[name[name.rindex(".") :]]) if file.is_file() else None


@cache
def version() -> str:
    """Return a hash of all static files, for addresses that may be cached for ever.

    It is a folder in these addresses, so that modules that import each other have it, too.
    """
    digest = hashlib.blake2b(stylesheet().encode(), digest_size=6)
    for each in sorted(files("kgnn.web").joinpath("static").iterdir(), key=lambda each: each.name):
        if each.is_file():
            digest.update(each.read_bytes())
    return digest.hexdigest()
