"""What habits of evaluation are worth: epochs chosen on TEST, TEST in pre-training, copies, luck.

    python benchmarks/honesty.py --measure   # runs what honesty.json does not have yet, then
    python benchmarks/honesty.py             # writes the tables of docs/honesty.md

Nothing in the package can do this: no method ever sees a TEST graph. Here a GIN is trained for as
long as in the released codes of the field (100 epochs, the weights of the epoch itself, once), and
its accuracy on TEST is noted after every epoch. Other tables are of the records in ``results/``.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import kgnn
from kgnn.engine.epochs import choose_epochs
from kgnn.engine.network import trainings_of
from kgnn.engine.task import Task
from kgnn.estimator.carried import used_by
from kgnn.evaluation.protocol import settings_for, twin_colors
from kgnn.evaluation.splits import make_split
from kgnn.files import write_text
from kgnn.graphs.graph import GraphDataset, Ints
from kgnn.methods.neural import GNNSettings
from kgnn.reports.comparison import corrected_paired_t_test
from kgnn.reports.paper import dataset_title, method_title

ROOT = Path(__file__).parents[1]
PAGE, NUMBERS = ROOT / "docs" / "honesty.md", Path(__file__).with_suffix(".json")
BEGIN, END = "<!-- made by benchmarks/honesty.py -->", "<!-- until here -->"
DATASETS = ("PROTEINS", "IMDB-BINARY")
EPOCHS, LABELS = 100, 0.1
TRANSDUCTIVE = "graphcl, TEST too"  # whose encoder was pre-trained on TEST graphs as well
# Of the fair protocol at 10 %: graphs of TEST by graphs that are trained on or chosen by.
OVERLAP = 2 / 7
SOCIAL = ("IMDB-BINARY", "IMDB-MULTI")  # with many graphs that look alike
LUCKY = ("gnn-sup", "graphcl", "wl", "kgnn")


# -- measuring ------------------------------------------------------------------------------------


def measure(splits: int) -> None:
    """Run what is missing, split by split, and keep each at once."""
    known = json.loads(NUMBERS.read_text()) if NUMBERS.exists() else {"runs": []}
    known |= {"records": recorded(), "copies": {name: copies(name) for name in SOCIAL}}
    done = {(run["dataset"], run["method"], run["split"]) for run in known["runs"]}
    for split in range(splits):
        for dataset in DATASETS:
            for method in ("gnn-sup", "graphcl", TRANSDUCTIVE):
                if (dataset, method, split) not in done:
                    known["runs"].append(run(dataset, method, split))
                    lines = ",\n".join(json.dumps(each) for each in known["runs"])
                    rest = json.dumps({k: v for k, v in known.items() if k != "runs"})
                    write_text(NUMBERS, f'{{"runs": [\n{lines}\n],\n{rest[1:]}\n')


def run(dataset: str, name: str, seed: int) -> dict[str, Any]:
    """Train once, and count the TEST graphs that each epoch has right."""
    whole = kgnn.load(dataset)
    cls = kgnn.make(name.partition(",")[0]).__class__
    settings = {"epochs": EPOCHS, "averaging": 0.0, "committee": 1, "random_state": seed}
    method = cls(**settings, **settings_for(dataset, cls))
    graphs, truth = used_by(method, whole), whole.targets
    split = make_split(whole, labels=LABELS, seed=seed)
    train = np.concatenate([split.labeled, split.unlabeled])
    hidden = graphs.with_targets(np.full(len(graphs), -1))
    validation = hidden[split.validation], truth[split.validation]

    def task_of(rows: Ints) -> Task:
        targets = np.where(np.arange(len(rows)) < len(split.labeled), truth[rows], -1)
        return Task(hidden[rows], targets, whole.n_classes, validation, seed)

    task = task_of(train)
    if name == TRANSDUCTIVE:  # the encoder alone; what comes after is the same
        every = task_of(np.concatenate([train, split.validation, split.test]))
        network = GNNSettings._gnn(method, task)
        network.start = method._gnn(every).start
    else:
        network = method._gnn(task)
    (training,) = trainings_of(network, task, task.members())
    config = replace(network.optimizer_config, checkpoints=EPOCHS)
    trained = network._train(training, config, None, "training")
    ((chosen, *_),) = choose_epochs([trained.answers], [training.truth], pooled=False)
    test, right = network.prepare(hidden[split.test]), []
    for state in trained.states:
        trained.fitted.module.load_state_dict(state)
        answers = network._outputs(trained.fitted.module, test, trained.fitted)
        right.append(int((answers.argmax(axis=1) == truth[split.test]).sum()))
    return {
        "dataset": dataset,
        "method": name,
        "split": seed,
        "test": len(split.test),
        "chosen_on_val": int(chosen),
        "right": right,
    }


def recorded() -> dict[str, dict[str, Any]]:
    """Return what the records say of each method at 10 %, of the revision with most of them."""
    found: dict[str, dict[str, Any]] = {}
    for dataset in dict.fromkeys((*DATASETS, *SOCIAL)):
        lines = (ROOT / "results" / f"{dataset}.jsonl").read_text().splitlines()
        for record in map(json.loads, lines):
            cell, result = record["cell"], record.get("result")
            usual = (cell["protocol"], cell["labels"], cell["parameters"]) == ("fair", LABELS, {})
            is_told = dataset in SOCIAL or cell["method"] in LUCKY
            if usual and is_told and result and cell["seed"] < 10:
                name = f"{cell['method']}, revision {cell['revision']}"
                own = found.setdefault(dataset, {}).setdefault(name, [])
                keys = ("accuracy", "accuracy_without_twins")
                own.append([cell["seed"], *(round(result[key], 2) for key in keys)])
    return {
        dataset: {name: sorted(own) for name, own in sorted(by.items()) if len(own) == 10}
        for dataset, by in found.items()
    }


def copies(dataset: str) -> list[dict[str, int]]:
    """Count TEST graphs that look like a labeled one, and what its class says of theirs."""
    graphs: GraphDataset = kgnn.load(dataset)
    look, found = twin_colors(graphs), []
    for seed in range(10):
        split = make_split(graphs, labels=LABELS, seed=seed)
        votes: dict[int, Ints] = {}
        for row in split.labeled:
            vote = votes.setdefault(int(look[row]), np.zeros(graphs.n_classes, dtype=np.int64))
            vote[graphs.targets[row]] += 1
        alike = [row for row in split.test if int(look[row]) in votes]
        right = [votes[int(look[row])].argmax() == graphs.targets[row] for row in alike]
        trained = np.concatenate([split.labeled, split.unlabeled, split.validation])
        found.append(
            {
                "test": len(split.test),
                "like_labeled": len(alike),
                "right": int(sum(right)),
                "like_any": int(np.isin(look[split.test], look[trained]).sum()),
            }
        )
    return found


# -- telling --------------------------------------------------------------------------------------


def tables() -> str:
    """Return the part of the page that has numbers."""
    known = json.loads(NUMBERS.read_text())
    return "\n\n".join(
        [
            *epoch_part(known["runs"]),
            *transductive_part(known["runs"]),
            *copies_part(known["copies"], known["records"]),
            *luck_part(known["records"]),
        ]
    )


Choice = Callable[[np.ndarray, Sequence[dict[str, Any]]], np.ndarray]
# By each rule, the accuracy of every split, given those of all epochs, (n_splits, n_epochs).
CHOICES: dict[str, Choice] = {
    "last epoch": lambda curves, _: curves[:, -1],
    "chosen on VAL": lambda curves, runs: curves[
        np.arange(len(runs)), [run["chosen_on_val"] for run in runs]
    ],
    "one epoch for all splits, on TEST": lambda curves, _: curves[:, curves.mean(axis=0).argmax()],
    "an epoch for each split, on TEST": lambda curves, _: curves.max(axis=1),
}


def by_choice(runs: list[dict[str, Any]], dataset: str, method: str) -> dict[str, np.ndarray]:
    own = [each for each in runs if (each["dataset"], each["method"]) == (dataset, method)]
    own.sort(key=lambda each: each["split"])
    curves = np.array([each["right"] for each in own]) / np.array([[each["test"]] for each in own])
    return {name: 100 * choose(curves, own) for name, choose in CHOICES.items()}


def epoch_part(runs: list[dict[str, Any]]) -> list[str]:
    rows, gains = [], []
    for dataset in DATASETS:
        for method in ("gnn-sup", "graphcl"):
            found = by_choice(runs, dataset, method)
            honest = found["chosen on VAL"]
            gains.append(found["an epoch for each split, on TEST"] - honest)
            cells = [
                _spread(values) if name in ("last epoch", "chosen on VAL")
                else f"{_spread(values)} ({_gain(values - honest)})"
                for name, values in found.items()
            ]  # fmt: skip
            rows.append([dataset_title(dataset), method_title(method), len(honest), *cells])
    least, most = (f"{end(each.mean() for each in gains):.1f}" for end in (min, max))
    return [
        "## Choosing the epoch on TEST",
        "The first two rules are honest. In brackets is the gain over the epoch that VAL chooses, "
        "± its standard error, corrected for overlapping splits.",
        _table(["dataset", "method", "splits", *CHOICES], rows),
        f"An epoch for each split adds {least} to {most} points that are not there on new graphs.",
    ]


def transductive_part(runs: list[dict[str, Any]]) -> list[str]:
    rows = []
    for dataset in DATASETS:
        plain, other = (
            by_choice(runs, dataset, method)["chosen on VAL"]
            for method in ("graphcl", TRANSDUCTIVE)
        )
        n = min(len(plain), len(other))
        gain = other[:n] - plain[:n]
        p_value = corrected_paired_t_test(gain, OVERLAP)
        rows.append(
            [dataset_title(dataset), n, _spread(plain[:n]), _spread(other[:n]), _gain(gain),
             f"{p_value:.2f}"]
        )  # fmt: skip
    headings = ["dataset", "splits", "on TRAIN", "on all graphs", "gain", "p"]
    return [
        "## Pre-training on TEST graphs",
        "GraphCL, with an encoder that was pre-trained on the training graphs alone, and on all "
        "graphs without their classes; the epoch of fine-tuning is chosen on VAL. p is that of the "
        "corrected paired t-test.",
        _table(headings, rows),
    ]


def copies_part(found: dict[str, Any], records: dict[str, Any]) -> list[str]:
    rows = []
    for dataset, splits in found.items():
        total = {key: sum(each[key] for each in splits) for key in splits[0]}
        rows.append(
            [dataset_title(dataset), _share(total["like_any"], total["test"]),
             _share(total["like_labeled"], total["test"]),
             _share(total["right"], total["like_labeled"])]
        )  # fmt: skip
    seen = [
        "dataset", "like a graph of TRAIN or VAL", "like a labeled graph",
        "of these, its class is right",
    ]  # fmt: skip
    methods = []
    for dataset in found:
        gains = []
        for by_split in records[dataset].values():
            values = np.array([row[1:] for row in by_split], dtype=np.float64)
            gains.append((values[:, 0] - values[:, 1]).mean())
        methods.append(
            [dataset_title(dataset), len(gains), _signed(np.mean(gains)),
             f"{_signed(min(gains))} to {_signed(max(gains))}"]
        )  # fmt: skip
    return [
        "## Copies in TRAIN and TEST",
        "Shares of the TEST graphs of ten splits. Two graphs are alike if six "
        "Weisfeiler-Lehman steps do not tell them apart; the class of several labeled graphs is "
        "that of most of them.",
        _table(seen, rows),
        "Accuracy on all of TEST minus that on the graphs without a copy in TRAIN or VAL, mean "
        "over ten splits. A gain by copies would be positive:",
        _table(["dataset", "methods", "mean of methods", "from, to"], methods),
    ]


def luck_part(records: dict[str, Any]) -> list[str]:
    rows = []
    for dataset in DATASETS:
        for name, by_split in records[dataset].items():
            if name.partition(",")[0] in LUCKY:
                accuracy = np.array([row[1] for row in by_split])
                named, _, revision = name.partition(", ")
                rows.append(
                    [dataset_title(dataset), f"{method_title(named)}, {revision}",
                     _spread(accuracy), f"{accuracy.max():.1f}",
                     _signed(accuracy.max() - accuracy.mean()),
                     f"{accuracy.min():.1f}"]
                )  # fmt: skip
    headings = ["dataset", "method", "mean", "best split", "best − mean", "worst split"]
    return [
        "## One lucky split",
        "The same ten splits for all methods, from the records of the revisions named.",
        _table(headings, rows),
    ]


def _spread(values: np.ndarray) -> str:
    return f"{values.mean():.1f} ± {values.std(ddof=1):.1f}" if len(values) > 1 else "–"


def _gain(values: np.ndarray) -> str:
    """Return a mean difference and its standard error (Nadeau & Bengio)."""
    if len(values) < 2:
        return "–"
    error = np.sqrt(values.var(ddof=1) * (1 / len(values) + OVERLAP))
    return f"{_signed(values.mean())} ± {error:.1f}"


def _signed(value: Any) -> str:
    return f"{value:+.1f}".replace("-", "−")


def _share(n: int, of: int) -> str:
    return f"{100 * n / of:.0f} %"


def _table(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    n_words = sum(isinstance(cell, str) and not cell[:1].isdigit() for cell in rows[0][:2])
    lines = [headings, ["---"] * n_words + ["---:"] * (len(headings) - n_words), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def page() -> str:
    """Return the page with its numbers made anew."""
    before, begin, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{PAGE.name} must have a line {BEGIN} and below it a line {END}")
    return f"{before}{begin}\n{tables()}\n{end}{after}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--measure", action="store_true", help="run what is missing first")
    parser.add_argument("--splits", type=int, default=10)
    options = parser.parse_args()
    if options.measure:
        measure(options.splits)
    write_text(PAGE, page())
