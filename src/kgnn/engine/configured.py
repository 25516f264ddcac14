"""Modules that remember their constructor arguments, so that they can be saved and rebuilt."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

M = TypeVar("M", bound=type[nn.Module])


def configured(cls: M) -> M:
    """Keep the constructor arguments of each instance, defaults included, in ``config``.

    Examples
    --------
    >>> @configured
    ... class Double(nn.Module):
    ...     def __init__(self, width: int, bias: bool = True) -> None:
    ...         super().__init__()
    >>> Double(3).config
    {'width': 3, 'bias': True}
    """
    init: Any = cls.__init__
    signature = inspect.signature(init)

    @functools.wraps(init)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        given = signature.bind(self, *args, **kwargs)
        given.apply_defaults()
        init(self, *args, **kwargs)
        # After the constructor, so that the arguments of a subclass win. Modules inside a dict are
        # not registered as submodules a second time.
        self.config = dict(list(given.arguments.items())[1:])

    cls.__init__ = __init__  # type: ignore[method-assign]
    return cls


def drawn(shape: tuple[int, ...], draw: Callable[[], Tensor]) -> Tensor:
    """Return what ``draw`` does: random numbers of that shape.

    On the device ``meta``, where saved weights take their place, nothing is drawn: normal numbers
    there load the whole of torch's compiler, which takes longer than all else of opening a model.
    """
    place = torch.empty(shape)
    return place if place.is_meta else draw()
