"""What a message shows of a file that cannot be read: enough to find the place, never all of it."""

from __future__ import annotations

LENGTH = 80


def excerpt(value: object, length: int = LENGTH) -> str:
    """Return the beginning of a text, with an ellipsis where something is left out.

    Examples
    --------
    >>> excerpt("short"), excerpt(["a" * 9, "b" * 9], length=14)
    ('short', "['aaaaaaaaa', …")
    """
    text = str(value)
    return text if len(text) <= length else f"{text[:length]}…"
