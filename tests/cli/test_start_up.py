"""What a command loads before it answers: mistakes are told at once, answers come soon."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from kgnn.graphs.datasets.toy import planted_motifs
from kgnn.graphs.readers import jsonl
from kgnn.methods.kgnn import KGNN

_CALL = """
import json, sys
from kgnn.cli.main import main
sys.argv = ["kgnn", *sys.argv[1:]]
try:
    main()
finally:
    print(json.dumps(sorted(sys.modules)))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with graphs, some labels and a model."""
    folder = tmp_path_factory.mktemp("start")
    graphs = planted_motifs(24, n_nodes=8)
    jsonl.write(graphs, folder / "graphs.jsonl")
    KGNN(epochs=1, rounds=1, cross_fit=2).fit(graphs).save(folder / "model")
    return folder


def _modules(folder, *arguments):
    """Run a command in a new process; return its exit code, its messages and what it loaded."""
    command = [sys.executable, "-c", _CALL, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stderr, set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    "arguments",
    [
        ("predict", "model", "none.csv"),
        ("predict", "none", "graphs.jsonl"),
        ("evaluate", "model", "none.csv"),
        ("evaluate", "model", "graphs.jsonl", "--labels", "none.csv"),
        ("explain", "model", "none.csv", "--id", "0"),
        ("suggest", "none", "graphs.jsonl"),
        ("model", "show", "none"),
        ("fit", "none.csv", "-o", "new"),
        ("fit", "graphs.jsonl", "--labels", "none.csv", "-o", "new"),
        ("run", "kgnn", "none.csv"),
        ("compare", "none.csv"),
        ("pretrain", "graphcl", "none.csv", "-o", "new"),
        ("similar", "none.csv", "0"),
    ],
    ids=" ".join,
)
def test_what_is_missing_is_told_before_torch_is_loaded(folder, arguments):
    code, err, loaded = _modules(folder, *arguments)
    assert code == 1
    assert "There is no" in err or "does not exist" in err
    assert "none" in err
    assert not loaded & {"torch", "sklearn"}


def test_a_prediction_loads_no_compiler(folder):
    code, err, loaded = _modules(folder, "predict", "model", "graphs.jsonl", "-o", "p.csv")
    assert code == 0, err
    # They take longer than all else that a prediction needs.
    assert "torch" in loaded
    assert not loaded & {"torch._dynamo", "torch._inductor", "sympy"}
