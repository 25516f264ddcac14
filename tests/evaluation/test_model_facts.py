"""What a page tells of a model is what the model did."""

from dataclasses import replace

import numpy as np
import pytest

from kgnn.evaluation.holding_out import plan_labels
from kgnn.evaluation.model_facts import (
    basis_in_words,
    doubted_labels,
    facts_of,
    held_out_quality,
    rounds_of,
)
from kgnn.graphs.collector import named
from kgnn.graphs.datasets.toy import planted_motifs
from kgnn.methods.kgnn import KGNN
from kgnn.methods.ldp import LDP

GRAPHS = named(planted_motifs(90, n_nodes=12))
LABELED = GRAPHS.with_targets([t if row < 60 else -1 for row, t in enumerate(GRAPHS.targets)])
LABELS = [GRAPHS.class_names[t] if row < 60 else None for row, t in enumerate(GRAPHS.targets)]


@pytest.fixture(scope="module")
def cross_fitted():
    """A model of 60 labels, of which six are wrong, and which these are."""
    flipped = [3, 10, 21, 34, 47, 58]
    targets = LABELED.targets.copy()
    targets[flipped] = 1 - targets[flipped]
    graphs = GRAPHS.with_targets(targets)
    return LDP(trees=60).fit(graphs), graphs, flipped


def test_suspicious_graphs_are_those_with_wrong_labels(cross_fitted):
    model, graphs, flipped = cross_fitted
    facts = facts_of(model, graphs, plan_labels(graphs, 0), {})
    found = [int(shown.sketch.name) for shown in facts.suspicious]
    assert len(set(found) & set(flipped)) >= 3
    assert len(set(found) - set(flipped)) <= 2
    for shown in facts.suspicious:
        assert shown.given == graphs[int(shown.sketch.name)].target
    assert facts.n_suspicious == len(found)
    assert facts.examined == facts.labeled == 60
    assert facts.basis.startswith("all 60 labeled graphs, each predicted without its own label")


def test_suspicious_graphs_are_found_behind_graphs_that_cannot_be_held_out():
    """Five copies of one graph, the only ones of their class, come first."""
    wrong = [14, 33]
    graphs = named(replace(GRAPHS, graph_names=None)[[70] * 5 + list(range(55))])
    targets = np.array([2] * 5 + GRAPHS.targets[:55].tolist())
    targets[wrong] = 1 - targets[wrong]
    graphs = replace(graphs, class_names=(*GRAPHS.class_names, "copy")).with_targets(targets)
    facts = facts_of(LDP(trees=60).fit(graphs), graphs, plan_labels(graphs), {})
    assert (facts.examined, facts.labeled) == (55, 60)
    assert set(wrong) <= {int(shown.sketch.name) for shown in facts.suspicious}
    assert all(shown.given != "copy" for shown in facts.suspicious)


def test_shown_graphs_are_unlabeled_where_they_should_be(cross_fitted):
    model, graphs, _ = cross_fitted
    facts = facts_of(model, graphs, plan_labels(graphs, 0), {"data": "motifs"})
    for shown in [*facts.uncertain, *facts.suggested]:
        assert int(shown.sketch.name) >= 60
    assert facts.suggested
    confidence = [max(shown.probabilities.values()) for shown in facts.uncertain]
    assert confidence == sorted(confidence)
    assert facts.made["data"] == "motifs"
    assert facts.parameters == {"trees": 60}


def test_held_out_graphs_of_kgnn_are_judged():
    use = plan_labels(LABELED, 0.2)
    validation = (GRAPHS[use.validation], [LABELS[row] for row in use.validation])
    model = KGNN(epochs=3, rounds=1).fit(
        GRAPHS[use.training], [LABELS[row] for row in use.training], validation=validation
    )
    found = held_out_quality(model)
    assert found.n == len(use.validation) == 12
    assert found.accuracy == model.score(*validation)
    assert "the 12 graphs of the validation set" in basis_in_words(model)
    rounds = rounds_of(model)
    assert rounds[0].selected == 0
    taught = {row for each in model.course_.rounds[1].selections for row in each.rows.tolist()}
    assert rounds[1].selected == len(taught) > 0
    assert set(rounds[1].accuracy) == {"gnn", "memory", "forest", "all"}
    facts = facts_of(model, LABELED, use, {})
    assert (facts.labeled, facts.examined) == (60, 12)
    model.held_out_.targets[:] = 1 - model.held_out_.targets
    likely = model.predict_proba(validation[0]).argmax(axis=1)
    for suspicion in doubted_labels(model):
        assert likely[suspicion.row] == suspicion.likely != suspicion.given


def test_without_held_out_labels_nothing_is_claimed():
    model = LDP(trees=5, cross_fit=0).fit(GRAPHS, LABELS)
    assert held_out_quality(model) is None
    assert doubted_labels(model) == []
    assert "every label was used for training" in basis_in_words(model)
    facts = facts_of(model, LABELED, plan_labels(LABELED, 0), {})
    assert facts.quality is None
    assert facts.examined == 0


def test_a_fit_that_was_stopped_is_not_said_to_have_held_out_nothing():
    held = (GRAPHS[50:60], LABELS[50:60])
    model = LDP(trees=5).fit(GRAPHS[:50], LABELS[:50], validation=held)
    model.interrupted_, model.held_out_ = True, None  # as Ctrl-C leaves it
    assert basis_in_words(model) == (
        "fitting was stopped before the model was evaluated on the 10 graphs of the validation set"
    )
    model = LDP(trees=5, cross_fit=3).fit(GRAPHS[:50], LABELS[:50])
    model.interrupted_, model.held_out_ = True, None
    assert "before the model was evaluated by cross-validation" in basis_in_words(model)
    model.cross_fit = 0
    assert "every label was used for training" in basis_in_words(model)


@pytest.mark.filterwarnings("ignore:All labeled graphs are of one class")
def test_labels_that_are_held_out_of_a_single_class_judge_nothing():
    held = (GRAPHS[:2], [LABELS[0]] * 2)
    model = LDP(trees=5).fit(GRAPHS[:4], [LABELS[0]] * 4, validation=held)
    assert model.held_out_ is None
    assert "are of one class, so the 2 validation graphs are not used" in basis_in_words(model)
