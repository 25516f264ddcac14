"""KGNN: a graph neural network and a kernel memory network that teach each other.

Ju et al., *KGNN: Harnessing Kernel-based Networks for Semi-supervised Graph Classification*, WSDM
2022. Read it with the paper beside it:

    p_θ(y | G)     the GNN       Eq. 8            `kgnn.engine.gin.GIN`, which many methods share
    z              the kernel    §3.2             `kgnn.kernels`, by default Weisfeiler-Lehman
    q_φ(y | G)     the memory    Eqs. 9 to 12     `MemoryNetwork` on `kgnn.engine.memory`
    Algorithm 1    the training  Eqs. 13 to 16    `co_train`, `e_step`, `m_step`, `agree`

What the paper leaves open, and where the defaults differ from it, is marked ``Paper silent`` or
listed in docs/paper-map.md; `KGNN.paper` switches every difference off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from kgnn.engine.calibration import ALL
from kgnn.engine.configured import configured
from kgnn.engine.fast.layers import batch_norm
from kgnn.engine.forest import KernelForest
from kgnn.engine.linear import KernelMachine
from kgnn.engine.memory import Embedding, Memory, Rows
from kgnn.engine.network import Fitted, Learner, Network
from kgnn.engine.rounds import (
    Course,
    Plan,
    RankBy,
    RoundTrainer,
    Selection,
    confidence,
    first_of,
    most_confident,
)
from kgnn.engine.task import OutOfFold, Task
from kgnn.errors import ParameterError
from kgnn.estimator.parameters import Count, CountOrZero, NonNegative, fields_of, parameters
from kgnn.graphs.graph import Floats
from kgnn.kernels import make_kernel
from kgnn.methods.memory import Attention, MemorySettings, Reading
from kgnn.methods.neural import GNNSettings, TrainingSettings
from kgnn.methods.rounds import RoundsClassifier

if TYPE_CHECKING:
    from typing_extensions import Self

# -- q_φ: the memory network ------------------------------------------------------------------


@configured
class MemoryNetwork(nn.Module):
    """q_φ: compare a query graph with every graph in a memory (Eqs. 9 to 12).

    Parameters
    ----------
    n_features, n_classes, width : int
        Length of z, number of classes, and length of embedded vectors.
    hops : int
        K, how often the memory is read.
    dropout : float
        In the classifier.
    attention : {"distance", "dot"}
        Compare by ``2⟨q, a⟩ − |a|²``, which ranks the memory by distance to the query, or by the
        paper's ⟨q, a⟩.
    reading : {"query", "output"}
        What the classifier reads: qᴷ⁺¹, or the paper's oᴷ.
    labels : bool
        Add the log-probabilities of the classes that the first hop attends to, with a learned
        weight, to the logits: a kernel regression.
    sharpness : float or None
        Initial factor of the comparisons, learned for each hop; None for the paper's 1.
    identity : bool
        Initialize all matrices as the identity on the first ``width`` features, for features that
        are coordinates already.
    norm : bool
        Put BatchNorm before the classifier.
    linear : bool
        Add a function of z to the logits, linear and with ``centers`` Gaussians, which `start_from`
        sets; the rest begins at 0 and learns what that function misses.
    centers : int
    """

    def __init__(
        self,
        n_features: int,
        n_classes: int,
        *,
        width: int = 64,
        hops: int = 3,
        dropout: float = 0.5,
        attention: Attention = "distance",
        reading: Reading = "query",
        labels: bool = True,
        sharpness: float | None = 1.0,
        identity: bool = True,
        norm: bool = True,
        linear: bool = False,
        centers: int = 0,
    ) -> None:
        super().__init__()
        self.width, self.n_hops, self.attention, self.reading = width, hops, attention, reading
        self.query = Embedding(n_features, width)  # B
        self.slots = nn.ModuleList(Embedding(n_features, width) for _ in range(hops + 1))  # A¹…Aᴷ⁺¹
        if identity:
            with torch.no_grad():
                for embedding in (self.query, *self.slots):
                    embedding.weight.zero_().fill_diagonal_(1.0)
        if sharpness is None:
            self.register_buffer("log_sharpness", torch.zeros(hops))
        else:
            self.log_sharpness = nn.Parameter(torch.full((hops,), float(np.log(sharpness))))
        self.norm = nn.BatchNorm1d(width) if norm else None
        self.classifier = nn.Sequential(
            nn.Linear(width, width), nn.ReLU(), nn.Dropout(dropout), nn.Linear(width, n_classes)
        )
        self.label_weight = nn.Parameter(torch.ones(())) if labels else None
        self.has_linear = linear
        self.coefficients: Tensor
        self.biases: Tensor
        self.centers: Tensor
        self.heights: Tensor
        self.center_sharpness: Tensor
        if linear:  # buffers: it stays as it is, and does not decay
            self.register_buffer("coefficients", torch.zeros(n_classes, n_features))
            self.register_buffer("biases", torch.zeros(n_classes))
            self.register_buffer("centers", torch.zeros(centers, n_features))
            self.register_buffer("heights", torch.zeros(n_classes, centers))
            self.register_buffer("center_sharpness", torch.zeros(()))
            others = [*self.classifier[-1].parameters()]
            for each in others if self.label_weight is None else [*others, self.label_weight]:
                nn.init.zeros_(each)

    @torch.no_grad()
    def start_from(self, machine: KernelMachine) -> None:
        """Set the function of z to that of a logistic regression."""
        for name in ("coefficients", "biases", "centers", "heights"):
            self.get_buffer(name).copy_(torch.from_numpy(getattr(machine, name)))
        self.center_sharpness.fill_(machine.sharpness)

    def forward(
        self, queries: Rows, memory: Rows, memory_targets: Tensor, own: Tensor | None = None
    ) -> Tensor:
        """Return logits, ``(n_queries, n_classes)``.

        ``queries`` and ``memory`` are the kernel features z of the queries and z₁ … z_M of the
        graphs in memory, whose class probabilities ``memory_targets`` are read only with
        ``labels``. ``own`` is the slot of each query itself, to be masked; −1 for none.
        """
        read, votes = self.read(queries, memory, memory_targets, own)
        logits: Tensor = self.classifier(read)  # Eq. 12: MLP_φ(oᴷ); the loss takes the softmax
        if self.label_weight is not None:
            # The introduction mentions labels in the memory, the equations do not. Not log 0: the
            # memory may be wrong one time in a hundred.
            logits = logits + self.label_weight * torch.log(votes + 0.01)
        if self.has_linear:
            assert isinstance(queries, Tensor)
            logits = logits + nn.functional.linear(queries, self.coefficients, self.biases)
            if len(self.centers):
                distances = torch.cdist(queries, self.centers) ** 2
                logits = logits + torch.exp(-self.center_sharpness * distances) @ self.heights.T
        return logits

    def read(
        self, queries: Rows, memory: Rows, memory_targets: Tensor, own: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return what the classifier reads, and the classes that the first hop attends to."""
        votes = read = memory_targets.new_zeros(())
        for hop, (attention, output, query) in enumerate(self.hops(queries, memory, own)):
            read = query if self.reading == "query" else output
            if hop == 0:
                votes = attention @ memory_targets
        return read if self.norm is None else batch_norm(self.norm, read), votes

    def hops(
        self, queries: Rows, memory: Rows, own: Tensor | None = None
    ) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Yield for each hop the attention pᵏ, the output oᵏ and the next query qᵏ⁺¹."""
        query = self.query(queries)  # q¹ = B z, (n_queries, width)
        slots = [embedding(memory) for embedding in self.slots]  # Aᵏ z_i, each (n_slots, width)
        for hop, sharpness in enumerate(self.log_sharpness.exp()):  # k = hop + 1
            attention = self.attend(query, slots[hop], sharpness, own)  # Eq. 10: pᵏ
            output = attention @ slots[hop + 1]  # Eq. 11: oᵏ = Σ_i pᵏ_i Aᵏ⁺¹ z_i
            query = query + output  # qᵏ⁺¹ = qᵏ + oᵏ
            yield attention, output, query

    def attend(
        self, query: Tensor, slots: Tensor, sharpness: Tensor | float, own: Tensor | None = None
    ) -> Tensor:
        """Return the attention pᵏ; rows sum to 1."""
        scores = query @ slots.T  # ⟨qᵏ, Aᵏ z_i⟩
        if self.attention == "distance":
            scores = 2 * scores - (slots * slots).sum(dim=1)
        scores = scores * sharpness
        if own is not None and len(slots) > 1:
            is_own = own[:, None] == torch.arange(len(slots))
            scores = scores.masked_fill(is_own, -torch.inf)
        return scores.softmax(dim=1)  # Eq. 10


# -- Algorithm 1 ------------------------------------------------------------------------------

# Maps the probabilities of p and q for the unlabeled graphs, k, and the share of each class in it,
# if quotas are wanted, to what p and q are taught.
Select = Callable[[Floats, Floats, int, Floats | None], tuple[Selection, Selection]]


def co_train(
    gnn: Network,
    memory: Network,
    task: Task,
    plan: Plan,
    select: Select,
    *,
    start_memory: bool = True,
    order: Literal["alternate", "together"] = "alternate",
    mixed: bool = False,
    others: Sequence[Learner] = (),
) -> Course:
    """Train p_θ (``gnn``) and q_φ (``memory``) in turn: Algorithm 1.

    Its objective is Eq. 13, with the KL divergence reversed in the E-step (Eq. 14).

    ``start_memory`` also trains q_φ on the labeled graphs before the first E-step. In ``order``
    "alternate", as in Algorithm 1, the M-step annotates with the q_φ of this round's E-step; in
    "together", with that of the round before. If ``mixed``, both networks annotate together in both
    steps, with mixing weights from held-out graphs. ``others`` learn from the labeled graphs
    after the memory; they predict with both networks, and annotate if these do so together.
    """
    trainer = RoundTrainer([gnn, memory, *others], task, plan)
    by_others: list[list[Floats]] = []  # their probabilities for the unlabeled graphs

    def annotators(p: list[Floats], q: list[Floats]) -> tuple[list[Floats], list[Floats]]:
        if not mixed or q is p:
            return p, q
        together = trainer.mix(p, q, *by_others)
        return together, together

    with trainer.interruptible():
        trainer.fit(gnn)  # line 1: initialize θ on the labeled graphs; see ``gnn_start``
        if start_memory:
            for each in (memory, *others):
                trainer.fit(each)
            by_others += [each.annotate(task.unlabeled) for each in others]
        trainer.end_round()
        for k in trainer.rounds():  # line 2: while not converged
            p = gnn.annotate(task.unlabeled)  # line 4, by each member of a committee
            # Paper silent: p is checked against the q of the round before. Before the first E-step
            # there is none, and p, which agrees with itself, selects alone.
            q = memory.annotate(task.unlabeled) if memory.is_fitted else p
            if q is not p:
                trainer.note_agreement(p, q)
            if not e_step(trainer, memory, *annotators(p, q), k, select):  # lines 4 and 5
                break
            if q is p or order == "alternate":
                q = memory.annotate(task.unlabeled)  # line 7
            m_step(trainer, gnn, *annotators(p, q), k, select)  # lines 7 and 8
            trainer.end_round()
        if not memory.is_fitted:  # there was no E-step: only the first sum of Eq. 15 is left
            trainer.fit(memory)
            trainer.course.rounds[-1].fitted.append(memory.fitted)
    return trainer.course


def e_step(
    trainer: RoundTrainer, memory: Network, p: list[Floats], q: list[Floats], k: int, select: Select
) -> bool:
    """Project p onto what the kernel can express: train q on annotations by p (Eqs. 14 and 15).

    Minimizing KL(p ‖ q) over φ is minimizing the cross-entropy −E_p[log q] on the annotated graphs
    (Eq. 14); Eq. 15 adds the labeled ones. Returns False if no annotation has changed.
    """
    members = zip(p, q, trainer.shares, strict=True)
    chosen = [select(p_own, q_own, k, shares)[1] for p_own, q_own, shares in members]
    pseudo_labels = trainer.label(chosen, p)
    if not trainer.is_news(memory, pseudo_labels):
        return False
    trainer.fit(memory, pseudo_labels)
    return True


def m_step(
    trainer: RoundTrainer, gnn: Network, p: list[Floats], q: list[Floats], k: int, select: Select
) -> None:
    """Distill the kernel's knowledge: train p on annotations by q (Eq. 16)."""
    members = zip(p, q, trainer.shares, strict=True)
    chosen = [select(p_own, q_own, k, shares)[0] for p_own, q_own, shares in members]
    trainer.fit(gnn, trainer.label(chosen, q))


def agree(
    p: Floats,
    q: Floats,
    k: int,
    shares: Floats | None = None,
    candidates: int = 2,
    rank_by: RankBy = "margin",
) -> Selection:
    """Select at most ``k`` graphs that both networks are confident of and give the same class.

    §4.5: each network ranks the graphs by confidence; those at the top of both lists, with the
    same class, are selected. The lists have ``candidates`` times k graphs; of more than k on both,
    those whose less confident network is most confident are taken. Quotas round up, so there may
    be a few more.

    Examples
    --------
    >>> p = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]])
    >>> q = np.array([[0.7, 0.3], [0.1, 0.9], [0.2, 0.8]])
    >>> agree(p, q, 2)
    Selection(rows=array([0, 2]), targets=array([0, 1]))
    """
    first, second = (most_confident(each, candidates * k, shares, rank_by) for each in (p, q))
    both = np.intersect1d(first.rows, second.rows)
    targets = p.argmax(axis=1)
    both = both[targets[both] == q.argmax(axis=1)[both]]
    weaker = np.minimum(confidence(p, rank_by), confidence(q, rank_by))[both]
    return first_of(both[np.argsort(-weaker, kind="stable")], targets, k, shares)


# -- the method -------------------------------------------------------------------------------


class PaperSettings:
    """KGNN and its ablations, whose settings the paper gives."""

    @classmethod
    def paper(cls, **settings: Any) -> Self:
        """Return the settings of `KGNN.paper` that this method has."""
        return cls(**{name: _PAPER[name] for name in _PAPER if name in fields_of(cls)} | settings)


@parameters
class KGNN(PaperSettings, GNNSettings, MemorySettings, TrainingSettings, RoundsClassifier):
    """The kernel-based graph neural network.

    A GNN learns graph vectors; a memory network compares a graph with every labeled graph, and
    later with annotated ones, by kernel features. Both are trained on the labeled graphs, then in
    turn on the unlabeled graphs as they annotate them together. A random forest on fine kernel
    features, which the paper does not have, annotates and predicts with them. See `GNNSettings`,
    `MemorySettings` and `RoundsClassifier` for the other parameters.

    Parameters
    ----------
    memory_labels : bool
        Whether the classes of the graphs attended to count directly.
    memory_learning_rate : float
        Of the memory; ``learning_rate`` is that of the GNN.
    memory_grows : bool
        Whether annotated graphs join the memory.
    gnn_start : {"random", "trained"}
        What annotates for the GNN before the first round: a kernel machine on a GNN with random
        weights, which few labels cannot overfit, or the GNN trained on the labeled graphs, as in
        Algorithm 1. Without rounds or unlabeled graphs the GNN is trained in either case.
    start_memory : bool
        Whether the memory is trained on the labeled graphs before the first E-step.
    order : {"alternate", "together"}
        Whether the GNN is taught by the memory of the same round, as in Algorithm 1, or of the
        round before.
    annotators : {"mixed", "each"}
        ``mixed``: both networks annotate together, with mixing weights from held-out graphs, and
        teach all unlabeled graphs, up to a quota for each class. ``each``: each network annotates
        by itself, and they teach the graphs on which they agree, as in the paper.
    trees : int
        Trees of each member's forest; 0 for no forest. A forest needs ``start_memory``.
    forest_kernel : str or featurizer
        The features that the forest reads; named like ``kernel`` of the memory.
    candidates : int
        Length of each network's list of confident graphs, as a multiple of the number to select.
        Graphs on both lists with the same class are selected, the most confident first.
    predict_with : {"all", "gnn", "memory", "forest"}
        Whose predictions `predict` returns.

    References
    ----------
    Ju et al., *KGNN: Harnessing Kernel-based Networks for Semi-supervised Graph Classification*,
    WSDM 2022.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> graphs = cycles_and_trees(60)
    >>> labels = graphs.targets.copy()
    >>> labels[10:40] = -1
    >>> model = KGNN(epochs=10, rounds=1).fit(graphs[:40], labels[:40])
    >>> model.score(graphs[40:], graphs.targets[40:])
    1.0
    """

    memory_labels: bool = True
    memory_learning_rate: NonNegative = 0.01
    memory_grows: bool = True
    gnn_start: Literal["random", "trained"] = "random"
    start_memory: bool = True
    order: Literal["alternate", "together"] = "alternate"
    annotators: Literal["mixed", "each"] = "mixed"
    trees: CountOrZero = 100
    forest_kernel: object = "wl(iterations=3, counts='log', min_df=3) + degrees"
    candidates: Count = 2
    predict_with: Literal["all", "gnn", "memory", "forest"] = "all"
    average_rounds: bool = False  # the first GNN is weak with few labels

    @classmethod
    def paper(cls, **settings: Any) -> Self:
        """Return the paper's settings, to the letter where it is not silent.

        ``width`` is 32 for bioinformatics and 64 otherwise in the paper; give 64 for the others.
        Where the paper is silent, nothing but the following is our choice:

        - depth 3 of the Weisfeiler-Lehman colors; at most 5 rounds; k grows by a fifth of the
          unlabeled graphs each round (``rounds`` and ``growth`` have no source in the text)
        - k graphs on each list; the E-step checks p against the q of the round before, and
          before the first one p selects alone; the expectations of Eqs. 15 and 16 are over the
          selected graphs
        - weights and Adam start anew in each round; an annotation may change or be dropped
        - converged: the E-step selects the same graphs with the same classes as before;
          exhausted: both steps select all unlabeled graphs
        - A and B have no bias, GIN's ε is 0, and continuous attributes are not read
        - the GIN's layers have BatchNorm, as in the code of InfoGraph, which the paper follows;
          the classifiers are linear, ReLU, dropout 0.5, linear
        - the loss of a batch is the mean over its graphs, labeled and annotated alike
        - p of the last epoch and round predicts (Algorithm 1 returns both networks); VAL, if
          given, only calibrates the final probabilities, which changes no predicted class
        """
        return super().paper(**settings)

    def _fit(self, task: Task) -> OutOfFold | None:
        task = self._without_validation(task)
        gnn = self._gnn(task)
        if self.gnn_start == "random" and self.rounds > 0 and len(task.unlabeled) > 0:
            self._start_untrained(task, gnn)
        rate, labels, grows = self.memory_learning_rate, self.memory_labels, self.memory_grows
        memory = self._memory(task, MemoryNetwork, learning_rate=rate, labels=labels, grows=grows)
        others: list[Learner] = []
        if self.trees > 0 and self.start_memory:
            others.append(KernelForest(task.graphs, make_kernel(self.forest_kernel), self.trees))
        elif self.predict_with == "forest":
            raise ParameterError(
                "predict_with='forest' needs a forest: trees ≥ 1 and start_memory=True, got "
                f"trees={self.trees} and start_memory={self.start_memory}."
            )
        plan = self._plan(judge=self.predict_with)

        def select(
            p: Floats, q: Floats, k: int, shares: Floats | None
        ) -> tuple[Selection, Selection]:
            agreed = agree(p, q, k, shares, self.candidates, self.rank_by)
            return agreed, agreed

        course = co_train(
            gnn,
            memory,
            task,
            plan,
            select,
            start_memory=self.start_memory,
            order=self.order,
            mixed=self.annotators == "mixed",
            others=others,
        )
        return self._finish(task, [gnn, memory, *others], course)

    def _predictor(self) -> str:
        return self.predict_with if len(self.networks_) > 1 else ALL

    def _trained_memory(self) -> tuple[Memory, list[Fitted]] | None:
        return memory_in(self)


def memory_in(model: RoundsClassifier) -> tuple[Memory, list[Fitted]] | None:
    """Return the memory of a model of two networks, and its trainings that predict."""
    if not hasattr(model, "course_"):  # one class
        return None
    for which, network in enumerate(model.networks_):
        if isinstance(network, Memory):
            return network, model.course_.trained(which)
    return None  # training was stopped before its first E-step


_PAPER = {
    # p_θ: sum of the last layer's vectors, ones for nodes without labels, MLP (§4.2, §5.1)
    "readout": "sum",
    "pooling": "last",
    "features": "paper",
    "readout_norm": False,
    "use_node_attributes": False,
    "use_edge_labels": False,
    # q_φ: raw counts, inner products, the output of the last hop; the labeled graphs (§3.2, §4.3)
    "kernel": "wl(iterations=3, unlabeled='constant')",
    "dimensions": None,
    "attention": "dot",
    "learn_sharpness": False,
    "reading": "output",
    "memory_labels": False,
    "memory_grows": False,
    "mask_own": False,
    "linear_start": False,
    "slots": None,
    "step_slots": None,
    # three layers and hops, width 32, dropout; Adam, and none of our refinements (§5.1)
    "encoder": "gin",
    "layers": 3,
    "hops": 3,
    "width": 32,
    "dropout": 0.5,
    "batch_size": 32,
    "weight_decay": 5e-4,
    "epochs": 20,
    "learning_rate": 0.01,
    "memory_learning_rate": 0.01,
    "averaging": 0.0,
    "clip": None,
    "norm_statistics": "running",
    "use_validation": False,
    "cross_fit": 0,
    "committee": 1,
    # Algorithm 1, Eqs. 14 to 16 and the selection of §4.5
    "gnn_start": "trained",
    "start_memory": False,
    "order": "alternate",
    "batches": "merged",
    "annotated_weight": 1.0,
    "soft": True,
    "rank_by": "probability",
    "balanced": False,
    "annotators": "each",
    "candidates": 1,
    "trees": 0,
    "student_epochs": None,
    "student_batch_size": None,
    "patience": None,
    "rounds": 5,
    "growth": 0.2,
    "warm_start": False,
    "average_rounds": False,
    "predict_with": "gnn",
}
