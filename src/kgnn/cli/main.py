"""The command line ``kgnn``: one file per command, one line per error."""

from __future__ import annotations

import re
import signal
import sys
import warnings
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Annotated, Any

import typer
from rich.text import Text
from typer.core import TyperCommand, TyperGroup, TyperOption

from kgnn import __version__
from kgnn.cli.show import err
from kgnn.errors import KgnnError, MissingExtraError, ParameterError, UnknownNameError

# Each name is a file in this folder that defines a function or a typer app of the same name.
_COMMANDS = (
    "datasets",
    "methods",
    "compare",
    "fit",
    "predict",
    "evaluate",
    "model",
    "run",
    "bench",
    "pack",
    "report",
    "pretrain",
    "explain",
    "similar",
    "suggest",
    "label",
    "serve",
    "demo",
    "doctor",
)


class _Commands(TyperGroup):
    """The group of all commands; refuses empty words and reports an interrupt."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse an empty word, which would be read as the current folder or be ignored."""
        for before, word in zip(["kgnn", *args], args, strict=False):
            if not word or re.fullmatch("--[a-z-]+=", word):
                given = f"'{word}'" if word else f"an empty word after '{before}'"
                raise ParameterError(f"Words must not be empty, got {given}. Is a variable unset?")
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:  # typer itself would exit without a message
            err().print("stopped")
            raise typer.Exit(130) from None


class _Command(TyperCommand):
    """A command that refuses a repeated option; click would silently keep the last value."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _, _, order = self.make_parser(ctx).parse_args(list(args))
        for each in order:
            is_single = isinstance(each, TyperOption) and not (each.multiple or each.is_flag)
            if is_single and order.count(each) > 1:
                raise ParameterError(f"{each.opts[0]} is given twice but takes one value.")
        return super().parse_args(ctx, args)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(__version__)
        raise typer.Exit


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


def make_app(commands: Iterable[str] = _COMMANDS) -> typer.Typer:
    """Build the command line from the files of the commands."""
    made = typer.Typer(
        cls=_Commands,
        name="kgnn",
        help="Semi-supervised graph classification: many graphs, few labels.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    made.callback()(options)
    for name in commands:
        command = getattr(import_module(f"kgnn.cli.{name}"), name)
        if isinstance(command, typer.Typer):
            made.add_typer(command, name=name)
        else:
            made.command(name, cls=_Command)(command)
    return made


app = make_app()


def main() -> None:
    """Run the command line; misuse exits with 2, failure with 1."""
    warnings.showwarning = _showing_once()
    # Schedulers send SIGTERM; it stops like Ctrl-C, which keeps what is finished.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        app()
    except KgnnError as error:
        if "--debug" in sys.argv:
            raise
        _say("red", "error", error)
        misuse = (ParameterError, UnknownNameError, MissingExtraError)
        sys.exit(2 if isinstance(error, misuse) else 1)
    except OSError as error:  # the disk is full or gone
        if "--debug" in sys.argv or isinstance(error, BrokenPipeError):
            raise
        _say("red", "error", error)
        sys.exit(1)
    except KeyboardInterrupt:
        err().print("stopped")
        sys.exit(130)


def _showing_once() -> Callable[..., None]:
    """Return a hook that shows each warning once; a method may be fitted many times."""
    shown = set[str]()

    def show(message: Any, *_: Any, **__: Any) -> None:
        if str(message) not in shown:
            shown.add(str(message))
            _say("yellow", "warning", message)

    return show


def _say(color: str, what: str, message: Any) -> None:
    told = Text.assemble((f"{what}:", f"bold {color}"), f" {message}")
    err().print(told, highlight=False, soft_wrap=True)
