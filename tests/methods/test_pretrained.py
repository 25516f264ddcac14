import numpy as np
import pytest
import torch

from kgnn.engine import loop
from kgnn.engine import network as network_module
from kgnn.engine.batch import batch_of
from kgnn.engine.gin import GIN
from kgnn.engine.pretraining import Pretrained
from kgnn.engine.task import Task
from kgnn.errors import GraphDataError, ParameterError
from kgnn.estimator.saved_files import unpack
from kgnn.graphs.datasets.toy import cycles_and_trees, planted_motifs
from kgnn.methods import graphcl
from kgnn.methods.asgn import ASGN
from kgnn.methods.gnn_sup import GNNSup
from kgnn.methods.graphcl import GraphCL
from kgnn.methods.infograph import InfoGraph
from kgnn.methods.joao import JOAO
from kgnn.methods.pretrained import PretrainedClassifier, SavedEncoder
from kgnn.progress import listening

GRAPHS = planted_motifs(60, n_nodes=12)
TRAIN, NEW = GRAPHS[:40], GRAPHS[40:]
LABELS = np.where(np.arange(40) < 12, TRAIN.targets, -1)
FAST = {"epochs": 3, "pretrain_epochs": 2, "width": 8, "committee": 1, "cross_fit": 0}
EVERY = [GraphCL, JOAO, InfoGraph, ASGN]


def same(first, second):
    return first.keys() == second.keys() and all(torch.equal(first[k], second[k]) for k in first)


def test_fine_tuning_starts_from_the_encoder_and_moves_all_of_it(monkeypatch):
    starts = []

    def spy(module, *args, **options):
        starts.append({name: value.clone() for name, value in module.state_dict().items()})
        return loop.train(module, *args, **options)

    monkeypatch.setattr(network_module, "train", spy)
    model = GraphCL(**FAST).fit(TRAIN, LABELS)
    plain = GNNSup(epochs=3, width=8, cross_fit=0).fit(TRAIN, LABELS)
    pretrained, random = starts
    assert same({k: v for k, v in pretrained.items() if k in model.encoder_}, model.encoder_)
    # The rest is new, as if nothing had been learned before.
    rest = pretrained.keys() - model.encoder_.keys()
    assert {name.partition(".")[0] for name in rest} == {"pooled_norm", "classifier"}
    assert all(torch.equal(pretrained[name], random[name]) for name in rest)
    final = model.gnn_.fitted[0].module.state_dict()
    for name in ("layers.0.inner.weight", "layers.2.norm.bias", "classifier.0.weight"):
        assert not torch.equal(final[name], pretrained[name])
    assert not np.array_equal(model.predict_proba(NEW), plain.predict_proba(NEW))


@pytest.mark.parametrize("cls", [GraphCL, JOAO])
def test_pre_training_sees_neither_labels_nor_validation_graphs(cls):
    encoders = [
        cls(**FAST).fit(TRAIN, labels, validation=validation).encoder_
        for labels, validation in (
            (LABELS, None),
            (np.where(LABELS < 0, -1, 1 - LABELS), None),
            (np.arange(40) % 7, None),  # as many classes as that
            (LABELS, (NEW, NEW.targets)),
        )
    ]
    poisoned = TRAIN.with_targets(1 - TRAIN.targets)
    encoders.append(cls(**FAST).pretrain(poisoned).weights)
    assert all(same(encoders[0], each) for each in encoders[1:])


@pytest.mark.parametrize("cls", EVERY)
def test_targets_leave_no_trace_in_a_saved_encoder(cls, tmp_path):
    garbage = np.random.default_rng(0).integers(0, 2, len(TRAIN))
    for name, graphs in (("clean", TRAIN), ("poisoned", TRAIN.with_targets(garbage))):
        cls(**FAST).pretrain(graphs, graphs.targets).save(tmp_path / name)
    clean, poisoned = (
        unpack((tmp_path / name / "encoder.safetensors").read_bytes())
        for name in ("clean", "poisoned")
    )
    assert {**clean[0], "saved": ""} == {**poisoned[0], "saved": ""}
    assert clean[1].keys() == poisoned[1].keys()
    assert all(np.array_equal(array, poisoned[1][name]) for name, array in clean[1].items())


@pytest.mark.parametrize("cls", EVERY)
def test_the_seed_decides_what_pretrain_returns(cls):
    before = torch.get_rng_state()
    first, second, other = (
        cls(random_state=seed, **FAST).pretrain(TRAIN).weights for seed in (1, 1, 2)
    )
    assert same(first, second)
    assert not same(first, other)
    assert (torch.get_rng_state() == before).all()


@pytest.mark.parametrize("cls", EVERY)
def test_pre_training_tells_how_far_it_is(cls):
    reports = []
    with listening(lambda *report: reports.append(report)):
        assert len(cls(**FAST).pretrain(TRAIN).loss) == 2
    assert reports == [("pre-training", done, 2) for done in range(3)]


@pytest.mark.parametrize("cls", [GraphCL, InfoGraph, ASGN])  # JOAO looks for what is hard
def test_pre_training_learns_something(cls):
    options = {**FAST, "pretrain_epochs": 10, "pretrain_batch_size": 20}
    loss = cls(**options).pretrain(TRAIN).loss
    assert loss[-1] < loss[0] - 0.05


@pytest.mark.parametrize("cls", EVERY)
def test_batch_statistics_of_an_encoder_are_those_of_the_whole_graphs(cls):
    encoder = cls(**FAST).pretrain(TRAIN)
    gin = GIN(encoder.plan.node_features.width, 2, width=8)
    gin.load_state_dict(encoder.weights, strict=False)
    gin.train()
    for layer in gin.layers:
        layer.norm.reset_running_stats()
        layer.norm.momentum = None
    with torch.no_grad():
        gin.embed(batch_of(TRAIN, encoder.plan.node_features(TRAIN)))
    for depth, layer in enumerate(gin.layers):
        saved = encoder.weights[f"layers.{depth}.norm.running_mean"]
        torch.testing.assert_close(layer.norm.running_mean, saved, rtol=1e-3, atol=1e-4)


def test_unlabeled_graphs_are_pre_trained_on():
    whole = GraphCL(**FAST).fit(TRAIN, LABELS)
    labeled_alone = GraphCL(**FAST).fit(TRAIN[:12], LABELS[:12])
    assert not same(whole.encoder_, labeled_alone.encoder_)


def test_the_seed_decides_the_encoder():
    first, second, other = (
        GraphCL(random_state=seed, **FAST).fit(TRAIN, LABELS).encoder_ for seed in (1, 1, 2)
    )
    assert same(first, second)
    assert not same(first, other)


def test_a_second_fit_begins_anew():
    model = GraphCL(**FAST).fit(NEW, NEW.targets)
    once = GraphCL(**FAST).fit(TRAIN, LABELS)
    again = model.fit(TRAIN, LABELS)
    assert (again.predict_proba(NEW) == once.predict_proba(NEW)).all()


@pytest.mark.parametrize("cls", [GraphCL, JOAO])
def test_a_saved_encoder_gives_the_same_model(cls, tmp_path):
    cls(**FAST).pretrain(TRAIN).save(tmp_path / "encoder")
    here = cls(**FAST).fit(TRAIN, LABELS)
    there = cls(pretrained=str(tmp_path / "encoder"), **FAST).fit(TRAIN, LABELS)
    assert (here.predict_proba(NEW) == there.predict_proba(NEW)).all()
    assert there.pretraining_["loss"] == here.pretraining_["loss"]


def test_a_saved_encoder_may_come_from_more_graphs_and_another_method(tmp_path):
    JOAO(**FAST).pretrain(GRAPHS).save(tmp_path / "encoder")
    model = GraphCL(pretrained=str(tmp_path / "encoder"), **FAST).fit(TRAIN, LABELS)
    assert same(model.encoder_, SavedEncoder.open(tmp_path / "encoder").weights)
    assert SavedEncoder.open(tmp_path / "encoder").method == "JOAO"


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Encoders of all methods, as folders."""
    place = tmp_path_factory.mktemp("encoders")
    for cls in EVERY:
        cls(**FAST).pretrain(GRAPHS).save(place / cls.__name__)
    return place


@pytest.mark.parametrize("maker", EVERY)
@pytest.mark.parametrize("user", EVERY)
def test_an_encoder_of_any_method_will_do_for_any_other(maker, user, folders):
    folder = folders / maker.__name__
    saved = SavedEncoder.open(folder)
    assert saved.method == maker.__name__
    model = user(pretrained=str(folder), **{**FAST, "epochs": 1}).fit(TRAIN, LABELS)
    assert np.isfinite(model.predict_proba(NEW)).all()
    started = model._gnn(Task(TRAIN, LABELS, 2, None, 0)).start
    for name, weights in saved.weights.items():
        assert torch.equal(started[name if name in started else f"phi.{name}"], weights)


@pytest.mark.parametrize("cls", [InfoGraph, ASGN])
def test_some_methods_pre_train_only_if_asked(cls, folders, monkeypatch):
    def never(*_):
        raise AssertionError("pre-trained in fit")

    monkeypatch.setattr(cls, "_pretrain", never)
    plain, patient = (
        cls(**{**FAST, "pretrain_epochs": n}).fit(TRAIN, LABELS).predict_proba(NEW) for n in (1, 50)
    )
    assert (plain == patient).all()
    folder = str(folders / cls.__name__)
    started = cls(pretrained=folder, **FAST).fit(TRAIN, LABELS).predict_proba(NEW)
    assert (plain != started).any()


def test_opening_an_encoder_leaves_global_randomness_alone(tmp_path):
    GraphCL(**FAST).pretrain(TRAIN).save(tmp_path / "encoder")
    before = torch.get_rng_state()
    GraphCL(pretrained=str(tmp_path / "encoder"), **FAST).fit(TRAIN, LABELS)
    assert (torch.get_rng_state() == before).all()


@pytest.mark.parametrize("cls", EVERY)
def test_an_encoder_that_does_not_fit_is_refused(cls, folders):
    folder = str(folders / "GraphCL")
    with pytest.raises(ParameterError, match="width=8, the model width=32: set width=8"):
        cls(pretrained=folder).fit(TRAIN, LABELS)
    with pytest.raises(ParameterError, match="layers=3, the model layers=2"):
        cls(pretrained=folder, layers=2, width=8).fit(TRAIN, LABELS)
    with pytest.raises(ParameterError, match="encoder='gin', the model encoder='gcn'"):
        cls(pretrained=folder, encoder="gcn", width=8).fit(TRAIN, LABELS)
    others = cycles_and_trees(20)
    with pytest.raises(ParameterError, match="reads 3 node labels .*, the model nodes without"):
        cls(pretrained=folder, width=8).fit(others, others.targets)
    with pytest.raises(ParameterError, match="There is no encoder at nowhere"):
        cls(pretrained="nowhere").fit(TRAIN, LABELS)


@pytest.mark.parametrize("cls", EVERY)
def test_pretrain_says_what_it_cannot_do(cls):
    with pytest.raises(ParameterError, match="must be None where an encoder is to be made"):
        cls(pretrained="somewhere").pretrain(TRAIN)
    with pytest.raises(ParameterError, match=f"'pretrain_epochs' parameter of {cls.__name__} must"):
        cls(pretrain_epochs=0).pretrain(TRAIN)
    with pytest.raises(GraphDataError, match="two or more, got 1"):
        cls().pretrain(TRAIN[:1])


@pytest.mark.parametrize("cls", EVERY)
def test_pretrain_leaves_a_fitted_model_as_it_is(cls):
    model = cls(**FAST).fit(TRAIN, LABELS)
    before = model.predict_proba(NEW)
    model.pretrain(NEW)
    assert (model.predict_proba(NEW) == before).all()


def test_a_fit_that_is_stopped_while_pre_training_does_not_pass_for_an_earlier_one(monkeypatch):
    model = GraphCL(**FAST).fit(TRAIN, LABELS)

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(graphcl, "pretrain_by_contrast", stop)
    with pytest.raises(KeyboardInterrupt):
        model.fit(NEW, NEW.targets)
    assert not hasattr(model, "gnn_")


def test_a_subclass_writes_one_function():
    class Zeros(PretrainedClassifier):
        def _pretrain(self, task, network):
            module = network.build(network.node_features.width)
            names = [name for name in module.state_dict() if name.startswith("layers.0.inner")]
            weights = {name: torch.zeros_like(module.state_dict()[name]) for name in names}
            return Pretrained(weights, {"loss": [0.0]})

    model = Zeros(epochs=1, learning_rate=0.0).fit(TRAIN, LABELS)
    weights = model.gnn_.fitted[0].module.state_dict()
    assert (weights["layers.0.inner.weight"] == 0).all()
    assert (weights["layers.1.inner.weight"] != 0).any()


@pytest.mark.parametrize("encoder", ["gcn", "gin-pyg"])
@pytest.mark.parametrize("cls", EVERY)
def test_other_encoders_are_pre_trained_and_saved_too(cls, encoder, tmp_path):
    pytest.importorskip("torch_geometric")
    options = {**FAST, "encoder": encoder}
    cls(**options).pretrain(TRAIN).save(tmp_path / "encoder")
    model = GraphCL(pretrained=str(tmp_path / "encoder"), **options).fit(TRAIN, LABELS)
    assert same(model.encoder_, SavedEncoder.open(tmp_path / "encoder").weights)
