"""ASGN: a teacher learns from all graphs, and a student starts from it (Hao et al., KDD 2020).

Algorithm 1 of the paper, in rounds: the teacher minimizes

    w_n L_node + w_e L_edge + w_c L_cluster + w_p L_property

over labeled and unlabeled graphs. The student starts from the teacher's message passing and is
trained on the labeled graphs alone. In the next round, the teacher is trained on the student's
predictions for the other graphs (L_property). New labels are bought, if at all, by k-center. The
authors' public script trains L_property alone; this file follows the paper.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import ClassVar

import numpy as np
import torch
from scipy.special import logsumexp
from torch import Tensor, nn
from torch.nn import functional

from kgnn.engine.batch import Batch
from kgnn.engine.frozen import frozen_statistics
from kgnn.engine.gin import GIN
from kgnn.engine.loop import History, n_batches, recompute_bn_stats, train
from kgnn.engine.network import (
    Examples,
    Fitted,
    GraphNetwork,
    Objective,
    OptimizerConfig,
    one_hot,
)
from kgnn.engine.pretraining import Pretrained
from kgnn.engine.random_parts import choose, choose_missing_pairs
from kgnn.engine.task import Task
from kgnn.engine.views import mask_nodes, view_batch
from kgnn.estimator.classifier import UNLABELED
from kgnn.estimator.parameters import Count, NonNegative, Share, parameters
from kgnn.graphs.graph import Floats, GraphDataset, Ints
from kgnn.methods.pretrained import PretrainedClassifier
from kgnn.seeds import derive, generator, seeded_torch

_REFRESH = 4  # epochs after which graphs are assigned to clusters anew
_MOST_PAIRS = 32  # of nodes with an edge, from each graph, and as many without
_HIGHEST_DEGREE = 15  # higher degrees are one kind of node
_FEWEST_PER_CLASS, _MOST_CLUSTERS = 2, 64
_GRAPHS_PER_PASS = 256
_QUICK = 20  # Sinkhorn iterations on numbers, between two on their logarithms


@parameters
class ASGN(PretrainedClassifier):
    """A teacher and a student, trained in turn.

    The teacher predicts masked nodes, edges, clusters of equal size, and classes. VAL selects the
    epoch of each student, and the last student predicts. `pretrain` trains the teacher without the
    classes; `fit` starts its teacher from a ``pretrained`` encoder. See `PretrainedClassifier` for
    the other parameters.

    Parameters
    ----------
    rounds : int
        Number of rounds, each with a teacher and a student.
    epochs, teacher_epochs : int
        Epochs of the student and of the teacher in each round.
    clusters : int or None
        Number of clusters; None for the root of the number of graphs, at most 64 and at least two
        for each class.
    mask : float
        Share of the nodes of each graph that are masked and predicted.
    node_weight, edge_weight, cluster_weight, property_weight : float
        Weights of the teacher's losses.
    pseudo_weight : float
        Weight of the student's predictions relative to known classes, in the last of these losses.
    active : bool
        Start with half of the labels, drawn at random, and buy the rest round by round, for the
        graphs least similar to the labeled ones. The final number of labels is the same, but
        results are not comparable with those of other methods.

    Attributes
    ----------
    teacher_ : Teacher
        The teacher after the last round.
    encoder_ : dict of str to Tensor
        Weights that the last student started from.
    labeled_ : list of arrays of int64
        Rows whose labels the student of each round has seen.
    teacher_history_ : list of History
        History of the teacher in each round; each loss is a part.

    References
    ----------
    Hao et al., *ASGN: An active semi-supervised graph neural network*, KDD 2020.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> graphs = cycles_and_trees(60)
    >>> labels = graphs.targets.copy()
    >>> labels[10:40] = -1
    >>> model = ASGN(epochs=5, teacher_epochs=2).fit(graphs[:40], labels[:40])
    >>> model.predict_proba(graphs[40:]).shape
    (20, 2)
    """

    epochs: Count = 20
    rounds: Count = 2
    teacher_epochs: Count = 20
    clusters: Count | None = None
    mask: Share = 0.2
    node_weight: NonNegative = 1.0
    edge_weight: NonNegative = 1.0
    cluster_weight: NonNegative = 1.0
    property_weight: NonNegative = 1.0
    pseudo_weight: NonNegative = 0.5
    active: bool = False

    _not_saved: ClassVar[tuple[str, ...]] = ("teacher_", "encoder_", "labeled_")
    # A teacher trained on a label would leak it to the student that the label should validate.
    _cross_fits: ClassVar[bool] = False

    def _fit(self, task: Task) -> None:
        self.gnn_ = self._gnn(task)
        config = replace(self._optimizer_config(self.learning_rate), epochs=self.teacher_epochs)
        self.teacher_ = self._teacher(task, self.gnn_, config)
        self.teacher_history_: list[History] = self.teacher_.histories
        self.labeled_: list[Ints] = []
        # Paper silent: the last student predicts; VAL chooses its epoch, but not among students.
        for number in range(self.rounds):
            known = self.labeled_[-1] if number else self._first_labels(task)
            # Paper silent: the teacher continues from its own weights, heads included.
            pseudo_labels = self._pseudo_labels() if number else None
            self.teacher_.fit(self._examples(task, known, pseudo_labels))
            self.gnn_.start = self.encoder_ = self.teacher_.encoder
            self.labeled_.append(self._more_labels(task, known))
            before = self.gnn_.fitted if number else None
            seed = derive(task.seed, number) if number else task.seed  # the first as GNN-Sup
            try:
                known = np.full(len(task.targets), UNLABELED)
                known[self.labeled_[-1]] = task.targets[self.labeled_[-1]]
                self._train(replace(task, targets=known, seed=seed))
            finally:
                self._keep_the_better(before)

    def _start(self, task: Task, network: GraphNetwork) -> dict[str, Tensor]:
        saved = self._saved_encoder(task, network)
        return {} if saved is None else saved.weights

    def _pretrain(self, task: Task, network: GraphNetwork) -> Pretrained:
        teacher = self._teacher(task, network, self._pretraining_config())
        history = teacher.fit(self._examples(task, task.labeled[:0]), "pre-training")
        return Pretrained(teacher.encoder, {"loss": history.loss, **history.parts})

    def _teacher(self, task: Task, student: GraphNetwork, config: OptimizerConfig) -> Teacher:
        return Teacher(
            task.graphs,
            student,
            width=self.width,
            n_clusters=self.clusters or n_clusters_for(len(task.graphs), task.n_classes),
            weights={
                "node": self.node_weight,
                "edge": self.edge_weight,
                "cluster": self.cluster_weight,
                "property": self.property_weight,
            },
            mask=self.mask,
            config=config,
            seed=task.seed,
        )

    def _examples(self, task: Task, known: Ints, pseudo_labels: Ints | None = None) -> Examples:
        """Put known classes together with pseudo-labels of all other graphs, if there are any."""
        if pseudo_labels is None:
            return Examples(known, one_hot(task.targets, task.n_classes))
        others = np.setdiff1d(np.arange(len(task.graphs)), known)
        classes = pseudo_labels.copy()
        classes[known] = task.targets[known]
        return Examples(known, one_hot(classes, task.n_classes), others, self.pseudo_weight)

    def _pseudo_labels(self) -> Ints:
        """Return the student's class for every graph."""
        # Paper silent: a class, not probabilities, as in co-training.
        return self.gnn_.logits(self.gnn_.pool).argmax(axis=1)

    def _first_labels(self, task: Task) -> Ints:
        """Return the rows whose labels are known at first: all, or half of them if bought."""
        if not self.active:
            return task.labeled
        n_first = math.ceil(len(task.labeled) / 2)
        order = generator(task.seed, "first labels").permutation(task.labeled)
        return np.sort(order[:n_first])

    def _more_labels(self, task: Task, known: Ints) -> Ints:
        """Return the rows whose labels the next student learns, some of them just bought."""
        n_first = len(self._first_labels(task))
        share = (len(self.labeled_) + 1) / self.rounds  # all labels by the last round
        n_due = n_first + round(share * (len(task.labeled) - n_first))
        if n_due == len(known):
            return known
        rows = np.concatenate([known, np.setdiff1d(task.labeled, known)])
        points = self.teacher_.embeddings()[rows]
        bought = k_center(points, np.arange(len(known)), n_due - len(known))
        return np.sort(np.concatenate([known, rows[bought]]))

    def _keep_the_better(self, before: list[Fitted] | None) -> None:
        """Return to the student of the round before if the new one was stopped and VAL is lower."""
        after = self.gnn_.fitted
        if before is None or not after[0].history.interrupted:
            return
        new, old = (each[0].history.score for each in (after, before))
        if not old or max(new, default=-math.inf) < max(old):
            self.gnn_.fitted = before
            self.history_ = before[0].history


# -- the teacher ----------------------------------------------------------------------------------


class MultitaskGIN(nn.Module):
    """A GIN whose node vectors are read by three more heads; its own classifier is the fourth.

    The heads are linear: what they need to know must be in the vectors.
    """

    def __init__(self, gin: GIN, width: int, n_kinds: int, n_clusters: int) -> None:
        super().__init__()
        self.gin = gin
        self.node_head = nn.Linear(width, n_kinds)
        self.edge_head = nn.Linear(width, 1)
        self.cluster_head = nn.Linear(width, n_clusters)

    def means(self, vectors: Tensor, batch: Batch) -> Tensor:
        """Return the mean node vector of each graph, zeros for a graph without nodes."""
        depth = len(self.gin.layers)
        n_nodes = batch.pool(torch.ones(len(vectors), 1), depth)
        return batch.pool(vectors, depth) / n_nodes.clamp(min=1)

    def edge_logits(self, vectors: Tensor, u: Tensor, v: Tensor) -> Tensor:
        """Return for each pair of nodes how sure it is that an edge joins them."""
        difference = vectors.index_select(0, u) - vectors.index_select(0, v)
        logits: Tensor = self.edge_head(difference.abs())
        return logits.flatten()

    def forward(self, batch: Batch) -> Tensor:
        """Return class logits, ``(n_graphs, n_classes)``."""
        logits: Tensor = self.gin(batch)
        return logits


class Teacher:
    """A GIN with heads, trained on all graphs of the student's pool, labeled or not.

    It has the student's GIN and begins with the student's ``start``. ``weights`` are those of the
    losses by name, ``mask`` is the share of nodes to hide. Each `fit` adds one of ``histories``,
    with the losses as parts.
    """

    def __init__(
        self,
        graphs: GraphDataset,
        student: GraphNetwork,
        *,
        width: int,
        n_clusters: int,
        weights: dict[str, float],
        mask: float,
        config: OptimizerConfig,
        seed: int,
    ) -> None:
        self.graphs, self.pool, self.node_features = graphs, student.pool, student.node_features
        self.weights, self.mask, self.config, self.seed = weights, mask, config, seed
        self.rows = np.arange(len(graphs))
        self.histories: list[History] = []
        with seeded_torch(seed, "teacher"):
            gin = student.build(student.node_features.width)
            assert isinstance(gin, GIN)
            self.module = MultitaskGIN(gin, width, n_node_kinds(graphs), n_clusters)
        unknown = gin.load_state_dict(dict(student.start), strict=False).unexpected_keys
        assert not unknown, f"no such weights: {unknown}"

    @property
    def encoder(self) -> dict[str, Tensor]:
        """A copy of the weights of the message passing, for a student to start with."""
        weights = self.module.gin.state_dict().items()
        return {name: value.clone() for name, value in weights if name.startswith("layers.")}

    def fit(self, examples: Examples, what: str | None = None) -> History:
        """Train for one more round, with the classes that are known or predicted by now.

        Without any, the other tasks are learned alone.
        """
        number = len(self.histories) + 1
        rng = generator(self.seed, "teacher", number)
        with seeded_torch(self.seed, "teacher", number):
            history = train(
                self.module,
                Teaching(self, examples, rng),
                self.rows,
                **vars(self.config),
                rng=rng,
                finish=lambda each: recompute_bn_stats(each, self._pass),
                what=what or f"round {number}, teacher",
            )
        self.histories.append(history)
        if history.interrupted:
            raise KeyboardInterrupt
        return history

    def clusters(self) -> Ints:
        """Sort all graphs into clusters of equal size, by the current cluster head."""
        with torch.no_grad(), frozen_statistics(self.module):
            logits = self.module.cluster_head(self._means())
        return assign(logits.double().log_softmax(dim=1).numpy()).argmax(axis=1)

    @torch.no_grad()
    def embeddings(self) -> Floats:
        """Return vectors of all graphs, of length 1: a mean over nodes does not depend on size."""
        self.module.eval()
        return np.asarray(functional.normalize(self._means().double()).numpy())

    def _means(self) -> Tensor:
        """Return the mean node vector of all graphs, in the order of the pool."""
        parts = [self.pool[rows] for rows in self._parts()]
        means = [self.module.means(self.module.gin.rows(part)[-1], part) for part in parts]
        return torch.cat(means)

    def _pass(self, module: nn.Module) -> None:
        for rows in self._parts():
            module(self.pool[rows])

    def _parts(self) -> list[Ints]:
        return np.array_split(self.rows, max(1, len(self.rows) // _GRAPHS_PER_PASS))


class Teaching(Objective):
    """The losses of a batch of graphs, labeled or not: four, or three where no class is known."""

    def __init__(self, teacher: Teacher, examples: Examples, rng: np.random.Generator) -> None:
        self.teacher, self.examples, self.rng, self.rows = teacher, examples, rng, teacher.rows
        n_steps = n_batches(len(self.rows), teacher.config.batch_size)
        self.n_steps, self.refresh_after = 0, _REFRESH * n_steps
        self.is_labeled, self.is_annotated = np.zeros((2, len(self.rows)), dtype=np.bool_)
        self.is_labeled[examples.labeled] = True
        self.is_annotated[examples.annotated] = True

    def __call__(self, rows: Ints) -> dict[str, Tensor]:
        """Return the losses, weighted."""
        if self.n_steps % self.refresh_after == 0:
            self.clusters = self.teacher.clusters()  # by row of the pool, not by place in a batch
        self.n_steps += 1
        # Paper silent: classes are predicted from whole graphs, the rest with masked nodes. The
        # second pass sees the same graphs again, so that BatchNorm counts the first alone.
        known = {"property": self._property(rows)} if len(self.examples.rows) else {}
        with frozen_statistics(self.teacher.module):
            losses = {**self._masked(rows), **known}
        return {name: self.teacher.weights[name] * loss for name, loss in losses.items()}

    def _masked(self, rows: Ints) -> dict[str, Tensor]:
        """Return L_node, L_edge and L_cluster, from one pass with some nodes hidden."""
        teacher, module = self.teacher, self.teacher.module
        graphs = teacher.graphs[rows]
        view = mask_nodes(graphs, teacher.mask, self.rng)
        batch = view_batch(view, teacher.node_features)
        vectors = module.gin.rows(batch)[-1]  # (n_nodes, width)
        hidden = torch.from_numpy(np.flatnonzero(view.masked))
        kinds = torch.from_numpy(node_kinds(graphs))[hidden]
        # Paper silent: nodes have no place in space, so edges stand in for distances.
        u, v, joined = sample_pairs(graphs, _MOST_PAIRS, self.rng)
        edges = module.edge_logits(vectors, u, v)
        clusters = module.cluster_head(module.means(vectors, batch))
        return {
            "node": _cross_entropy(module.node_head(vectors[hidden]), kinds),
            "edge": _mean(
                functional.binary_cross_entropy_with_logits(edges, joined, reduction="none")
            ),
            "cluster": _cross_entropy(clusters, torch.from_numpy(self.clusters[rows])),
        }

    def _property(self, rows: Ints) -> Tensor:
        """Return L_property: the loss of known classes and, weighted, that of pseudo-labels."""
        logits = self.teacher.module(self.teacher.pool[rows])
        labeled, annotated = (
            torch.from_numpy(np.flatnonzero(each[rows]))
            for each in (self.is_labeled, self.is_annotated)
        )
        targets = self.examples.targets[rows]
        pseudo = _cross_entropy(logits[annotated], targets[annotated])
        return _cross_entropy(logits[labeled], targets[labeled]) + self.examples.weight * pseudo


def _cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    return _mean(functional.cross_entropy(logits, targets, reduction="none"))


def _mean(losses: Tensor) -> Tensor:
    """Return the mean; of nothing it is 0, and so is its gradient."""
    return losses.sum() / max(1, len(losses))


# -- the teacher's tasks (kinds of nodes, pairs, clusters), and which labels to buy ---------------


def n_node_kinds(graphs: GraphDataset) -> int:
    """Return the number of kinds of `node_kinds`."""
    n_labels = len(graphs.node_label_names)
    return n_labels if n_labels > 1 else _HIGHEST_DEGREE + 1


def node_kinds(graphs: GraphDataset) -> Ints:
    """Return the class of each node to predict: its label, or else its degree up to 15."""
    if graphs.node_labels is not None and len(graphs.node_label_names) > 1:
        return graphs.node_labels.astype(np.int64)
    return np.minimum(graphs.degrees, _HIGHEST_DEGREE)


def sample_pairs(
    graphs: GraphDataset, most: int, rng: np.random.Generator
) -> tuple[Tensor, Tensor, Tensor]:
    """Choose from each graph as many pairs with an edge as without, at most ``most`` of both.

    Returns nodes u, nodes v, and 1 where an edge joins them, else 0. A graph without edges, or with
    all of them, has no pairs. Loops are no pairs.
    """
    sources = graphs.arc_sources
    edges = np.flatnonzero(sources < graphs.neighbors)
    u, v = sources[edges], graphs.neighbors[edges]
    sizes, n_edges = graphs.graph_sizes, np.diff(np.searchsorted(u, graphs.node_offsets))
    n_free = sizes * (sizes - 1) // 2 - n_edges
    counts = np.minimum(most, np.minimum(n_edges, n_free))
    joined = choose(n_edges, counts, rng)
    apart_u, apart_v = choose_missing_pairs(graphs, u, v, counts, rng)
    return (
        torch.from_numpy(np.concatenate([u[joined], apart_u]).astype(np.int64)),
        torch.from_numpy(np.concatenate([v[joined], apart_v]).astype(np.int64)),
        torch.cat([torch.ones(len(joined)), torch.zeros(len(apart_u))]),
    )


def n_clusters_for(n_graphs: int, n_classes: int) -> int:
    """Return the root of the number of graphs, at most 64 and at least two for each class."""
    return max(_FEWEST_PER_CLASS * n_classes, min(round(n_graphs**0.5), _MOST_CLUSTERS))


def assign(
    log_p: Floats, *, eta: float = 0.05, tolerance: float = 1e-3, iterations: int = 1000
) -> Floats:
    """Return the plan Q that minimizes ``⟨Q, −log P⟩ − η H(Q)``, ``(n_rows, n_clusters)``.

    Q ≥ 0 has rows that sum to 1/n_rows and columns that sum to 1/n_clusters (Sinkhorn: Cuturi,
    NeurIPS 2013). Without this balance, clusters that are learned from their own assignments
    collapse into one. Iterations end when sums over columns are off by no more than ``tolerance``,
    relatively. The sums are exact in any case: what is left over is spread (Altschuler et al.,
    *Near-linear time approximation algorithms for optimal transport*, NeurIPS 2017).

    Examples
    --------
    All rows prefer cluster 0; the two that prefer it least go to cluster 1.

    >>> proba = np.array([[0.9, 0.1], [0.6, 0.4], [0.8, 0.2], [0.7, 0.3]])
    >>> assign(np.log(proba)).argmax(axis=1)
    array([0, 1, 0, 1])
    """
    # Scores of −1000 are usual here, so they stay logarithms. In between, factors of the matrix are
    # improved a few times, which is far quicker. No sum is ever zero there: a matrix whose columns
    # were right and whose rows have been made so keeps at least 1/n_rows of each column.
    scores, (n_rows, n_clusters) = log_p / eta, log_p.shape
    row, column = 1 / n_rows, 1 / n_clusters
    for _ in range(0, max(1, iterations), _QUICK):
        scores = scores + np.log(column) - logsumexp(scores, axis=0)
        scores = scores + np.log(row) - logsumexp(scores, axis=1, keepdims=True)
        plan = np.exp(scores)
        if np.all(np.abs(plan.sum(axis=0) - column) <= tolerance * column):
            break
        row_factors = np.ones(n_rows)
        for _ in range(_QUICK):
            column_factors = column / (row_factors @ plan)
            row_factors = row / (plan @ column_factors)
        scores = scores + np.log(row_factors)[:, None] + np.log(column_factors)
    # Cut what is too much, and spread it where there is too little: the sums become exact.
    plan = plan * np.minimum(row / plan.sum(axis=1), 1)[:, None]
    plan = plan * np.minimum(column / plan.sum(axis=0), 1)
    lacking_rows = np.maximum(row - plan.sum(axis=1), 0)
    lacking_columns = np.maximum(column - plan.sum(axis=0), 0)
    lacking = lacking_columns.sum()
    return plan + np.outer(lacking_rows, lacking_columns / lacking) if lacking > 0 else plan


def k_center(points: Floats, chosen: Ints, n: int) -> Ints:
    """Choose n more rows, each the farthest from all chosen before (Gonzalez, TCS 1985).

    Returns them in the order of choice, the lowest row of equals first; all that are left where
    there are fewer. Points are means over nodes or have length 1: of sums over nodes, the farthest
    is just the largest graph.
    """
    points = np.asarray(points, dtype=np.float64)
    chosen = np.unique(chosen).astype(np.int64)
    nearest = np.full(len(points), np.inf)
    for row in chosen:
        nearest = np.minimum(nearest, np.square(points - points[row]).sum(axis=1))
    nearest[chosen] = -np.inf  # no copy of a chosen point is below 0
    new = np.empty(min(n, len(points) - len(chosen)), dtype=np.int64)
    for place in range(len(new)):
        new[place] = row = int(nearest.argmax())
        nearest = np.minimum(nearest, np.square(points - points[row]).sum(axis=1))
        nearest[row] = -np.inf
    return new
