"""A teacher that learns from all graphs, labeled or not, what a student then starts from.

It guesses hidden nodes, tells pairs of nodes with an edge from pairs without, and sorts graphs into
clusters of equal size; beside that it learns the classes that are known or that a student believes
in.

References
----------
Hao et al., *ASGN: An active semi-supervised graph neural network for molecular property
prediction*, KDD 2020, Algorithm 1. Its public script trains the property alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from kgnn.engine.frozen import frozen_statistics
from kgnn.engine.gin import GIN
from kgnn.engine.k_center import k_center
from kgnn.engine.loop import History, n_batches, recompute_bn_stats, train
from kgnn.engine.multitask import MultitaskGIN, n_node_kinds, node_kinds, sample_pairs
from kgnn.engine.network import Examples, GraphNetwork, Objective, OptimizerConfig
from kgnn.engine.sinkhorn import assign
from kgnn.engine.views import mask_nodes, view_batch
from kgnn.graphs.graph import Floats, GraphDataset, Ints
from kgnn.seeds import generator, seeded_torch

# Epochs after which graphs are sorted into clusters anew.
_REFRESH = 4
# Pairs of nodes with an edge that are taken from a graph, and as many without.
_MOST_PAIRS = 32
_GRAPHS_PER_PASS = 256
_FEWEST_PER_CLASS, _MOST_CLUSTERS = 2, 64


@dataclass(frozen=True)
class Lessons:
    """What the teacher learns.

    Attributes
    ----------
    node, edge, cluster, property : float
        Weights of the four losses.
    mask : float
        Share of the nodes of each graph that are hidden and guessed.
    """

    node: float = 1.0
    edge: float = 1.0
    cluster: float = 1.0
    property: float = 1.0
    mask: float = 0.2


def n_clusters_for(n_graphs: int, n_classes: int) -> int:
    """Return the root of the number of graphs, at most 64 and at least two for each class.

    Examples
    --------
    >>> [n_clusters_for(n_graphs, 2) for n_graphs in (9, 779, 10**6)]
    [4, 28, 64]
    """
    return max(_FEWEST_PER_CLASS * n_classes, min(round(n_graphs**0.5), _MOST_CLUSTERS))


class Teacher:
    """A GIN with heads, trained on all graphs of a network's pool.

    Parameters
    ----------
    graphs : GraphDataset
        Labeled and unlabeled: the pool of ``student``.
    student : GraphNetwork
        Whose GIN the teacher has, and whose ``start`` it begins with.
    width : int
        Length of its node vectors.
    n_clusters : int
    lessons : Lessons
    optimizer_config : OptimizerConfig
    seed : int

    Attributes
    ----------
    module : MultitaskGIN
    histories : list of History
        One for each `fit`, with the losses as parts.
    """

    def __init__(
        self,
        graphs: GraphDataset,
        student: GraphNetwork,
        *,
        width: int,
        n_clusters: int,
        lessons: Lessons,
        optimizer_config: OptimizerConfig,
        seed: int,
    ) -> None:
        self.graphs, self.pool, self.node_features = graphs, student.pool, student.node_features
        self.lessons, self.optimizer_config, self.seed = lessons, optimizer_config, seed
        self.rows = np.arange(len(graphs))
        self.histories: list[History] = []
        with seeded_torch(seed, "teacher"):
            gin = student.build(student.node_features.width)
            assert isinstance(gin, GIN)
            self.module = MultitaskGIN(gin, width, n_node_kinds(graphs), n_clusters)
        self.module.load_encoder(student.start)

    @property
    def encoder(self) -> dict[str, Tensor]:
        """Weights of the message passing, for a student to start with."""
        return self.module.encoder()

    def fit(self, examples: Examples, what: str | None = None) -> History:
        """Train on, for one more round, with the classes that are known or believed by now.

        Without any, the other tasks are learned alone.
        """
        number = len(self.histories) + 1
        rng = generator(self.seed, "teacher", number)
        with seeded_torch(self.seed, "teacher", number):
            objective = Teaching(self, examples, rng)
            history = train(
                self.module,
                objective,
                self.rows,
                **vars(self.optimizer_config),
                rng=rng,
                finish=lambda each: recompute_bn_stats(each, self._pass),
                what=what or f"round {number}, teacher",
            )
        self.histories.append(history)
        if history.interrupted:
            raise KeyboardInterrupt
        return history

    def clusters(self) -> Ints:
        """Sort all graphs into clusters of equal size, by what the heads say now."""
        with torch.no_grad(), frozen_statistics(self.module):
            logits = self.module.cluster_head(self._means())
        return assign(logits.double().log_softmax(dim=1).numpy()).clusters

    @torch.no_grad()
    def embeddings(self) -> Floats:
        """Return vectors of all graphs, of length 1: a mean over nodes tells no size."""
        self.module.eval()
        return np.asarray(functional.normalize(self._means().double()).numpy())

    def _means(self) -> Tensor:
        """Return the mean node vector of all graphs, in the order of the pool."""
        means = []
        for rows in self._parts():
            batch = self.pool[rows]
            means.append(self.module.means(self.module.node_vectors(batch), batch))
        return torch.cat(means)

    def _pass(self, module: torch.nn.Module) -> None:
        for rows in self._parts():
            module(self.pool[rows])

    def _parts(self) -> list[Ints]:
        return np.array_split(self.rows, max(1, len(self.rows) // _GRAPHS_PER_PASS))


class Teaching(Objective):
    """The losses of a batch of graphs, labeled or not: four, or three where no class is known.

    Parameters
    ----------
    teacher : Teacher
    examples : Examples
        Labeled rows, annotated rows and the classes of both.
    rng : numpy Generator
    """

    def __init__(self, teacher: Teacher, examples: Examples, rng: np.random.Generator) -> None:
        self.teacher, self.examples, self.rng, self.rows = teacher, examples, rng, teacher.rows
        n_steps = n_batches(len(self.rows), teacher.optimizer_config.batch_size)
        self.n_steps, self.refresh_after = 0, _REFRESH * n_steps
        self.is_labeled, self.is_annotated = np.zeros((2, len(self.rows)), dtype=np.bool_)
        self.is_labeled[examples.labeled] = True
        self.is_annotated[examples.annotated] = True

    def __call__(self, rows: Ints) -> dict[str, Tensor]:
        """Return the losses, weighted."""
        if self.n_steps % self.refresh_after == 0:
            self.clusters = self.teacher.clusters()  # by row of the pool, not by place in a batch
        self.n_steps += 1
        # Paper silent: classes are learned from whole graphs, the rest with some nodes hidden. The
        # second pass sees the same graphs again, so that BatchNorm remembers the first alone.
        known = {"property": self._property(rows)} if len(self.examples.rows) else {}
        with frozen_statistics(self.teacher.module):
            losses = {**self._masked(rows), **known}
        weights = vars(self.teacher.lessons)
        return {name: weights[name] * loss for name, loss in losses.items()}

    def _masked(self, rows: Ints) -> dict[str, Tensor]:
        """Return the losses that need no class, from one pass with some nodes hidden."""
        teacher, module = self.teacher, self.teacher.module
        graphs = teacher.graphs[rows]
        view = mask_nodes(graphs, teacher.lessons.mask, self.rng)
        batch = view_batch(view, teacher.node_features)
        vectors = module.node_vectors(batch)
        hidden = torch.from_numpy(np.flatnonzero(view.masked))
        kinds = torch.from_numpy(node_kinds(graphs))[hidden]
        # Paper silent: nodes have no place in space, so that edges stand in for distances.
        pairs = sample_pairs(graphs, _MOST_PAIRS, self.rng)
        joined = module.edge_logits(vectors, pairs.u, pairs.v)
        sorted_into = module.cluster_head(module.means(vectors, batch))
        return {
            "node": _cross_entropy(module.node_head(vectors[hidden]), kinds),
            "edge": _mean(
                functional.binary_cross_entropy_with_logits(joined, pairs.joined, reduction="none")
            ),
            "cluster": _cross_entropy(sorted_into, torch.from_numpy(self.clusters[rows])),
        }

    def _property(self, rows: Ints) -> Tensor:
        """Return the loss of known classes and, weighted, that of annotations."""
        logits = self.teacher.module(self.teacher.pool[rows])
        labeled, annotated = (
            torch.from_numpy(np.flatnonzero(each[rows]))
            for each in (self.is_labeled, self.is_annotated)
        )
        targets = self.examples.targets[rows]
        believed = _cross_entropy(logits[annotated], targets[annotated])
        return _cross_entropy(logits[labeled], targets[labeled]) + self.examples.weight * believed


def buy(points: Floats, labeled: Ints, for_sale: Ints, n: int) -> Ints:
    """Choose rows to label: those that are farthest from all labeled ones and from each other.

    Parameters
    ----------
    points : (n_graphs, d)
    labeled, for_sale : arrays of int64
        Rows.
    n : int
        How many; all that are for sale where there are fewer.
    """
    rows = np.concatenate([labeled, np.setdiff1d(for_sale, labeled)])
    return rows[k_center(points[rows], np.arange(len(labeled)), n)]


def _cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    return _mean(functional.cross_entropy(logits, targets, reduction="none"))


def _mean(losses: Tensor) -> Tensor:
    """Return the mean; of nothing it is 0, and so is its gradient."""
    return losses.sum() / max(1, len(losses))
