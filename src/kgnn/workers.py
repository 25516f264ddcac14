"""Processes that work for another one end when it does, however it ended."""

from __future__ import annotations

import os
import threading
import time

_LOOK_SECONDS = 0.5


def end_with(parent: int) -> None:
    """End this process soon after the one that started it, whose number is given, is gone.

    Called once in a worker. A process that was killed can tell nobody, but its children then get
    another parent.
    """
    threading.Thread(target=_watch, args=(parent,), daemon=True, name="end with parent").start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK_SECONDS)
    os._exit(1)  # nobody is left whom an exception could reach
