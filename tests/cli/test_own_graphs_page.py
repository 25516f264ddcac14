"""The page docs/own-graphs.md from top to bottom: its commands do what it says."""

import csv
import re
import shlex
import subprocess
from pathlib import Path

from tests.cli.calling import kgnn

__all__ = ["kgnn"]

_PAGE = Path(__file__).parents[2] / "docs" / "own-graphs.md"
_FENCE = re.compile(r"^```(bash|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_page_runs(kgnn, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    namespace, said = {}, []
    for language, block in _FENCE.findall(_PAGE.read_text(encoding="utf-8")):
        if language == "python":
            exec(block, namespace)
            continue
        for line in block.splitlines():
            if line.startswith("kgnn "):
                done = kgnn(*shlex.split(line)[1:])
                assert done.code == 0, f"{line}: {done.err}"
                said.append((line, done.out + done.err))
            else:
                subprocess.run(line, shell=True, check=True)
    fits = [text for line, text in said if "fit molecules.csv" in line]
    assert "16 graphs are labeled" in fits[0]
    assert "24 graphs are labeled" in fits[1]
    assert Path("model.html").stat().st_size > 10_000
    with Path("predictions.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 20
    assert {"gnn", "memory", "agree", "label_set", "proba_ether"} <= set(rows[0])
    assert Path("m75.html").exists()
    assert len(Path("networks.jsonl").read_text().splitlines()) == 60
