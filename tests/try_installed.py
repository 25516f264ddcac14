"""Try a kgnn that is installed without extras, as a person would.

``make test-wheel`` runs this in a clean environment, in which there is nothing of the checkout.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import tempfile
import warnings
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path

_OF_EXTRAS = (
    "rdkit",
    "matplotlib",
    "pandas",
    "torch_geometric",
    "gensim",
    "ray",
    "skops",
    "pytest",
)


def main() -> None:
    """Fit, predict and explain from the command line and in Python."""
    there = [name for name in _OF_EXTRAS if find_spec(name)]
    if there:
        sys.exit(f"This environment is not clean: it has {', '.join(there)}.")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_graphs(folder)
        run(folder, "--version")
        run(folder, "methods")
        run(folder, "doctor")
        run(folder, "fit", "graphs.jsonl", "--method", "wl", "-o", "wl", "--report", "wl.html")
        run(folder, "predict", "wl", "new.jsonl", "-o", "answers.csv")
        run(folder, "explain", "wl", "new.jsonl", "--id", "0", "-o", "why.html")
        with (folder / "answers.csv").open(newline="") as stream:
            answers = [row["label"] for row in csv.DictReader(stream)]
        assert answers == ["ring", "path"] * 5, answers
        short = ["--set", "epochs=5", "--set", "rounds=1"]
        run(folder, "fit", "graphs.jsonl", "-o", "kgnn", *short)
        run(folder, "predict", "kgnn", "new.jsonl", "-o", "answers.csv")
        in_python(folder)
    files = {str(file) for file in distribution("kgnn").files or ()}
    for needed in ("kgnn/py.typed", "kgnn/__init__.pyi", "kgnn/benchmark/grids/table2.toml"):
        assert needed in files, f"{needed} is not in the wheel"
    print("The installed kgnn works without extras.")


def write_graphs(folder: Path) -> None:
    """Write rings and paths, every third of which has a label, and new ones without."""
    for file, sizes in (("graphs.jsonl", range(4, 34)), ("new.jsonl", range(34, 39))):
        lines = []
        for size in sizes:
            path = [[node, node + 1] for node in range(size - 1)]
            for target, edges in (("ring", [*path, [size - 1, 0]]), ("path", path)):
                known = {"target": target} if size % 3 == 0 and file == "graphs.jsonl" else {}
                lines.append(json.dumps({"nodes": size, "edges": edges, **known}))
        (folder / file).write_text("\n".join(lines) + "\n")


def run(folder: Path, *words: str) -> None:
    """Run a command as a person would, outside of the checkout."""
    done = subprocess.run(
        [sys.executable, "-m", "kgnn", *words], cwd=folder, capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(f"kgnn {' '.join(words)} ended with {done.returncode}:\n{done.stderr}")


def in_python(folder: Path) -> None:
    """Open the models, predict, and ask for what needs an extra."""
    import kgnn

    new = kgnn.load(folder / "new.jsonl")
    for name in ("wl", "kgnn"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = kgnn.open_model(folder / name)
            assert model.predict_proba(new).shape == (10, 2)
    told = ""
    try:
        kgnn.from_smiles(["CCO"])
    except kgnn.KgnnError as error:
        told = str(error)
    assert "kgnn[chem]" in told, f"SMILES without RDKit: {told!r}"


if __name__ == "__main__":
    main()
