import json

import numpy as np
import pytest

from kgnn.errors import GraphDataError, ParameterError
from kgnn.evaluation.splits import Split, make_split, parse_labels
from kgnn.graphs.datasets.toy import cycles_and_trees, random_graphs
from kgnn.graphs.loading import load
from kgnn.graphs.packing import pack

PARTS = ("labeled", "unlabeled", "validation", "test")


def sizes(split):
    return tuple(len(getattr(split, part)) for part in PARTS)


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("PROTEINS", (112, 557, 111, 222)),
        ("DD", (118, 589, 118, 235)),
        ("IMDB-B", (100, 500, 100, 200)),
        ("IMDB-M", (150, 750, 150, 300)),
        ("REDDIT-B", (200, 1000, 200, 400)),
        ("REDDIT-M-5k", (500, 2500, 500, 999)),
        ("COLLAB", (500, 2500, 500, 1000)),
    ],
)
@pytest.mark.parametrize("protocol", ["fair", "paper"])
def test_sizes_are_those_of_the_paper(name, expected, protocol):
    assert sizes(make_split(load(name), protocol=protocol)) == expected


@pytest.mark.parametrize("protocol", ["fair", "paper"])
def test_parts_are_disjoint_and_the_rest_of_train_l_is_unused(protocol):
    split = make_split(cycles_and_trees(100), protocol=protocol, labels=0.1)
    rows = np.concatenate([getattr(split, part) for part in PARTS])
    assert len(np.unique(rows)) == len(rows) == 90


def test_fair_splits_are_stratified_and_differ_by_seed():
    graphs = pack("uneven", [1] * 200, [], [], targets=["a"] * 150 + ["b"] * 50)
    splits = [make_split(graphs, seed=seed) for seed in range(5)]
    for split in splits:
        for part in PARTS:
            rows = getattr(split, part)
            assert abs((graphs.targets[rows] == 1).sum() - len(rows) / 4) <= 1
    assert len({tuple(split.test) for split in splits}) == 5


def test_the_same_seed_gives_the_same_split():
    graphs = cycles_and_trees(60)
    assert (make_split(graphs, seed=3).test == make_split(graphs, seed=3).test).all()


def test_fewer_labels_are_a_part_of_more_labels():
    graphs = cycles_and_trees(200)
    few, many = (make_split(graphs, labels=share) for share in (0.05, 0.2))
    assert set(few.labeled) < set(many.labeled)
    assert (few.test == many.test).all()


def test_the_paper_split_is_one_permutation_of_the_legacy_generator():
    graphs = cycles_and_trees(50)
    order = np.random.RandomState(21).permutation(50)  # noqa: NPY002
    for seed in (0, 1):
        split = make_split(graphs, protocol="paper", seed=seed)
        assert (split.labeled == order[:5]).all()
        assert (split.unlabeled == order[10:35]).all()
        assert (split.validation == order[35:40]).all()
        assert (split.test == order[40:]).all()
        assert split.seed == seed


def test_a_rare_class_is_drawn_again_until_it_has_a_label():
    graphs = pack("rare", [1] * 100, [], [], targets=["a"] * 98 + ["b"] * 2)
    for seed in range(10):
        split = make_split(graphs, seed=seed)
        assert (graphs.targets[split.labeled] == 1).any()


def test_a_class_with_one_member_is_split_all_the_same():
    graphs = pack("single", [1] * 40, [], [], targets=["a"] * 39 + ["b"])
    assert sizes(make_split(graphs)) == (4, 20, 4, 8)


def test_splits_survive_json(tmp_path):
    graphs = cycles_and_trees(40)
    split = make_split(graphs, seed=2)
    split.save(tmp_path / "split.json")
    again = Split.load(tmp_path / "split.json", graphs)
    assert all((getattr(split, part) == getattr(again, part)).all() for part in PARTS)
    assert (again.protocol, again.labels, again.seed) == ("fair", 0.1, 2)
    assert [file.name for file in tmp_path.iterdir()] == ["split.json"]


def test_a_split_of_other_graphs_is_refused(tmp_path):
    make_split(cycles_and_trees(40)).save(tmp_path / "split.json")
    with pytest.raises(GraphDataError, match=r"split\.json was made for another dataset"):
        Split.load(tmp_path / "split.json", random_graphs(40))
    (tmp_path / "other.json").write_text(json.dumps({"format": 0}))
    with pytest.raises(GraphDataError, match="not a split of format 1"):
        Split.load(tmp_path / "other.json", random_graphs(40))


def test_impossible_splits_are_refused():
    graphs = cycles_and_trees(20)
    for labels in (0.0, 0.3):
        with pytest.raises(ParameterError, match=f"got {labels}"):
            make_split(graphs, labels=labels)
    with pytest.raises(ParameterError, match="got 'random'"):
        make_split(graphs, protocol="random")
    with pytest.raises(GraphDataError, match="1 graphs without a target"):
        make_split(graphs.with_targets([-1] + [0] * 19))


def test_a_handful_of_graphs_is_too_few_to_evaluate_on():
    for n in range(1, 7):
        with pytest.raises(GraphDataError, match=f"has {n} graphs; .* need at least 7"):
            make_split(random_graphs(n, n_nodes=3, n_edges=2))
    split = make_split(cycles_and_trees(7))
    assert min(map(len, (split.labeled, split.unlabeled, split.validation, split.test))) > 0


UNEVEN = pack("uneven", [1] * 300, [], [], targets=["a"] * 210 + ["b"] * 66 + ["c"] * 24)
BUDGETS = (0.02, 0.1, 0.3, 0.7)


def counts(rows, graphs=UNEVEN):
    return np.bincount(graphs.targets[rows], minlength=graphs.n_classes)


def budget(labels, seed=0, graphs=UNEVEN):
    return make_split(graphs, protocol="budget", labels=labels, seed=seed)


@pytest.mark.parametrize("labels", [*BUDGETS, 3, 20, 100, "1/class", "5/class", "18/class"])
def test_a_budget_is_every_label_that_there_is_and_all_else_is_unlabeled_or_test(labels):
    wanted = labels
    if isinstance(labels, str):
        wanted = 3 * int(labels.split("/")[0])
    elif isinstance(labels, float):
        wanted = round(300 * labels)
    for seed in range(5):
        split = budget(labels, seed)
        rows = np.concatenate([split.labeled, split.unlabeled, split.test])
        assert sorted(rows) == list(range(300))
        assert sizes(split) == (wanted, 240 - wanted, 0, 60)


def test_labels_of_a_budget_and_test_have_the_classes_in_proportion():
    for seed in range(20):
        for labels in (20, 50, 0.3):
            split = budget(labels, seed)
            share = counts(np.concatenate([split.labeled, split.unlabeled])) / 240
            assert (abs(counts(split.labeled) - len(split.labeled) * share) < 1).all()
        assert (abs(counts(split.test) - np.array([42, 13.2, 4.8])) <= 2).all()
        assert (counts(budget(3, seed).labeled) == 1).all()
        assert (counts(budget("5/class", seed).labeled) == 5).all()


def test_a_smaller_budget_is_a_part_of_a_larger_one_and_test_stays():
    for seed in range(5):
        for several in (BUDGETS, range(3, 240, 7), [f"{n}/class" for n in range(1, 19)]):
            splits = [budget(labels, seed) for labels in several]
            for few, many in zip(splits, splits[1:], strict=False):
                assert set(few.labeled) < set(many.labeled)
                assert (few.test == many.test).all()
        assert (budget(20, seed).test == budget("5/class", seed).test).all()
    assert len({tuple(budget(20, seed).test) for seed in range(5)}) == 5


def test_budgets_are_paired_with_fair_splits_by_their_test():
    for seed in range(5):
        fair = make_split(UNEVEN, seed=seed)
        assert (budget(0.1, seed).test == fair.test).all()
        # Nearly the same labels, too: fair splits are stratified a little less exactly.
        assert len(set(budget(0.1, seed).labeled) & set(fair.labeled)) >= 27


def test_places_of_unlabeled_graphs_say_nothing_of_their_classes():
    split = budget(20, graphs=pack("even", [1] * 300, [], [], targets=["a", "b"] * 150))
    changes = np.diff(np.arange(300)[split.unlabeled] % 2) != 0
    assert 0.35 < changes.mean() < 0.65


def test_every_class_has_a_label_and_none_is_in_test_alone():
    graphs = pack("rare", [1] * 60, [], [], targets=["a"] * 57 + ["b"] * 2 + ["c"])
    for seed in range(20):
        for labels in (0.01, 3, 10):
            split = budget(labels, seed, graphs)
            assert (counts(split.labeled, graphs) >= 1).all()
            assert counts(split.test, graphs)[2] == 0


def test_budgets_that_cannot_be_are_refused():
    for labels in (0.0, 0.8, 1.0, 20.0, -1, 0, "5", "0/class", "5/graph", "x", ""):
        with pytest.raises(ParameterError, match=f"budget must be .*5/class, got {labels}"):
            budget(labels)
    with pytest.raises(
        GraphDataError, match="class 'c' of 'uneven' has 19 graphs outside TEST, fewer"
    ):
        budget("20/class")
    for labels in (2, 241):
        with pytest.raises(GraphDataError, match=f"3 classes, .* got a budget of {labels} labels"):
            budget(labels)
    for protocol in ("fair", "paper"):
        for labels in (20, "5/class"):
            with pytest.raises(ParameterError, match=f"got {labels}. A number .* 'budget'"):
                make_split(UNEVEN, protocol=protocol, labels=labels)


def test_budgets_survive_json(tmp_path):
    for labels in (0.1, 20, "5/class"):
        split = budget(labels)
        split.save(tmp_path / "split.json")
        again = Split.load(tmp_path / "split.json", UNEVEN)
        assert again.labels == labels
        assert type(again.labels) is type(labels)
        assert all((getattr(split, part) == getattr(again, part)).all() for part in PARTS)


@pytest.mark.parametrize(("text", "labels"), [("0.1", 0.1), (" 20 ", 20), ("5/class", "5/class")])
def test_labels_are_read_from_text(text, labels):
    assert parse_labels(text) == labels
    assert type(parse_labels(text)) is type(labels)


def test_fair_and_paper_splits_are_those_of_old_records():
    # Written down when the protocol 'budget' was added.
    fair, paper = make_split(UNEVEN, seed=3), make_split(UNEVEN, protocol="paper")
    assert fair.labeled[:4].tolist() == [74, 115, 265, 289]
    assert fair.validation[:4].tolist() == [178, 254, 134, 194]
    assert fair.test[:4].tolist() == [41, 295, 121, 238]
    assert paper.test[:6].tolist() == [64, 107, 126, 25, 24, 222]
