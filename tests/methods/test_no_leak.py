"""No label reaches the member that it judges: shown by changing the labels of a fold."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from kgnn.engine import network as network_module
from kgnn.engine.linear import KernelMachine
from kgnn.engine.task import Task
from kgnn.engine.trees import Forest
from kgnn.graphs.datasets.toy import planted_motifs
from kgnn.methods.dgk import DGK
from kgnn.methods.ensemble_self import EnsembleSelf
from kgnn.methods.entmin import EntMin
from kgnn.methods.gnn_self import GNNSelf
from kgnn.methods.gnn_sup import GNNSup
from kgnn.methods.graph2vec import Graph2Vec
from kgnn.methods.graphcl import GraphCL
from kgnn.methods.infograph import InfoGraph
from kgnn.methods.kgnn import KGNN
from kgnn.methods.kgnn_sep import KGNNSep
from kgnn.methods.memnn_sup import MemNNSup
from kgnn.methods.wl import WL

GRAPHS = planted_motifs(60, n_nodes=12)
FOLDS = tuple(np.arange(30)[i::3] for i in range(3))
LABELS = np.where(np.arange(60) < 30, GRAPHS.targets, -1)
TASK = Task(GRAPHS, LABELS, 2, None, seed=0, folds=FOLDS)

FAST = {"epochs": 3, "width": 8}
# All folds together choose the scaling and the penalty.
KERNEL = {"kernel": "wl(iterations=2)", "linear_penalty": 1.0}
ROUNDS = {"rounds": 2, "growth": 0.3, "patience": None}
NEURAL = {
    GNNSup: FAST,
    EntMin: FAST,
    InfoGraph: FAST,
    GraphCL: {**FAST, "pretrain_epochs": 1},
    MemNNSup: {**FAST, **KERNEL},
    GNNSelf: {**FAST, **ROUNDS},
    EnsembleSelf: {**FAST, **KERNEL, **ROUNDS},
    KGNNSep: {**FAST, **KERNEL, **ROUNDS},
    # The weights of annotators are a choice that other members' graphs make; see test_rounds.
    KGNN: {**FAST, **KERNEL, **ROUNDS, "annotators": "each"},
}


def with_changed(fold):
    """The task with other labels in a fold, most of them those of the first class."""
    labels = LABELS.copy()
    labels[FOLDS[fold]] = 1 - labels[FOLDS[fold]]
    labels[FOLDS[fold][:3]] = 0
    return replace(TASK, targets=labels)


def trainings(method, task):
    """All trainings of a method by network, round and member."""
    method._fit(task)
    if hasattr(method, "course_"):
        rounds = [each.fitted for each in method.course_.rounds]
        return {
            (number, which): members
            for number, each in enumerate(rounds)
            for which, members in enumerate(each)
        }
    return {(0, 0): (method.gnn_ if hasattr(method, "gnn_") else method.memory_).fitted}


def same(one, other):
    if isinstance(one.module, (Forest, KernelMachine)):
        pairs = zip(vars(one.module).values(), vars(other.module).values(), strict=True)
        return all(np.array_equal(*pair) for pair in pairs)
    first, second = one.module.state_dict(), other.module.state_dict()
    return all(torch.equal(first[name], second[name]) for name in first)


@pytest.fixture
def last_epochs(monkeypatch):
    """Keep the last epoch, which is a choice that all folds make together."""
    monkeypatch.setattr(
        network_module,
        "choose_epochs",
        lambda answers, *_, default: [(-1, -1, [])] * len(answers),
    )


@pytest.mark.usefixtures("last_epochs")
@pytest.mark.parametrize("cls", NEURAL)
def test_a_member_does_not_depend_on_the_labels_of_its_fold(cls):
    before = trainings(cls(**NEURAL[cls]), TASK)
    assert max(number for number, _ in before) == (2 if "rounds" in NEURAL[cls] else 0)
    after = trainings(cls(**NEURAL[cls]), with_changed(fold=0))
    for which, members in before.items():
        assert same(members[0], after[which][0]), which
        assert np.array_equal(members[0].answers, after[which][0].answers)
        # The others have learned from these labels.
        for member in (1, 2):
            assert not same(members[member], after[which][member])


ONE_CANDIDATE = {
    WL: {"iterations": (2,), "counts": ("raw",), "normalize": ("graph",)},
    DGK: {"dimensions": (16,), "counts": ("raw",), "normalize": ("graph",)},
    Graph2Vec: {"iterations": (2,), "widths": (1.0,)},
}


@pytest.mark.parametrize("cls", ONE_CANDIDATE)
def test_what_a_kernel_machine_says_of_a_fold_does_not_depend_on_its_labels(cls):
    """Of one candidate, apart from the temperature, which all folds choose together."""
    machine = cls(C=(1.0,), committee=9, **ONE_CANDIDATE[cls])
    rows, before = machine._fit(TASK)
    assert len(machine.members_) == 1
    again, after = machine._fit(with_changed(fold=1))
    assert rows.tolist() == again.tolist()
    # With a single factor for all graphs, log-odds are proportional.
    first, second = (np.log(proba[:, 0] / proba[:, 1]) for proba in (before, after))
    inside = np.isin(rows, FOLDS[1])
    factors = second / first
    assert factors[inside] == pytest.approx(np.full(10, factors[inside][0]))
    assert factors[inside][0] > 0
    assert np.ptp(factors[~inside]) > 0.1
