"""What tests of semi-supervised methods share: graphs, fast settings, one step of training."""

import numpy as np

from kgnn.engine.network import Examples, one_hot
from kgnn.engine.task import Task
from kgnn.graphs.datasets.toy import planted_motifs
from kgnn.methods.semi_supervised import Step
from kgnn.progress import listening
from kgnn.seeds import seeded_torch

GRAPHS = planted_motifs(48, n_nodes=10)
LABELS = np.where(np.arange(40) < 10, GRAPHS.targets[:40], -1)
NEW = GRAPHS[40:]
FAST = {"epochs": 4, "width": 8, "batch_size": 8, "committee": 1, "cross_fit": 0}


def fitted(cls, labels=LABELS, graphs=GRAPHS[:40], **settings):
    return cls(**{**FAST, **settings}).fit(graphs, labels)


def one_step(cls, **settings):
    """A method's term and a first step to call it with, as in training."""
    method = cls(**{**FAST, **settings})
    task = Task(GRAPHS[:40], LABELS, 2, None, 0)
    network = method._gnn(task)
    with seeded_torch(0, "gnn"):
        module = network._build(Examples(task.labeled, one_hot(task.targets, 2))).train()
    network.term.begin(module)
    rows = np.array([0, 1, 2, 3, *range(10, 18)])
    batch = network.pool[rows]
    step = Step(module, rows, 4, batch, module(batch), network, np.random.default_rng(0))
    return network.term, step


def gradients(module):
    return [parameter.grad for parameter in module.parameters()]


def stop_at(epoch, wanted="training"):
    def listener(what, done, total):
        if what == wanted and done == epoch:
            raise KeyboardInterrupt

    return listening(listener)
