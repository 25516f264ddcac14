"""Print what the changelog says of a version: ``python docs/release_notes.py v0.2.0``.

Fails if the tag is not the version of the package, or if the changelog does not have it.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

_ROOT = Path(__file__).parents[1]


def notes(tag: str) -> str:
    """Return the section of a version without its title."""
    version = tag.removeprefix("v")
    package = (_ROOT / "src" / "kgnn" / "__init__.py").read_text(encoding="utf-8")
    known = re.search(r'^__version__ = "(.+)"$', package, re.MULTILINE)
    if known is None or known[1] != version:
        raise SystemExit(f"The tag is {tag}, the version of the package {known and known[1]}.")
    changes = (_ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    found = re.search(
        rf"^## {re.escape(version)}\b[^\n]*\n(.*?)(?=^## |\Z)", changes, re.MULTILINE | re.DOTALL
    )
    if found is None or not found[1].strip():
        raise SystemExit(f"The changelog says nothing of {version}.")
    return found[1].strip() + "\n"


if __name__ == "__main__":
    sys.stdout.write(notes(sys.argv[1]))
