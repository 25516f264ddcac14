"""What happens to files between those who write and those who read them, as hypothesis strategies.

`mutated` is harm: a file cut short, bytes flipped, lines lost. `rewritten` is what editors and
transfers do that should make no difference.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from hypothesis import strategies as st

_BOM = b"\xef\xbb\xbf"
# Numbers that are too large, too small or none, for the places of numbers.
_NUMBERS = (
    b"-1", b"0", b"1.5", b"1e999", b"1e-400", b"NaN", b"Infinity", b"null", b"true", b"[]", b'""',
    b"2147483647", b"2147483648", b"4611686018427387904", b"9223372036854775808", b"9" * 400,
    b"9" * 5000, b"1 2", b"0x10", b"1_0", "٣".encode(),
)  # fmt: skip
_STRAY = (
    b"\x00", b"\xff", b"\xfe\xff", b"\xed\xa0\x80", _BOM, b"\r", b"\n", b"\t", b" ", b",", b";",
    b'"', b"'", b"\\", b"\\ud800", b"\\u0000", b"{", b"}", b"[", b"]", b"<", b">", b"&#xD800;",
    b"&#0;", b"&x;", b"<!DOCTYPE x>", b"(", b"%", b"=", b"#", b"[" * 2000, b"x" * 200_000,
)  # fmt: skip

Mutation = Callable[[st.DrawFn, bytes], bytes]


def _place(draw: st.DrawFn, content: bytes) -> int:
    return draw(st.integers(0, max(len(content) - 1, 0)))


def _truncated(draw: st.DrawFn, content: bytes) -> bytes:
    return content[: _place(draw, content)]


def _flipped(draw: st.DrawFn, content: bytes) -> bytes:
    at = _place(draw, content)
    return content[:at] + bytes([draw(st.integers(0, 255))]) + content[at + 1 :]


def _inserted(draw: st.DrawFn, content: bytes) -> bytes:
    at = _place(draw, content)
    return content[:at] + draw(st.sampled_from(_STRAY) | st.binary(max_size=4)) + content[at:]


def _shortened(draw: st.DrawFn, content: bytes) -> bytes:
    at = _place(draw, content)
    return content[:at] + content[at + draw(st.integers(1, 20)) :]


def _renumbered(draw: st.DrawFn, content: bytes) -> bytes:
    """Put another number, or what is none, in the place of a number."""
    places = [found.span() for found in re.finditer(rb"-?\d+(\.\d+)?", content)]
    if not places:
        return content
    start, end = draw(st.sampled_from(places))
    return content[:start] + draw(st.sampled_from(_NUMBERS)) + content[end:]


def _lines(change: Callable[[st.DrawFn, list[bytes], int, int], None]) -> Mutation:
    def mutate(draw: st.DrawFn, content: bytes) -> bytes:
        lines = content.splitlines(keepends=True)
        if lines:
            some = st.integers(0, len(lines) - 1)
            change(draw, lines, draw(some), draw(some))
        return b"".join(lines)

    return mutate


def _drop(_: st.DrawFn, lines: list[bytes], one: int, __: int) -> None:
    del lines[one]


def _repeat(_: st.DrawFn, lines: list[bytes], one: int, other: int) -> None:
    lines.insert(other, lines[one])


def _swap(_: st.DrawFn, lines: list[bytes], one: int, other: int) -> None:
    lines[one], lines[other] = lines[other], lines[one]


_MUTATIONS: tuple[Mutation, ...] = (
    _truncated, _flipped, _inserted, _shortened, _renumbered, _renumbered,
    _lines(_drop), _lines(_repeat), _lines(_swap),
)  # fmt: skip


@st.composite
def mutated(draw: st.DrawFn, content: bytes) -> bytes:
    """Draw a file that was damaged once or a few times, or now and then is something else."""
    if draw(st.integers(0, 15)) == 0:
        return draw(st.binary(max_size=100))
    for mutate in draw(st.lists(st.sampled_from(_MUTATIONS), min_size=1, max_size=3)):
        content = mutate(draw, content)
    return content


def rewritten(content: bytes) -> st.SearchStrategy[bytes]:
    """Draw the same text with other ends of lines, a byte order mark, or blank lines at its end."""
    with_ends = st.sampled_from([content, content.replace(b"\n", b"\r\n"), content.rstrip(b"\n")])
    return st.builds(
        lambda mark, text, blank: mark + text + blank,
        st.sampled_from([b"", _BOM]),
        with_ends,
        st.sampled_from([b"", b"\n", b"\n\n", b"\r\n", b" \n"]),
    )
