"""All parameters of a module in one vector, so that each update is one operation and not dozens."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class Flat:
    """The parameters of a module and their gradients, as two vectors.

    Attributes
    ----------
    weights : nn.Parameter
        All parameters, one after another; its gradient is that of all of them. The module's own
        parameters are views of it.
    """

    def __init__(self, module: nn.Module) -> None:
        self._parameters = list(module.parameters())
        vector = torch.cat([parameter.detach().flatten() for parameter in self._parameters])
        self.weights = nn.Parameter(vector)
        self.weights.grad = torch.zeros_like(vector)
        sizes = [parameter.numel() for parameter in self._parameters]
        for parameter, weights, gradient in zip(
            self._parameters, vector.split(sizes), self.weights.grad.split(sizes), strict=True
        ):
            parameter.data = weights.view_as(parameter)
            parameter.grad = gradient.view_as(parameter)

    @property
    def gradient(self) -> Tensor:
        """The gradient of all parameters."""
        assert self.weights.grad is not None
        return self.weights.grad

    def release(self) -> None:
        """Give the module parameters of its own again, without gradients."""
        for parameter in self._parameters:
            parameter.data = parameter.data.clone()
            parameter.grad = None


@contextmanager
def flattened(module: nn.Module) -> Iterator[Flat]:
    """Keep the parameters of a module in one vector for a while."""
    flat = Flat(module)
    try:
        yield flat
    finally:
        flat.release()
