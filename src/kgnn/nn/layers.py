"""The layer of a GIN, and normalization of rows that stand for several nodes."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from kgnn.nn.batch import Batch


class GINLayer(nn.Module):
    """``x ← BN(ReLU(W₂ ReLU(W₁ (x + Σ_neighbors x))))``, with ε = 0."""

    def __init__(self, n_in: int, width: int) -> None:
        super().__init__()
        self.inner = nn.Linear(n_in, width)
        self.outer = nn.Linear(width, width)
        self.norm = nn.BatchNorm1d(width)

    def forward(self, x: Tensor, batch: Batch, depth: int) -> Tensor:
        """Map the vectors of one depth, ``(n_rows, n_in)``, to the next, ``(n_rows, width)``."""
        total = batch.gather(x, depth)
        x = torch.relu(self.outer(torch.relu(self.inner(total))))
        return batch_norm(self.norm, x, batch.weights(depth))


def batch_norm(norm: nn.BatchNorm1d, x: Tensor, weights: Tensor | None = None) -> Tensor:
    """Normalize, as if each row were there as often as its weight says.

    A batch of one row, which has no variance, takes the running statistics.
    """
    if not norm.training or (len(x) if weights is None else float(weights.sum())) < 2:
        return nn.functional.batch_norm(
            x, norm.running_mean, norm.running_var, norm.weight, norm.bias, False, 0.0, norm.eps
        )
    if weights is None:
        result: Tensor = norm(x)
        return result
    result, mean, variance = _WeightedNorm.apply(x, weights, norm.weight, norm.bias, norm.eps)
    with torch.no_grad():
        assert norm.num_batches_tracked is not None
        norm.num_batches_tracked += 1
        n_batches = float(norm.num_batches_tracked)
        share = 1 / n_batches if norm.momentum is None else norm.momentum
        total = weights.sum()
        norm.running_mean += share * (mean - norm.running_mean)
        norm.running_var += share * (variance * total / (total - 1) - norm.running_var)
    return result


class _WeightedNorm(torch.autograd.Function):
    """BatchNorm of rows that count several times, in training."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weights: Tensor, scale: Tensor, shift: Tensor, eps: float
    ) -> tuple[Tensor, Tensor, Tensor]:
        weights = weights.to(x.dtype)
        shares = weights / weights.sum()
        mean = shares @ x
        centered = x - mean
        variance = shares @ (centered * centered)
        inverse = (variance + eps).rsqrt()
        normal = centered * inverse
        ctx.save_for_backward(normal, shares, inverse, scale)
        ctx.mark_non_differentiable(mean, variance)
        return torch.addcmul(shift, normal, scale), mean, variance

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        normal, shares, inverse, scale = ctx.saved_tensors
        grad = grads[0]
        grad_shift = grad.sum(dim=0)
        grad_scale = (grad * normal).sum(dim=0)
        # Each row moves mean and variance by its share of the batch.
        common = torch.addcmul(grad_shift, normal, grad_scale)
        grad_x = torch.addcmul(grad, common, shares[:, None], value=-1) * (scale * inverse)
        return grad_x, None, grad_scale, grad_shift, None
