from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline

import kgnn
from kgnn.errors import GraphDataError, KgnnError, KgnnWarning, ParameterError
from kgnn.estimator import classifier as base
from kgnn.estimator.metrics import brier_score
from kgnn.graphs.datasets.toy import cycles_and_trees, planted_motifs
from kgnn.graphs.packing import pack
from kgnn.methods.kgnn import KGNN
from kgnn.methods.ldp import LDP
from kgnn.methods.wl import WL
from tests.graphs.like_pandas import NA, Series, Table

FAST = {"iterations": (1,), "counts": ("raw",), "C": (1.0,)}


def test_targets_of_the_dataset_are_the_default_labels():
    graphs = cycles_and_trees(40)
    model = WL(**FAST).fit(graphs)
    assert model.classes_.tolist() == ["cycle", "tree"]
    assert model.predict(graphs[:2]).tolist() == ["cycle", "tree"]


@pytest.mark.parametrize("missing", [-1, None, float("nan"), np.int64(-1), np.nan, "", NA])
def test_unlabeled_may_be_written_in_several_ways(missing):
    graphs = cycles_and_trees(20)
    labels = [0, 1] * 5 + [missing] * 10
    assert WL(**FAST).fit(graphs, labels).classes_.tolist() == [0, 1]


@pytest.mark.parametrize(
    "container",
    [
        torch.tensor,
        lambda y: list(torch.tensor(y)),
        lambda y: list(torch.tensor(y)[:, None]),
        lambda y: np.array(y)[:, None],
        lambda y: [[label] for label in y],
        lambda y: Series(y, index=range(len(y), 0, -1)),
        lambda y: Table("label", y),
    ],
)
def test_labels_are_taken_by_position_from_any_container(container):
    graphs = cycles_and_trees(20)
    labels = [5, 6] * 5 + [-1] * 10
    expected = np.flatnonzero(np.array(labels) == 5).tolist()
    model = WL(**FAST).fit(graphs, container(labels))
    assert model.classes_.tolist() == [5, 6]
    is_five = model.labeled_graphs_.targets == 0
    assert np.flatnonzero(is_five).tolist() == expected
    assert model.score(graphs, container(labels)) == WL(**FAST).fit(graphs, labels).score(
        graphs, labels
    )


def test_labels_of_two_kinds_are_refused():
    graphs = cycles_and_trees(20)
    mixed = [None, *([0, 1] * 5), *(["0", "1"] * 4), "0"]
    message = r"y\[1\] is a number, 0, but y\[11\] is text, '0'\. Use one kind, such as str"
    with pytest.raises(ParameterError, match=message):
        WL(**FAST).fit(graphs, mixed)
    with pytest.raises(ParameterError, match="mixes labels of two kinds"):
        WL(**FAST).fit(graphs, graphs.targets).score(graphs, mixed)
    model = WL(**FAST).fit(graphs, [0, 1.0, True, np.int64(0)] * 5)  # all of these are numbers
    assert model.fitted_on_["labeled"] == 20


def test_one_hot_labels_are_refused():
    graphs = cycles_and_trees(20)
    with pytest.raises(ParameterError, match=r"y\[0\] must be one value.*argmax"):
        WL(**FAST).fit(graphs, np.eye(2, dtype=int)[graphs.targets])


def test_networkx_graphs_are_taken_as_they_are():
    graphs = [nx.cycle_graph(n) if n % 2 else nx.star_graph(n) for n in range(4, 24)]
    labels = ["ring" if n % 2 else "star" for n in range(4, 24)]
    model = WL(**FAST).fit(graphs, labels)
    assert model.predict([nx.cycle_graph(30), nx.star_graph(7)]).tolist() == ["ring", "star"]


def test_scikit_learn_can_drive_a_method():
    graphs = cycles_and_trees(30)
    scores = cross_val_score(WL(**FAST), graphs, graphs.targets, cv=3)
    assert scores.mean() == 1
    search = GridSearchCV(WL(**FAST), {"committee": [1, 2]}, cv=3).fit(graphs, graphs.targets)
    assert search.best_score_ == 1


def test_scikit_learn_can_drive_kgnn_on_graphs_of_which_only_some_have_a_label():
    graphs = cycles_and_trees(60)
    labels = np.where(np.arange(60) % 4 < 2, graphs.targets, -1)
    model = KGNN(epochs=8, rounds=1, cross_fit=2)
    assert cross_val_score(model, graphs, labels, cv=3).mean() > 0.9
    assert GridSearchCV(model, {"hops": [1, 2]}, cv=2).fit(graphs, labels).best_score_ > 0.9
    assert Pipeline([("model", clone(model))]).fit(graphs, labels).score(graphs, labels) > 0.9


def test_smiles_are_taken_as_they_are():
    model = WL(**FAST).fit(["CCO", "CCCO", "CC(C)O", "CCN", "CCCN", "CC(C)N"], list("ooonnn"))
    assert model.predict(["CCCCO", "CCCCN"]).tolist() == ["o", "n"]


def test_classes_can_be_called_by_name_after_the_fit(tmp_path):
    graphs = cycles_and_trees(40)
    model = WL(**FAST).fit(graphs, graphs.targets).name_classes(graphs.class_names)
    assert model.predict(graphs[:4]).tolist() == [graph.target for graph in graphs[:4]]
    assert model.labeled_graphs_[0].target == graphs[0].target
    assert kgnn.open_model(model.save(tmp_path)).classes_.tolist() == list(graphs.class_names)
    with pytest.raises(ParameterError, match="are not positions in"):
        model.name_classes(graphs.class_names)  # they have names already
    with pytest.raises(ParameterError, match="are not positions in"):
        WL(**FAST).fit(graphs, graphs.targets).name_classes(["cycle"])


def test_mistakes_are_named():
    graphs = planted_motifs(10)
    with pytest.raises(GraphDataError, match="none of the 10 graphs has a label"):
        WL().fit(graphs, [-1] * 10)
    with pytest.raises(ParameterError, match="y has 9 labels for 10 graphs"):
        WL().fit(graphs, [0] * 9)
    with pytest.raises(
        ParameterError, match="'committee' parameter of WL must be an int ≥ 1, got 0"
    ):
        WL(committee=0).fit(graphs)
    with pytest.raises(NotFittedError):
        WL().predict(graphs)
    with pytest.raises(GraphDataError, match="got int"):
        WL().fit([1, 2, 3], [0, 1, 0])


def test_a_class_called_minus_one_is_not_lost_silently():
    graphs = cycles_and_trees(20)
    with pytest.warns(KgnnWarning, match="one class, 1.*-1 means unlabeled"):
        WL(**FAST).fit(graphs, np.where(graphs.targets == 0, -1, 1))


def test_the_score_takes_labels_as_fit_does():
    graphs = cycles_and_trees(40)
    assert WL(**FAST).fit(graphs).score(graphs) == 1
    assert WL(**FAST).fit(graphs, graphs.targets).score(graphs, 1 - graphs.targets) == 0
    half = np.where(np.arange(40) < 20, graphs.targets, -1)
    half[:5] = 1 - half[:5]
    model = WL(**FAST).fit(graphs, graphs.targets)
    assert model.score(graphs, half) == 0.75  # of the twenty that have a label
    assert model.score(graphs, half, np.repeat([0.0, 1.0], [5, 35])) == 1
    with pytest.raises(GraphDataError, match="none of the 40 graphs has one"):
        model.score(graphs, [-1] * 40)


def test_the_score_refuses_labels_in_another_form():
    graphs = cycles_and_trees(40)
    numbered, named = WL(**FAST).fit(graphs, graphs.targets), WL(**FAST).fit(graphs)
    with pytest.raises(GraphDataError, match=r"'\d' is not among \[0, 1\]; use the same labels"):
        numbered.score(graphs, graphs.targets.astype(str))
    with pytest.raises(
        GraphDataError, match=r"no label is .*: \d is not among \['cycle', 'tree'\]"
    ):
        named.score(graphs, graphs.targets)


def test_a_class_that_was_never_seen_scores_nothing_with_a_warning():
    graphs = cycles_and_trees(40)  # as happens to a rare class in cross-validation
    model = WL(**FAST).fit(graphs, graphs.targets)
    with pytest.warns(
        KgnnWarning, match=r"No label is a class .*: 2 is not among \[0, 1\]"
    ) as told:
        assert model.score(graphs[:3], [2, 2, None]) == 0
    assert told[0].filename == __file__


def flipped(graphs, n):
    return np.where(np.arange(len(graphs)) < n, 1 - graphs.targets, graphs.targets)


@pytest.mark.parametrize("kind", [int, float])
def test_the_score_on_targets_after_a_fit_on_their_positions(kind, tmp_path):
    graphs = cycles_and_trees(40)
    model = WL(**FAST).fit(graphs, graphs.targets.astype(kind))
    wrong = graphs.with_targets(flipped(graphs, 10))
    assert (model.score(graphs), model.score(wrong)) == (1, 0.75)
    assert kgnn.open_model(model.save(tmp_path)).score(wrong) == 0.75


def test_positions_are_those_in_the_dataset_of_the_fit():
    graphs = cycles_and_trees(40)
    model = WL(**FAST).fit(graphs, graphs.targets)
    trees = graphs[np.flatnonzero(graphs.targets == 1)]
    others = replace(trees, class_names=("tree", "zebra")).with_targets([0] * 15 + [1] * 5)
    assert model.score(others) == 0.75  # trees are class 1 in the fit, and zebras none


def test_names_that_are_numbers_may_be_given_as_numbers():
    graphs = replace(cycles_and_trees(40), class_names=("1", "2"))
    model = WL(**FAST).fit(graphs, graphs.targets + 1)
    assert model.score(graphs.with_targets(flipped(graphs, 10))) == 0.75


def test_numbers_that_may_be_names_or_positions_need_labels_to_be_scored():
    graphs = replace(cycles_and_trees(40), class_names=("1", "2", "3"))
    model = WL(**FAST).fit(graphs, graphs.targets + 1)
    with pytest.raises(ParameterError, match=r"\[1, 2\] may be positions in .* pass y"):
        model.score(graphs)
    assert model.score(graphs, graphs.targets + 1) == 1


def test_no_graphs_to_predict_is_no_error():
    graphs = cycles_and_trees(20)
    model = WL(**FAST).fit(graphs)
    assert model.predict_proba(graphs[:0]).shape == (0, 2)


def test_predictions_in_small_runs_are_the_same(monkeypatch):
    graphs = planted_motifs(40)
    model = WL().fit(graphs[:20])
    whole = model.predict_proba(graphs)
    monkeypatch.setattr(base, "_NODES_AT_ONCE", 30)
    np.testing.assert_allclose(model.predict_proba(graphs), whole, rtol=1e-12)


def test_validation_labels_in_another_form_are_refused():
    graphs = cycles_and_trees(40)  # whose classes have names
    with pytest.raises(GraphDataError, match="0 is not among \\['cycle', 'tree'\\]"):
        WL(**FAST).fit(graphs[:30], validation=(graphs[30:], graphs.targets[30:]))


@pytest.mark.parametrize("labels", [None, "targets"])
@pytest.mark.parametrize("in_pair", [False, True])
def test_validation_graphs_without_labels_have_their_targets(labels, in_pair):
    graphs = cycles_and_trees(40)
    rest = graphs[20:].with_targets(np.where(np.arange(20) < 5, -1, graphs.targets[20:]))
    y = None if labels is None else graphs.targets[:20]
    model = WL(**FAST).fit(graphs[:20], y, validation=(rest, None) if in_pair else rest)
    assert model.held_out_.targets.tolist() == graphs.targets[25:].tolist()


def test_two_validation_graphs_are_not_graphs_and_labels():
    graphs = cycles_and_trees(40)
    model = WL(**FAST).fit(graphs[:20], validation=[graphs[20], graphs[21]])
    assert model.fitted_on_["validation"] == 2


def test_validation_graphs_without_any_label_are_refused():
    graphs = cycles_and_trees(40)
    bare = graphs[20:].with_targets([-1] * 20)
    with pytest.raises(
        GraphDataError, match=r"none of the 20 validation graphs .* pass validation="
    ):
        WL(**FAST).fit(graphs[:20], validation=bare)
    with pytest.warns(KgnnWarning, match="None of the 20 validation graphs has a label") as warned:
        model = WL(**FAST).fit(graphs[:20], validation=(bare, [None] * 20))
    # As without validation graphs, choices are then made on the labeled ones.
    assert model.held_out_.targets.tolist() == graphs.targets[:20].tolist()
    assert warned[0].filename == __file__


@pytest.mark.parametrize("name", ["NaN", "N/A", "null"])
def test_a_class_whose_name_says_that_there_is_none_is_warned_of(name):
    labels = np.array(["a", "b", name] * 10)
    with pytest.warns(
        KgnnWarning, match=f"A class is called '{name}'.* leave the label empty"
    ) as warned:
        WL(**FAST).fit(cycles_and_trees(30), labels)
    assert warned[0].filename == __file__


# What is promised


def overconfident(n=120):
    """Graphs whose labels are partly wrong, so that no honest model is sure."""
    graphs = planted_motifs(n)
    rng = np.random.default_rng(0)
    labels = np.where(rng.random(n) < 0.25, 1 - graphs.targets, graphs.targets)
    return graphs, labels


def test_cross_fitting_calibrates_without_validation_graphs():
    graphs, labels = overconfident(280)
    bold, honest = (LDP(trees=3, cross_fit=n).fit(graphs[:80], labels[:80]) for n in (0, 4))
    assert bold.held_out_ is None
    assert len(honest.held_out_.targets) == 80
    assert honest.sharpness_ < 1
    assert (honest.predict(graphs) == bold.predict(graphs)).all()
    scores = [brier_score(labels[80:], m.predict_proba(graphs[80:])) for m in (bold, honest)]
    assert scores[1] < scores[0]


def test_a_held_out_graph_was_not_taught():
    # Had a label been taught, a forest of full depth would repeat it.
    graphs, labels = overconfident()
    held = LDP(trees=30, cross_fit=4).fit(graphs[:80], labels[:80]).held_out_
    assert (held.proba.argmax(axis=1) == labels[:80]).mean() < 0.85


def test_validation_graphs_are_what_is_held_out():
    graphs = planted_motifs(60)
    model = LDP(trees=20, cross_fit=3)
    model.fit(graphs[:40], graphs.targets[:40], validation=(graphs[40:], graphs.targets[40:]))
    assert (model.held_out_.proba == model.predict_proba(graphs[40:])).all()
    assert model.held_out_.targets.tolist() == graphs.targets[40:].tolist()


def test_sets_of_labels_are_as_good_as_promised():
    graphs, labels = overconfident(600)
    names = np.array(["no", "yes"])[labels]
    model = LDP(trees=30, cross_fit=4).fit(graphs[:200], names[:200])
    sets = model.predict_sets(graphs[200:], error=0.1)
    missing = np.mean([name not in each for name, each in zip(names[200:], sets, strict=True)])
    assert missing < 0.15
    assert {len(each) for each in sets} == {1, 2}
    best = model.predict(graphs[200:]).tolist()
    assert [each[0] for each in sets] == best


def test_sets_need_graphs_that_were_held_out():
    graphs = planted_motifs(30)
    with pytest.raises(ParameterError, match="cross_fit=5"):
        LDP(trees=5, cross_fit=0).fit(graphs).predict_sets(graphs)


def test_one_label_of_a_class_is_too_few_to_cross_fit():
    graphs = planted_motifs(12)
    labels = [graphs.targets[0], graphs.targets[1], *[-1] * 10]
    model = LDP(trees=5, cross_fit=5).fit(graphs, labels)
    assert model.held_out_ is None
    assert model.sharpness_ == 1
    with pytest.raises(ParameterError, match="several labeled graphs of a class"):
        model.predict_sets(graphs)


def test_a_model_knows_what_it_has_not_seen():
    model = LDP(trees=5).fit(planted_motifs(40))
    usual, strange = model.novelty(planted_motifs(1, seed=3)), model.novelty(cycles_and_trees(1))
    assert not usual[0].is_novel
    assert strange[0].is_novel


def test_a_fit_that_fails_leaves_no_half_of_a_model():
    graphs = cycles_and_trees(30)
    model = WL(**FAST).fit(graphs)
    with pytest.raises(GraphDataError, match="no validation label is a class"):
        model.fit(graphs, validation=(graphs, ["x"] * 30))
    with pytest.raises(NotFittedError):
        model.predict(graphs)


@pytest.mark.parametrize("method", ["kgnn", "ldp", "dgk"])
@pytest.mark.parametrize("seed", [-1, 2**40])
def test_any_whole_number_is_a_seed(method, seed):
    fast = {"kgnn": {"epochs": 1, "rounds": 0}, "ldp": {"trees": 20}, "dgk": {}}[method]
    graphs = cycles_and_trees(20)
    one, two = (kgnn.make(method, random_state=seed, **fast).fit(graphs) for _ in range(2))
    np.testing.assert_array_equal(one.predict_proba(graphs), two.predict_proba(graphs))


def test_positions_below_zero_are_no_places_in_a_list_of_names():
    model = WL(**FAST).fit(cycles_and_trees(20), [-2, 1] * 10)
    with pytest.raises(ParameterError, match="are not positions in"):
        model.name_classes(["a", "b", "c"])


def test_threads_that_fit_at_once_do_not_disturb_each_other():
    graphs = planted_motifs(40)

    def answer(seed):
        model = kgnn.make("gnn-sup", epochs=8, random_state=seed, cross_fit=2)
        return model.fit(graphs[:30]).predict_proba(graphs[30:])

    alone = [answer(seed) for seed in range(3)]
    with ThreadPoolExecutor(3) as pool:
        np.testing.assert_array_equal(list(pool.map(answer, range(3))), alone)


def test_other_attributes_than_a_model_reads_are_refused():
    graphs = cycles_and_trees(20)
    values = np.random.default_rng(0).normal(size=(graphs.n_nodes, 3))
    for method in ("gnn-sup", "wl", "kgnn"):
        model = kgnn.make(method, **({} if method == "wl" else {"epochs": 1}))
        model.fit(replace(graphs, node_attributes=values))
        for other, n in ((graphs, "no"), (replace(graphs, node_attributes=values[:, :2]), 2)):
            told = f"have {n} attributes, but the model .* with 3"
            with pytest.raises(GraphDataError, match=told):
                model.predict(other)


def test_what_a_method_cannot_use_is_said_and_what_is_switched_off_is_not():
    graphs = cycles_and_trees(20)
    values = np.random.default_rng(0).normal(size=(graphs.n_nodes, 1))
    codes = np.zeros(graphs.n_arcs, dtype=np.int32)
    full = replace(graphs, node_attributes=values, edge_labels=codes, edge_label_names=("a",))
    with pytest.warns(KgnnWarning, match="GK does not use the node attributes and edge labels of"):
        model = kgnn.make("gk").fit(full)
    assert model.unused_ == ("node attributes", "edge labels")
    quiet = kgnn.make("wl", use_node_attributes=False, use_edge_labels=False).fit(full)
    assert quiet.unused_ == ()
    np.testing.assert_array_equal(quiet.predict_proba(full), quiet.predict_proba(graphs))
    with pytest.warns(KgnnWarning, match="MemNNSup does not use the node attributes and edge labe"):
        model = kgnn.make("memnn-sup", kernel="sp", epochs=1).fit(full)
    assert model.unused_ == ("node attributes", "edge labels")
    told = "The kernel sp of KGNN does not use the edge labels"
    settings = {"epochs": 1, "rounds": 0, "cross_fit": 0, "use_node_attributes": False}
    with pytest.warns(KgnnWarning, match=told):
        kgnn.make("kgnn", kernel="sp", **settings).fit(full)
    with pytest.warns(KgnnWarning, match="The kernel graphlets does not use the node attributes"):
        kgnn.most_similar(full[0], full, kernel="graphlets")


def test_what_new_graphs_have_beside_those_of_the_fit_is_told():
    graphs = cycles_and_trees(20)
    codes = np.zeros(graphs.n_arcs, dtype=np.int32)
    known = replace(graphs, edge_labels=codes, edge_label_names=("a",))
    weighted = replace(known, edge_weights=np.ones(graphs.n_arcs))
    other = replace(known, edge_label_names=("b",))
    model, plain = kgnn.make("wl").fit(known), kgnn.make("gk").fit(graphs)
    model.predict(known)
    plain.predict(graphs.with_targets(graphs.targets))
    with pytest.warns(KgnnWarning, match="edge weights of .* are not used: .* fitted on had none"):
        model.predict(weighted)
    with pytest.warns(KgnnWarning, match="labels that no graph of the fit had: 'b'"):
        model.predict(other)


@pytest.mark.filterwarnings("ignore:.* not use:kgnn.errors.KgnnWarning")
def test_graphs_that_carry_more_or_less_than_those_of_the_fit_can_be_compared_with_them():
    graphs = cycles_and_trees(20)
    codes = np.zeros(graphs.n_arcs, dtype=np.int32)
    numbers = np.random.default_rng(0).normal(size=(graphs.n_nodes, 2))
    full = replace(graphs, edge_labels=codes, edge_label_names=("a",), node_attributes=numbers)
    unknown = np.full(20, -1)
    for known, new in ((full, graphs), (graphs, full)):
        model = kgnn.make("gk").fit(known)
        assert model.explain(new[0]).neighbors
        assert len(model.similar(new[:2])) == 2
        assert len(model.suggest(new.with_targets(unknown), 2)) <= 2


def paths(directed=True, n=40):
    """Paths whose edges run one way, and others whose edges take turns."""
    sizes = np.arange(n) % 5 + 4
    first = np.cumsum(sizes) - sizes
    ends = [
        (start + i, start + i + 1)[:: -1 if row % 2 and i % 2 else 1]
        for row, (start, size) in enumerate(zip(first, sizes, strict=True))
        for i in range(size - 1)
    ]
    targets = ["way", "turns"] * (n // 2)
    return pack("paths", sizes, *zip(*ends, strict=True), targets=targets, directed=directed)


@pytest.mark.parametrize("method", ["kgnn", "wl", "wl-linear", "gnn-sup", "memnn-sup"])
def test_directions_alone_tell_classes_apart(method):
    settings = {} if method in ("wl", "wl-linear") else {"epochs": 10}
    graphs = paths()
    model = kgnn.make(method, **settings).fit(graphs[:20])
    assert model.score(graphs[20:]) == 1.0
    blind = kgnn.make(method, use_edge_labels=False, **settings).fit(graphs[:20])
    assert blind.score(graphs[20:]) <= 0.5
    with pytest.raises(GraphDataError, match="no directions .* directed=True"):
        model.predict(paths(directed=False))
    undirected = replace(graphs, edge_directions=None, edge_labels=np.zeros(graphs.n_arcs, int))
    one_kind = replace(undirected, edge_label_names=("a",))
    with pytest.raises(GraphDataError, match="its directions .* directed=False"):
        kgnn.make(method, **settings).fit(one_kind[:20]).predict(graphs)


@pytest.mark.parametrize("method", ["kgnn", "wl", "wl-linear", "gnn-sup", "dgk", "memnn-sup"])
def test_molecules_that_differ_in_bonds_or_charges_get_different_answers(method):
    chem = pytest.importorskip("rdkit.Chem")
    rings, chains = ("c1ccccc1", "C1CCCCC1", "C1=CCCCC1"), ("C", "CC", "C=C", "C#C")
    known = [a + b + c for a in rings for b in chains for c in ("N", "O", "[NH3+]", "[O-]")]
    model = kgnn.make(method).fit(known, ["c1" in each or "+" in each for each in known])
    asked = ["c1ccccc1CCN", "C1CCCCC1CCN", "C1=CCCCC1C#CN", "[NH3+]CCc1ccccc1"]
    answers = model.predict_proba(asked)
    # Charges are attributes of atoms, and DGK says that it does not use these.
    n_distinct = 3 if method == "dgk" else 4
    assert len(np.unique(answers.min(axis=1).round(7))) == n_distinct
    assert ("node attributes" in model.unused_) == (method == "dgk")
    for row, smiles in enumerate(asked):  # with the atoms in other orders
        molecule = chem.MolFromSmiles(smiles)
        orders = [chem.MolToSmiles(molecule, doRandom=True, canonical=False) for _ in range(5)]
        again = model.predict_proba(orders)
        np.testing.assert_allclose(again, np.tile(answers[row], (5, 1)), rtol=1e-4, atol=1e-8)


def test_training_that_diverges_says_so():
    graphs = cycles_and_trees(20)
    with pytest.raises(KgnnError, match="has diverged"), np.errstate(all="ignore"):
        kgnn.make("gnn-sup", learning_rate=1e30, clip=None, epochs=2).fit(graphs)


def test_a_graph_alone_is_answered_as_it_is_in_company():
    """Molecules of one atom have no bond whose label could be read, an empty graph has no node."""
    smiles, targets = ["CCO", "CCN", "CC=O", "CCC", "C#N", "CCCC"], [0, 1, 0, 1, 0, 1]
    model = WL(**FAST).fit(smiles, targets)
    together = model.predict_proba(["C", "CC"])
    np.testing.assert_allclose(model.predict_proba(["C"]), together[:1])
    labeled = WL(**FAST).fit(planted_motifs(20))
    assert labeled.predict_proba([nx.Graph()]).shape == (1, 2)


class _Blind(LDP):
    """Fails if it is shown a target."""

    def _fit(self, task):
        assert (task.graphs.targets < 0).all()
        super()._fit(task)

    def _predict_proba(self, graphs):
        assert (graphs.targets < 0).all()
        return super()._predict_proba(graphs)


class _Weighing(LDP):
    """Keeps the weights of classes."""

    def _fit(self, task):
        self.weights_ = task.class_weights
        super()._fit(task)


def test_balanced_classes_weigh_the_same_and_graphs_1_on_average():
    graphs = cycles_and_trees(20)
    labels = [0] * 9 + [1] * 3 + [-1] * 8
    model = _Weighing(trees=5, class_weight="balanced", cross_fit=0).fit(graphs, labels)
    np.testing.assert_allclose(model.weights_, [12 / 18, 12 / 6])
    assert _Weighing(trees=5, cross_fit=0).fit(graphs, labels).weights_ is None
    with pytest.raises(ParameterError, match="'class_weight' parameter of _Weighing must be"):
        _Weighing(class_weight={0: 1.0, 1: 3.0}).fit(graphs, labels)


def test_methods_never_see_the_targets_of_graphs():
    graphs = cycles_and_trees(40)
    assert (graphs.targets >= 0).all()
    model = _Blind(trees=5).fit(graphs[:20], validation=graphs[20:30])
    assert model.predict_proba(graphs).shape == (40, 2)
