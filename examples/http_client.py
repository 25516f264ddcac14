"""A typed client for a served model: `kgnn serve` on one side, httpx on the other."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import NamedTuple

import httpx

from kgnn import WL
from kgnn.graphs.datasets.toy import cycles_and_trees


class Prediction(NamedTuple):
    """The part of a response that is used here; /openapi.json describes all of it."""

    id: str
    label: str
    confidence: float


def ask(address: str, graphs: list[dict[str, object]]) -> list[Prediction]:
    answer = httpx.post(f"{address}predict", json={"graphs": graphs}).raise_for_status().json()
    return [Prediction(e["id"], e["label"], e["confidence"]) for e in answer["predictions"]]


def main() -> None:
    WL().fit(cycles_and_trees(60)).save("model")
    words = [sys.executable, "-m", "kgnn", "serve", "model", "--port", "0"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as server:
        address = re.search(r"http://\S+", server.stderr.readline())[0]
        try:
            print(*ask(address, [{"id": "ring", "nodes": 3, "edges": [[0, 1], [1, 2], [2, 0]]}]))
        finally:
            server.terminate()


main()
