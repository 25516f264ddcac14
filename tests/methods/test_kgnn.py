"""Algorithm 1 with scripted networks, and KGNN and its ablations on small graphs."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.exceptions import NotFittedError

from kgnn.engine.rounds import Plan, most_confident
from kgnn.engine.task import Task
from kgnn.errors import KgnnWarning, ParameterError
from kgnn.estimator.parameters import fields_of
from kgnn.evaluation.splits import make_split
from kgnn.graphs.datasets.toy import planted_motifs
from kgnn.methods import memory as memory_settings
from kgnn.methods.ensemble_self import EnsembleSelf
from kgnn.methods.gnn_self import GNNSelf
from kgnn.methods.gnn_sup import GNNSup
from kgnn.methods.kgnn import KGNN, MemoryNetwork, agree, co_train
from kgnn.methods.kgnn_sep import KGNNSep
from kgnn.methods.memnn_sup import MemNNSup
from tests.engine.test_rounds import Scripted, task, two

FAST = {"epochs": 6, "width": 16}
GRAPHS = planted_motifs(100, n_nodes=12)
SPLIT = make_split(GRAPHS, labels=0.2)
ROWS = np.concatenate([SPLIT.labeled, SPLIT.unlabeled])
LABELS = np.concatenate([GRAPHS.targets[SPLIT.labeled], np.full(len(SPLIT.unlabeled), -1)])
VALIDATION = (GRAPHS[SPLIT.validation], GRAPHS.targets[SPLIT.validation])
TEST = GRAPHS[SPLIT.test]
PLAN = Plan(rounds=4, growth=0.25, patience=9, weight=1.0)


def fitted(cls, **settings):
    """A model of one member, for a committee's rounds are those of each of its members."""
    alone = {"committee": 1} if "committee" in fields_of(cls) else {}
    settings = {**FAST, **alone, **settings}
    return cls(**settings).fit(GRAPHS[ROWS], LABELS, validation=VALIDATION)


def by_agreement(p, q, k, shares):
    return (agree(p, q, k),) * 2


def separately(p, q, k, shares):
    return most_confident(q, k), most_confident(p, k)


# -- agree --------------------------------------------------------------------------------------


def test_agreement_keeps_what_both_are_confident_of_with_one_class():
    p = np.array(two(0.99, 0.95, 0.9, 0.1, 0.5))
    q = np.array(two(0.9, 0.05, 0.99, 0.2, 0.52))
    chosen = agree(p, q, 3)
    assert chosen.rows.tolist() == [0, 2, 3]
    assert chosen.targets.tolist() == [0, 0, 1]
    assert agree(p, q, 2).rows.tolist() == [0, 2]  # 3 has the smallest of the smaller confidences


def test_of_those_on_both_lists_the_less_confident_network_decides():
    p, q = np.array(two(0.99, 0.8)), np.array(two(0.6, 0.8))
    assert agree(p, q, 1).rows.tolist() == [1]


def test_a_graph_that_one_network_is_unsure_of_is_not_taken():
    p = np.array(two(0.99, 0.98, 0.97, 0.51, 0.9, 0.9))
    q = np.array(two(0.51, 0.98, 0.97, 0.99, 0.6, 0.6))
    assert agree(p, q, 1).rows.tolist() == [1]


def test_equal_networks_agree_on_their_most_confident():
    p = np.random.default_rng(0).dirichlet(np.ones(3), 50)
    for k in (1, 10, 50):
        assert agree(p, p, k).rows.tolist() == most_confident(p, k).rows.tolist()
        assert len(agree(p, p[::-1], k).rows) <= k
    assert len(agree(np.array(two(0.9, 0.8)), np.array(two(0.1, 0.2)), 2).rows) == 0


def test_lists_of_twice_k_find_what_lists_of_k_miss():
    p = np.array(two(0.99, 0.9, 0.8))
    q = np.array(two(0.6, 0.9, 0.99))
    assert agree(p, q, 1, candidates=2).rows.tolist() == [1]
    assert agree(p, q, 1, candidates=1).rows.tolist() == []


def test_quotas_and_rankings_reach_the_selection():
    sure = np.array(two(0.99, 0.98, 0.97, 0.4))
    assert agree(sure, sure, 2, np.array([0.5, 0.5])).targets.tolist() == [0, 1]
    assert agree(sure, sure, 2).targets.tolist() == [0, 0]
    proba = np.array([[0.50, 0.49, 0.01], [0.48, 0.26, 0.26]])
    chosen = [agree(proba, proba, 1, None, 1, by).rows[0] for by in ("margin", "probability")]
    assert chosen == [1, 0]


# -- Algorithm 1 --------------------------------------------------------------------------------


def test_the_m_step_annotates_with_the_memory_of_this_rounds_e_step():
    p = Scripted("gnn", [two(0.99, 0.9, 0.8, 0.7)])
    q = Scripted("memory", [two(0.9, 0.85, 0.3, 0.25), two(0.3, 0.4, 0.95, 0.1)])
    plan = replace(PLAN, rounds=1, growth=0.5)
    co_train(p, q, task(), plan, separately)
    assert p.taught[1].annotated.tolist() == [4, 5]  # what the new q is confident of
    together_p = Scripted("gnn", p.beliefs)
    together_q = Scripted("memory", q.beliefs)
    co_train(together_p, together_q, task(), plan, separately, order="together")
    assert together_p.taught[1].annotated.tolist() == [2, 3]  # what the old q was confident of
    assert q.taught[1].annotated.tolist() == together_q.taught[1].annotated.tolist() == [2, 3]


def test_the_memory_is_trained_before_the_gnn_in_every_round():
    order = []

    class Logged(Scripted):
        def fit(self, *args, **options):
            order.append(self.name)
            super().fit(*args, **options)

    beliefs = [two(0.99, 0.9, 0.8, 0.7)]
    plan = replace(PLAN, rounds=2)
    co_train(Logged("gnn", beliefs), Logged("memory", beliefs), task(), plan, by_agreement)
    assert order == ["gnn", "memory", "memory", "gnn", "memory", "gnn"]
    order.clear()
    networks = Logged("gnn", beliefs), Logged("memory", beliefs)
    co_train(*networks, task(), plan, by_agreement, start_memory=False)
    assert order == ["gnn", "memory", "gnn", "memory", "gnn"]


def test_before_the_first_e_step_the_gnn_may_select_alone():
    p = Scripted("gnn", [two(0.99, 0.9, 0.2, 0.7)])
    q = Scripted("memory", [two(0.1, 0.9, 0.2, 0.7)])
    co_train(p, q, task(), replace(PLAN, rounds=1), by_agreement, start_memory=False)
    assert q.taught[0].annotated.tolist() == [2]  # p's most confident, which q would not share
    assert p.taught[1].annotated.tolist() == [3]


def test_what_the_gnn_selects_alone_is_ranked_as_the_rule_says():
    beliefs = [[[0.50, 0.49, 0.01], [0.48, 0.26, 0.26], [0.4, 0.3, 0.3], [0.4, 0.3, 0.3]]]
    for rank_by, first in (("probability", 2), ("margin", 3)):
        p, q = Scripted("gnn", beliefs), Scripted("memory", beliefs)
        three = replace(task(), n_classes=3)

        def select(p, q, k, shares, rank_by=rank_by):
            return (agree(p, q, k, None, 1, rank_by),) * 2

        co_train(p, q, three, replace(PLAN, rounds=1), select, start_memory=False)
        assert q.taught[0].annotated.tolist() == [first]


@pytest.mark.parametrize(
    "settings", [{"rounds": 0}, {"growth": 0.0}, {"rounds": 1, "average_rounds": False}]
)
def test_without_an_e_step_the_memory_learns_the_labeled_graphs(settings):
    model = fitted(KGNN, start_memory=False, **settings)
    assert np.isfinite(model.predict_proba(TEST)).all()


def test_soft_targets_are_the_other_networks_probabilities():
    p = Scripted("gnn", [two(0.9, 0.6, 0.6, 0.6)])
    q = Scripted("memory", [two(0.7, 0.6, 0.6, 0.6)])
    co_train(p, q, task(), replace(PLAN, rounds=1, soft=True), by_agreement)
    assert p.taught[1].targets[2, 0] == pytest.approx(0.7)
    assert q.taught[1].targets[2, 0] == pytest.approx(0.9)


def test_disagreement_on_everything_ends_it():
    p, q = Scripted("gnn", [two(0.9, 0.9, 0.9, 0.9)]), Scripted("memory", [two(0.1, 0.1, 0.1, 0.1)])
    course = co_train(p, q, task(), PLAN, by_agreement)
    assert course.termination_condition == "no_change"
    assert len(course.rounds) == 1


def test_rounds_tell_how_much_the_networks_agree():
    p = Scripted("gnn", [two(0.9, 0.9, 0.9, 0.9)])
    q = Scripted("memory", [two(0.8, 0.8, 0.8, 0.2)])
    course = co_train(p, q, task(), replace(PLAN, rounds=1), by_agreement)
    assert [each.agreement for each in course.rounds] == [None, 0.75]


def test_rounds_are_judged_by_whoever_predicts():
    good, bad = two(0.9, 0.1), two(0.6, 0.6)
    beliefs, best = [two(0.9, 0.8, 0.7, 0.6)], {}
    for judge in ("gnn", "memory"):
        networks = Scripted("gnn", beliefs, [bad, good]), Scripted("memory", beliefs, [good, bad])
        plan = replace(PLAN, rounds=1, average=False, judge=judge)
        course = co_train(*networks, task(np.array([0, 1])), plan, by_agreement)
        best[judge] = course.best_round
    assert best == {"gnn": 1, "memory": 0}


def test_a_network_with_a_higher_validation_likelihood_counts_more():
    targets = np.arange(100) % 2
    often = np.where(np.arange(100) < 85, targets, 1 - targets)
    right = softmax(2 * np.eye(2)[often], axis=1)
    guess = softmax(2 * np.eye(2)[np.arange(100) // 2 % 2], axis=1)
    p = Scripted("gnn", [two(0.9, 0.8, 0.7, 0.6)], [right.tolist()])
    q = Scripted("memory", [two(0.9, 0.8, 0.7, 0.6)], [guess.tolist()])
    course = co_train(p, q, task(targets), replace(PLAN, rounds=0), by_agreement)
    assert sum(course.mixing.weights) == pytest.approx(1)
    of_gnn, of_memory = np.multiply(course.mixing.weights, course.mixing.sharpness)
    assert of_gnn > 5 * of_memory


# -- the method and its ablations ---------------------------------------------------------------


def test_round_zero_is_the_supervised_networks():
    gnn = fitted(KGNN, rounds=0, predict_with="gnn").predict_proba(TEST)
    np.testing.assert_allclose(gnn, fitted(GNNSup).predict_proba(TEST), atol=1e-5)
    memory = fitted(KGNN, rounds=0, predict_with="memory").predict_proba(TEST)
    np.testing.assert_allclose(memory, fitted(MemNNSup).predict_proba(TEST), atol=1e-5)
    alone = fitted(GNNSelf, rounds=0).predict_proba(TEST)
    np.testing.assert_allclose(alone, fitted(GNNSup).predict_proba(TEST), atol=1e-5)


def test_annotations_are_of_unlabeled_graphs_and_the_memory_grows_by_them():
    model = fitted(KGNN, rounds=2, patience=None)
    rounds, n = model.course_.rounds, len(SPLIT.labeled)
    assert model.n_iter_ == len(rounds) - 1 > 0
    assert set(rounds[0].accuracy) == {"gnn", "memory", "forest", "all"}
    assert rounds[0].fitted[1][0].memory.tolist() == list(range(n))
    for each in rounds[1:]:
        *taught, for_forest = each.selections
        assert len(for_forest.rows) == 0  # it learns the labeled graphs alone
        for selection in taught:
            assert (LABELS[selection.rows] == -1).all()
            assert len(np.unique(selection.rows)) == len(selection.rows) > 0
        for_memory = each.selections[1]
        assert each.fitted[1][0].memory.tolist() == [*range(n), *for_memory.rows]
    fixed = fitted(KGNN, rounds=1, memory_grows=False)
    assert fixed.course_.rounds[1].fitted[1][0].memory.tolist() == list(range(n))


def test_a_committee_learns_all_labels_and_annotates_as_one():
    model = fitted(KGNN, committee=2, patience=None, gnn_start="trained")
    first, second = model.course_.rounds
    labeled = list(range(len(SPLIT.labeled)))
    assert [each.memory.tolist() for each in first.fitted[1]] == [labeled] * 2
    for network, members in zip(model.networks_, first.fitted, strict=True):
        if network.name == "memory":  # it starts from the same machine, and may stay there
            continue
        one, other = (network.logits(network.part(np.arange(20)), [each]) for each in members)
        assert (one != other).any()  # of its own seed
    for_gnn, again, *_ = second.selections
    assert for_gnn.rows.tolist() == again.rows.tolist()
    assert for_gnn.targets.tolist() == again.targets.tolist()


def test_a_committee_is_judged_by_what_it_says_together():
    model = fitted(KGNN, committee=3, rounds=0)
    (only,) = model.course_.rounds
    each = model.predict_proba_each(VALIDATION[0])
    for who, proba in each.items():
        assert only.accuracy[who] == (proba.argmax(axis=1) == VALIDATION[1]).mean()
    assert all(len(answers) == len(VALIDATION[1]) for answers in model.course_.held_out)


def test_a_forest_annotates_and_predicts_with_both_networks():
    model, without = fitted(KGNN), fitted(KGNN, trees=0)
    with_forest, of_two = (each.predict_proba_each(TEST) for each in (model, without))
    assert [*with_forest] == ["gnn", "memory", "forest", "all"]
    assert [*of_two] == ["gnn", "memory", "all"]
    # Round 0 is the same; then the GNN is taught by other annotations.
    assert not np.allclose(with_forest["gnn"], of_two["gnn"], atol=1e-6)
    mixing = model.course_.mixing
    assert len(mixing.weights) == 3
    assert min(mixing.weights) > 0
    alone = fitted(KGNN, predict_with="forest")
    np.testing.assert_allclose(
        alone.predict(TEST), model.classes_[with_forest["forest"].argmax(axis=1)]
    )
    assert len(KGNN.paper(**FAST).fit(GRAPHS[ROWS], LABELS).networks_) == 2


def test_whoever_asks_for_a_forest_that_is_not_there_is_told():
    for settings in ({"trees": 0}, {"start_memory": False}):
        with pytest.raises(ParameterError, match="needs a forest"):
            fitted(KGNN, predict_with="forest", **settings)


def test_each_round_trains_with_weights_of_its_own():
    model = fitted(KGNN, rounds=1, patience=None, epochs=1, gnn_start="trained")
    rounds = model.course_.rounds
    starts = [next(each.fitted[0][0].module.parameters()).detach().numpy() for each in rounds]
    assert np.abs(starts[0] - starts[1]).max() > 0.1


def test_separate_networks_teach_each_other_different_graphs():
    model = fitted(KGNNSep, rounds=1, growth=0.33, patience=None, balanced=False)
    for_gnn, for_memory = model.course_.rounds[1].selections
    k = int(np.ceil(0.33 * len(SPLIT.unlabeled)))
    assert len(for_gnn.rows) == len(for_memory.rows) == k
    assert for_gnn.rows.tolist() != for_memory.rows.tolist()


def test_colors_of_a_single_graph_are_left_out():
    kernel = fitted(KGNN, rounds=0).networks_[1].kernel
    found = kernel.transform(GRAPHS[ROWS])
    in_graphs = np.bincount(found.indices, minlength=found.shape[1])
    assert in_graphs.min() >= 2


def judged_by(monkeypatch, gains):
    """Have features judged better than those of the first scaling by so much, graph by graph."""

    def judge(memory, task):
        likely = np.full(len(gains), -0.7)
        return likely if memory.kernel.normalize == "dataset" else likely + gains

    monkeypatch.setattr(memory_settings, "_by_linear", judge)


@pytest.mark.parametrize("validation", [None, VALIDATION], ids=["folds", "VAL"])
@pytest.mark.parametrize(
    ("gains", "scaling"),
    [
        (np.array([0.2, 0.3, 0.2, 0.3]), "level"),
        (np.array([0.9, -0.6, 0.5, -0.6]), "dataset"),  # better on average, which may be luck
        (np.array([-0.2, -0.3, -0.2, -0.3]), "dataset"),
    ],
)
def test_held_out_graphs_choose_how_features_are_scaled(monkeypatch, gains, scaling, validation):
    judged_by(monkeypatch, gains)
    model = MemNNSup(epochs=1, cross_fit=2).fit(GRAPHS[ROWS], LABELS, validation=validation)
    assert model.memory_.kernel.normalize == scaling


@pytest.mark.parametrize("validation", [None, VALIDATION], ids=["folds", "VAL"])
@pytest.mark.parametrize(
    ("gains", "chosen"),
    [
        (np.array([0.2, 0.3, -0.1, 0.3]), 2),
        (np.array([0.2, -0.2, 0.2, -0.1]), 0),  # better on average, which may be luck
        (np.array([-0.2, -0.3, 0.1, -0.3]), 0),
    ],
)
def test_held_out_graphs_choose_the_penalty_of_the_linear_start(
    monkeypatch, gains, chosen, validation
):
    def judge(memory, task, penalty):
        return gains * (penalty == memory_settings.PENALTIES[2]) - 0.7

    monkeypatch.setattr(memory_settings, "_by_start", judge)
    settings = {"epochs": 1, "cross_fit": 2, "kernel": "wl(iterations=1)"}
    model = MemNNSup(**settings).fit(GRAPHS[ROWS], LABELS, validation=validation)
    assert model.memory_.penalty == memory_settings.PENALTIES[chosen]
    fixed = MemNNSup(**settings, linear_penalty=0.7).fit(GRAPHS[ROWS], LABELS)
    assert fixed.memory_.penalty == 0.7


def test_with_nothing_held_out_the_size_of_graphs_counts(monkeypatch):
    judged_by(monkeypatch, np.ones(4))
    model = MemNNSup(epochs=1, cross_fit=0).fit(GRAPHS[ROWS], LABELS)
    assert model.memory_.kernel.normalize == "dataset"


@pytest.mark.parametrize(
    "by", [memory_settings._by_linear, lambda *args: memory_settings._by_start(*args, 1.0)]
)
def test_features_are_judged_by_graphs_that_the_linear_machine_has_not_seen(by):
    """Where all labels are guesses, a machine that had seen them would know better."""
    folds = tuple(np.array_split(np.arange(100), 5))
    task = Task(GRAPHS, GRAPHS.targets, 2, None, seed=0, folds=folds)
    memory = KGNN(kernel="wl(iterations=2)")._memory(task, MemoryNetwork, learning_rate=0.01)

    def judge(targets):
        changed = replace(task, targets=targets)
        found = by(memory, changed)
        assert found.shape == (100,)
        return found.mean()

    guesses = np.random.default_rng(0).integers(0, 2, (9, len(GRAPHS)))
    assert np.mean([judge(each) for each in guesses]) == pytest.approx(-np.log(2), abs=0.02)
    assert judge(GRAPHS.targets) > -0.4


class Sizes:
    """A kernel of one's own: the number of nodes and of edges."""

    def fit(self, graphs, y=None):
        self.scale_ = float(graphs.graph_sizes.mean())
        return self

    def transform(self, graphs):
        n_edges = [graph.n_edges for graph in graphs]
        return np.column_stack([graphs.graph_sizes, n_edges]) / self.scale_


@pytest.mark.parametrize("kernel", ["sp", "wl(iterations=1, counts='raw')", Sizes()])
def test_any_kernel_can_be_the_memorys(kernel):
    model = fitted(KGNN, kernel=kernel, rounds=0)
    assert model.predict_proba(TEST).shape == (20, 2)
    assert not np.allclose(model.predict_proba(TEST), fitted(KGNN, rounds=0).predict_proba(TEST))
    assert model.similar(TEST[:1], 2)[0]
    assert not hasattr(kernel, "scale_")  # what was given is left as it was


def test_a_kernel_that_is_none_is_refused():
    with pytest.raises(ParameterError, match="fit and transform"):
        fitted(KGNN, kernel=7)


def test_more_labeled_graphs_give_more_coordinates():
    graphs = planted_motifs(300)
    few, many = graphs.targets.copy(), graphs.targets.copy()
    few[40:] = -1
    for labels, expected in ((few, 64), (many, 150)):
        assert MemNNSup(epochs=1, cross_fit=0).fit(graphs, labels).memory_.pool.shape[1] == expected


@pytest.mark.parametrize("who", ["gnn", "memory", "forest", "all"])
def test_whoever_predicts_says_the_same_by_itself(who):
    model = fitted(KGNN, rounds=1, predict_with=who)
    each = model.predict_proba_each(TEST)
    assert set(each) == {"gnn", "memory", "forest", "all"}
    np.testing.assert_array_equal(each[who], model.predict_proba(TEST))
    others = [each[other] for other in each if other != who]
    assert not any(np.allclose(each[who], other) for other in others)


def test_where_the_networks_agree_both_together_agree():
    each = fitted(KGNN, rounds=1).predict_proba_each(TEST)
    named = {who: proba.argmax(axis=1) for who, proba in each.items()}
    alike = named["gnn"] == named["memory"]
    assert alike.any()
    assert (named["all"] == named["gnn"])[alike].all()


@pytest.mark.parametrize(
    "settings",
    [
        {"soft": True},
        {"gnn_start": "random"},
        {"warm_start": True},
        {"balanced": False},
        {"batches": "paired"},
        {"annotated_weight": 0.0},
        {"annotators": "each"},
        {"student_epochs": None, "student_batch_size": 2},
        {"linear_start": False},
        {"order": "together"},
        {"rank_by": "probability", "candidates": 1},
        {"start_memory": False},
        {"use_validation": False},
        {"average_rounds": True},
        {"memory_grows": False},
        {"mask_own": False},
        {"learn_sharpness": False},
        {"readout_norm": False},
        {"norm_statistics": "running"},
        {"clip": None, "learning_rate": 0.5},
        {"memory_labels": False},
        {"memory_learning_rate": 0.1},
        {"attention": "dot"},
        {"reading": "output"},
        {"hops": 1},
        {"dimensions": None},
        {"growth": 0.1},
    ],
    ids=lambda settings: ", ".join(settings),
)
def test_every_setting_reaches_the_networks(settings):
    """Of two rounds on few and noisy graphs, each setting changes what comes out."""
    common = {"rounds": 2, "patience": None, "growth": 0.3, "annotators": "each"}
    common["gnn_start"] = "trained"  # after a machine, which starts well, many have no say
    if "annotators" in settings:
        common["annotators"] = "mixed"
    usual = fitted(KGNN, **common).predict_proba_each(TEST)
    if "clip" in settings:
        usual = fitted(KGNN, **common, learning_rate=0.5).predict_proba_each(TEST)
    other = fitted(KGNN, **common | settings).predict_proba_each(TEST)
    assert not np.allclose(usual["all"], other["all"], atol=1e-9)


@pytest.mark.parametrize(
    ("cls", "lacks"),
    [
        (GNNSelf, ("hops", "kernel", "predict_with", "memory_labels", "order")),
        (MemNNSup, ("layers", "learning_rate", "candidates", "rounds", "soft")),
        (EnsembleSelf, ("candidates", "memory_labels", "memory_learning_rate", "order")),
        (KGNNSep, ("candidates",)),
        (GNNSup, ("rounds", "hops")),
    ],
)
def test_ablations_have_the_parameters_of_their_parts_and_no_others(cls, lacks):
    assert not set(lacks) & set(fields_of(cls))
    for name in lacks:
        with pytest.raises(TypeError):
            cls(**{name: 1})


def test_self_training_has_one_network():
    for cls, name in ((GNNSelf, "gnn"), (EnsembleSelf, "ensemble")):
        model = fitted(cls, rounds=1)
        assert [network.name for network in model.networks_] == [name]
        assert len(model.course_.rounds[1].selections) == 1
        assert model.predict_proba_each(TEST) == {}


@pytest.mark.parametrize("cls", [KGNN, KGNNSep, MemNNSup])
def test_attention_is_spread_over_the_training_graphs(cls):
    model = fitted(cls)
    attention = model.attended(TEST[:3])
    assert attention.shape == (3, 3, len(ROWS))
    np.testing.assert_allclose(attention.sum(axis=2), 1, rtol=1e-5)  # of 32-bit weights
    to_labeled = model.attention_to_labeled(TEST[:3])
    np.testing.assert_allclose(to_labeled, attention[:, :, : len(SPLIT.labeled)])
    assert (to_labeled.sum(axis=2) > 0.01).all()


def test_models_without_a_memory_say_so():
    model = fitted(KGNN, rounds=0)
    with pytest.warns(KgnnWarning, match="one class"):
        model.fit(GRAPHS[:4], [1] * 4)
    assert model.predict_proba_each(GRAPHS[:2]) == {}
    assert not hasattr(model, "course_")  # of the fit before
    for other in (model, fitted(EnsembleSelf, rounds=0)):
        with pytest.raises(ParameterError, match="attends to no graphs"):
            other.attended(GRAPHS[:2])
    for ask in (KGNN().attended, KGNN().predict_proba_each):
        with pytest.raises(NotFittedError):
            ask(GRAPHS[:2])


def test_no_graphs_have_no_probabilities():
    each = fitted(KGNN, rounds=0).predict_proba_each(GRAPHS[:0])
    assert {name: proba.shape for name, proba in each.items()} == {
        "gnn": (0, 2),
        "memory": (0, 2),
        "forest": (0, 2),
        "all": (0, 2),
    }
