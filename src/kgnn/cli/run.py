"""``kgnn run``: evaluate a method on a dataset over several splits."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from kgnn.cli.own_graphs import (
    JsonOption,
    MetricOption,
    PresetOption,
    ReadOption,
    SettingsOption,
    ThreadsOption,
    chosen_parameters,
    graph_sources,
    method_names,
    reading_options,
)
from kgnn.cli.show import err, out, print_json, progress_bars, say, table
from kgnn.errors import KgnnWarning

if TYPE_CHECKING:
    from kgnn.evaluation.protocol import SplitResult

_INTERRUPTED = 130


def run(
    method: Annotated[
        str,
        typer.Argument(
            help="A name from `kgnn methods`, or FILE.py:Class.", autocompletion=method_names
        ),
    ],
    dataset: Annotated[
        str,
        typer.Argument(
            help="A name from `kgnn datasets`, or a path.", autocompletion=graph_sources
        ),
    ],
    labels: Annotated[
        str,
        typer.Option(help="Labels as a share of all graphs; with budget also 20 or 5/class."),
    ] = "0.1",
    protocol: Annotated[
        str,
        typer.Option(
            help="fair (a new split per seed), paper (one fixed split) or budget (as fair, without "
            "a validation set)."
        ),
    ] = "fair",
    metric: MetricOption = "accuracy",
    splits: Annotated[int, typer.Option(min=1, help="Number of splits.")] = 5,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first split.")] = 0,
    settings: SettingsOption = None,
    preset: PresetOption = None,
    read: ReadOption = None,
    threads: ThreadsOption = 1,
    as_json: JsonOption = False,
) -> None:
    """Evaluate METHOD on DATASET: train on TRAIN, select on VAL, score once on TEST.

    For example: kgnn run wl PROTEINS --splits 10
    """
    from kgnn.estimator.metrics import require_metric
    from kgnn.estimator.registry import method_class, name_of
    from kgnn.evaluation.splits import parse_labels, require_terms

    headline, budget = require_metric(metric), parse_labels(labels)
    require_terms(protocol, budget)
    options = reading_options(dataset, read)
    cls = method_class(method)
    chosen = chosen_parameters(cls, preset, settings, headline)
    results: list[SplitResult] = []
    is_stopped = False
    with progress_bars(news=not as_json) as bars:
        waiting = bars.add_task(f"{method} on {dataset}", total=splits)
        from kgnn.evaluation.protocol import Evaluation, evaluate_splits, settings_for
        from kgnn.graphs.loading import load
        from kgnn.threads import limit_threads

        graphs, usual = load(dataset, **options), settings_for(dataset, cls)
        if usual.keys() - chosen.keys() and graphs.node_attributes is not None:
            say("node attributes are ignored, as in the paper: use_node_attributes=False")
        with limit_threads(threads), warnings.catch_warnings():
            # That warning is about a model to keep; this one is discarded.
            warnings.filterwarnings("ignore", ".* was stopped by hand", KgnnWarning)
            try:
                for result in evaluate_splits(
                    lambda each: cls(**{**usual, "random_state": each, **chosen}),
                    graphs,
                    protocol=protocol,
                    labels=budget,
                    splits=splits,
                    seed=seed,
                ):
                    results.append(result)
                    if result.rounds and not as_json:
                        say(_annotations_in_words(result))
                    bars.advance(waiting)
            except KeyboardInterrupt:
                is_stopped = True
    if results:
        evaluation = Evaluation(name_of(cls), graphs.name, protocol, budget, tuple(results))
        summary = evaluation.summary(headline)
        if len(results) == 1:
            summary["std"] = None  # unknown from a single split
        if as_json:
            print_json(summary)
        else:
            out().print(_as_table(summary))
            say(_in_words(summary), *_other_metrics(summary))
    if is_stopped:
        kept = "the numbers are of these alone" if results else "there are no results"
        err().print(f"stopped after {len(results)} of {splits} splits; {kept}", highlight=False)
        raise typer.Exit(_INTERRUPTED)


def _as_table(summary: dict[str, Any]) -> Table:
    from kgnn.estimator.metrics import METRICS
    from kgnn.evaluation.splits import labels_in_words

    title = (
        f"{summary['method']} on {summary['dataset']}, {labels_in_words(summary['labels'])}, "
        f"{summary['protocol']} protocol"
    )
    metric, is_accuracy = METRICS[summary["metric"]], summary["metric"] == "accuracy"
    # Without VAL, show the method's own estimate instead.
    has_val = summary["protocol"] != "budget"
    before = "validation_accuracy" if has_val else "expected_accuracy"
    headings = [">TEST %"] if is_accuracy else [f">TEST {metric.title}{metric.unit}", ">accuracy %"]
    names = ["accuracy"] if is_accuracy else [summary["metric"], "accuracy"]
    first = (">seed", ">labeled", ">VAL %" if has_val else ">expected %")
    grid = table(title, *first, *headings, ">majority %", ">seconds")
    for split in summary["splits"]:
        expected = METRICS["accuracy"].written(split[before])
        numbers = [METRICS[name].written(split[name]) for name in names]
        ends = (f"{split[key]:.1f}" for key in ("majority_share", "seconds"))
        grid.add_row(str(split["seed"]), str(split["labeled"]), expected, *numbers, *ends)
    grid.add_section()
    means = [METRICS[name].written(summary["metrics"][name]) for name in names]
    means[0] += "" if summary["std"] is None else f" ± {metric.written(summary['std'])}"
    seconds = summary["seconds"] / len(summary["splits"])
    grid.add_row("mean", "", "", *means, f"{summary['majority_share']:.1f}", f"{seconds:.1f}")
    return grid


def _annotations_in_words(split: SplitResult) -> str:
    """Report the precision of each round's annotations, which only the evaluation can compute."""
    right = [each["precision"] for each in split.rounds]
    told = ", ".join(f"{each:.1f} %" for each in right if each is not None)
    return f"seed {split.seed}: precision of the annotations by round: {told or 'no annotations'}"


def _in_words(summary: dict[str, Any]) -> str:
    from kgnn.evaluation.metrics import binomial_error

    n_test = summary["splits"][0]["test"]
    error = 100 * binomial_error(summary["metrics"]["accuracy"] / 100, n_test)
    apart = (
        "A single split has no standard deviation"
        if summary["std"] is None
        else "± is the standard deviation over splits"
    )
    return (
        f"{apart}; sampling {n_test} test graphs alone causes ± {error:.1f} in accuracy. "
        f"Peak memory {summary['peak_mib'] or float('nan'):.0f} MiB."
    )


def _other_metrics(summary: dict[str, Any]) -> list[str]:
    """Return lines with the means of the other metrics, and recalls far from the headline."""
    from kgnn.estimator.metrics import METRICS
    from kgnn.evaluation.metrics import recalls_apart, recalls_in_words

    told = ", ".join(
        f"{METRICS[name].title} {METRICS[name].written(value)}"
        for name, value in summary["metrics"].items()
        if name != summary["metric"]
    )
    lines = [f"Also {told}."]
    has_percent = METRICS[summary["metric"]].is_percent and summary["mean"] is not None
    middle = summary["mean"] if has_percent else summary["metrics"]["accuracy"]
    if apart := recalls_apart(summary["recalls"], middle):
        lines.append(f"By class: {recalls_in_words(apart, middle)}.")
    return lines
