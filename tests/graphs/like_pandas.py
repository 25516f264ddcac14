"""Stand-ins for what pandas does to those who index, compare or iterate; it is not needed here."""

from __future__ import annotations

import numpy as np


class Series:
    """Values with an index: ``series[3]`` is what the index calls 3, wherever it stands."""

    ndim = 1

    def __init__(self, values, index):
        self._values, self._place = list(values), {label: at for at, label in enumerate(index)}

    def __len__(self):
        return len(self._values)

    def __iter__(self):
        return iter(self._values)

    def __getitem__(self, label):
        return self._values[self._place[label]]


class Table:
    """A DataFrame of one column, which iterates over its header."""

    ndim = 2

    def __init__(self, name, values):
        self._name, self._values = name, values

    def __iter__(self):
        return iter([self._name])

    def to_numpy(self):
        return np.array(self._values)[:, None]


class MissingValue:
    """pandas.NA: compared with anything it is NA again, which is neither true nor false."""

    def __eq__(self, other):
        return self

    def __ne__(self, other):
        return self

    def __hash__(self):
        return 1

    def __bool__(self):
        raise TypeError("boolean value of NA is ambiguous")


NA = MissingValue()
