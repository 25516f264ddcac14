"""Checks that every method must pass.

A check takes an unfitted method and raises AssertionError if it fails.
"""

from __future__ import annotations

import pickle
import tempfile
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import estimator_checks

from kgnn.errors import KgnnWarning
from kgnn.estimator.classifier import UNLABELED, GraphClassifier
from kgnn.graphs.datasets.toy import cycles_and_trees, planted_motifs, random_graphs
from kgnn.graphs.graph import CARRIED, Floats, GraphDataset
from kgnn.graphs.packing import concatenate, pack

Check = Callable[[GraphClassifier], None]


def check_method(method: GraphClassifier) -> None:
    """Run all checks on an unfitted method."""
    for check in CHECKS:
        check(method)


def _task(seed: int = 0) -> tuple[GraphDataset, Any, GraphDataset]:
    """Return training graphs, labels of half of them, and graphs to predict."""
    graphs = planted_motifs(36, n_nodes=12, seed=seed)
    labels = graphs.targets[:24].copy()
    labels[12:] = UNLABELED
    return graphs[:24], labels, graphs[24:]


def _fitted(method: GraphClassifier, graphs: Any, labels: Any, **options: Any) -> GraphClassifier:
    fresh: GraphClassifier = clone(method)
    return fresh.fit(graphs, labels, **options)


def _require_probabilities(proba: Floats, n_graphs: int, n_classes: int) -> None:
    assert proba.shape == (n_graphs, n_classes), f"predict_proba gave shape {proba.shape}"
    assert np.isfinite(proba).all(), "predict_proba gave NaN or infinity"
    assert (proba >= 0).all(), "predict_proba gave negative values"
    np.testing.assert_allclose(proba.sum(axis=1), 1, atol=1e-6)


def gives_probabilities(method: GraphClassifier) -> None:
    """Probabilities sum to 1 and agree with the predicted labels."""
    graphs, labels, new = _task()
    model = _fitted(method, graphs, labels)
    proba = model.predict_proba(new)
    _require_probabilities(proba, len(new), 2)
    assert (model.classes_[proba.argmax(axis=1)] == model.predict(new)).all()
    assert 0 <= model.score(new, new.targets) <= 1


def same_seed_same_bits(method: GraphClassifier) -> None:
    """Two fits with one seed are equal to the last bit."""
    graphs, labels, new = _task()
    first, second = (_fitted(method, graphs, labels).predict_proba(new) for _ in range(2))
    assert (first == second).all(), "two fits with the same random_state differ"


def leaves_global_randomness_alone(method: GraphClassifier) -> None:
    """Fitting and predicting do not touch global random generators."""
    import torch

    graphs, labels, new = _task()
    torch.manual_seed(7)
    np.random.seed(7)  # noqa: NPY002
    before = torch.get_rng_state(), np.random.get_state()[1].copy()  # type: ignore[index]  # noqa: NPY002
    _fitted(method, graphs, labels).predict_proba(new)
    assert (torch.get_rng_state() == before[0]).all(), "torch's global random state has changed"
    state = np.random.get_state()[1]  # type: ignore[index]  # noqa: NPY002
    assert (state == before[1]).all(), "numpy's global random state has changed"


def ignores_targets_of_unlabeled_graphs(method: GraphClassifier) -> None:
    """Only the given labels are read, not the targets of the dataset."""
    graphs, labels, new = _task()
    poisoned = graphs.with_targets(1 - graphs.targets)
    clean = _fitted(method, graphs, labels).predict_proba(new)
    again = _fitted(method, poisoned, labels).predict_proba(new.with_targets(1 - new.targets))
    assert (clean == again).all(), "the method has read targets of the dataset"


def does_not_see_node_numbers(method: GraphClassifier) -> None:
    """Renumbering the nodes of a graph does not change its prediction."""
    graphs, labels, new = _task()
    model = _fitted(method, graphs, labels)
    np.testing.assert_allclose(
        model.predict_proba(new), model.predict_proba(_renumbered(new)), atol=1e-4
    )


def does_not_depend_on_batch_mates(method: GraphClassifier) -> None:
    """A graph gets the same prediction alone, with others, and in any order."""
    graphs, labels, new = _task()
    model = _fitted(method, graphs, labels)
    together = model.predict_proba(new)
    alone = np.concatenate([model.predict_proba(new[[row]]) for row in range(len(new))])
    np.testing.assert_allclose(together, alone, atol=1e-5)
    np.testing.assert_allclose(together[::-1], model.predict_proba(new[::-1]), atol=1e-5)


def takes_validation_graphs(method: GraphClassifier) -> None:
    """A validation set may be passed, also with a class that no training graph has."""
    graphs, labels, new = _task()
    model = _fitted(method, graphs, labels, validation=(new[:6], [0, 1, 0, 1, 0, 2]))
    _require_probabilities(model.predict_proba(new), len(new), 2)


def takes_labels_of_any_kind(method: GraphClassifier) -> None:
    """Labels may be text, None means unlabeled, and predictions are labels as given."""
    graphs, labels, new = _task()
    names = [None if label < 0 else ("no", "yes")[label] for label in labels]
    model = _fitted(method, graphs, names)
    assert model.classes_.tolist() == ["no", "yes"]
    assert set(model.predict(new)) <= {"no", "yes"}


def copes_without_unlabeled_graphs(method: GraphClassifier) -> None:
    """All graphs may be labeled."""
    graphs, _, new = _task()
    _require_probabilities(_fitted(method, graphs, graphs.targets).predict_proba(new), 12, 2)


def copes_with_one_label_per_class(method: GraphClassifier) -> None:
    """One labeled graph of each class is enough to fit."""
    graphs, labels, new = _task()
    labels[2:] = UNLABELED
    _require_probabilities(_fitted(method, graphs, labels).predict_proba(new), len(new), 2)


def copes_with_one_class(method: GraphClassifier) -> None:
    """With a single class, it is always predicted."""
    graphs, labels, new = _task()
    labels[labels == 1] = UNLABELED
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KgnnWarning)
        model = _fitted(method, graphs, labels)
    assert (model.predict_proba(new) == 1).all()
    assert (model.predict(new) == 0).all()


def copes_with_degenerate_graphs(method: GraphClassifier) -> None:
    """Graphs without nodes or edges, with self loops or unknown labels get predictions."""
    odd = pack(
        "odd",
        [0, 1, 3, 2],
        [4, 4, 4],
        [4, 5, 5],
        node_labels=["0", "0", "1", "9", "0", "never seen"],
        targets=["fan", "star", "fan", "star"],
        class_names=("fan", "star"),
    )
    graphs, labels, new = _task()
    model = _fitted(method, graphs, labels)
    _require_probabilities(model.predict_proba(odd), 4, 2)
    model = _fitted(method, concatenate([graphs, odd]), [*labels, 0, 1, UNLABELED, 1])
    _require_probabilities(model.predict_proba(new), len(new), 2)


def learns_what_is_easy(method: GraphClassifier) -> None:
    """Cycles and trees are classified correctly."""
    graphs = cycles_and_trees(80)
    labels = graphs.targets[:60].copy()
    labels[40:] = UNLABELED
    model = _fitted(method, graphs[:60], labels, validation=(graphs[60:70], graphs.targets[60:70]))
    score = model.score(graphs[70:], graphs.targets[70:])
    assert score >= 0.9, f"accuracy on cycles and trees is {score}"


def holds_out_every_label(method: GraphClassifier) -> None:
    """Without a validation set, each labeled graph gets an out-of-fold prediction."""
    graphs, labels, _ = _task()
    known = np.flatnonzero(labels != UNLABELED)
    held = _fitted(clone(method).set_params(cross_fit=2), graphs, labels).held_out_
    assert held is not None, "cross_fit=2 holds out nothing"
    assert held.rows.tolist() == known.tolist(), f"held out are the rows {held.rows.tolist()}"
    assert held.targets.tolist() == labels[known].tolist(), "other classes than those given"
    _require_probabilities(held.proba, len(known), 2)


def does_not_hold_out_the_only_label_of_a_class(method: GraphClassifier) -> None:
    """A class with a single label is always trained on; the other classes are held out."""
    graphs, labels, new = _task()
    labels[np.flatnonzero(labels == 0)[1:]] = UNLABELED
    model = _fitted(clone(method).set_params(cross_fit=2), graphs, labels)
    _require_probabilities(model.predict_proba(new), len(new), 2)
    assert model.held_out_ is not None
    assert (model.held_out_.targets == 1).all(), "the only label of a class was held out"


def does_not_neglect_a_rare_class_that_is_balanced(method: GraphClassifier) -> None:
    """With ``class_weight="balanced"``, a rare class is not less probable than without."""
    graphs, labels, new = rare_class()
    rare = []
    for weight in (None, "balanced"):
        weighted = clone(method).set_params(class_weight=weight, cross_fit=0)
        rare.append(_fitted(weighted, graphs, labels).predict_proba(new)[:, 1].mean())
    assert rare[1] >= rare[0] - 1e-6, f"balanced, its mean probability falls from {rare}"
    try:
        _fitted(clone(method).set_params(class_weight="balance"), graphs, labels)
    except ValueError:
        return
    raise AssertionError("fit accepted class_weight='balance'")


def rare_class() -> tuple[GraphDataset, Any, GraphDataset]:
    """Return random graphs with unrelated labels, one in ten of which is 1, and new graphs."""
    graphs = random_graphs(70, n_nodes=10, n_edges=14, n_node_labels=2)
    return graphs[:40], (np.arange(40) % 10 == 0).astype(np.int64), graphs[40:]


def says_what_it_does_not_use(method: GraphClassifier) -> None:
    """What graphs carry has a say in the answers, or ``unused_`` names it, and a warning does."""
    of_nodes, of_edges = ("node_labels", "node_attributes"), ("edge_weights", "edge_attributes")
    # What is chosen by these may need one kind alone, so few stand beside each other.
    for carried in (of_nodes, of_edges, ("edge_labels",), ("edge_directions",)):
        graphs = _carrying(carried)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = _fitted(method, graphs[:24], None)
        told = " ".join(str(each.message) for each in caught)
        for name in carried:
            other = _carrying(carried, turned=name)[24:]
            is_used = (model.predict_proba(other) != model.predict_proba(graphs[24:])).any()
            words = CARRIED[name]
            assert is_used != (words in model.unused_), (
                f"{words} are {'used' if is_used else 'not used'}, but unused_ is {model.unused_}"
            )
            assert is_used or words in told, f"no warning says that the {words} are not used"


def _carrying(carried: tuple[str, ...], turned: str = "") -> GraphDataset:
    """Return rings in which all that they carry tells the class, or one thing the other class."""
    sizes = np.arange(36) % 4 + 5
    first = np.cumsum(sizes) - sizes
    row = np.repeat(np.arange(36), sizes)
    place = np.arange(sizes.sum()) - first[row]
    ends = first[row] + np.stack([place, (place + 1) % sizes[row]])
    # The first node and edge are the same in both classes, so that no two graphs are wholly unlike.
    told = {name: (row + (name == turned)) % 2 * (place > 0) for name in CARRIED}
    numbers = {name: told[name] + place % 3 / 10 for name in CARRIED}
    values = {
        "node_labels": told["node_labels"],
        "node_attributes": numbers["node_attributes"][:, None],
        "edge_labels": told["edge_labels"],
        "edge_weights": numbers["edge_weights"],
        "edge_attributes": numbers["edge_attributes"][:, None],
    }
    is_directed = "edge_directions" in carried
    if is_directed:
        backward = (told["edge_directions"] == 1) & (place % 2 == 1)
        ends = np.where(backward, ends[::-1], ends)
    given: dict[str, Any] = {name: values[name] for name in carried if name in values}
    targets = [row % 2 for row in range(36)]
    return pack("rings", sizes, *ends, targets=targets, directed=is_directed, **given)


def is_not_sure_of_what_contradicts_itself(method: GraphClassifier) -> None:
    """If equal graphs have different labels, no class is nearly certain for them."""
    graphs, labels = planted_motifs(2, n_nodes=12), np.array(["a", "b"])
    for rows, classes in ((np.zeros(24, int), labels[np.arange(24) % 2]),
                          (np.arange(24) % 2, labels[np.arange(24) // 2 % 2])):  # fmt: skip
        proba = _fitted(method, graphs[rows], classes).predict_proba(graphs[rows])
        assert proba.max() < 0.85, f"a label that contradicts others has {proba.max():.5f}"


def refuses_what_is_not_a_task(method: GraphClassifier) -> None:
    """Missing labels, too few labels, and objects that are not graphs are refused."""
    graphs, labels, _ = _task()
    for bad in ((graphs, np.full(24, UNLABELED)), (graphs, labels[:-1]), ([1, 2], [0, 1])):
        try:
            _fitted(method, *bad)
        except ValueError:
            continue
        raise AssertionError(f"fit accepted {bad[0]!r} with y={bad[1]!r}")


def keeps_the_scikit_learn_contract(method: GraphClassifier) -> None:
    """Scikit-learn's checks that need no data pass."""
    name = type(method).__name__
    for check in (
        estimator_checks.check_estimator_cloneable,
        estimator_checks.check_estimator_repr,
        estimator_checks.check_no_attributes_set_in_init,
        estimator_checks.check_parameters_default_constructible,
        estimator_checks.check_get_params_invariance,
        estimator_checks.check_set_params,
        estimator_checks.check_mixin_order,
        estimator_checks.check_do_not_raise_errors_in_init_or_set_params,
        estimator_checks.check_valid_tag_types,
    ):
        check(name, type(method)())


def is_the_same_after_saving(method: GraphClassifier) -> None:
    """A saved and reopened model gives the same probabilities, to the last bit."""
    from kgnn.estimator.saving import open_model

    graphs, labels, new = _task()
    model = _fitted(method, graphs, labels)
    held = {type(each) for each in vars(model).values() if isinstance(each, BaseEstimator)}
    with tempfile.TemporaryDirectory() as folder:
        model.save(folder)
        opened = open_model(folder, classes=(type(method), *held))
    assert type(opened) is type(model)
    assert opened.get_params() == model.get_params()
    assert opened.classes_.tolist() == model.classes_.tolist()
    assert (opened.predict_proba(new) == model.predict_proba(new)).all(), "other probabilities"


def is_the_same_in_another_process(method: GraphClassifier) -> None:
    """A fitted model can be pickled, as joblib needs."""
    graphs, labels, new = _task()
    model = _fitted(method, graphs, labels)
    passed = pickle.loads(pickle.dumps(model))
    assert passed.get_params() == model.get_params()
    assert (passed.predict_proba(new) == model.predict_proba(new)).all(), "other probabilities"


CHECKS: tuple[Check, ...] = (
    is_the_same_after_saving,
    is_the_same_in_another_process,
    gives_probabilities,
    same_seed_same_bits,
    leaves_global_randomness_alone,
    ignores_targets_of_unlabeled_graphs,
    does_not_see_node_numbers,
    does_not_depend_on_batch_mates,
    takes_validation_graphs,
    takes_labels_of_any_kind,
    copes_without_unlabeled_graphs,
    copes_with_one_label_per_class,
    copes_with_one_class,
    copes_with_degenerate_graphs,
    learns_what_is_easy,
    holds_out_every_label,
    does_not_hold_out_the_only_label_of_a_class,
    does_not_neglect_a_rare_class_that_is_balanced,
    says_what_it_does_not_use,
    is_not_sure_of_what_contradicts_itself,
    refuses_what_is_not_a_task,
    keeps_the_scikit_learn_contract,
)


def _renumbered(graphs: GraphDataset) -> GraphDataset:
    """Return the same graphs with the nodes of each in reverse order."""
    mirrored = (
        graphs.node_offsets[graphs.node_graphs]
        + graphs.node_offsets[graphs.node_graphs + 1]
        - 1
        - np.arange(graphs.n_nodes)
    )
    assert graphs.node_labels is not None
    return pack(
        graphs.name,
        graphs.graph_sizes,
        mirrored[graphs.arc_sources],
        mirrored[graphs.neighbors],
        node_labels=np.array(graphs.node_label_names)[graphs.node_labels[mirrored]],
    )
