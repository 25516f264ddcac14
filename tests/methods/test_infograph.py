import copy
import math

import numpy as np
import pytest
import torch
from torch.autograd import gradcheck
from torch.nn.functional import softplus

from kgnn.engine.batch import GraphBatches
from kgnn.engine.fast.quotients import ColorBatches
from kgnn.engine.gin import GIN
from kgnn.engine.node_features import NodeFeatures
from kgnn.engine.task import Task
from kgnn.graphs.datasets.toy import planted_motifs, random_graphs
from kgnn.graphs.packing import pack
from kgnn.methods.entmin import EntMin
from kgnn.methods.infograph import Discriminator, InfoGraph, InfoMax, jensen_shannon
from kgnn.seeds import seeded_torch
from kgnn.testing import CHECKS
from tests.tensors import asking, normal

GRAPHS = planted_motifs(48, n_nodes=10)
LABELS = np.where(np.arange(40) < 10, GRAPHS.targets[:40], -1)
NEW = GRAPHS[40:]
FAST = {"epochs": 4, "width": 8, "batch_size": 8, "committee": 1, "cross_fit": 0}


def fitted(cls=InfoGraph, labels=LABELS, graphs=GRAPHS[:40], **settings):
    return cls(**{**FAST, **settings}).fit(graphs, labels)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_it_keeps_the_contract(check):
    check(InfoGraph(epochs=5))


@pytest.mark.parametrize(
    ("separate_encoder", "names"),
    [(True, ["labeled", "infomax", "tie"]), (False, ["labeled", "infomax"])],
)
def test_each_part_is_there_and_not_zero(separate_encoder, names):
    parts = fitted(separate_encoder=separate_encoder).history_.parts
    assert list(parts) == names
    for part in parts.values():
        assert len(part) == 8  # 30 unlabeled graphs make four steps, ten labeled ones two
        assert np.isfinite(part).all()
        assert all(value != 0 for value in part)


def test_mutual_information_is_learned():
    parts = fitted(epochs=25, ramp_up=0.0, weight=1.0).history_.parts
    assert parts["infomax"][-1] < parts["infomax"][0] - 0.2
    assert parts["tie"][-1] < parts["tie"][0] - 0.02


def test_the_weight_of_the_tie_is_its_own():
    weak, strong = (fitted(epochs=1, tie=tie).history_.parts for tie in (0.001, 1.0))
    assert abs(strong["tie"][0]) > 100 * abs(weak["tie"][0])
    assert 0.1 < strong["infomax"][0] / weak["infomax"][0] < 10


@pytest.mark.parametrize(
    "settings", [{"weight": 0.0}, {"tie": 0.0}, {"weight": 0.0, "separate_encoder": False}]
)
def test_what_cannot_reach_phi_changes_no_bit(settings):
    """Without weight or tie, the steps are those of labeled graphs alone: batches, masks and all.

    So this holds against every other method without weight, and not against the same batches with
    unlabeled graphs in them, for BatchNorm would see these.
    """
    plain = fitted(EntMin, weight=0.0)
    model = fitted(**settings)
    assert (model.predict_proba(NEW) == plain.predict_proba(NEW)).all()
    assert list(model.history_.parts) == []
    assert model.history_.loss == plain.history_.loss


def test_a_single_encoder_is_not_left_out_without_a_tie():
    one, other = (fitted(separate_encoder=False, tie=tie).predict_proba(NEW) for tie in (0.0, 1.0))
    assert (one == other).all()
    assert (one != fitted(weight=0.0).predict_proba(NEW)).any()


def test_phi_begins_and_drops_out_as_without_psi():
    task = Task(GRAPHS[:40], LABELS, 2, None, 0)
    modules, states = [], []
    for weight in (0.0, 1.0):
        network = InfoGraph(**FAST, weight=weight)._gnn(task)
        with seeded_torch(0, "gnn"):
            modules.append(network._build(None))
            states.append(torch.get_rng_state())
    plain, both = modules
    assert isinstance(plain, GIN)
    assert isinstance(both, InfoMax)
    assert torch.equal(states[0], states[1])
    for name, weights in plain.state_dict().items():
        assert torch.equal(weights, both.phi.state_dict()[name])
    # ψ is not a copy of φ.
    assert not torch.equal(both.psi[1].inner.weight, both.phi.layers[1].inner.weight)


def test_every_training_begins_with_a_psi_of_its_own():
    network, weights = InfoGraph(**FAST)._gnn(Task(GRAPHS[:40], LABELS, 2, None, 0)), []
    for seed in (0, 0, 1):
        with seeded_torch(seed):
            weights.append(network._build(None).psi[0].inner.weight)
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_members_of_a_committee_have_encoders_of_their_own():
    members = fitted(committee=2, learning_rate=0.0).gnn_.fitted
    one, other = (member.module.psi[0].inner.weight for member in members)
    assert not torch.equal(one, other)


def test_psi_learns_its_task_in_full_however_little_phi_is_tied_to_it():
    weak, strong = (fitted(epochs=1, weight=weight).history_.parts for weight in (0.01, 1.0))
    assert weak["infomax"][0] == pytest.approx(strong["infomax"][0], rel=1e-3)
    assert abs(strong["tie"][0]) > 20 * abs(weak["tie"][0])
    alone = [fitted(epochs=1, weight=w, separate_encoder=False).history_.parts for w in (0.01, 1.0)]
    assert abs(alone[1]["infomax"][0]) > 50 * abs(alone[0]["infomax"][0])


def test_phi_alone_predicts():
    model = fitted()
    before = model.predict_proba(NEW)
    module = model.gnn_.fitted[0].module
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if not name.startswith("phi."):
                parameter.fill_(torch.nan)
    assert (model.predict_proba(NEW) == before).all()


def test_a_fitted_model_can_be_copied():
    model = fitted()
    assert (copy.deepcopy(model).predict_proba(NEW) == model.predict_proba(NEW)).all()


def test_unlabeled_graphs_are_learned_from():
    fewer = fitted(labels=LABELS[:20], graphs=GRAPHS[:20])
    assert (fewer.predict_proba(NEW) != fitted().predict_proba(NEW)).any()


@pytest.mark.parametrize("separate_encoder", [True, False])
def test_hidden_labels_change_no_bit(separate_encoder):
    garbage = np.where(LABELS >= 0, LABELS, 1 - GRAPHS.targets[:40])
    models = [
        fitted(graphs=graphs, separate_encoder=separate_encoder)
        for graphs in (GRAPHS[:40], GRAPHS[:40].with_targets(garbage))
    ]
    first, second = (model.gnn_.fitted[0].module.state_dict() for model in models)
    assert all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize("separate_encoder", [True, False])
def test_encoders_of_others_will_do(separate_encoder):
    pytest.importorskip("torch_geometric")
    model = fitted(encoder="gcn", epochs=1, separate_encoder=separate_encoder)
    assert np.isfinite(model.predict_proba(NEW)).all()


@pytest.fixture
def encoder(tmp_path):
    """An encoder and the folder that it is in."""
    made = InfoGraph(width=8, pretrain_epochs=2).pretrain(GRAPHS)
    made.save(tmp_path / "encoder")
    return made.weights, str(tmp_path / "encoder")


def started_from(folder, **settings):
    """Return the module that training begins with."""
    task = Task(GRAPHS[:40], LABELS, 2, None, 0)
    network = InfoGraph(**FAST, pretrained=folder, **settings)._gnn(task)
    with seeded_torch(0, "gnn"):
        return network._build(None)


def test_phi_and_psi_start_from_a_saved_encoder(encoder):
    weights, folder = encoder
    both, plain = started_from(folder), started_from(None)
    for name, saved in weights.items():
        assert torch.equal(both.phi.state_dict()[name], saved)
        assert torch.equal(both.psi.state_dict()[name.removeprefix("layers.")], saved)
    # All else begins as without it.
    for name, begun in both.state_dict().items():
        if not name.startswith(("phi.layers.", "psi.")):
            assert torch.equal(begun, plain.state_dict()[name])


@pytest.mark.parametrize("settings", [{"separate_encoder": False}, {"weight": 0.0}, {"tie": 0.0}])
def test_a_single_encoder_starts_from_a_saved_one(encoder, settings):
    weights, folder = encoder
    module = started_from(folder, **settings)
    gin = module.phi if isinstance(module, InfoMax) else module
    assert not hasattr(module, "psi")
    assert all(torch.equal(gin.state_dict()[name], saved) for name, saved in weights.items())
    fitted(pretrained=folder, epochs=1, **settings)


def test_pre_training_is_the_task_of_psi_whatever_comes_next(encoder):
    weights, _ = encoder
    for settings in ({"separate_encoder": False}, {"weight": 0.0}, {"tie": 0.0}, {"dropout": 0.1}):
        again = InfoGraph(width=8, pretrain_epochs=2, **settings).pretrain(GRAPHS).weights
        assert all(torch.equal(again[name], saved) for name, saved in weights.items())


def test_the_loss_of_pre_training_is_that_of_mutual_information():
    settings = {"width": 8, "pretrain_epochs": 25, "pretrain_batch_size": 16}
    loss = InfoGraph(**settings).pretrain(GRAPHS).loss
    assert -2 * np.log(2) < loss[-1] < loss[0] - 0.2


BATCH = planted_motifs(6, n_nodes=10)
FEATURES = NodeFeatures.of(BATCH)


def nodes_of(graphs=BATCH, rows=None):
    rows = np.arange(len(graphs)) if rows is None else np.array(rows)
    return GraphBatches(graphs, NodeFeatures.of(graphs))[rows]


def module_for(graphs=BATCH, **options):
    torch.manual_seed(0)
    n_features = NodeFeatures.of(graphs).width
    phi = GIN(n_features, 2, width=8, layers=3, readout="both", pooling="all")
    return InfoMax(phi, n_features, width=8, layers=3, **options).train()


def has_gradient(module):
    return [p.grad is not None and bool((p.grad != 0).any()) for p in module.parameters()]


def by_double_loop(left, right, own):
    """The estimate from its definition, score by score."""
    n_rows, n_graphs = len(left), len(right)
    positive = negative = 0.0
    for row in range(n_rows):
        for graph in range(n_graphs):
            score = sum(a * b for a, b in zip(left[row], right[graph], strict=True))
            if own[row] == graph:
                positive += (math.log(2) - softplus(-score)) / n_rows
            else:
                negative += (softplus(score) - math.log(2)) / (n_rows * (n_graphs - 1))
    return negative - positive


# What is computed


def test_predictions_are_those_of_phi_alone():
    module, batch = module_for().eval(), nodes_of()
    assert torch.equal(module(batch), module.phi(batch))
    before = module(batch)
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if not name.startswith("phi."):
                parameter.fill_(9.0)
    assert torch.equal(module(batch), before)


def test_a_change_of_nodes_reaches_phi():
    module, batch = module_for().eval(), nodes_of()
    change = torch.ones(len(batch.features), 8)
    assert torch.equal(module(batch, change), module.phi(batch, change))
    assert not torch.equal(module(batch, change), module(batch))


def test_a_discriminator_is_three_blocks_and_a_shortcut():
    torch.manual_seed(0)
    discriminator, x = Discriminator(5, 3), torch.randn(4, 5)
    expected = x
    for linear in (discriminator.blocks[0], discriminator.blocks[2], discriminator.blocks[4]):
        expected = (expected @ linear.weight.T + linear.bias).clamp(min=0)
    expected = expected + x @ discriminator.shortcut.weight.T + discriminator.shortcut.bias
    torch.testing.assert_close(discriminator(x), expected)


@pytest.mark.parametrize("separate", [True, False])
def test_a_patch_is_all_layers_and_a_graph_their_sum(separate):
    module, nodes = module_for(separate=separate), nodes_of()
    patches = module.patches(nodes)
    x, every = nodes.features, []
    for depth, layer in enumerate(module.psi if separate else module.phi.layers, start=1):
        x = layer(x, nodes, depth)
        every.append(x)
    torch.testing.assert_close(patches.nodes, torch.cat(every, dim=1))
    sums = torch.stack([torch.cat(every, dim=1)[g * 10 : g * 10 + 10].sum(0) for g in range(6)])
    expected = sums.sign() * sums.abs().log1p()
    expected = (expected - expected.mean(0)) / (expected.var(0, correction=0) + 1e-5).sqrt()
    torch.testing.assert_close(patches.graphs, expected, rtol=1e-4, atol=1e-4)
    assert patches.graph_of_node.tolist() == np.repeat(np.arange(6), 10).tolist()


def test_losses_equal_a_double_loop():
    module, nodes = module_for(), nodes_of()
    patches = module.patches(nodes)
    left, right = module.of_node(patches.nodes), module.of_graph(patches.graphs)
    torch.testing.assert_close(
        module.infomax(patches), by_double_loop(left, right, patches.graph_of_node)
    )
    left, right = module.of_phi(module.phi.embed(nodes)), module.of_psi(patches.graphs)
    torch.testing.assert_close(
        module.tie(nodes, patches), by_double_loop(left, right, torch.arange(6))
    )


def test_discriminators_that_say_nothing_know_nothing():
    module, nodes = module_for(), nodes_of()
    with torch.no_grad():
        for discriminator in (module.of_node, module.of_phi):
            for parameter in discriminator.parameters():
                parameter.zero_()
    patches = module.patches(nodes)
    assert module.infomax(patches).item() == pytest.approx(0, abs=1e-6)
    assert module.tie(nodes, patches).item() == pytest.approx(0, abs=1e-6)


def test_the_order_of_graphs_does_not_matter():
    module = module_for()
    one, other = nodes_of(), nodes_of(rows=[4, 0, 5, 2, 1, 3])
    first, second = module.patches(one), module.patches(other)
    torch.testing.assert_close(module.infomax(first), module.infomax(second), atol=1e-5, rtol=0)
    torch.testing.assert_close(module.tie(one, first), module.tie(other, second), atol=1e-5, rtol=0)


def test_the_tie_is_the_same_by_color_and_node_by_node():
    module, nodes = module_for(), nodes_of()
    colors = ColorBatches(BATCH, FEATURES, 3)[np.arange(6)]
    patches = module.patches(nodes)
    torch.testing.assert_close(
        module.tie(colors, patches), module.tie(nodes, patches), atol=1e-4, rtol=0
    )


# Who learns what


def test_what_psi_is_asked_does_not_reach_phi():
    module = module_for()
    module.infomax(module.patches(nodes_of())).backward()
    assert all(parameter.grad is None for parameter in module.phi.parameters())
    assert all(parameter.grad is None for parameter in module.of_phi.parameters())
    for part in (module.psi, module.of_node, module.of_graph):
        assert sum(has_gradient(part)) > len(has_gradient(part)) / 2


def test_the_tie_reaches_both_encoders():
    module, nodes = module_for(), nodes_of()
    module.tie(nodes, module.patches(nodes)).backward()
    for part in (module.phi.layers, module.psi, module.of_phi, module.of_psi):
        assert sum(has_gradient(part)) > len(has_gradient(part)) / 2
    # Graph vectors are tied, not predictions.
    assert all(parameter.grad is None for parameter in module.phi.classifier.parameters())


def test_a_single_encoder_is_asked_itself_and_tied_to_nothing():
    module = module_for(separate=False)
    assert {name.partition(".")[0] for name, _ in module.named_parameters()} == {
        "phi",
        "patch_norm",
        "of_node",
        "of_graph",
    }
    module.infomax(module.patches(nodes_of())).backward()
    assert any(has_gradient(module.phi.layers))
    assert not any(has_gradient(module.phi.classifier))


@pytest.mark.parametrize("separate", [True, False])
def test_passes_of_the_term_leave_no_trace_in_phi(separate):
    module, nodes = module_for(separate=separate), nodes_of()
    module(nodes)
    before = {name: buffer.clone() for name, buffer in module.phi.named_buffers()}
    patches = module.patches(nodes)
    module.infomax(patches)
    if separate:
        module.tie(nodes, patches)
    assert all(torch.equal(before[name], now) for name, now in module.phi.named_buffers())


def test_a_few_steps_down_make_nodes_and_graphs_known_to_each_other():
    module, nodes = module_for(), nodes_of()
    optimizer = torch.optim.Adam(module.parameters(), lr=0.01)
    values = []
    for _ in range(60):
        patches = module.patches(nodes)
        parts = module.infomax(patches), module.tie(nodes, patches)
        optimizer.zero_grad()
        sum(parts).backward()
        optimizer.step()
        values.append([part.item() for part in parts])
    assert values[-1][0] < values[0][0] - 0.3
    assert -2 * math.log(2) < values[-1][1] < values[0][1] - 0.3


# Odd batches


@pytest.mark.parametrize("separate", [True, False])
def test_a_single_graph_has_no_other_to_be_told_from(separate):
    module, nodes = module_for(separate=separate), nodes_of(rows=[3])
    patches = module.patches(nodes)
    value = module.infomax(patches)
    if separate:
        value = value + module.tie(nodes, patches)
    value.backward()
    assert value.item() == 0.0
    assert not any(has_gradient(module))


@pytest.mark.parametrize("sizes", [[0, 1, 1, 2], [0, 0], [1]])
def test_graphs_with_few_nodes_or_none_are_no_problem(sizes):
    graphs = pack("odd", sizes, [], [])
    module, nodes = module_for(graphs), nodes_of(graphs)
    patches = module.patches(nodes)
    value = module.infomax(patches) + module.tie(nodes, patches)
    value.backward()
    assert value.isfinite()
    assert all(p.grad is None or p.grad.isfinite().all() for p in module.parameters())


def test_vectors_and_scores_do_not_grow_with_graphs():
    star = pack("star", [3000] + [5] * 5, [0] * 2999, range(1, 3000))
    large = random_graphs(6, n_nodes=500, n_edges=5000)
    for graphs in (star, large):
        module, nodes = module_for(graphs), nodes_of(graphs)
        patches = module.patches(nodes)
        assert patches.graphs.abs().max() <= math.sqrt(len(graphs))
    scores = module.of_node(patches.nodes) @ module.of_graph(patches.graphs).T
    assert scores.abs().max() < 20


# The estimate of mutual information

OWN = torch.tensor([0, 0, 1, 2, 2, 2])


def estimate_by_loop(scores, own):
    positive = negative = 0.0
    n_rows, n_graphs = scores.shape
    for row in range(n_rows):
        for graph in range(n_graphs):
            score = scores[row, graph]
            if own[row] == graph:
                positive = positive + (math.log(2) - softplus(-score)) / n_rows
            else:
                negative = negative + (softplus(score) - math.log(2)) / (n_rows * (n_graphs - 1))
    return negative - positive


def test_jensen_shannon_equals_the_double_loop():
    scores = normal(6, 3, scale=3.0)
    torch.testing.assert_close(jensen_shannon(scores, OWN), estimate_by_loop(scores, OWN))


def test_scores_of_zero_know_nothing():
    assert jensen_shannon(torch.zeros(6, 3), OWN).item() == pytest.approx(0, abs=1e-7)


@pytest.mark.parametrize("size", [100.0, 1e4])
def test_a_perfect_discriminator_reaches_the_bound(size):
    scores = torch.full((6, 3), -size)
    scores[torch.arange(6), OWN] = size
    assert jensen_shannon(scores, OWN).item() == pytest.approx(-1.38629, abs=1e-5)


def test_the_estimate_is_finite_where_all_is_wrong():
    scores = torch.full((6, 3), 1e4)
    scores[torch.arange(6), OWN] = -1e4
    scores.requires_grad_()
    value = jensen_shannon(scores, OWN)
    value.backward()
    assert value.item() == pytest.approx(2e4, rel=1e-3)
    assert scores.grad.isfinite().all()


def test_own_scores_are_to_rise_and_others_to_fall():
    scores = asking(6, 3)
    jensen_shannon(scores, OWN).backward()
    is_own = torch.zeros(6, 3, dtype=torch.bool).scatter(1, OWN[:, None], True)
    assert (scores.grad[is_own] < 0).all()
    assert (scores.grad[~is_own] > 0).all()


def test_the_order_of_graphs_and_nodes_does_not_matter():
    scores = normal(6, 3)
    graphs, nodes = torch.tensor([2, 0, 1]), torch.tensor([3, 0, 5, 1, 2, 4])
    moved = jensen_shannon(scores[nodes][:, graphs], graphs.argsort()[OWN[nodes]])
    torch.testing.assert_close(moved, jensen_shannon(scores, OWN))


@pytest.mark.parametrize("shape", [(4, 1), (0, 3)])
def test_without_other_graphs_or_nodes_there_is_nothing_to_estimate(shape):
    scores = asking(*shape, scale=1e9)
    value = jensen_shannon(scores, torch.zeros(shape[0], dtype=torch.int64))
    value.backward()
    assert value.item() == 0.0
    assert (scores.grad == 0).all()


def test_gradients_pass_a_finite_difference_check():
    assert gradcheck(lambda z: jensen_shannon(z, torch.tensor([0, 1, 1])), asking(3, 2, seed=2))
