from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.special import log_softmax, softmax

from kgnn.engine.network import Examples, one_hot
from kgnn.engine.semi_supervised import Step
from kgnn.engine.task import Task
from kgnn.errors import KgnnWarning
from kgnn.graphs.datasets.toy import cycles_and_trees, planted_motifs
from kgnn.methods.entmin import EntMin
from kgnn.methods.gnn_sup import GNNSup
from kgnn.methods.infograph import InfoGraph
from kgnn.methods.kgnn import KGNN
from kgnn.methods.mean_teacher import MeanTeacher
from kgnn.methods.pi_model import PiModel
from kgnn.methods.vat import VAT
from kgnn.progress import listening
from kgnn.seeds import seeded_torch

METHODS = [EntMin, PiModel, MeanTeacher, VAT, InfoGraph]
TERMS = {
    EntMin: "entropy",
    PiModel: "consistency",
    MeanTeacher: "consistency",
    VAT: "smoothness",
    InfoGraph: "infomax",
}
GRAPHS = planted_motifs(48, n_nodes=10)
LABELS = np.where(np.arange(40) < 10, GRAPHS.targets[:40], -1)
NEW = GRAPHS[40:]
FAST = {"epochs": 4, "width": 8, "batch_size": 8, "committee": 1}
FAST_KGNN = {"epochs": 4, "width": 8, "batch_size": 8}
every_method = pytest.mark.parametrize("cls", METHODS)


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


# All of them


def test_without_weight_all_methods_are_one_to_the_bit():
    proba = [fitted(cls, weight=0.0).predict_proba(NEW) for cls in METHODS]
    assert all((each == proba[0]).all() for each in proba)
    assert len(np.unique(proba[0])) > 2


@every_method
def test_the_term_is_there_finite_and_not_zero(cls):
    parts = fitted(cls).history_.parts
    assert list(parts)[:2] == ["labeled", TERMS[cls]]
    assert np.isfinite(parts[TERMS[cls]]).all()
    assert all(value != 0 for value in parts[TERMS[cls]])


@every_method
def test_the_term_changes_what_is_learned(cls):
    assert (fitted(cls).predict_proba(NEW) != fitted(cls, weight=0.0).predict_proba(NEW)).any()


@every_method
def test_the_ramp_is_applied(cls):
    slow, fast = (fitted(cls, ramp_up=r, epochs=1).history_.parts for r in (1.0, 0.0))
    name = "tie" if cls is InfoGraph else TERMS[cls]  # ψ learns its own task from the beginning
    assert 0 < abs(slow[name][0]) < 0.8 * abs(fast[name][0])


@every_method
def test_an_extra_pass_is_not_counted_in_the_statistics(cls):
    term, step = one_step(cls)
    module = getattr(step.module, "phi", step.module)
    before = {name: buffer.clone() for name, buffer in module.named_buffers()}
    term(step)
    assert all(torch.equal(before[name], now) for name, now in module.named_buffers())


@every_method
def test_hidden_labels_change_no_bit(cls):
    garbage = np.where(LABELS >= 0, LABELS, 1 - GRAPHS.targets[:40])
    states = [
        fitted(cls, graphs=graphs).gnn_.fitted.module.state_dict()
        for graphs in (GRAPHS[:40], GRAPHS[:40].with_targets(garbage))
    ]
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])


@every_method
def test_no_unlabeled_graphs_are_no_problem(cls):
    model = fitted(cls, GRAPHS.targets[:40])
    assert np.isfinite(model.history_.loss).all()
    assert np.isfinite(model.predict_proba(NEW)).all()


# The committee


def test_trainings_take_the_weights_in_turn_and_predict_together():
    model = fitted(EntMin, committee=3, weight=(0.5, 0.0))
    alone = fitted(EntMin, weight=0.5)
    assert len(model.committee_.members) == 3
    assert [bool(member.history.parts) for member in model.committee_.members] == [
        True,
        False,
        True,
    ]
    members = model.committee_.members
    prepared = model.gnn_.prepare(NEW)
    first = model.gnn_.logits(prepared, members[0])
    np.testing.assert_allclose(first, alone.gnn_.logits(prepared))
    logs = [log_softmax(model.gnn_.logits(prepared, each), axis=1) for each in members]
    expected = softmax(model.committee_.sharpness * np.mean(logs, axis=0), axis=1)
    np.testing.assert_allclose(model.predict_proba(NEW), expected)


def test_without_weight_and_committee_it_is_supervised_training_on_the_same_steps():
    # Four steps for the 30 unlabeled graphs, two for the ten labeled ones: twice the epochs.
    supervised = GNNSup(epochs=8, width=8, batch_size=8).fit(GRAPHS[:40], LABELS)
    without = fitted(EntMin, weight=0.0)
    assert (without.predict_proba(NEW) == supervised.predict_proba(NEW)).all()


def test_ctrl_c_keeps_the_trainings_that_are_complete():
    with stop_at(3, "training, 2 of 3"), pytest.warns(KgnnWarning, match="stopped by hand"):
        model = fitted(EntMin, committee=3)
    assert len(model.committee_.members) == 1
    assert not model.committee_.members[0].history.interrupted
    assert (model.predict_proba(NEW) == fitted(EntMin).predict_proba(NEW)).all()


# EntMin


def test_entropy_is_that_of_unlabeled_graphs_alone():
    term, step = one_step(EntMin)
    p = step.logits[4:].softmax(dim=1)
    torch.testing.assert_close(term(step), -(p * p.log()).sum(dim=1).mean())
    step.logits.retain_grad()
    term(step).backward()
    assert (step.logits.grad[:4] == 0).all()
    assert (step.logits.grad[4:] != 0).all()


def test_entropy_falls_with_its_weight():
    graphs = cycles_and_trees(60)
    labels = np.where(np.arange(60) < 6, graphs.targets, -1)
    entropies = []
    for weight in (0.0, 3.0):
        model = EntMin(epochs=20, weight=weight, width=8, committee=1).fit(graphs, labels)
        p = model.predict_proba(graphs[6:])
        entropies.append(-(p * np.log(np.maximum(p, 1e-30))).sum(axis=1).mean())
    assert entropies[1] < entropies[0]


# Π-model


def test_two_looks_without_noise_agree_exactly():
    quiet = {"dropout": 0.0, "edge_drop": 0.0}
    parts = fitted(PiModel, **quiet).history_.parts
    assert parts["consistency"] == [0.0] * len(parts["labeled"])
    for noise in ({"dropout": 0.5}, {"edge_drop": 0.2}):
        parts = fitted(PiModel, **{**quiet, **noise}).history_.parts
        assert all(value > 0 for value in parts["consistency"])


def test_two_looks_are_all_graphs_and_the_second_one_learns():
    term, step = one_step(PiModel)
    step.logits.retain_grad()
    value = term(step)
    value.backward()
    assert 0 < value.item() <= 1
    assert step.logits.grad is None
    assert any(
        gradient is not None and (gradient != 0).any() for gradient in gradients(step.module)
    )


# Mean-Teacher


def test_the_teacher_starts_as_a_copy_and_follows():
    term, step = one_step(MeanTeacher)
    student, teacher = step.module, term.teacher.module
    start = torch.nn.utils.parameters_to_vector(teacher.parameters()).clone()
    assert torch.equal(start, torch.nn.utils.parameters_to_vector(student.parameters()))
    assert teacher is not student
    with torch.no_grad():
        for parameter in student.parameters():
            parameter += 1
    assert torch.equal(start, torch.nn.utils.parameters_to_vector(teacher.parameters()))
    term.after_step(student)
    moved = torch.nn.utils.parameters_to_vector(teacher.parameters()) - start
    torch.testing.assert_close(moved, torch.full_like(moved, 0.5))


def test_the_student_learns_and_the_teacher_does_not():
    term, step = one_step(MeanTeacher)
    step.logits.retain_grad()
    value = term(step)
    value.backward()
    assert value > 0
    assert (step.logits.grad != 0).any(dim=1).all()  # labeled graphs too
    assert all(gradient is None for gradient in gradients(term.teacher.module))
    assert not any(parameter.requires_grad for parameter in term.teacher.module.parameters())


def test_the_teacher_is_quiet_where_there_is_no_noise():
    term, step = one_step(MeanTeacher, dropout=0.0, edge_drop=0.0)
    assert term(step).item() == 0.0  # still a copy


def test_each_fit_has_a_teacher_of_its_own():
    model = MeanTeacher(**FAST)
    first = model.fit(GRAPHS[:40], LABELS).predict_proba(NEW)
    assert (model.fit(GRAPHS[:40], LABELS).predict_proba(NEW) == first).all()


# VAT


def test_smoothness_leaves_no_gradient_behind_and_reaches_the_network():
    term, step = one_step(VAT)
    value = term(step)
    assert all(gradient is None for gradient in gradients(step.module))
    assert value > 0
    value.backward()
    assert any((gradient != 0).any() for gradient in gradients(step.module) if gradient is not None)


def test_smoothness_grows_with_the_change():
    values = []
    for eps in (0.0, 0.3, 3.0):
        term, step = one_step(VAT, eps=eps)
        with seeded_torch(0):
            values.append(term(step).item())
    assert values[0] == pytest.approx(0, abs=1e-6)
    assert values[0] < values[1] < values[2]


@pytest.mark.parametrize("norm", ["graph", "rms"])
def test_smoothness_is_the_same_by_color_and_node_by_node(norm, monkeypatch):
    term, step = one_step(VAT, norm=norm, power_iterations=2)
    by_node = replace(step, batch=step.nodes)
    counts = step.batch.weights(1).counts
    assert counts.max() > 2

    def alike_for_all_nodes(shape, **_):
        start = torch.linspace(-1, 1, shape[1]).expand(shape)
        # Of n nodes that are alike, the mean of n random vectors: divided by √n in the search.
        return start * counts.sqrt()[:, None] if shape[0] == len(counts) else start

    monkeypatch.setattr(torch, "randn", alike_for_all_nodes)
    assert term(step).item() == pytest.approx(term(by_node).item(), rel=1e-3)


# Stopped by hand


def stop_at(epoch, wanted="training"):
    def listener(what, done, total):
        if what == wanted and done == epoch:
            raise KeyboardInterrupt

    return listening(listener)


@every_method
def test_training_that_is_stopped_leaves_a_model(cls):
    with stop_at(3), pytest.warns(KgnnWarning, match="stopped by hand"):
        model = fitted(cls)
    assert model.interrupted_
    assert model.history_.interrupted
    assert len(model.history_.loss) == 3
    assert np.isfinite(model.predict_proba(NEW)).all()
    assert not model.gnn_.fitted.module.training


def test_the_model_of_a_stopped_training_is_the_best_until_then():
    validation = (NEW, NEW.targets)
    with stop_at(3), pytest.warns(KgnnWarning):
        model = EntMin(**FAST).fit(GRAPHS[:40], LABELS, validation=validation)
    assert model.history_.best_epoch == int(np.argmax(model.history_.score))
    # The ramp knows how many epochs were planned, so without it the first ones are the same.
    shorter = EntMin(**{**FAST, "epochs": 2}, ramp_up=0.0).fit(GRAPHS[:40], LABELS)
    with stop_at(4), pytest.warns(KgnnWarning):
        stopped = EntMin(**FAST, ramp_up=0.0).fit(GRAPHS[:40], LABELS)
    assert (stopped.predict_proba(NEW) == shorter.predict_proba(NEW)).all()


@every_method
def test_before_the_first_epoch_has_ended_there_is_no_model(cls):
    model = cls(**FAST)
    with stop_at(0), pytest.raises(KeyboardInterrupt):
        model.fit(GRAPHS[:40], LABELS)
    # Nor is an earlier model taken for the new one.
    model.fit(GRAPHS[:40], LABELS)
    with stop_at(0), pytest.raises(KeyboardInterrupt):
        model.fit(GRAPHS[:40], LABELS)


def test_a_fit_after_a_stopped_one_is_as_any_other():
    model = MeanTeacher(**FAST)
    with stop_at(2), pytest.warns(KgnnWarning):
        model.fit(GRAPHS[:40], LABELS)
    model.fit(GRAPHS[:40], LABELS)
    assert not model.interrupted_
    assert (model.predict_proba(NEW) == fitted(MeanTeacher).predict_proba(NEW)).all()


@pytest.mark.parametrize("network", ["gnn", "memory"])
def test_co_training_that_is_stopped_in_round_one_keeps_round_zero(network):
    settings = {**FAST_KGNN, "normalize": "dataset"}
    with stop_at(2, f"round 1, {network}"), pytest.warns(KgnnWarning, match="stopped by hand"):
        stopped = KGNN(**settings, rounds=2).fit(GRAPHS[:40], LABELS)
    assert stopped.interrupted_
    assert stopped.termination_condition_ == "interrupted"
    assert stopped.n_iter_ == 0
    first = KGNN(**settings, rounds=0).fit(GRAPHS[:40], LABELS)
    assert (stopped.predict_proba(NEW) == first.predict_proba(NEW)).all()


def test_co_training_that_is_stopped_between_rounds_keeps_those_that_have_ended():
    settings = {**FAST_KGNN, "normalize": "dataset"}
    with stop_at(1, "co-training"), pytest.warns(KgnnWarning, match="stopped by hand"):
        stopped = KGNN(**settings, rounds=2).fit(GRAPHS[:40], LABELS)
    assert stopped.termination_condition_ == "interrupted"
    assert stopped.n_iter_ == 0


def test_co_training_that_is_stopped_in_round_zero_is_no_model():
    with stop_at(2, "round 0, memory"), pytest.raises(KeyboardInterrupt):
        KGNN(**FAST_KGNN, normalize="dataset").fit(GRAPHS[:40], LABELS)
