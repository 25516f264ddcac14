"""A GNN with random weights as a kernel, and the machine that reads it."""

import numpy as np
import pytest
import torch

from kgnn.engine.batch import GraphBatches, SomeBatches
from kgnn.engine.fast.quotients import batches_of
from kgnn.engine.gin import GIN
from kgnn.engine.node_features import NodeFeatures
from kgnn.engine.untrained import UntrainedGNN, fit_machine
from kgnn.graphs.datasets.toy import planted_motifs
from kgnn.kernels.projection import Projection

GRAPHS = planted_motifs(60, n_nodes=12)
FEATURES = NodeFeatures.of(GRAPHS)
ROWS = np.arange(20)


def untrained(seed=0, pool=GRAPHS):
    def build():
        return GIN(FEATURES.width, 2, width=16, readout="both", pooling="all")

    prepared = GraphBatches(pool, FEATURES)
    return prepared, UntrainedGNN(prepared, build, Projection(8, length=8.0), seed)


def test_its_coordinates_are_the_projected_vectors_of_all_copies():
    _, gnn = untrained()
    batch = GraphBatches(GRAPHS, FEATURES)[ROWS]
    with torch.no_grad():
        vectors = torch.cat([module.embed(batch) for module in gnn.modules], dim=1).numpy()
    expected = gnn.projection.transform(vectors)
    found = gnn.coordinates(GraphBatches(GRAPHS[ROWS], FEATURES))
    np.testing.assert_allclose(found, expected, atol=1e-4)
    assert len({each.tobytes() for each in np.split(vectors, len(gnn.modules), axis=1)}) > 1


def test_graphs_of_the_pool_have_the_coordinates_of_equal_new_graphs():
    pool, gnn = untrained()
    known = gnn.coordinates(SomeBatches(pool, ROWS))
    # By color, as a network prepares new graphs, and in batches that the pool was not cut into.
    new = gnn.coordinates(batches_of(GRAPHS[ROWS], FEATURES, 3))
    np.testing.assert_allclose(known, new, atol=1e-3)


def test_the_machine_learns_what_the_weights_were_never_trained_for():
    pool, gnn = untrained()
    known = gnn.coordinates(SomeBatches(pool, np.arange(40)))
    machine = fit_machine(known, GRAPHS.targets[:40], 2)
    scores = machine.scores(gnn.coordinates(SomeBatches(pool, np.arange(40, 60))))
    assert (scores.argmax(axis=1) == GRAPHS.targets[40:]).mean() > 0.7


def test_its_weights_are_those_of_the_seed_and_leave_global_generators_alone():
    before = torch.get_rng_state()
    (_, one), (_, again), (_, other) = untrained(1), untrained(1), untrained(2)
    assert torch.equal(before, torch.get_rng_state())
    pool = GraphBatches(GRAPHS, FEATURES)
    np.testing.assert_array_equal(one.coordinates(pool), again.coordinates(pool))
    assert not np.allclose(one.coordinates(pool), other.coordinates(pool))


def test_parts_that_do_not_belong_together_are_refused():
    _, gnn = untrained()
    gnn.require_sound()
    gnn.modules = gnn.modules[:-1]
    with pytest.raises(ValueError, match="does not fit"):
        gnn.require_sound()
