import numpy as np
import pytest

from kgnn.evaluation.splits import make_split
from kgnn.graphs.toy import planted_motifs
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
    np.testing.assert_allclose(memory, fitted(MemNNSup, predict_with="memory").predict_proba(test))


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


def test_self_training_has_one_network():
    for cls, name in ((GNNSelf, "gnn"), (EnsembleSelf, "ensemble")):
        model = fitted(cls, rounds=1)
        assert [network.name for network in model.networks_] == [name]
        assert len(model.course_.rounds[1].selections) == 1


def test_without_rounds_self_training_is_supervised_training():
    test = GRAPHS[SPLIT.test]
    alone = fitted(GNNSelf, rounds=0, predict_with="gnn").predict_proba(test)
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
