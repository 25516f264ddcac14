import copy

import numpy as np
import pytest
import torch

from kgnn.engine.gin import GIN
from kgnn.engine.infomax import InfoMax
from kgnn.engine.task import Task
from kgnn.graphs.datasets.toy import planted_motifs
from kgnn.methods.entmin import EntMin
from kgnn.methods.infograph import InfoGraph
from kgnn.seeds import seeded_torch
from kgnn.testing import CHECKS

GRAPHS = planted_motifs(48, n_nodes=10)
LABELS = np.where(np.arange(40) < 10, GRAPHS.targets[:40], -1)
NEW = GRAPHS[40:]
FAST = {"epochs": 4, "width": 8, "batch_size": 8, "committee": 1}


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
    members = fitted(committee=2, learning_rate=0.0).committee_.members
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
    module = model.gnn_.fitted.module
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
    first, second = (model.gnn_.fitted.module.state_dict() for model in models)
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
