"""KGNN.paper() against Algorithm 1 written out in loops, weight by weight."""

import numpy as np
import pytest
import torch

from kgnn.engine.loop import batches
from kgnn.engine.network import Examples, one_hot
from kgnn.graphs.datasets.toy import cycles_and_trees, planted_motifs
from kgnn.methods.ensemble_self import EnsembleSelf
from kgnn.methods.gnn_self import GNNSelf
from kgnn.methods.gnn_sup import GNNSup
from kgnn.methods.kgnn import KGNN
from kgnn.methods.kgnn_sep import KGNNSep
from kgnn.methods.memnn_sup import MemNNSup
from kgnn.seeds import derive, generator, seeded_torch
from tests.reference import literal_kgnn

EPOCHS, ROUNDS = 3, 3


def dense(graph):
    """Return the one-hot labels (or a 1) and the dense adjacency of a graph."""
    adjacency = torch.zeros(graph.n_nodes, graph.n_nodes)
    for a, b in graph.edges:
        adjacency[a, b] = adjacency[b, a] = 1
    if graph.node_labels is None:
        return torch.ones(graph.n_nodes, 1), adjacency
    names = graph.dataset.node_label_names
    return torch.eye(len(names))[[names.index(each) for each in graph.node_labels]], adjacency


def weisfeiler_lehman_counts(graphs, depth=3):
    """Count colors by dictionaries of nested tuples; unlabeled nodes all start alike."""
    columns, rows = {}, []
    for graph in graphs:
        colors, row = [(each,) for each in graph.node_labels or [""] * graph.n_nodes], {}
        neighbors = [[] for _ in range(graph.n_nodes)]
        for a, b in graph.edges:
            neighbors[a].append(b)
            if a != b:
                neighbors[b].append(a)
        for level in range(depth + 1):
            for color in colors:
                column = columns.setdefault((level, color), len(columns))
                row[column] = row.get(column, 0) + 1
            colors = [
                (color, tuple(sorted(colors[u] for u in near)))
                for color, near in zip(colors, neighbors, strict=True)
            ]
        rows.append(row)
    counts = torch.zeros(len(rows), len(columns))
    for number, row in enumerate(rows):
        for column, count in row.items():
            counts[number, column] = count
    return counts


def literal(model, graphs, labels):
    """Run the reference from the weights and batches that the model's seeds give."""
    labeled, unlabeled = (torch.from_numpy(np.flatnonzero(m)) for m in (labels >= 0, labels < 0))
    networks = {network.name: network for network in model.networks_}
    drawn = [dense(graph) for graph in graphs]
    features = weisfeiler_lehman_counts(graphs)
    order = column_order(networks["memory"], features)
    examples = Examples(labeled.numpy(), one_hot(labels, labels.max() + 1))

    def seed_of(number):
        return derive(model.random_state, number) if number else model.random_state

    def starts(name, number):
        with seeded_torch(seed_of(number), name):
            state = networks[name]._build(examples).state_dict()
        return {key: value.clone() for key, value in state.items()}

    def steps(name, number, rows):
        rng = generator(seed_of(number), name)
        parts = (batches(rows.numpy(), model.batch_size, rng) for _ in range(model.epochs))
        return [torch.from_numpy(part) for epoch in parts for part in epoch]

    def p_forward(weights, rows, training):
        return literal_kgnn.gnn_forward(weights, [drawn[row] for row in rows], training)

    def q_forward(weights, rows, training):
        memory = features[labeled][:, order]
        return literal_kgnn.memory_forward(weights, features[rows][:, order], memory, model.hops)

    ks = [int(np.ceil(model.growth * (r + 1) * len(unlabeled))) for r in range(model.rounds)]
    targets = torch.from_numpy(labels)
    return literal_kgnn.algorithm_1(
        labeled, unlabeled, targets, p_forward, q_forward, starts, steps, ks
    )


def column_order(memory, features):
    """Return which reference column is which column of the model, and that all have one.

    Columns are matched by their counts in all graphs; columns with equal counts are one to the
    network, too.
    """
    ours = torch.zeros(len(memory.pool), memory.n_features)
    rows = torch.arange(len(memory.pool)).repeat_interleave(memory.pool.offsets.diff())
    ours[rows, memory.pool.columns.long()] = memory.pool.values
    assert ours.shape == features.shape
    order = np.lexsort(ours.numpy())
    theirs = np.lexsort(features.numpy())
    torch.testing.assert_close(ours[:, order], features[:, theirs])
    placed = np.empty(len(order), dtype=np.int64)
    placed[order] = theirs
    return torch.from_numpy(placed)


@pytest.fixture
def double():
    """Compute with 64 bits: Adam turns the rounding of a gradient near 0 into a whole step."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def close(state, expected):
    for name, value in expected.items():
        if value.is_floating_point():
            torch.testing.assert_close(state[name], value, rtol=1e-5, atol=1e-5, msg=name)


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize(
    ("make_graphs", "n_classes"), [(planted_motifs, 2), (planted_motifs, 3), (cycles_and_trees, 2)]
)
def test_the_paper_settings_are_algorithm_1_to_the_letter(make_graphs, n_classes):
    graphs = make_graphs(30)
    # Of three classes the labels mean nothing, which is all the same to the equations.
    classes = graphs.targets if n_classes == 2 else np.arange(30) % n_classes
    labels = np.where(np.arange(30) < 8, classes, -1)
    model = KGNN.paper(width=4, epochs=EPOCHS, rounds=ROUNDS, growth=0.3, dropout=0.0, batch_size=8)
    model.fit(graphs, labels)
    expected = literal(model, graphs, labels)
    unlabeled = np.flatnonzero(labels < 0)
    assert len(model.course_.rounds) == len(expected) > 2
    for done, told in zip(model.course_.rounds, expected, strict=True):
        (p,), *q = done.fitted  # one member each
        close(p.module.state_dict(), told["theta"])
        epochs = np.array_split(told["p_losses"], EPOCHS)
        np.testing.assert_allclose(p.history.loss, [each.mean() for each in epochs], rtol=1e-4)
        if "phi" not in told:
            assert not q  # Algorithm 1 initializes θ alone
            continue
        close(q[0][0].module.state_dict(), told["phi"])
        for_p, for_q = done.selections
        assert for_p.rows.tolist() == unlabeled[told["for_p"]].tolist()
        assert for_q.rows.tolist() == unlabeled[told["for_q"]].tolist()
        assert for_p.targets.tolist() == told["q"][told["for_p"]].argmax(1).tolist()
        assert for_q.targets.tolist() == told["p"][told["for_q"]].argmax(1).tolist()
    # Logits and annotations of the last round, by the networks that it left.
    gnn, memory = model.networks_
    told = expected[-1]
    np.testing.assert_allclose(memory.annotate(unlabeled), [told["q"]], atol=1e-5)
    drawn = [dense(graph) for graph in graphs]
    logits = literal_kgnn.gnn_forward(told["theta"], drawn, False)
    np.testing.assert_allclose(gnn.logits(gnn.prepare(graphs)), logits.numpy(), atol=1e-5)
    np.testing.assert_array_equal(model.predict_proba(graphs).argmax(1), logits.argmax(1).numpy())


def test_validation_graphs_change_no_class_in_the_papers_settings():
    graphs = planted_motifs(60)
    labels = np.where(np.arange(40) < 10, graphs.targets[:40], -1)
    settings = {"width": 4, "epochs": 2, "rounds": 1}
    with_val = KGNN.paper(**settings).fit(graphs[:40], labels, validation=graphs[40:50])
    without = KGNN.paper(**settings).fit(graphs[:40], labels)
    np.testing.assert_array_equal(with_val.predict(graphs[50:]), without.predict(graphs[50:]))


@pytest.mark.parametrize("cls", [GNNSup, MemNNSup, GNNSelf, EnsembleSelf, KGNNSep])
def test_ablations_have_the_papers_settings_too(cls):
    graphs = planted_motifs(30)
    labels = np.where(np.arange(30) < 8, graphs.targets, -1)
    ours = cls.paper(epochs=1)
    ablated = KGNN.paper(epochs=1).get_params()
    shared = {k: v for k, v in ours.get_params().items() if k in ablated}
    assert shared == {k: ablated[k] for k in shared}
    assert ours.fit(graphs, labels).predict_proba(graphs).shape == (30, 2)
