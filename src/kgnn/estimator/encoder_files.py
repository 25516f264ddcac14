"""A pre-trained encoder as a folder that is safe to open: a description and plain arrays.

::

    encoder/
      encoder.json    what it is made of: format, kgnn version, method, dataset, width, layers, …
      weights.npz     the weights by name; no pickles

Whoever gets a folder from elsewhere can open it without trust: nothing in it is executed, and what
does not fit is refused with the reason.
"""

from __future__ import annotations

import json
import shutil
import struct
import tempfile
import tokenize
import zipfile
import zlib
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch
from torch import Tensor, nn

from kgnn.engine.gin import Encoder
from kgnn.engine.node_features import NodeFeatures
from kgnn.errors import GraphDataError, KgnnError, ParameterError

FORMAT = 1
_DESCRIPTION, _WEIGHTS = "encoder.json", "weights.npz"
_AGAIN = "make it again with `kgnn pretrain`"
# All that reading a file of unknown content may raise.
_DAMAGE = (
    OSError, EOFError, ValueError, LookupError, TypeError, AttributeError, RuntimeError,
    MemoryError, OverflowError, SyntaxError, tokenize.TokenError, struct.error,
    zipfile.BadZipFile, zlib.error,
)  # fmt: skip


@dataclass(frozen=True)
class EncoderPlan:
    """What the shapes and the meaning of an encoder's weights depend on.

    Attributes
    ----------
    encoder : {"gin", "gcn", "sage", "gat", "gin-pyg"}
    width, layers : int
    node_features : NodeFeatures
    """

    encoder: Encoder
    width: int
    layers: int
    node_features: NodeFeatures


@dataclass(frozen=True, eq=False)
class SavedEncoder:
    """An encoder with all that is needed to use it elsewhere.

    Attributes
    ----------
    plan : EncoderPlan
    weights : dict of str to Tensor
        Of the layers of a `kgnn.engine.gin.GIN`, by name.
    method, dataset : str
        What it was pre-trained by, and on.
    loss : list of float
        Of pre-training, by epoch.
    """

    plan: EncoderPlan
    weights: dict[str, Tensor]
    method: str
    dataset: str
    loss: list[float] = field(default_factory=list)

    def require(self, wanted: EncoderPlan, module: nn.Module) -> None:
        """Refuse an encoder that was made for a network of another shape, or for other graphs.

        Parameters
        ----------
        wanted : EncoderPlan
        module : nn.Module
            With the weights that are to be replaced, under the same names.
        """
        for name in ("encoder", "width", "layers"):
            mine, yours = getattr(self.plan, name), getattr(wanted, name)
            if mine != yours:
                raise ParameterError(
                    f"The pre-trained encoder has {name}={mine!r}, the model {name}={yours!r}: "
                    f"set {name}={mine!r}, or pre-train again with {name}={yours!r}."
                )
        _require_same_nodes(self.plan.node_features, wanted.node_features)
        own = {k: v for k, v in module.state_dict().items() if k.startswith("layers.")}
        different = sorted(own.keys() ^ self.weights.keys())
        if different:
            whose = "lacks" if different[0] in own else "has unknown"
            raise GraphDataError(
                f"the pre-trained encoder {whose} weights '{different[0]}'; {_AGAIN}"
            )
        for name, mine in self.weights.items():
            if (mine.shape, mine.dtype) != (own[name].shape, own[name].dtype):
                raise GraphDataError(
                    f"weights '{name}' of the pre-trained encoder are {_described(mine)}, expected "
                    f"{_described(own[name])}; {_AGAIN}"
                )


def save_encoder(encoder: SavedEncoder, folder: str | Path) -> None:
    """Write an encoder to a folder; whoever looks sees all of it or nothing.

    An encoder that is there already is replaced, and stays as it was if writing fails.
    """
    for name, value in encoder.weights.items():
        if not bool(value.isfinite().all()):
            raise KgnnError(
                f"pre-training has diverged: weights '{name}' are not finite; nothing was written"
            )
    place = require_place(folder)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(prefix=f".{place.name}-", dir=place.parent))
        try:
            _write(encoder, aside / "new")
            _replace(place, aside / "new", aside / "old")
        finally:
            if place.exists() or not (aside / "old").exists():  # else it is the only copy
                shutil.rmtree(aside, ignore_errors=True)
    except OSError as error:
        raise KgnnError(f"the encoder cannot be written to {place}: {error}") from error


def require_place(folder: str | Path) -> Path:
    """Return where an encoder may be written: nothing is there, or nothing but an encoder."""
    place = Path(folder).resolve()
    if place.is_dir():
        there = {each.name for each in place.iterdir()}
        strange = there - {_DESCRIPTION, _WEIGHTS} if _DESCRIPTION in there else there
        if strange:
            raise ParameterError(
                f"{place} is a folder with other things than an encoder in it, such as "
                f"'{min(strange)}'; give the name of a new folder."
            )
    elif place.exists():
        raise ParameterError(f"{place} is a file; give the name of a new folder.")
    return place


def open_encoder(folder: str | Path) -> SavedEncoder:
    """Open what `save_encoder` wrote; whether it fits a network, `SavedEncoder.require` says."""
    place = Path(folder)
    if not place.is_dir():
        raise ParameterError(
            f"There is no encoder at {place}; give a folder that `kgnn pretrain` has written."
        )
    return _described_encoder(place, _read_description(place / _DESCRIPTION))


def _write(encoder: SavedEncoder, folder: Path) -> None:
    folder.mkdir()
    arrays: dict[str, Any] = {name: value.numpy() for name, value in encoder.weights.items()}
    np.savez(folder / _WEIGHTS, **arrays)
    description = {
        "format": FORMAT,
        "kgnn": metadata.version("kgnn"),
        "method": encoder.method,
        "dataset": encoder.dataset,
        **asdict(encoder.plan),
        "loss": encoder.loss,
    }
    (folder / _DESCRIPTION).write_text(json.dumps(description, indent=2) + "\n", encoding="utf-8")


def _replace(place: Path, new: Path, old: Path) -> None:
    """Put a folder into the place of another, which comes back if that fails."""
    try:
        if place.exists():
            place.replace(old)
        new.replace(place)
    except BaseException:
        if old.exists() and not place.exists():
            old.replace(place)
        raise


def _read_description(file: Path) -> dict[str, Any]:
    try:
        description = json.loads(file.read_text(encoding="utf-8"))
        version = description["format"]
        if not isinstance(version, int) or version < 1:
            raise ValueError(f"its format is {version!r}")
    except _DAMAGE as error:
        raise _damaged(file, error) from error
    if version > FORMAT:
        raise GraphDataError(
            f"{file} has format {version}, this version of kgnn reads up to {FORMAT}; install the "
            f"version that wrote it ({description.get('kgnn', 'unknown')}) or a newer one"
        )
    checked: dict[str, Any] = description
    return checked


def _described_encoder(folder: Path, description: dict[str, Any]) -> SavedEncoder:
    try:
        nodes = description["node_features"]
        plan = EncoderPlan(
            _one_of(description["encoder"], get_args(Encoder)),
            _count(description["width"], 1),
            _count(description["layers"], 1),
            NodeFeatures(
                tuple(_text(name) for name in nodes["label_names"]),
                _count(nodes["n_attributes"], 0),
                _one_of(nodes["degrees"], (True, False)),
            ),
        )
        told = _text(description["method"]), _text(description["dataset"])
        loss = [float(each) for each in description["loss"]]
    except _DAMAGE as error:
        raise _damaged(folder / _DESCRIPTION, error) from error
    return SavedEncoder(plan, _read_weights(folder / _WEIGHTS), *told, loss)


def _read_weights(file: Path) -> dict[str, Tensor]:
    try:
        # Opened here, for numpy leaves a file open that it cannot read.
        with file.open("rb") as opened, np.load(opened, allow_pickle=False) as arrays:
            weights = {name: torch.from_numpy(arrays[name]) for name in arrays.files}
        for name, value in weights.items():
            if not bool(value.isfinite().all()):
                raise ValueError(f"'{name}' has numbers that are not finite")
    except _DAMAGE as error:
        raise _damaged(file, error) from error
    return weights


def _require_same_nodes(mine: NodeFeatures, yours: NodeFeatures) -> None:
    if mine != yours:
        raise ParameterError(
            f"The pre-trained encoder reads {_nodes_in_words(mine)}, the model "
            f"{_nodes_in_words(yours)}: pre-train on graphs of the same kind, with the same "
            "'features' and 'use_attributes'."
        )


def _nodes_in_words(nodes: NodeFeatures) -> str:
    names = nodes.label_names
    some = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
    kind = f"{len(names)} node labels ({some})" if names else "nodes without labels"
    kind = "degrees of nodes" if nodes.degrees else kind
    return f"{kind} and {nodes.n_attributes} attributes" if nodes.n_attributes else kind


def _described(value: Tensor) -> str:
    return f"{tuple(value.shape)} of {str(value.dtype).removeprefix('torch.')}"


def _damaged(file: Path, error: BaseException) -> GraphDataError:
    reason = f"no {error}" if isinstance(error, KeyError) else str(error) or type(error).__name__
    return GraphDataError(f"{file} is damaged or missing ({reason}); {_AGAIN}")


def _one_of(value: Any, known: tuple[Any, ...]) -> Any:
    if not any(value is each or (isinstance(each, str) and value == each) for each in known):
        raise ValueError(f"{value!r} is none of {', '.join(map(str, known))}")
    return value


def _count(value: Any, least: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"{value!r} is not a number from {least} on")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not a text")
    return value
