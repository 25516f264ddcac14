"""One run of a benchmark: a method with its parameters on one split of a dataset."""

from __future__ import annotations

import hashlib
import json
import shlex
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any


@dataclass(frozen=True)
class Cell:
    """All that decides a result, and nothing else.

    Attributes
    ----------
    dataset : str
        A name or path that `kgnn.load` knows.
    fingerprint : str
        Of the dataset's content.
    method : str
    parameters : dict
        Those that differ from the method's defaults.
    protocol : {"fair", "paper"}
    labels : float
        Labeled graphs as a share of all.
    seed : int
        Of the split and of the method.
    revision : int
        Of the method; see `kgnn.estimator.registry.Entry`.
    cases : int
        How many graphs to keep that p gets wrong and q gets right.
    """

    dataset: str
    fingerprint: str
    method: str
    parameters: dict[str, Any] = field(default_factory=dict)
    protocol: str = "fair"
    labels: float = 0.1
    seed: int = 0
    revision: int = 1
    cases: int = 0

    def __post_init__(self) -> None:
        plain = json.loads(json.dumps(self.parameters))  # as it comes back from a file
        object.__setattr__(self, "parameters", plain)

    def __hash__(self) -> int:
        return hash(self.key)

    @cached_property
    def key(self) -> str:
        """Name of the cell by its content; the path of the dataset does not count.

        Examples
        --------
        >>> one = Cell("PROTEINS", "a3", "wl", {"iterations": (1,)})
        >>> one.key == Cell("./PROTEINS.zip", "a3", "wl", {"iterations": [1]}).key
        True
        >>> one.key == Cell("PROTEINS", "a3", "wl").key
        False
        """
        content = {k: v for k, v in asdict(self).items() if k != "dataset"}
        text = json.dumps(content, sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()

    @property
    def command(self) -> str:
        """The command that runs this cell alone.

        Examples
        --------
        >>> print(Cell("DD", "a3", "wl", {"iterations": [1, 2]}, seed=3).command)
        kgnn run wl DD --protocol fair --labels 0.1 --seed 3 --splits 1 '--set=iterations=1, 2'
        """
        settings = [f"--set={k}={_plain(v)}" for k, v in self.parameters.items()]
        options = f"--protocol {self.protocol} --labels {self.labels:g} --seed {self.seed}"
        words = ["kgnn", "run", self.method, self.dataset, *options.split(), "--splits", "1"]
        return shlex.join([*words, *settings])

    def __str__(self) -> str:
        settings = "".join(f", {k}={_plain(v)}" for k, v in self.parameters.items())
        share = "" if self.labels == 0.1 else f", {self.labels:g} labels"
        return f"{self.method} on {self.dataset}, split {self.seed}{share}{settings}"


def _plain(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value)) or "()"
    return str(value)
