"""KGNN to the letter (Ju et al., WSDM 2022): Eqs. 8 to 12, 14 to 16 and Algorithm 1, in loops.

The random start, the order of the batches and k are given. Nothing else is shared with the package:
dense adjacency matrices, one slot of the memory at a time, torch's own layers, losses and
optimizer. Weights are plain dictionaries of tensors.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import batch_norm, linear

EPS, MOMENTUM = 1e-5, 0.1


def gnn_forward(w: dict[str, Tensor], graphs: list, training: bool) -> Tensor:
    """Eq. 8: three GIN layers, sum readout, MLP; graphs are (features, dense adjacency)."""
    sizes = [len(features) for features, _ in graphs]
    h = torch.cat([features for features, _ in graphs])
    adjacency = torch.block_diag(*(dense for _, dense in graphs))
    for layer in (f"layers.{number}" for number in range(3)):
        total = torch.stack([h[v] + sum(h[u] for u in row.nonzero()[:, 0]) for v, row in
                             enumerate(adjacency)])  # fmt: skip
        inner = linear(total, w[f"{layer}.inner.weight"], w[f"{layer}.inner.bias"]).relu()
        outer = linear(inner, w[f"{layer}.outer.weight"], w[f"{layer}.outer.bias"]).relu()
        h = batch_norm(
            outer,
            w[f"{layer}.norm.running_mean"],
            w[f"{layer}.norm.running_var"],
            w[f"{layer}.norm.weight"],
            w[f"{layer}.norm.bias"],
            training,
            MOMENTUM,
            EPS,
        )
    readout = torch.stack([part.sum(dim=0) for part in h.split(sizes)])
    return mlp(w, readout)


def memory_forward(w: dict[str, Tensor], queries: Tensor, memory: Tensor, hops: int) -> Tensor:
    """Eqs. 10 to 12, one query and one slot at a time."""
    outputs = []
    for z in queries:
        q = z @ w["query.weight"]  # q¹ = B z
        for k in range(hops):
            scores = torch.stack([q @ (z_i @ w[f"slots.{k}.weight"]) for z_i in memory])
            p = scores.softmax(dim=0)  # Eq. 10
            o = sum(p_i * (z_i @ w[f"slots.{k + 1}.weight"])
                    for p_i, z_i in zip(p, memory, strict=True))  # Eq. 11  # fmt: skip
            q = q + o
        outputs.append(o)
    return mlp(w, torch.stack(outputs))  # Eq. 12


def mlp(w: dict[str, Tensor], x: Tensor) -> Tensor:
    """Linear, ReLU, (dropout, which is 0 here,) linear."""
    hidden = linear(x, w["classifier.0.weight"], w["classifier.0.bias"]).relu()
    return linear(hidden, w["classifier.3.weight"], w["classifier.3.bias"])


def train(start: dict[str, Tensor], forward, targets: Tensor, batches: list) -> tuple:
    """Eqs. 15 and 16: Adam on Σ_L log q(y|x) + Σ_U E[log q(y|x)], as a mean over each batch.

    Returns the weights and the loss of each batch.
    """
    weights = {name: value.clone() for name, value in start.items()}
    free = [v.requires_grad_() for n, v in weights.items()
            if v.is_floating_point() and "running" not in n and "sharpness" not in n]  # fmt: skip
    optimizer = torch.optim.Adam(free, lr=0.01, weight_decay=0.0005)
    losses = []
    for rows in batches:
        optimizer.zero_grad()
        log_proba = forward(weights, rows, True).log_softmax(dim=1)
        loss = -(targets[rows] * log_proba).sum(dim=1).mean()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    return {name: value.detach() for name, value in weights.items()}, losses


def top_k(proba: Tensor, k: int) -> set[int]:
    """§4.5: rank by the probability of the predicted class, take the first k."""
    ranked = sorted(range(len(proba)), key=lambda row: -float(proba[row].max()))
    return set(ranked[:k])


def agree(p: Tensor, q: Tensor, k: int) -> list[int]:
    """§4.5: the intersection of what both networks predict alike."""
    both = top_k(p, k) & top_k(q, k)
    return sorted(row for row in both if int(p[row].argmax()) == int(q[row].argmax()))


def annotated(proba: Tensor, rows: list[int]) -> list[tuple[int, int]]:
    """Return the selected graphs with the class that each is given."""
    return [(row, int(proba[row].argmax())) for row in rows]


def algorithm_1(labeled, unlabeled, targets, p_forward, q_forward, starts, batches, ks) -> list:
    """Train p and q in turn.

    ``starts(name, round)`` gives the random weights that a network begins with and
    ``batches(name, round, rows)`` the batches of one training; ``ks`` is k of each round. Returns a
    dictionary for each round: weights, losses, annotations and selections.
    """
    known = torch.eye(int(targets.max()) + 1)[targets.clamp(min=0)]
    theta, losses = train(starts("gnn", 0), p_forward, known, batches("gnn", 0, labeled))  # line 1
    told, phi, last = [{"theta": theta, "p_losses": losses}], None, None
    for number, k in enumerate(ks, start=1):  # line 2
        p = p_forward(theta, unlabeled, False).softmax(dim=1).detach()  # line 4
        if phi is None:
            for_q = sorted(top_k(p, k))
        else:
            for_q = agree(p, q_forward(phi, unlabeled, False).softmax(dim=1).detach(), k)
        if annotated(p, for_q) == last:
            break  # convergence: p has nothing new to teach
        last = annotated(p, for_q)
        soft = known.clone()
        soft[unlabeled[for_q]] = p[for_q]  # E_p[…]
        rows = torch.cat([labeled, unlabeled[for_q]])
        phi, q_losses = train(  # line 5, Eq. 15
            starts("memory", number), q_forward, soft, batches("memory", number, rows)
        )
        q = q_forward(phi, unlabeled, False).softmax(dim=1).detach()  # line 7
        for_p = agree(p, q, k)
        soft = known.clone()
        soft[unlabeled[for_p]] = q[for_p]  # E_q[…]
        rows = torch.cat([labeled, unlabeled[for_p]])
        theta, losses = train(  # line 8, Eq. 16
            starts("gnn", number), p_forward, soft, batches("gnn", number, rows)
        )
        told.append(
            {"theta": theta, "phi": phi, "p": p, "q": q, "for_p": for_p, "for_q": for_q,
             "p_losses": losses, "q_losses": q_losses}
        )  # fmt: skip
    return told
