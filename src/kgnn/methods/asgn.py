"""ASGN: a student starts from a teacher that has learned from all graphs (Hao et al., KDD 2020)."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import ClassVar

import numpy as np
from torch import Tensor

from kgnn.engine.asgn import Lessons, Teacher, buy, n_clusters_for
from kgnn.engine.committee import Committee
from kgnn.engine.loop import History
from kgnn.engine.network import Examples, GraphNetwork, OptimizerConfig, one_hot
from kgnn.engine.task import Task
from kgnn.estimator.parameters import Count, NonNegative, Share, parameters
from kgnn.graphs.graph import Ints
from kgnn.methods.pretrained import CanPretrain, Pretrained
from kgnn.seeds import derive, generator


@parameters
class ASGN(CanPretrain):
    """A teacher and a student in turn.

    The teacher learns from labeled and unlabeled graphs: to guess hidden nodes, to tell pairs of
    nodes with an edge from others, to sort graphs into clusters of equal size, and the classes. The
    student takes over its message passing, gets a new classifier and learns from labeled graphs
    alone. What it believes of the unlabeled graphs, the teacher learns in the next round.

    VAL chooses the epoch of each student, and the last student predicts. Pre-training is the
    teacher's tasks without the classes; the teacher starts from a ``pretrained`` encoder. See
    `CanPretrain` for the other parameters.

    Parameters
    ----------
    rounds : int
        A teacher and a student each.
    epochs, teacher_epochs : int
        Of the student and of the teacher, in each round.
    clusters : int or None
        Number of clusters; None for the root of the number of graphs, at most 64 and at least two
        for each class.
    mask : float
        Share of the nodes of each graph that are hidden and guessed.
    node_weight, edge_weight, cluster_weight, property_weight : float
        Of the teacher's losses.
    pseudo_weight : float
        Of the student's beliefs against known classes, in the last of these losses.
    active : bool
        Start with half of the labels, drawn at random, and buy the rest round by round, those of
        the graphs that are least like the labeled ones. The number of labels is the same in the
        end, but results do not compare with those of other methods.

    Attributes
    ----------
    teacher_ : Teacher
        The teacher as the last round left it.
    encoder_ : dict of str to Tensor
        Weights that the last student started from.
    labeled_ : list of arrays of int64
        Rows whose labels the student of each round has seen.
    history_ : History
        Of the student that predicts.
    teacher_history_ : list of History
        Of the teacher, round by round; each loss is a part.

    References
    ----------
    Hao et al., *ASGN: An active semi-supervised graph neural network for molecular property
    prediction*, KDD 2020.

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

    _not_saved: ClassVar[tuple[str, ...]] = ("teacher_", "encoder_")

    def _fit(self, task: Task) -> None:
        self.gnn_ = self._gnn(task)
        plan = replace(self._optimizer_config(self.learning_rate), epochs=self.teacher_epochs)
        self.teacher_ = self._teacher(task, self.gnn_, plan)
        self.teacher_history_: list[History] = self.teacher_.histories
        self.labeled_: list[Ints] = []
        # Paper silent: the last student predicts; VAL chooses its epoch, but not among students.
        for number in range(self.rounds):
            self.gnn_.start = self.encoder_ = self._next_encoder(task)
            self.labeled_.append(self._more_labels(task))
            before = self.__dict__.get("committee_")
            seed = derive(task.seed, number) if number else task.seed  # the first as GNN-Sup
            try:
                self._train(self._examples(task, self.labeled_[-1]), replace(task, seed=seed))
            finally:
                self._keep_the_better(before)

    def _pretrain(self, task: Task, network: GraphNetwork) -> Pretrained:
        teacher = self._teacher(task, network, self._pretraining())
        no_classes = self._examples(task, task.labeled[:0])
        history = teacher.fit(no_classes, "pre-training")
        return Pretrained(teacher.encoder, {"loss": history.loss, **history.parts})

    def _next_encoder(self, task: Task) -> dict[str, Tensor]:
        """Let the teacher learn for one more round, and return its message passing."""
        known, beliefs = self._first_labels(task), None  # the first has not heard of a student
        if self.labeled_:
            known, beliefs = self.labeled_[-1], self._beliefs()
        # Paper silent: the teacher goes on from its own weights, heads and all.
        self.teacher_.fit(self._examples(task, known, beliefs))
        return self.teacher_.encoder

    def _teacher(
        self, task: Task, student: GraphNetwork, optimizer_config: OptimizerConfig
    ) -> Teacher:
        return Teacher(
            task.graphs,
            student,
            width=self.width,
            n_clusters=self.clusters or n_clusters_for(len(task.graphs), task.n_classes),
            lessons=Lessons(
                self.node_weight,
                self.edge_weight,
                self.cluster_weight,
                self.property_weight,
                self.mask,
            ),
            optimizer_config=optimizer_config,
            seed=task.seed,
        )

    def _examples(self, task: Task, known: Ints, beliefs: Ints | None = None) -> Examples:
        """Put known classes together with what is believed of all other graphs, if anything is."""
        if beliefs is None:
            return Examples(known, one_hot(task.targets, task.n_classes))
        others = np.setdiff1d(np.arange(len(task.graphs)), known)
        classes = beliefs.copy()
        classes[known] = task.targets[known]
        return Examples(known, one_hot(classes, task.n_classes), others, self.pseudo_weight)

    def _beliefs(self) -> Ints:
        """Return the student's class for every graph."""
        # Paper silent: a class, not probabilities, as in co-training.
        return self.committee_.logits(self.gnn_, self.gnn_.pool).argmax(axis=1)

    def _first_labels(self, task: Task) -> Ints:
        """Return the rows whose labels are known at first: all, or half of them if bought."""
        if not self.active:
            return task.labeled
        n_first = math.ceil(len(task.labeled) / 2)
        order = generator(task.seed, "first labels").permutation(task.labeled)
        return np.sort(order[:n_first])

    def _more_labels(self, task: Task) -> Ints:
        """Return the rows whose labels the next student learns, some of them just bought."""
        first = self._first_labels(task)
        known = self.labeled_[-1] if self.labeled_ else first
        share = (len(self.labeled_) + 1) / self.rounds  # all labels by the last round
        n_due = len(first) + round(share * (len(task.labeled) - len(first)))
        if n_due == len(known):
            return known
        bought = buy(self.teacher_.embeddings(), known, task.labeled, n_due - len(known))
        return np.sort(np.concatenate([known, bought]))

    def _keep_the_better(self, before: Committee | None) -> None:
        """Return to the student of the round before, if the new one was stopped too early."""
        after = self.committee_
        if before is not None and after.interrupted and not _is_better(after, before):
            self.committee_ = before
            self.history_ = before.members[0].history


def _is_better(stopped: Committee, whole: Committee) -> bool:
    """Tell whether VAL likes half a student at least as much as a whole one; without VAL, no."""
    ends = [each.members[0].history.score for each in (stopped, whole)]
    if not ends[1]:
        return False
    worst = -math.inf  # of one that was stopped before it was judged
    return max(ends[0], default=worst) >= max(ends[1])
