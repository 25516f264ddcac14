import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from kgnn.engine.cotraining import Plan, cotrain
from kgnn.engine.kernel_network import KernelNetwork
from kgnn.errors import KgnnWarning, ParameterError
from kgnn.evaluation.splits import make_split
from kgnn.graphs.datasets.toy import planted_motifs
from kgnn.methods.ensemble_self import EnsembleSelf
from kgnn.methods.gnn_self import GNNSelf
from kgnn.methods.gnn_sup import GNNSup
from kgnn.methods.kgnn import KGNN
from kgnn.methods.kgnn_sep import KGNNSep
from kgnn.methods.memnn_sup import MemNNSup

FAST = {"epochs": 6, "width": 16}
GRAPHS = planted_motifs(100, n_nodes=12)
SPLIT = make_split(GRAPHS, labels=0.2)
ROWS = np.concatenate([SPLIT.labeled, SPLIT.unlabeled])
LABELS = np.concatenate([GRAPHS.targets[SPLIT.labeled], np.full(len(SPLIT.unlabeled), -1)])
VALIDATION = (GRAPHS[SPLIT.validation], GRAPHS.targets[SPLIT.validation])


def fitted(cls, **settings):
    return cls(**{**FAST, **settings}).fit(GRAPHS[ROWS], LABELS, validation=VALIDATION)


def test_round_zero_is_the_supervised_networks():
    test = GRAPHS[SPLIT.test]
    gnn = fitted(KGNN, rounds=0, predict_with="gnn").predict_proba(test)
    np.testing.assert_array_equal(gnn.argmax(1), fitted(GNNSup).predict_proba(test).argmax(1))
    np.testing.assert_allclose(gnn, fitted(GNNSup).predict_proba(test), atol=1e-12)
    memory = fitted(KGNN, rounds=0, predict_with="memory").predict_proba(test)
    np.testing.assert_allclose(memory, fitted(MemNNSup).predict_proba(test))


def test_history_tells_what_each_round_did():
    model = fitted(KGNN, rounds=2, patience=9)
    rounds = model.course_.rounds
    assert model.n_iter_ == len(rounds) - 1
    assert model.termination_condition_ in {"rounds", "converged", "no_change", "exhausted"}
    assert set(rounds[0].accuracy) == {"gnn", "memory", "both"}
    for each in rounds[1:]:
        p, q = each.selections
        assert p.rows.tolist() == q.rows.tolist()
        assert len(np.unique(p.rows)) == len(p.rows) > 0
        assert (LABELS[p.rows] == -1).all()


def test_the_memory_holds_training_graphs_only_and_grows():
    model = fitted(KGNN, rounds=1, patience=9)
    first, second = (each.fitted[1].memory for each in model.course_.rounds)
    n = len(SPLIT.labeled)
    assert first.tolist() == list(range(n))
    assert second[:n].tolist() == list(range(n))
    assert set(second[n:]) == set(model.course_.rounds[1].selections[1].rows)


def test_separate_networks_teach_each_other_different_graphs():
    model = fitted(KGNNSep, rounds=1, patience=9, balanced=False)
    p, q = model.course_.rounds[1].selections
    k = int(np.ceil(0.33 * len(SPLIT.unlabeled)))
    assert len(p.rows) == len(q.rows) == k


def test_separate_networks_are_taught_what_the_other_believes():
    p = np.array([[0.99, 0.01], [0.6, 0.4], [0.4, 0.6]])
    q = np.array([[0.4, 0.6], [0.01, 0.99], [0.6, 0.4]])
    for_p, for_q = KGNNSep(balanced=False)._select([p, q], k=1)
    assert (for_p.rows.tolist(), for_p.targets.tolist()) == ([1], [1])
    assert (for_q.rows.tolist(), for_q.targets.tolist()) == ([0], [0])


def test_quotas_are_those_of_the_labeled_graphs_unless_it_is_not_balanced():
    sure = np.array([[0.99, 0.01], [0.98, 0.02], [0.97, 0.03], [0.4, 0.6]])
    model = KGNN()
    model.shares_ = np.array([0.5, 0.5])
    assert model._select([sure, sure], k=2)[0].targets.tolist() == [0, 1]
    model.set_params(balanced=False)
    assert model._select([sure, sure], k=2)[0].targets.tolist() == [0, 0]


def test_lists_of_twice_k_find_what_lists_of_k_miss():
    p = np.array([[0.99, 0.01], [0.9, 0.1], [0.8, 0.2]])
    q = np.array([[0.6, 0.4], [0.9, 0.1], [0.99, 0.01]])
    long, short = KGNN(balanced=False), KGNN(balanced=False, candidates=1)
    assert long._select([p, q], k=1)[0].rows.tolist() == [1]
    assert short._select([p, q], k=1)[0].rows.tolist() == []


def test_settings_reach_the_rounds_and_the_memory(monkeypatch):
    plans = []

    def remembering(networks, *, plan, **given):
        plans.append(plan)
        return cotrain(networks, plan=plan, **given)

    monkeypatch.setattr("kgnn.methods.kgnn.cotrain", remembering)
    given = {
        "rounds": 1,
        "growth": 0.1,
        "patience": 7,
        "soft": True,
        "warm_start": True,
    }
    model = fitted(
        KGNN,
        **given,
        annotated_weight=0.125,
        average_rounds=False,
        predict_with="memory",
        memory_learning_rate=0.02,
    )
    assert plans == [Plan(**given, weight=0.125, average=False, judge="memory")]
    assert model.networks_[1].optimizer_config.learning_rate == 0.02
    assert model.course_.used == [model.course_.rounds[model.course_.best_round]]


def test_a_candidate_that_was_chosen_is_not_trained_again(monkeypatch):
    trained = []
    fit = KernelNetwork.fit

    def counting(self, *args, **options):
        trained.append(options.get("what"))
        return fit(self, *args, **options)

    monkeypatch.setattr(KernelNetwork, "fit", counting)
    fitted(MemNNSup)
    assert len(trained) == 2  # the two scalings to choose from


def test_a_model_of_one_class_and_one_without_a_memory_say_so():
    model = fitted(KGNN, rounds=0)
    with pytest.warns(KgnnWarning, match="one class"):
        model.fit(GRAPHS[:4], [1] * 4)
    assert model.predict_proba_each(GRAPHS[:2]) == {}
    assert not hasattr(model, "course_")  # of the fit before
    with pytest.raises(ParameterError, match="one class"):
        model.attended(GRAPHS[:2])
    with pytest.raises(ParameterError, match="GNNSelf attends to no graphs"):
        fitted(GNNSelf, rounds=0).attended(GRAPHS[:2])
    for ask in (KGNN().attended, KGNN().predict_proba_each):
        with pytest.raises(NotFittedError):
            ask(GRAPHS[:2])


def test_the_papers_supervised_memory_network_is_trained_once():
    assert MemNNSup.paper().rounds == 0
    assert MemNNSup.paper().attention == "dot"
    GNNSelf.paper(epochs=1, rounds=0).fit(GRAPHS)


def test_self_training_has_one_network():
    for cls, name in ((GNNSelf, "gnn"), (EnsembleSelf, "ensemble")):
        model = fitted(cls, rounds=1)
        assert [network.name for network in model.networks_] == [name]
        assert len(model.course_.rounds[1].selections) == 1


def test_without_rounds_self_training_is_supervised_training():
    test = GRAPHS[SPLIT.test]
    alone = fitted(GNNSelf, rounds=0).predict_proba(test)
    np.testing.assert_allclose(alone, fitted(GNNSup).predict_proba(test), atol=1e-12)


@pytest.mark.parametrize("settings", [{"soft": True}, {"warm_start": True}, {"balanced": False}])
def test_every_way_to_go_on_works(settings):
    model = fitted(KGNN, rounds=1, **settings)
    proba = model.predict_proba(GRAPHS[SPLIT.test])
    np.testing.assert_allclose(proba.sum(axis=1), 1)


def test_the_paper_preset_is_the_papers_setting_and_runs():
    model = KGNN.paper(width=32)
    settings = model.get_params()
    assert {
        "epochs": 20,
        "batch_size": 32,
        "learning_rate": 0.01,
        "weight_decay": 5e-4,
        "dropout": 0.5,
        "width": 32,
        "layers": 3,
        "hops": 3,
        "readout": "sum",
        "attention": "dot",
        "reading": "output",
        "memory_labels": False,
        "dimensions": None,
        "coarse": (),
    }.items() <= settings.items()
    model = fitted(KGNN.paper, rounds=1)
    assert model.networks_[1].projection is None
    assert model.predict_proba(GRAPHS[SPLIT.test]).shape == (20, 2)


def test_predictions_of_both_lie_between_those_of_each():
    test = GRAPHS[SPLIT.test]
    model = fitted(KGNN, rounds=1)
    proba = {}
    for who in ("gnn", "memory", "both"):
        proba[who] = model.set_params(predict_with=who).predict_proba(test)
    assert (proba["gnn"] != proba["memory"]).any()
    agreed = proba["gnn"].argmax(1) == proba["memory"].argmax(1)
    assert agreed.any()
    assert (proba["both"].argmax(1) == proba["gnn"].argmax(1))[agreed].all()


@pytest.mark.parametrize("who", ["gnn", "memory", "both"])
def test_whoever_predicts_says_the_same_by_itself(who):
    test = GRAPHS[SPLIT.test]
    model = fitted(KGNN, rounds=1, predict_with=who)
    each = model.predict_proba_each(test)
    assert set(each) == {"gnn", "memory", "both"}
    np.testing.assert_array_equal(each[who], model.predict_proba(test))


def test_val_chooses_how_features_are_scaled():
    graphs = planted_motifs(60)
    validation = (graphs[40:], graphs.targets[40:])

    def network(normalize, **given):
        model = MemNNSup(normalize=normalize, epochs=4)
        model.fit(graphs[:40], graphs.targets[:40], **given)
        return model.networks_[0]

    scores = {
        scaling: max(network(scaling, validation=validation).fitted.history.score)
        for scaling in ("dataset", "level")
    }
    chosen = network("auto", validation=validation)
    assert chosen.features.normalize == max(scores, key=scores.get)
    assert max(chosen.fitted.history.score) == max(scores.values())
    assert network("auto").features.normalize == "dataset"


def test_more_labeled_graphs_give_more_coordinates():
    graphs = planted_motifs(300)
    few, many = graphs.targets.copy(), graphs.targets.copy()
    few[40:] = -1
    for labels, expected in ((few, 64), (many, 150)):
        model = MemNNSup(epochs=1).fit(graphs, labels)
        assert model.networks_[0].pool.shape[1] == expected


@pytest.mark.parametrize(
    ("cls", "idle"),
    [
        (GNNSelf, {"hops": 7, "coarse": (), "predict_with": "gnn"}),
        (MemNNSup, {"layers": 2, "learning_rate": 0.1, "candidates": 1}),
        (EnsembleSelf, {"candidates": 1, "memory_labels": False, "memory_learning_rate": 0.1}),
        (KGNNSep, {"candidates": 1}),
    ],
)
def test_a_setting_without_effect_is_refused(cls, idle):
    for name, value in idle.items():
        with pytest.raises(ParameterError, match=f"'{name}' parameter does nothing in"):
            cls(**{name: value}).fit(GRAPHS)


@pytest.mark.parametrize("cls", [GNNSelf, MemNNSup, EnsembleSelf, KGNNSep])
def test_settings_of_networks_that_are_not_refused_have_an_effect(cls):
    """Ablations answer otherwise with another value of each parameter that they do not refuse."""
    other = {
        "width": 8,
        "layers": 1,
        "readout": "sum",
        "pooling": "last",
        "dropout": 0.0,
        "batch_size": 8,
        "learning_rate": 0.05,
        "averaging": 0.0,
        "hops": 1,
        "attention": "dot",
        "reading": "output",
        "iterations": 1,
        "coarse": (),
        "counts": "binary",
        "normalize": "graph",
        "dimensions": None,
    }
    alike = fitted(cls, rounds=0).predict_proba(GRAPHS[:8])
    for name, value in other.items():
        if name not in cls.idle_parameters:
            changed = fitted(cls, rounds=0, **{name: value}).predict_proba(GRAPHS[:8])
            assert not np.array_equal(changed, alike), name


def test_no_graphs_have_no_probabilities():
    each = fitted(KGNN, rounds=0).predict_proba_each(GRAPHS[:0])
    assert {name: proba.shape for name, proba in each.items()} == {
        "gnn": (0, 2),
        "memory": (0, 2),
        "both": (0, 2),
    }
