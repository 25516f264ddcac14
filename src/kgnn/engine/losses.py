"""Terms that semi-supervised methods add to the loss of labeled graphs: pure functions of tensors.

All of them take logits, not probabilities, and stay finite where a softmax is rounded to 0 or 1.

References
----------
Grandvalet and Bengio, *Semi-supervised learning by entropy minimization*, NeurIPS 2004.
Laine and Aila, *Temporal ensembling for semi-supervised learning*, ICLR 2017.
Sun et al., *InfoGraph*, ICLR 2020.
You et al., *Graph contrastive learning with augmentations*, NeurIPS 2020.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn.functional import softplus

# A projection shorter than this has no direction.
_SHORTEST = 1e-8


def jensen_shannon(scores: Tensor, own: Tensor) -> Tensor:
    """Return the negative of the Jensen-Shannon estimate of mutual information, ``E⁻ − E⁺``.

    E⁺ is the mean of ``log 2 − softplus(−T)`` over the scores T of rows with their own graph, E⁻
    that of ``softplus(T) − log 2`` over those with all other graphs.

    Parameters
    ----------
    scores : (n_rows, n_graphs)
        Of each row, a node or a graph, with each graph.
    own : (n_rows,) int64
        The graph that a row belongs to.

    Returns
    -------
    Tensor
        A scalar, above −2 log 2; zero where there is no other graph.

    Examples
    --------
    >>> nodes = torch.tensor([0, 0, 1])
    >>> jensen_shannon(torch.zeros(3, 2), nodes)
    tensor(0.)
    >>> jensen_shannon(torch.tensor([[50.0, -50.0], [50.0, -50.0], [-50.0, 50.0]]), nodes)
    tensor(-1.3863)
    """
    n_rows, n_graphs = scores.shape
    if n_rows == 0 or n_graphs < 2:
        return _nothing(scores)
    column = own[:, None]
    positive = math.log(2) - softplus(-scores.gather(1, column)).mean()
    # Zeros instead of a difference of sums, which large positive scores would swallow.
    others = softplus(scores).scatter(1, column, 0.0).sum() / (n_rows * (n_graphs - 1))
    return others - math.log(2) - positive


def contrastive(
    first: Tensor,
    second: Tensor,
    temperature: float,
    *,
    include_positive: bool = False,
    symmetric: bool = False,
) -> Tensor:
    """Return how hard it is to tell the second view of a graph from second views of others.

    With cosines s and temperature τ, the mean over graphs i of
    ``−s_ii / τ + log Σ_{j ≠ i} exp(s_ij / τ)``; less than 0 where views are told apart well.

    Parameters
    ----------
    first, second : (n_graphs, d)
        Projections of two views; row i of both is the same graph.
    temperature : float
    include_positive : bool
        Whether the sum has j = i as well, as in SimCLR.
    symmetric : bool
        Average with the same loss of ``second`` against ``first``.

    Returns
    -------
    Tensor
        A scalar; zero where there is no other graph.

    Examples
    --------
    >>> views = torch.eye(8)  # each graph like itself, unlike the others: −2 + log 7
    >>> contrastive(views, views, 0.5)
    tensor(-0.0541)
    """
    if len(first) < 2:
        return _nothing(first) + _nothing(second)
    cosines = _unit(first) @ _unit(second).T / temperature
    loss = _telling_apart(cosines, include_positive)
    return (loss + _telling_apart(cosines.T, include_positive)) / 2 if symmetric else loss


def _telling_apart(scores: Tensor, include_positive: bool) -> Tensor:
    rivals = scores
    if not include_positive:
        itself = torch.eye(len(scores), dtype=torch.bool, device=scores.device)
        rivals = scores.masked_fill(itself, -torch.inf)
    return (rivals.logsumexp(dim=1) - scores.diagonal()).mean()


def _unit(vectors: Tensor) -> Tensor:
    """Give rows the length 1; one without direction becomes zero.

    It gets no gradient either: that of the clamped length would be 10⁸ times too large.
    """
    lengths = vectors.norm(dim=1, keepdim=True)
    return vectors.where(lengths > _SHORTEST, 0.0) / lengths.clamp(min=_SHORTEST)


def _nothing(tensor: Tensor) -> Tensor:
    """Return 0 with a gradient of 0, so that a loss of nothing else can be minimized too."""
    return tensor[:0].sum()
