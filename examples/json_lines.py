"""Read a JSON Lines file with a few labels and write a prediction for every graph."""

from __future__ import annotations

import json
from pathlib import Path

import kgnn
from kgnn.graphs.datasets.toy import planted_motifs
from kgnn.graphs.readers import jsonl


def main() -> None:
    # A file like yours: 120 graphs, a third of them labeled.
    graphs = planted_motifs(120)
    some = graphs.targets.copy()
    some[[row for row in range(120) if row % 6 > 1]] = -1
    jsonl.write(graphs.with_targets(some), Path("graphs.jsonl"))

    dataset = kgnn.load("graphs.jsonl")
    print(dataset)
    model = kgnn.WL().fit(dataset)  # without labels, fit uses the targets in the file
    proba = model.predict_proba(dataset)
    with Path("predictions.jsonl").open("w", encoding="utf-8") as file:
        for graph, row in zip(dataset, proba, strict=True):
            record = {"id": graph.name, **dict(zip(model.classes_, row.tolist(), strict=True))}
            file.write(json.dumps(record) + "\n")
    print(Path("predictions.jsonl").read_text(encoding="utf-8").splitlines()[2])


if __name__ == "__main__":
    main()
