"""Shells complete commands, options, methods, datasets and files."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


def _completed(line, folder):
    asked = {"_KGNN_COMPLETE": "complete_bash", "COMP_WORDS": line}
    environment = {**os.environ, **asked, "COMP_CWORD": str(len(line.split(" ")) - 1)}
    # The name of the program decides the name of the variable.
    code = "import sys; sys.argv[0] = 'kgnn'; from kgnn.cli.main import main; main()"
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, text=True, timeout=300
    )
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("kgnn pre", ["predict", "pretrain"]),
        ("kgnn run --pro", ["--protocol"]),
        ("kgnn run mean", ["mean-teacher"]),
        ("kgnn run wl IMDB", ["IMDB-BINARY", "IMDB-MULTI"]),
        ("kgnn fit gra", ["graphs.jsonl"]),
        ("kgnn fit graphs.jsonl --method wl-", ["wl-forest", "wl-linear"]),
    ],
)
def test_words_are_completed(line, expected, tmp_path):
    (tmp_path / "graphs.jsonl").write_text("")
    assert _completed(line, tmp_path) == expected
