"""Make worker processes exit when their parent process does, even if it was killed."""

from __future__ import annotations

import os
import threading
import time

_LOOK_SECONDS = 0.5


def end_with(parent: int) -> None:
    """Exit this process soon after its parent, with the given process id, has ended.

    Call it once in a worker. A killed parent cannot notify its children, but they then get another
    parent process.
    """
    threading.Thread(target=_watch, args=(parent,), daemon=True, name="end with parent").start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK_SECONDS)
    os._exit(1)  # an exception would only end the thread
