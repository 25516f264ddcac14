"""HTML and SVG from Python values; text is escaped unless it is markup already."""

from __future__ import annotations

import html
import json
from typing import Any

# Elements that never have content; of the others even empty ones must be closed.
_VOID = frozenset({"br", "hr", "input", "link", "meta"})
_SHAPES = frozenset({"circle", "line", "path", "polygon", "rect"})
_DECIMALS = 1


class Markup(str):
    """A string that is markup; any other string is text from somewhere and is escaped."""

    __slots__ = ()


def element(tag: str, *children: str | float | None, **attributes: Any) -> Markup:
    """Return one element.

    Parameters
    ----------
    tag : str
    *children : str, float or None
        Markup goes in as it is, all else as text; None is left out.
    **attributes
        Underscores become hyphens, and one at the end is dropped (``class_``). None and False are
        left out, True stands alone, numbers are rounded.

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
    """Write a coordinate in as few characters as show the same picture.

    Examples
    --------
    >>> number(12.0), number(-0.01), number(3.14159)
    ('12', '0', '3.1')
    """
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
