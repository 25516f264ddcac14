"""``kgnn model show``: a saved model's method, data, parameters and expected accuracy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from kgnn.cli.own_graphs import JsonOption, require_model
from kgnn.cli.show import out, print_json, progress_bars, table

model = typer.Typer(help="Inspect saved models.", no_args_is_help=True)


@model.callback()
def group() -> None:
    """Inspect saved models."""


@model.command()
def show(
    path: Annotated[Path, typer.Argument(metavar="MODEL", help="A saved model.")],
    as_json: JsonOption = False,
) -> None:
    """Show the method, its data, parameters, expected accuracy and rounds.

    For example: kgnn model show model
    """
    require_model(path)
    with progress_bars() as bars:
        bars.add_task("opening the model", total=None)
        record = _record(path)
    print_json(record) if as_json else _show(record)


def _record(path: Path) -> dict[str, Any]:
    from kgnn.estimator.saving import describe_model, open_model
    from kgnn.evaluation.model_facts import (
        basis_in_words,
        changed_parameters,
        held_out_quality,
        rounds_of,
    )

    told, model = describe_model(path), open_model(path)
    held = held_out_quality(model)
    return {
        **{key: told[key] for key in ("file", "method", "fitted_on")},
        "parameters": changed_parameters(model),
        "held_out": held and held.short_record(),
        "worth": f"not known: {basis_in_words(model)}" if held is None else held.in_words(),
        "unused": list(model.unused_),
        "rounds": [each._asdict() for each in rounds_of(model)],
        "ending": model.story().ending or None,
        "interrupted": model.interrupted_,
        **{key: told[key] for key in ("saved", "versions", "bytes")},
    }


def _show(record: dict[str, Any]) -> None:
    grid = table(f"Model {record['file']}", "", "")
    grid.show_header = False
    for name, value in _lines(record):
        grid.add_row(name, Text(value))  # class names may look like markup
    console = out()
    console.print(grid)
    if record["rounds"]:
        console.print(_rounds(record["rounds"]))
        from kgnn.evaluation.model_facts import ENDINGS

        console.print(ENDINGS.get(record["ending"], record["ending"]), highlight=False)


def _lines(record: dict[str, Any]) -> list[tuple[str, str]]:
    fitted = record["fitted_on"]
    changed = ", ".join(f"{key}={value!r}" for key, value in record["parameters"].items())
    numbers = [f"{fitted[kind]:,} {kind}" for kind in ("labeled", "unlabeled")]
    numbers += [f"{fitted['validation']:,} for validation"] if fitted["validation"] else []
    return [
        ("method", record["method"]),
        ("parameters", changed or "defaults"),
        ("data", str(fitted["name"])),
        ("graphs", ", ".join(numbers)),
        *([("unused", ", ".join(record["unused"]))] if record["unused"] else []),
        ("classes", ", ".join(map(str, fitted["classes"]))),
        ("accuracy", record["worth"]),
        *([("stopped", "by hand, before fitting was complete")] * record["interrupted"]),
        ("saved", f"{record['saved']}, {record['bytes'] / 1e6:.2f} MB"),
        ("versions", ", ".join(f"{name} {text}" for name, text in record["versions"].items())),
    ]


def _rounds(rounds: list[dict[str, Any]]) -> Any:
    from kgnn.reports.paper import network_title

    networks = list(dict.fromkeys(name for each in rounds for name in each["accuracy"]))
    titles = [f">{network_title(name)} %" for name in networks]
    grid = table("Rounds", ">round", ">annotated", ">agree %", *titles)
    for number, each in enumerate(rounds):
        agreed = "" if each["agreement"] is None else f"{100 * each['agreement']:.1f}"
        accuracy = [f"{100 * each['accuracy'].get(name, float('nan')):.1f}" for name in networks]
        grid.add_row(str(number), f"{each['selected']:,}", agreed, *accuracy)
    return grid
