import numpy as np
import pytest

from kgnn.engine import pretraining
from kgnn.errors import ParameterError
from kgnn.graphs.datasets.toy import planted_motifs
from kgnn.methods.graphcl import GraphCL
from kgnn.testing import CHECKS

TRAIN = planted_motifs(40, n_nodes=12)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_it_keeps_the_contract(check):
    check(GraphCL(epochs=15, pretrain_epochs=2))


def test_views_are_drawn_from_the_augmentations_uniformly(monkeypatch):
    drawn, augment = [], pretraining.augment

    def watched(graphs, choices, share, rng):
        drawn.append((choices, share))
        return augment(graphs, choices, share, rng)

    monkeypatch.setattr(pretraining, "augment", watched)
    settings = {"augmentations": ("subgraph", "identity"), "share": 0.3, "pretrain_epochs": 20}
    GraphCL(**settings).pretrain(TRAIN)
    counts = np.bincount(np.concatenate([choices for choices, _ in drawn]), minlength=5)
    assert np.flatnonzero(counts).tolist() == [1, 4]  # their places among all augmentations
    assert counts[1] / counts.sum() == pytest.approx(0.5, abs=0.05)
    assert {share for _, share in drawn} == {0.3}


def test_pretrain_checks_all_parameters():
    with pytest.raises(ParameterError, match="'augmentations' parameter of GraphCL must be"):
        GraphCL(augmentations=("rotate",)).pretrain(TRAIN)
