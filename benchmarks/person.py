"""A simulated person at the workbench: how good the models are, by labels, suggested or at random.

    python benchmarks/person.py MUTAG PROTEINS IMDB-B --method wl-linear --labels 20 40 60

For each dataset a stratified fifth is TEST, which the project never sees. The person answers with
the truth over HTTP, as a browser would: the graphs that the queue asks about, or random ones. After
each number of labels the workbench learns, and the model that it saves is scored on TEST.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np

import kgnn
from kgnn.evaluation.splits import make_split
from kgnn.graphs.readers import jsonl
from kgnn.web.project import Project

_SUGGESTED, _RANDOM = "suggested", "random"


class Person:
    """Somebody who knows the truth, at a window."""

    def __init__(self, address: str, truth: dict[str, str], seed: int) -> None:
        self.client = httpx.Client(base_url=address, timeout=60)
        self.truth = truth
        table = self.client.get("/api/table").json()
        order = np.random.default_rng(seed).permutation(len(table["graph"]))
        self.at_random = [(table["graph"][row], table["name"][row]) for row in order.tolist()]
        self.n = 0

    def label(self, most: int, choice: str) -> None:
        """Answer until there are so many labels."""
        while self.n < most:
            if choice == _RANDOM:
                graph, name = self.at_random[self.n]
            else:
                asked = self._post("/api/next", {"window": "person", "n": 1})[0]
                graph, name = asked["graph"], asked["name"]
            answer = {"graph": graph, "kind": "label", "label": self.truth[name]}
            self._post("/api/answers", {"action": f"{choice} {self.n}", "answers": [answer]})
            self.n += 1

    def learn(self) -> bool:
        """Let the workbench learn, and wait for it; False if it cannot yet."""
        before = self._state()["asked"]
        if self._state()["lacking"]:
            return False
        self._post("/api/learn", {})
        while (state := self._state())["asked"] == before or state["learning"]["is_running"]:
            time.sleep(0.1)
        return True

    def _state(self) -> dict[str, Any]:
        return self.client.get("/api/state").json()

    def _post(self, path: str, body: dict[str, Any]) -> Any:
        return self.client.post(path, json=body).raise_for_status().json()


@contextmanager
def workbench(data: Path, project: Path, method: str) -> Iterator[str]:
    words = ["label", str(data), "-o", str(project), "--method", method, "--every", "0"]
    words += ["--without-targets", "--port", "0", "--no-browser"]
    with subprocess.Popen(
        [sys.executable, "-m", "kgnn", *words], stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stderr is not None
        told = iter(server.stderr.readline, "")
        yield next(found[0] for line in told if (found := re.search(r"http://[\d.]+:\d+", line)))
        server.terminate()


def curve(dataset: str, method: str, choice: str, labels: list[int], seed: int) -> list[float]:
    """Return the accuracy on TEST in percent after each number of labels."""
    graphs = kgnn.load(dataset)
    names = np.array([f"graph {row}" for row in range(len(graphs))])
    graphs = replace(graphs, graph_names=names)
    test = make_split(graphs, seed=seed).test
    pool = graphs[np.setdiff1d(np.arange(len(graphs)), test)]
    truth = {graph.name: str(graph.target) for graph in pool}
    accuracies = []
    with tempfile.TemporaryDirectory() as folder:
        data, project = Path(folder) / "pool.jsonl", Path(folder) / "project"
        jsonl.write(pool, data)
        with workbench(data, project, method) as address:
            person = Person(address, truth, seed)
            while person.client.get("/api/state").json()["asked"] is None:
                time.sleep(0.1)
            for n in labels:
                person.label(n, choice)
                if not person.learn():
                    accuracies.append(float("nan"))
                    continue
                record = Project(project)
                model = kgnn.open_model(record.folder_of_model(record.models[-1].details["folder"]))
                record.close()
                told, true = model.predict(graphs[test]), graphs[test]
                right = [str(each) == one.target for each, one in zip(told, true, strict=True)]
                accuracies.append(100 * float(np.mean(right)))
    return accuracies


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("datasets", nargs="+")
    parser.add_argument("--method", default="wl-linear")
    parser.add_argument("--labels", type=int, nargs="+", default=[20, 40, 60])
    parser.add_argument("--splits", type=int, default=1)
    asked = parser.parse_args()
    print("dataset, choice, " + ", ".join(f"{n} labels" for n in asked.labels))
    for dataset in asked.datasets:
        for choice in (_SUGGESTED, _RANDOM):
            found = [
                curve(dataset, asked.method, choice, asked.labels, seed)
                for seed in range(asked.splits)
            ]
            mean = np.nanmean(found, axis=0)
            print(
                f"{dataset}, {choice}, " + ", ".join(f"{each:.1f} %" for each in mean), flush=True
            )


if __name__ == "__main__":
    main()
