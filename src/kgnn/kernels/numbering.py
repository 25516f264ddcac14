"""Give each distinct color a number, in increasing order, by sorts that stay in the cache.

Colors are uniform 64-bit hashes, and all that is done here lives on that:

- *Index in the low bits.* Sorting values is several times faster than finding the order that
  sorts them. So the low bits of each color are replaced by its position, the values are sorted, and
  the order is read off the low bits. The high bits nearly always decide; where they did not, the
  order is found the slow way.
- *Pieces.* Where few colors are distinct, every piece of the list is numbered by itself, and then
  the short list of what the pieces have found.
- *Buckets.* Where most are distinct, each piece is dealt to buckets by the high bits. A bucket
  holds consecutive colors, so that numbering one bucket after another numbers all.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Colors = NDArray[np.uint64]
Numbers = NDArray[np.int32]

_PIECE = 1 << 16  # positions within a piece are 16-bit numbers
_PIECES_THAT_PAY = 3
_COLORS_PER_BUCKET = 1 << 15
_MOST_BITS = 8  # buckets are dealt by sorting bytes, which takes linear time


def numbered(colors: Colors) -> tuple[Colors, Numbers]:
    """Return the distinct colors, sorted, and for each color its position among them.

    Examples
    --------
    >>> numbered(np.array([7, 3, 7], dtype=np.uint64))
    (array([3, 7], dtype=uint64), array([1, 0, 1], dtype=int32))
    """
    if len(colors) < _PIECES_THAT_PAY * _PIECE:
        return _at_once(colors)
    if 4 * len(_at_once(colors[:_PIECE])[0]) < _PIECE:
        return _in_pieces(colors)
    return _in_buckets(colors)


def _at_once(colors: Colors) -> tuple[Colors, Numbers]:
    order, ordered = _sorted(colors)
    is_new = np.empty(len(ordered), dtype=np.bool_)
    is_new[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=is_new[1:])
    position = np.cumsum(is_new, dtype=np.int32)
    position -= 1
    numbers = np.empty_like(position)
    numbers[order] = position
    return ordered[is_new], numbers


def _sorted(colors: Colors) -> tuple[NDArray[np.intp], Colors]:
    """Return an order that sorts the colors, and the colors in it."""
    low = np.uint64((1 << len(colors).bit_length()) - 1)
    packed = colors & ~low
    packed |= np.arange(len(colors), dtype=np.uint64)
    packed.sort()
    packed &= low
    order = packed.astype(np.intp, copy=False)
    ordered = colors[order]
    if (ordered[1:] < ordered[:-1]).any():  # two colors with the same high bits
        order = np.argsort(colors)
        ordered = colors[order]
    return order, ordered


def _in_pieces(colors: Colors) -> tuple[Colors, Numbers]:
    found, inside = zip(*(_at_once(colors[piece]) for piece in _pieces(colors)), strict=True)
    distinct, number = numbered(np.concatenate(found))
    starts = np.cumsum([0] + [len(each) for each in found])
    parts = [number[a:b][i] for (a, b), i in zip(pairwise(starts), inside, strict=True)]
    return distinct, np.concatenate(parts)


def _in_buckets(colors: Colors) -> tuple[Colors, Numbers]:
    bits = min(_MOST_BITS, (len(colors) // _COLORS_PER_BUCKET).bit_length())
    pieces = _pieces(colors)
    places = np.empty(len(colors), dtype=np.uint16)  # within the piece, by bucket
    dealt = np.empty_like(colors)
    starts = np.empty((len(pieces), (1 << bits) + 1), dtype=np.int64)
    for piece, start in zip(pieces, starts, strict=True):
        bucket = (colors[piece] >> np.uint64(64 - bits)).astype(np.uint8)
        order = np.argsort(bucket, kind="stable")
        places[piece] = order
        dealt[piece] = colors[piece][order]
        start[0] = piece.start
        start[1:] = piece.start + np.cumsum(np.bincount(bucket, minlength=1 << bits))

    numbers = np.empty(len(colors), dtype=np.int32)
    distinct: list[Colors] = []
    n_distinct = 0
    for first, last in pairwise(starts.T.tolist()):
        runs = [slice(a, b) for a, b in zip(first, last, strict=True)]
        found, inside = _at_once(np.concatenate([dealt[run] for run in runs]))
        inside += np.int32(n_distinct)
        n_distinct += len(found)
        distinct.append(found)
        begin = 0
        for run in runs:
            end = begin + run.stop - run.start
            numbers[run] = inside[begin:end]
            begin = end

    for piece in pieces:
        undealt = np.empty_like(numbers[piece])
        undealt[places[piece].astype(np.intp)] = numbers[piece]
        numbers[piece] = undealt
    return np.concatenate(distinct), numbers


def _pieces(colors: Colors) -> list[slice]:
    return [slice(a, min(a + _PIECE, len(colors))) for a in range(0, len(colors), _PIECE)]
