"""The command line ``kgnn``: one file per command, errors as one line."""

from __future__ import annotations

import signal
import sys
import warnings
from typing import Annotated, Any

import typer
from rich.text import Text
from typer.core import TyperGroup

from kgnn import __version__
from kgnn.cli import (
    bench,
    datasets,
    demo,
    evaluate,
    explain,
    fit,
    methods,
    model,
    predict,
    pretrain,
    report,
    run,
    similar,
    suggest,
)
from kgnn.cli.show import err
from kgnn.errors import KgnnError, MissingExtraError, ParameterError, UnknownNameError


class _Commands(TyperGroup):
    """All commands; one that is stopped by hand and has no more to say about it says so."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:  # typer itself would leave without a word
            err().print("stopped")
            raise typer.Exit(130) from None


app = typer.Typer(
    cls=_Commands,
    name="kgnn",
    help="Semi-supervised graph classification: many graphs, few labels.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("datasets")(datasets.datasets)
app.command("methods")(methods.methods)
app.command("fit")(fit.fit)
app.command("predict")(predict.predict)
app.command("evaluate")(evaluate.evaluate)
app.add_typer(model.app, name="model")
app.command("run")(run.run)
app.command("bench")(bench.bench)
app.command("report")(report.report)
app.command("pretrain")(pretrain.pretrain)
app.command("explain")(explain.explain)
app.command("similar")(similar.similar)
app.command("suggest")(suggest.suggest)
app.command("demo")(demo.demo)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
    debug: Annotated[bool, typer.Option(help="Show the full traceback of errors.")] = False,
) -> None:
    """Semi-supervised graph classification: many graphs, few labels."""
    context.obj = {"debug": debug}


def main() -> None:
    """Run the command line; misuse exits with 2, failure with 1."""
    warnings.showwarning = _show_warning
    # Who ends a job politely, as schedulers do, is heard like Ctrl-C: what is finished is kept.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        app()
    except KgnnError as error:
        if "--debug" in sys.argv:
            raise
        _say("red", "error", error)
        misuse = (ParameterError, UnknownNameError, MissingExtraError)
        sys.exit(2 if isinstance(error, misuse) else 1)
    except OSError as error:  # a disk that is full, or gone
        if "--debug" in sys.argv or isinstance(error, BrokenPipeError):
            raise
        _say("red", "error", error)
        sys.exit(1)
    except KeyboardInterrupt:
        err().print("stopped")
        sys.exit(130)


def _show_warning(message: Any, *_: Any, **__: Any) -> None:
    _say("yellow", "warning", message)


def _say(color: str, what: str, message: Any) -> None:
    told = Text.assemble((f"{what}:", f"bold {color}"), f" {message}")
    err().print(told, highlight=False, soft_wrap=True)
