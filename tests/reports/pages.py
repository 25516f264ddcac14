"""A page as a browser takes it."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from typing import Any

EVIL = (
    "</script></style><script>alert('x')</script>\"'`<img src=x onerror=alert(1)>&amp;{{ 7*7 }}$x$"
)
_VOID = {"meta", "br", "hr", "input", "link", "img"}


class Page(HTMLParser):
    """Elements with their attributes, and text by element; everything that is opened is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: dict[str, list[str]] = {}
        self.open: list[str] = []
        self.whole = text
        self.feed(text)
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open:
            self.text.setdefault(self.open[-1], []).append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        """Return the attributes of all elements of a kind."""
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def words(self) -> str:
        """All that is read, elements apart."""
        shown = (text for tag, text in self.text.items() if tag not in ("script", "style"))
        return " ".join(" ".join(" ".join(each).split()) for each in shown)

    @property
    def data(self) -> Any:
        """What the page's script reads."""
        return json.loads(self.text["script"][0])

    def check(self) -> None:
        """It needs nothing but itself, runs nothing but its own script, and its links lead on."""
        [policy] = [m["content"] for m in self.all("meta") if m.get("http-equiv")]
        assert policy.startswith("default-src 'none'")
        for element, rule in (("script", "script-src"), ("style", "style-src")):
            digest = hashlib.sha256(self.text[element][-1].encode()).digest()
            assert f"{rule} 'sha256-{base64.b64encode(digest).decode()}'" in policy
        assert len(self.all("style")) == 1
        assert not {"img", "link", "iframe", "object"} & {tag for tag, _ in self.elements}
        ids = [attributes["id"] for _, attributes in self.elements if "id" in attributes]
        for tag, attributes in self.elements:
            assert not {"src", "style"} & attributes.keys(), tag
            assert not [name for name in attributes if name.startswith("on")]
            link = attributes.get("href", attributes.get("xlink:href", "#"))
            assert link.startswith("#"), link
        links = [a["href"][1:] for a in self.all("a")]
        assert links
        assert set(links) <= set(ids)
        assert not re.search(r"@import|url\((?!#)", self.whole)
        for drawn in self.all("svg"):
            assert drawn.get("aria-hidden") or (drawn["role"] == "img" and drawn["aria-label"])
