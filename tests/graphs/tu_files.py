"""Small TU datasets on disk, as folders or zips."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

FILES = {
    "TINY_A.txt": "1, 2\n2, 1\n2, 3\n3, 2\n4, 5\n5, 4\n",
    "TINY_graph_indicator.txt": "1\n1\n1\n2\n2\n",
    "TINY_graph_labels.txt": "1\n-1\n",
    "TINY_node_labels.txt": "6\n7\n6\n6\n10\n",
    "TINY_node_attributes.txt": "0.5, 1\n1, 2\n-1e3, 0\n0, 0\n0, 0\n",
    "TINY_edge_labels.txt": "0\n0\n1\n1\n0\n0\n",
}


def folder(path: Path, **changes: str | None) -> Path:
    """Write the tiny dataset, with the ends of some files' names mapped to other content."""
    path.mkdir(exist_ok=True)
    for name, text in changed(**changes).items():
        (path / name).write_text(text)
    return path


def changed(**changes: str | None) -> dict[str, str]:
    files = FILES | {f"TINY_{key}.txt": text for key, text in changes.items()}
    return {name: text for name, text in files.items() if text is not None}


def zipped(files: dict[str, str] | None = None, compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return the bytes of a zip, by default of the tiny dataset in its own folder."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name, text in (files or {f"TINY/{n}": t for n, t in FILES.items()}).items():
            archive.writestr(name, text)
    return stream.getvalue()
