"""All parameters of a module in one vector, so that each update is one operation and not dozens."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from kgnn.engine.fast.fused import Fused, can_be_fused
from kgnn.engine.gin import GIN


class Flat:
    """The parameters of a module and their gradients, as two vectors.

    ``weights`` holds all parameters, one after another; the module's own are views of it.
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
        self._gins = [each for each in module.modules() if isinstance(each, GIN)]
        for gin in self._gins:
            gin.fused = self._fused(gin)

    @property
    def gradient(self) -> Tensor:
        """The gradient of all parameters."""
        assert self.weights.grad is not None
        return self.weights.grad

    def _fused(self, gin: GIN) -> Fused | None:
        """Return the fused version of a GIN whose parameters are one part of the vector."""
        start = next(gin.parameters()).storage_offset()
        n_weights = 0
        for parameter in gin.parameters():
            if parameter.storage_offset() != start + n_weights or not parameter.requires_grad:
                return None
            n_weights += parameter.numel()
        if not can_be_fused(gin):
            return None
        part = slice(start, start + n_weights)
        leaf = self.weights.detach()[part].requires_grad_()
        leaf.grad = self.gradient[part]
        return Fused(gin, leaf)

    def release(self) -> None:
        """Give the module its own parameters again, without gradients."""
        for gin in self._gins:
            gin.fused = None
        for parameter in self._parameters:
            parameter.data = parameter.data.clone()
            parameter.grad = None


@contextmanager
def flattened(module: nn.Module) -> Iterator[Flat]:
    """Keep the parameters of a module in one vector inside the ``with`` block."""
    flat = Flat(module)
    try:
        yield flat
    finally:
        flat.release()


class Adam:
    """Torch's fused Adam on one vector, without the overhead of its optimizer class.

    Weight decay is added to the gradient.
    """

    def __init__(self, flat: Flat, learning_rate: float, weight_decay: float) -> None:
        self.flat, self.learning_rate, self.weight_decay = flat, learning_rate, weight_decay
        self._mean, self._square = (torch.zeros_like(flat.gradient) for _ in range(2))
        self._n_steps = torch.zeros(())

    def zero_grad(self) -> None:
        """Set the gradient to zero."""
        self.flat.gradient.zero_()

    @torch.no_grad()
    def step(self) -> None:
        """Update the weights."""
        self._n_steps += 1
        torch._fused_adam_(
            [self.flat.weights],
            [self.flat.gradient],
            [self._mean],
            [self._square],
            [],
            [self._n_steps],
            amsgrad=False,
            maximize=False,
            beta1=0.9,
            beta2=0.999,
            eps=1e-8,
            lr=self.learning_rate,
            weight_decay=self.weight_decay,
        )
