"""List the modules of kgnn that a command runs before the first training step, in order.

The figures of ARCHITECTURE.md are the output of this script: ``python docs/count_modules.py``.
"""

from __future__ import annotations

import io
import os
import sys
import tempfile
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from types import FrameType
from typing import Any

import kgnn
from kgnn.cli.main import main

_PACKAGE = Path(kgnn.__file__).parent

_GRID = """
title = "one run"
methods = ["kgnn"]
datasets = ["cycles-and-trees"]
splits = 1
"""
_COMMANDS = (
    "kgnn fit cycles-and-trees --method kgnn -o model",
    "kgnn bench grid.toml --engine here -o store",
)


def modules_passed(command: str) -> list[str]:
    """Run a command; return the modules whose functions are called before the first ``backward``.

    What runs while a module is being imported does not count.
    """
    passed: dict[str, None] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event != "call":
            return
        name = frame.f_globals.get("__name__", "")
        if name == "torch._tensor" and frame.f_code.co_name == "backward":
            sys.setprofile(None)
            raise KeyboardInterrupt
        if name.startswith("kgnn.") and name not in passed and not _is_importing(frame):
            passed[name] = None

    sys.argv = command.split()
    sys.setprofile(note)
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()), suppress(SystemExit):
        main()
    return list(passed)


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_globals["__name__"].startswith("kgnn"):
            return True
        frame = frame.f_back
    return False


def _folder(module: str) -> str:
    folder = ".".join(module.split(".")[1:2])
    return folder if (_PACKAGE / folder).is_dir() else "ground"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("grid.toml").write_text(_GRID)
        for command in _COMMANDS:
            modules = modules_passed(command)
            print(f"{command}: {len(modules)} modules")
            print("  " + " ".join(name.removeprefix("kgnn.") for name in modules))
            folders = Counter(_folder(name) for name in modules)
            print("  " + ", ".join(f"{folder} {n}" for folder, n in folders.items()))
