import numpy as np
import pytest
import torch
from torch.autograd import gradcheck

from kgnn.engine import pretraining
from kgnn.engine.gin import GIN
from kgnn.engine.network import GraphNetwork, OptimizerConfig
from kgnn.engine.node_features import NodeFeatures
from kgnn.engine.pretraining import Contrast, PairLaw, contrastive, pretrain_by_contrast
from kgnn.errors import GraphDataError
from kgnn.graphs.datasets.toy import cycles_and_trees, planted_motifs
from kgnn.graphs.packing import pack
from kgnn.seeds import generator
from tests.tensors import asking, normal

GRAPHS = planted_motifs(40, n_nodes=12)
FOUR = ("node_drop", "subgraph", "edge_pert", "attr_mask")
FIVE = (*FOUR, "identity")


def optimizer_config(epochs=3, batch_size=16):
    return OptimizerConfig(epochs, batch_size, 0.01, weight_decay=0.0, averaging=0.0)


def network_of(graphs, n_classes=2):
    return GraphNetwork(
        graphs,
        lambda n: GIN(n, n_classes, width=8),
        optimizer_config(),
        node_features=NodeFeatures.of(graphs),
        layers=3,
    )


def fixed():
    return Contrast(FOUR, PairLaw((4, 4)))


class Following(PairLaw):
    """A law that follows the losses at once."""

    adaptive = True

    def update(self, losses):
        self.proba = np.exp(losses) / np.exp(losses).sum()


def adaptive():
    return Contrast(FIVE, Following((5, 5)))


def course_of(graphs=GRAPHS, contrast=None):
    network = network_of(graphs)
    module = pretraining.Projected(network, 0)
    return pretraining._Course(
        module, network, graphs, contrast or adaptive(), optimizer_config(), generator(0, "test")
    )


def same(first, second):
    return first.keys() == second.keys() and all(torch.equal(first[k], second[k]) for k in first)


def test_the_loss_falls():
    graphs = planted_motifs(60)
    _, history = pretrain_by_contrast(
        network_of(graphs), graphs, fixed(), optimizer_config(30, 30), 0
    )
    assert len(history["loss"]) == 30
    assert np.mean(history["loss"][-5:]) < history["loss"][0] - 0.3


def test_only_the_layers_are_kept_and_they_have_learned():
    network = network_of(GRAPHS)
    weights, _ = pretrain_by_contrast(network, GRAPHS, fixed(), optimizer_config(), 0)
    with torch.random.fork_rng():
        fresh = network.build(network.node_features.width).state_dict()
    assert weights.keys() == {name for name in fresh if name.startswith("layers.")}
    assert "fitted" not in vars(network)
    start = pretraining.Projected(network, 0).encoder.state_dict()
    for name in ("layers.0.inner.weight", "layers.2.outer.bias", "layers.1.norm.weight"):
        assert not torch.equal(weights[name], start[name])


def test_the_seed_decides_everything():
    first, second, other = (
        pretrain_by_contrast(network_of(GRAPHS), GRAPHS, adaptive(), optimizer_config(), seed)
        for seed in (3, 3, 4)
    )
    assert same(first[0], second[0])
    assert first[1] == second[1]
    assert not same(first[0], other[0])


def test_the_number_of_classes_leaves_no_trace():
    two, seven = (
        pretrain_by_contrast(network_of(GRAPHS, n), GRAPHS, fixed(), optimizer_config(), 0)[0]
        for n in (2, 7)
    )
    assert same(two, seven)


def test_each_graph_draws_a_pair_of_its_own_and_views_pass_one_after_the_other(monkeypatch):
    course, seen = course_of(contrast=fixed()), []
    original = pretraining.augment

    def spy(graphs, choices, share, rng):
        seen.append((len(graphs), choices.copy()))
        return original(graphs, choices, share, rng)

    monkeypatch.setattr(pretraining, "augment", spy)
    passes = []
    course.module.register_forward_pre_hook(lambda _, given: passes.append(len(given[0])))
    course.loss(np.arange(40))
    assert passes == [40, 40]
    (_, first), (_, second) = seen
    assert len(np.unique(first)) == len(np.unique(second)) == 4
    assert (first != second).any()


def test_a_smaller_pool_is_all_that_is_drawn_from(monkeypatch):
    seen = []
    original = pretraining.augment
    monkeypatch.setattr(
        pretraining,
        "augment",
        lambda graphs, choices, *rest: seen.extend(choices) or original(graphs, choices, *rest),
    )
    contrast = Contrast(("subgraph", "identity"), PairLaw((2, 2)))
    pretrain_by_contrast(network_of(GRAPHS), GRAPHS, contrast, optimizer_config(1), 0)
    assert set(seen) == {1, 4}  # their places among all augmentations


def test_the_law_stays_on_the_simplex_and_leaves_uniform():
    contrast = adaptive()
    _, history = pretrain_by_contrast(network_of(GRAPHS), GRAPHS, contrast, optimizer_config(4), 0)
    names = [f"{a} + {b}" for a in FIVE for b in FIVE]
    assert list(history) == ["loss", *names]
    by_epoch = np.array([history[name] for name in names])  # (25, epochs)
    assert by_epoch.shape == (25, 4)
    assert (by_epoch >= 0).all()
    np.testing.assert_allclose(by_epoch.sum(axis=0), 1, atol=1e-9)
    assert np.abs(by_epoch[:, -1] - 1 / 25).max() > 0.01
    assert (by_epoch[:, -1].reshape(5, 5) == contrast.law.proba).all()
    # Two untouched views are told apart best, so that they come least often.
    assert history["identity + identity"][-1] < 1 / 25


def test_a_law_that_does_not_adapt_stays_uniform():
    contrast = fixed()
    _, history = pretrain_by_contrast(network_of(GRAPHS), GRAPHS, contrast, optimizer_config(), 0)
    assert list(history) == ["loss"]
    assert (contrast.law.proba == 1 / 16).all()


def test_estimates_leave_the_network_as_it_is():
    course = course_of()
    course.module.train()
    course.loss(np.arange(16))  # so that the statistics are no longer those of a new network
    before = {name: value.clone() for name, value in course.module.state_dict().items()}
    losses = course.losses_of_pairs()
    assert losses.shape == (5, 5)
    assert np.isfinite(losses).all()
    assert same(before, course.module.state_dict())
    assert all(parameter.grad is None for parameter in course.module.parameters())
    assert course.module.training


def test_an_estimate_takes_two_passes_per_augmentation():
    course, passes = course_of(), []
    course.module.register_forward_pre_hook(lambda _, given: passes.append(len(given[0])))
    course.losses_of_pairs()
    assert passes == [16] * 10


def test_the_law_moves_once_per_epoch():
    for n_graphs in (32, 33, 40):  # a last single row joins its neighbors
        _, history = pretrain_by_contrast(
            network_of(GRAPHS[:n_graphs]), GRAPHS[:n_graphs], adaptive(), optimizer_config(3, 16), 0
        )
        assert len(history["identity + identity"]) == 3


def test_two_graphs_are_enough_and_one_is_refused():
    weights, _ = pretrain_by_contrast(
        network_of(GRAPHS[:2]), GRAPHS[:2], fixed(), optimizer_config(), 0
    )
    assert all(value.isfinite().all() for value in weights.values())
    with pytest.raises(GraphDataError, match="two or more, got 1"):
        pretrain_by_contrast(network_of(GRAPHS[:1]), GRAPHS[:1], fixed(), optimizer_config(), 0)


@pytest.mark.parametrize("contrast", [fixed, adaptive])
def test_graphs_of_any_kind_are_taken(contrast):
    rng = np.random.default_rng(0)
    with_attributes = pack(
        "attributes",
        [5] * 12,
        np.arange(60),
        np.arange(60) // 5 * 5,
        node_attributes=rng.normal(size=(60, 2)),
    )
    without_edges = pack("nodes", [0, 1, 2, 3], [], [])
    alike = cycles_and_trees(20)  # the same vector for every node
    for graphs in (with_attributes, alike, without_edges):
        network = network_of(graphs)
        weights, history = pretrain_by_contrast(network, graphs, contrast(), optimizer_config(), 0)
        assert all(value.isfinite().all() for value in weights.values())
        assert np.isfinite(history["loss"]).all()


def test_statistics_are_those_of_the_graphs_and_not_of_views():
    network = network_of(GRAPHS)
    weights, _ = pretrain_by_contrast(network, GRAPHS, fixed(), optimizer_config(), 0)
    encoder = network.build(network.node_features.width)
    encoder.load_state_dict(weights, strict=False)
    for layer in encoder.layers:
        layer.norm.reset_running_stats()
        layer.norm.momentum = None
    encoder.train()
    encoder.embed(network.pool[np.arange(40)])
    for name, value in encoder.state_dict().items():
        if "running" in name and name.startswith("layers."):
            torch.testing.assert_close(value, weights[name], rtol=1e-3, atol=1e-4)


def test_ctrl_c_stops_pre_training(monkeypatch):
    calls = []

    def stop(*_):
        calls.append(1)
        if len(calls) > 7:
            raise KeyboardInterrupt
        return torch.zeros((), requires_grad=True).clone()

    monkeypatch.setattr(pretraining, "contrastive", stop)
    with pytest.raises(KeyboardInterrupt):
        pretrain_by_contrast(network_of(GRAPHS), GRAPHS, fixed(), optimizer_config(9), 0)


# Contrast of two views


def contrast_by_loop(first, second, temperature):
    cosine = torch.nn.functional.cosine_similarity
    losses = []
    for i in range(len(first)):
        scores = [cosine(first[i], second[j], dim=0) / temperature for j in range(len(second))]
        rivals = [s for j, s in enumerate(scores) if j != i]
        losses.append(-torch.log(scores[i].exp() / sum(s.exp() for s in rivals)))
    return sum(losses) / len(losses)


def test_contrast_equals_the_double_loop():
    first, second = normal(5, 4), normal(5, 4, seed=1)
    torch.testing.assert_close(
        contrastive(first, second, 0.3), contrast_by_loop(first, second, 0.3)
    )


@pytest.mark.parametrize(
    ("views", "expected"),
    [(torch.eye(8), -0.05409), (torch.ones(8, 3), 1.94591)],
    ids=["matched and orthogonal", "collapsed"],
)
def test_contrast_has_the_value_of_the_formula(views, expected):
    assert contrastive(views, views, 0.5).item() == pytest.approx(expected, abs=1e-5)


def test_contrast_does_not_see_the_length_of_vectors():
    first, second = normal(6, 4), normal(6, 4, seed=1)
    lengths = torch.tensor([[1e-3], [1.0], [7.0], [1e3], [1e5], [2.0]])
    torch.testing.assert_close(
        contrastive(lengths * first, second * 9, 0.5), contrastive(first, second, 0.5)
    )


def test_contrast_moves_both_views():
    first, second = asking(5, 4), asking(5, 4, seed=1)
    contrastive(first, second, 0.5).backward()
    assert (first.grad != 0).any(dim=1).all()
    assert (second.grad != 0).any(dim=1).all()


def test_contrast_of_one_graph_is_nothing():
    first, second = asking(1, 4), asking(1, 4, seed=1)
    value = contrastive(first, second, 0.5)
    value.backward()
    assert value.item() == 0.0
    assert (first.grad == 0).all()
    assert (second.grad == 0).all()


def test_a_projection_of_zero_length_is_like_nothing_and_gets_no_gradient():
    rows = normal(4, 3)
    rows[1] = 0
    first = rows.clone().requires_grad_()
    value = contrastive(first, normal(4, 3, seed=1), 0.5)
    value.backward()
    assert value.isfinite()
    assert (first.grad[1] == 0).all()
    assert (first.grad[0] != 0).any()
    assert first.grad.abs().max() < 10


def test_contrast_is_finite_at_low_temperatures():
    first = asking(5, 4)
    value = contrastive(first, normal(5, 4, seed=1), 1e-4)
    value.backward()
    assert value.isfinite()
    assert first.grad.isfinite().all()


@pytest.mark.parametrize("side", [0, 1])
def test_gradients_pass_a_finite_difference_check(side):
    other = normal(3, 4, seed=1)
    pair = [lambda z: contrastive(z, other, 0.5), lambda z: contrastive(other, z, 0.5)]
    assert gradcheck(pair[side], asking(3, 4, seed=2))


def test_draws_repeat_with_the_seed():
    law = PairLaw((5, 5))
    first, again, other = (law.draw(50, np.random.default_rng(seed)) for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert first.shape == (50, 2)
    assert first.dtype == np.int64
