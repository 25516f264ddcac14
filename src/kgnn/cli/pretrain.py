"""``kgnn pretrain``: pre-train an encoder on many graphs, for methods to fine-tune."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from kgnn.cli.own_graphs import (
    JsonOption,
    ReadOption,
    SettingsOption,
    ThreadsOption,
    reading_options,
    require_writable_folder,
    save_anyway,
)
from kgnn.cli.show import out, print_json, progress_bars, say
from kgnn.errors import ParameterError

# Parameters of the later training with labels, and their counterparts for pre-training.
_OF_PRETRAINING = {
    "epochs": "pretrain_epochs",
    "batch_size": "pretrain_batch_size",
    "learning_rate": "pretrain_learning_rate",
}


def pretrain(
    method: Annotated[str, typer.Argument(help="A method that pre-trains, such as graphcl.")],
    dataset: Annotated[str, typer.Argument(help="A name from `kgnn datasets`, or a path.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for the encoder.")],
    settings: SettingsOption = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0,
    read: ReadOption = None,
    threads: ThreadsOption = 1,
    as_json: JsonOption = False,
) -> None:
    """Pre-train an encoder on all graphs of DATASET, ignoring their classes.

    For example: kgnn pretrain graphcl PROTEINS -o encoder; use it with
    kgnn run graphcl PROTEINS --set pretrained=encoder
    """
    from kgnn.estimator.parameters import parse

    options = reading_options(dataset, read)
    cls = _pretraining_class(method)
    chosen = parse(cls, settings or [])
    for name in chosen:
        if name in _OF_PRETRAINING:
            raise ParameterError(
                f"The '{name}' parameter of {method} is for training with labels and has no effect "
                f"here; use {_OF_PRETRAINING[name]}=… instead."
            )
    with progress_bars():
        from kgnn.graphs.loading import load
        from kgnn.threads import limit_threads

        require_writable_folder(output)  # fail now, not after an hour
        graphs = load(dataset, **options)
        started = time.perf_counter()
        with limit_threads(threads):
            encoder = cls(**{"random_state": seed, **chosen}).pretrain(graphs)
        file, is_in_place = save_anyway(encoder.save, output)
    summary = {
        "method": method.lower(),
        "dataset": graphs.name,
        "graphs": len(graphs),
        "seed": seed,
        "loss": encoder.loss,
        "seconds": round(time.perf_counter() - started, 3),
        "folder": str(output if is_in_place else file),
    }
    print_json(summary) if as_json else _tell(summary)
    if not is_in_place:
        raise typer.Exit(1)


def _tell(summary: dict[str, Any]) -> None:
    loss = summary["loss"]
    out().print(
        f"{summary['folder']}: encoder of {summary['method']}, {len(loss)} epochs on "
        f"{summary['graphs']} graphs of {summary['dataset']}, loss {loss[0]:.3f} → {loss[-1]:.3f}, "
        f"{summary['seconds']:.1f} seconds",
        highlight=False,
        soft_wrap=True,
    )
    say(
        f"Use it with --set pretrained={summary['folder']}. It has seen every graph of "
        f"{summary['dataset']}, but no class: accuracy on these graphs may differ from that on "
        "new ones."
    )


def _pretraining_class(name: str) -> Any:
    from kgnn.estimator.registry import entries, method_class

    cls: Any = method_class(name)
    if hasattr(cls, "pretrain"):
        return cls
    known = [each for each in entries() if hasattr(method_class(each), "pretrain")]
    raise ParameterError(
        f"The method '{name}' has no pre-training. Methods that do: {', '.join(sorted(known))}."
    )
