"""The layer of a GIN as one function with a hand-written gradient.

On small graphs, recording and replaying a dozen operations takes longer than computing them. The
plain version is `kgnn.engine.gin.GINLayer.plain`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor, nn

from kgnn.engine.sparse import Sums, Weights

if TYPE_CHECKING:
    from kgnn.engine.batch import Batch
    from kgnn.engine.gin import GINLayer


def gin_layer(layer: GINLayer, x: Tensor, batch: Batch, depth: int) -> Tensor:
    """Return what ``layer.plain(x, batch, depth)`` returns, with the same gradients."""
    inner, outer, norm = layer.inner, layer.outer, layer.norm
    x = layer.send(x, batch, depth)
    sums, weights = batch.sums(depth), batch.weights(depth)
    matrices = inner.weight, inner.bias, outer.weight, outer.bias
    if weights is None or weights.total < 2 or not norm.training:
        return batch_norm(norm, _Layer.apply(x, sums, *matrices))
    result, mean, variance = _Layer.apply(
        x, sums, *matrices, norm.weight, norm.bias, weights, norm.eps
    )
    update_running_stats([norm], [mean], [variance.mul_(weights.total / (weights.total - 1))])
    return result


def batch_norm(norm: nn.BatchNorm1d, x: Tensor) -> Tensor:
    """Normalize; a batch of one row, which has no variance, takes the running statistics."""
    if norm.training and len(x) < 2:
        return nn.functional.batch_norm(
            x, norm.running_mean, norm.running_var, norm.weight, norm.bias, False, 0.0, norm.eps
        )
    result: Tensor = norm(x)
    return result


def update_running_stats(
    norms: Sequence[nn.BatchNorm1d], means: list[Tensor], variances: list[Tensor]
) -> None:
    """Update running statistics as BatchNorm does, those of several norms in one call."""
    counters = [cast("Tensor", norm.num_batches_tracked) for norm in norms]
    torch._foreach_add_(counters, 1)
    # An earlier pass may have saved these tensors for its gradient, which does not read them. With
    # ``data`` torch does not notice the change and does not refuse to compute that gradient.
    running = [cast("Tensor", norm.running_mean).data for norm in norms]
    running += [cast("Tensor", norm.running_var).data for norm in norms]
    momenta = {norm.momentum for norm in norms}
    if len(momenta) == 1 and None not in momenta:
        torch._foreach_lerp_(running, means + variances, cast("float", norms[0].momentum))
        return
    shares = [
        1 / int(n) if norm.momentum is None else norm.momentum
        for norm, n in zip(norms, counters, strict=True)
    ]
    for old, new, share in zip(running, means + variances, shares * 2, strict=True):
        old.lerp_(new, share)


class _Layer(torch.autograd.Function):
    """``ReLU(W₂ ReLU(W₁ S x + b₁) + b₂)`` with sparse sums S; with ``weights``, then BatchNorm."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        sums: Sums,
        w1: Tensor,
        b1: Tensor,
        w2: Tensor,
        b2: Tensor,
        scale: Tensor | None = None,
        shift: Tensor | None = None,
        weights: Weights | None = None,
        eps: float = 0.0,
    ) -> Any:
        total = sums.forward(x)
        hidden = torch.addmm(b1, total, w1.t()).relu_()
        result = torch.addmm(b2, hidden, w2.t()).relu_()
        ctx.sums = sums
        if weights is None:
            ctx.save_for_backward(total, hidden, result, w1, w2)
            return result
        assert scale is not None
        assert shift is not None
        shares = weights.counts.to(x.dtype) / weights.total
        mean = shares @ result
        normal = result - mean
        variance = shares @ normal.square()
        inverse = (variance + eps).rsqrt_()
        normal.mul_(inverse)
        ctx.save_for_backward(total, hidden, result, w1, w2, normal, shares, inverse, scale)
        ctx.mark_non_differentiable(mean, variance)
        return torch.addcmul(shift, normal, scale), mean, variance

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        total, hidden, result, w1, w2, *normalization = ctx.saved_tensors
        grad = grads[0]  # not ours to change
        grad_scale = grad_shift = None
        if not normalization:
            outer = torch.ops.aten.threshold_backward(grad, result, 0)
        else:
            normal, shares, inverse, scale = normalization
            grad_shift = grad.sum(dim=0)
            grad_scale = (grad * normal).sum(dim=0)
            # Each row changes mean and variance by its share of the batch.
            common = torch.addcmul(grad_shift, normal, grad_scale)
            common.mul_(shares[:, None])
            grad_relu = torch.sub(grad, common, out=common).mul_(scale * inverse)
            outer = _where_positive_(grad_relu, result)
        inner = _where_positive_(outer @ w2, hidden)
        return (
            ctx.sums.backward(inner @ w1) if ctx.needs_input_grad[0] else None,
            None,
            inner.t() @ total,
            inner.sum(dim=0),
            outer.t() @ hidden,
            outer.sum(dim=0),
            grad_scale,
            grad_shift,
            None,
            None,
        )


def _where_positive_(grad: Tensor, rectified: Tensor) -> Tensor:
    """Turn the gradient after a ReLU into the one before it, in place."""
    torch.ops.aten.threshold_backward.grad_input(grad, rectified, 0, grad_input=grad)
    return grad
