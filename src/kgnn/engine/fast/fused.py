"""A whole GIN as one function with a hand-written gradient, for batches of few rows.

On a hundred rows, starting an operation of torch and recording it for the gradient takes longer
than its arithmetic. So a training pass on a small batch is a chain of *steps* in numpy, whose calls
cost less, and autograd sees one function of one vector: all weights of the network side by side,
as they are stored during training. A step's ``forward`` keeps what its ``backward`` needs, which
takes the gradient by the output, writes those by the weights to ``gradients``, and returns the one
by the input.

`kgnn.engine.gin.GIN` is the plain version, which tests compare this with. Larger batches,
evaluation and other encoders use that one.
"""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from kgnn.engine.batch import Batch
from kgnn.engine.fast.layers import update_running_stats
from kgnn.engine.gin import GINLayer
from kgnn.engine.messages import Messages
from kgnn.engine.sparse import Weights

if TYPE_CHECKING:
    from kgnn.engine.gin import GIN

Matrix = NDArray[Any]  # float32, or whatever the network computes with

# Above this number of rows, arithmetic outweighs the calls.
_FEW = 512


class Fused:
    """Training passes of a GIN whose parameters are views of one vector.

    ``weights`` is a leaf that shares the memory of all parameters of the GIN, in their order; its
    gradient is that of all of them.
    """

    def __init__(self, gin: GIN, weights: Tensor) -> None:
        self.gin, self.weights = gin, weights
        self.first = next(gin.parameters())
        self.shapes = [each.shape for each in gin.parameters()]
        self.arrays = self.cut(weights.detach().numpy())
        self.parts = [*gin.layers, gin.pooled_norm, *gin.classifier]
        # Those of the layers, then that of the pooled vectors.
        self.norms = [part for part in gin.modules() if isinstance(part, nn.BatchNorm1d)]
        self.dropout = cast("nn.Dropout", gin.classifier[2]) if gin.classifier else None

    def __deepcopy__(self, memo: dict[int, Any]) -> None:
        """Give a copy of the GIN no `Fused`: its weights are stored elsewhere."""

    def cut(self, vector: Matrix) -> list[Matrix]:
        """Split a vector into one array per parameter."""
        parts, start = [], 0
        for shape in self.shapes:
            end = start + shape.numel()
            parts.append(vector[start:end].reshape(shape))
            start = end
        return parts

    def __call__(self, batch: Batch, *, classify: bool) -> Tensor | None:
        """Return logits, or graph vectors; None if the GIN must compute them itself."""
        can_be_used = (
            all(norm.training for norm in self.norms)
            and self.first.data_ptr() == self.weights.data_ptr()  # not moved or replaced
            and not any(map(_has_hooks, self.parts))
            and _has_few_rows(batch, len(self.gin.layers))
        )
        if not can_be_used:
            return None
        result: Tensor = _Pass.apply(batch.features, self.weights, self, batch, classify)
        return result


def _has_hooks(part: nn.Module) -> bool:
    return bool(part._forward_hooks or part._forward_pre_hooks or part._backward_hooks)


def can_be_fused(gin: GIN) -> bool:
    """Whether every part of a GIN has a step here."""
    return (
        gin.pooled_norm is not None
        and all(isinstance(layer, GINLayer) for layer in gin.layers)
        and [type(part) for part in gin.classifier]
        in ([], [nn.Linear, nn.ReLU, nn.Dropout, nn.Linear])
    )


def _has_few_rows(batch: Batch, depth: int) -> bool:
    """Whether a batch is small, but has the two rows or more that BatchNorm needs."""
    weights = batch.weights(depth)
    n_rows = len(batch.features) if weights is None else len(weights.counts)
    n_nodes = n_rows if weights is None else weights.total
    return n_rows <= _FEW and n_nodes > 1 and len(batch) > 1


class _Pass(torch.autograd.Function):
    """All steps as one function for autograd."""

    @staticmethod
    def forward(
        ctx: Any, features: Tensor, weights: Tensor, fused: Fused, batch: Batch, classify: bool
    ) -> Tensor:
        ctx.fused, ctx.steps = fused, _Steps(fused, batch, classify)
        ctx.save_for_backward(weights)
        result = ctx.steps.forward(features.numpy())
        norms = [step for step in ctx.steps.trained if isinstance(step, _Norm)]
        means = [torch.from_numpy(step.mean) for step in norms]
        variances = [torch.from_numpy(step.variance) for step in norms]
        update_running_stats(fused.norms, means, variances)
        return torch.from_numpy(result)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (weights,) = ctx.saved_tensors  # raises if they have changed in between
        grad = grads[0].numpy()
        by_weights = np.zeros(len(weights), dtype=grad.dtype)
        by_features = ctx.steps.backward(grad, ctx.fused.cut(by_weights), ctx.needs_input_grad[0])
        given = None if by_features is None else torch.from_numpy(by_features)
        return given, torch.from_numpy(by_weights), None, None, None


class _Steps:
    """The steps of a GIN on a batch."""

    def __init__(self, fused: Fused, batch: Batch, classify: bool) -> None:
        gin, (*norms, pooled_norm) = fused.gin, fused.norms
        arrays = iter(fused.arrays)

        def linear() -> _Linear:
            return _Linear(next(arrays), next(arrays))

        self.layers: list[list[Any]] = []
        for depth, norm in enumerate(norms, start=1):
            messages = batch.messages(depth)
            first = _NoMessages() if messages is None else _Send(next(arrays), messages)
            inner, outer = linear(), linear()
            normal = _Norm(next(arrays), next(arrays), norm, batch.weights(depth))
            steps = [first, batch.sums(depth), inner, _ReLU(), outer, _ReLU(), normal]
            self.layers.append(steps)
        depths = range(len(norms) if gin.pooling == "last" else 0, len(norms) + 1)
        self.pools = {depth: batch.graph_sums(depth) for depth in depths}
        self.top: list[Any] = [] if gin.readout == "sum" else [_Log(gin.readout == "both")]
        self.top.append(_Norm(next(arrays), next(arrays), pooled_norm, None))
        if classify and fused.dropout is not None:
            inner, outer = linear(), linear()
            self.top += [inner, _ReLU(), _Dropout(fused.dropout), outer]
        every = (*chain(*self.layers), *self.top)
        self.trained = [step for step in every if isinstance(step, (_Send, _Linear, _Norm))]

    def forward(self, x: Matrix) -> Matrix:
        pooled = [self.pools[0].forward(x)] if 0 in self.pools else []
        for depth, layer in enumerate(self.layers, start=1):
            for step in layer:
                x = step.forward(x)
            if depth in self.pools:
                pooled.append(self.pools[depth].forward(x))
        self.ends = np.cumsum([each.shape[1] for each in pooled])[:-1]
        x = np.concatenate(pooled, axis=1) if len(pooled) > 1 else pooled[0]
        for step in self.top:
            x = step.forward(x)
        return x

    def backward(self, grad: Matrix, arrays: list[Matrix], to_features: bool) -> Matrix | None:
        # The classifier's gradients stay zero if it was not used.
        remaining = iter(arrays)
        for step in self.trained:
            step.gradients = list(islice(remaining, step.n_arrays))
        for step in reversed(self.top):
            grad = step.backward(grad)
        pooled = dict(zip(self.pools, np.split(grad, self.ends, axis=1), strict=True))
        last = len(self.layers)
        grad = self.pools[last].backward(pooled[last])
        for depth in range(last - 1, -1, -1):
            first, sums, inner, *rest = self.layers[depth]
            for step in reversed(rest):
                grad = step.backward(grad)
            if depth == 0 and not to_features and isinstance(first, _NoMessages):
                inner.write_gradients(grad)
                return None
            grad = first.backward(sums.backward(inner.backward(grad)))
            if depth == 0 and not to_features:
                return None
            if depth in self.pools:
                grad += self.pools[depth].backward(pooled[depth])
        return grad


class _NoMessages:
    """Rows as they are, where all edges are alike."""

    def forward(self, x: Matrix) -> Matrix:
        return x

    def backward(self, grad: Matrix) -> Matrix:
        return grad


class _Send:
    """What rows send along edges of each kind."""

    n_arrays = 1
    gradients: list[Matrix]

    def __init__(self, edges: Matrix, messages: Messages) -> None:
        self.edges, self.messages = edges, messages

    def forward(self, x: Matrix) -> Matrix:
        self.sent, self.floors = self.messages.forward(x, self.edges)
        return self.sent

    def backward(self, grad: Matrix) -> Matrix:
        grad = grad * (self.sent > self.floors)
        self.gradients[0][:] = self.messages.by_kinds(grad, len(self.edges))
        return self.messages.by_rows(grad)


class _Linear:
    """``x Wᵀ + b``."""

    n_arrays = 2
    gradients: list[Matrix]

    def __init__(self, weight: Matrix, bias: Matrix) -> None:
        self.weight, self.bias = weight, bias

    def forward(self, x: Matrix) -> Matrix:
        self.x = x
        # For few rows, dot is faster than @, and a contiguous transpose faster than a view.
        y = np.dot(x, np.ascontiguousarray(self.weight.T))
        y += self.bias
        return y

    def write_gradients(self, grad: Matrix) -> None:
        by_weight, by_bias = self.gradients
        np.dot(grad.T, self.x, out=by_weight)
        grad.sum(axis=0, out=by_bias)

    def backward(self, grad: Matrix) -> Matrix:
        self.write_gradients(grad)
        return np.dot(grad, self.weight)


class _ReLU:
    """``max(x, 0)``, in place."""

    def forward(self, x: Matrix) -> Matrix:
        self.y = np.maximum(x, 0, out=x)
        return self.y

    def backward(self, grad: Matrix) -> Matrix:
        grad *= self.y > 0
        return grad


class _Dropout:
    """Torch's dropout, with the same random zeros."""

    def __init__(self, dropout: nn.Dropout) -> None:
        self.dropout = dropout

    def forward(self, x: Matrix) -> Matrix:
        ones = torch.from_numpy(np.ones_like(x))
        self.factors = self.dropout.forward(ones).numpy()
        return x * self.factors

    def backward(self, grad: Matrix) -> Matrix:
        return grad * self.factors


class _Norm:
    """BatchNorm in training, of rows that may stand for several nodes each."""

    n_arrays = 2
    gradients: list[Matrix]

    def __init__(
        self, scale: Matrix, shift: Matrix, norm: nn.BatchNorm1d, weights: Weights | None
    ) -> None:
        self.scale, self.shift, self.norm, self.weights = scale, shift, norm, weights

    def forward(self, x: Matrix) -> Matrix:
        total = len(x) if self.weights is None else self.weights.total
        counts = np.ones(len(x)) if self.weights is None else self.weights.counts.numpy()
        self.shares = counts.astype(x.dtype) / total
        mean = np.dot(self.shares, x)
        self.centered = x - mean
        y = self.centered * self.centered
        variance = np.dot(self.shares, y)
        self.inverse = 1 / np.sqrt(variance + self.norm.eps)
        self.factor = self.inverse * self.scale
        np.multiply(self.centered, self.factor, out=y)
        y += self.shift
        self.mean, self.variance = mean, variance * (total / (total - 1))
        return y

    def backward(self, grad: Matrix) -> Matrix:
        by_scale, by_shift = self.gradients
        grad.sum(axis=0, out=by_shift)
        np.multiply(np.einsum("rc,rc->c", grad, self.centered), self.inverse, out=by_scale)
        # Each row changes mean and variance by its share of the batch.
        result = self.centered * (self.inverse * by_scale)
        result += by_shift
        result *= self.shares[:, None]
        np.subtract(grad, result, out=result)
        result *= self.factor
        return result


class _Log:
    """``sign(x) log(1 + |x|)``, alone or beside x."""

    def __init__(self, beside: bool) -> None:
        self.beside = beside

    def forward(self, x: Matrix) -> Matrix:
        sign, size = np.sign(x), np.abs(x)
        self.slope = np.abs(sign) / (1 + size)  # 0 at zero, as in torch
        compressed = sign * np.log1p(size)
        return np.concatenate([x, compressed], axis=1) if self.beside else compressed

    def backward(self, grad: Matrix) -> Matrix:
        if not self.beside:
            return grad * self.slope
        plain, compressed = np.split(grad, 2, axis=1)
        return plain + compressed * self.slope
