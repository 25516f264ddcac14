"""Modules that remember their constructor arguments, so that they can be saved and rebuilt."""

from __future__ import annotations

import functools
import inspect
from typing import Any, TypeVar

from torch import nn

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
