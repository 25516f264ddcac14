"""What a notebook shows: drawings and tables, in which nothing can do harm."""

from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from kgnn.estimator.suggestion import Suggestions
from kgnn.graphs.datasets.toy import planted_motifs
from kgnn.graphs.molecules import from_smiles
from kgnn.methods.wl import WL

EVIL = "<script>alert('x')</script>"


class Balanced(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.open, self.tags = [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def graphs():
    made = planted_motifs(24)
    names = np.array([f"{EVIL} {row}" for row in range(24)])
    return replace(made, graph_names=names, class_names=(EVIL, "plain"))


@pytest.fixture(scope="module")
def model(graphs):
    return WL(iterations=(1,)).fit(graphs[:20])


def test_graphs_are_drawn_and_told(graphs):
    shown = graphs._repr_html_()
    assert Balanced(shown).tags.count("svg") == 6
    assert "24 graphs are labeled" in shown
    one = graphs[1]._repr_html_()
    assert Balanced(one).tags.count("circle") == graphs[1].n_nodes
    assert f"{graphs[1].n_nodes} nodes, {graphs[1].n_edges} edges" in one


def test_models_say_what_they_learned_from(model):
    shown = model._repr_html_()
    assert {"table", "td"} <= {*Balanced(shown).tags}
    for told in ("WL", "of class plain", "iterations=(1,)", "% of 20"):
        assert told in shown, told
    assert model._repr_mimebundle_()["text/html"] == shown
    assert "WL" in WL()._repr_html_()  # scikit-learn's diagram


def test_explanations_and_suggestions_are_drawings_and_tables(graphs, model):
    explanation = model.explain(graphs[21])
    shown = explanation._repr_html_()
    assert Balanced(shown).tags.count("svg") == 1 + len(explanation.neighbors)
    assert explanation.speaking()[0].text in shown
    found = model.suggest(graphs[20:].with_targets([-1] * 4), 2)
    assert isinstance(found, Suggestions)
    assert Balanced(found._repr_html_()).tags.count("tr") == 1 + len(found)


def test_explanations_of_molecules_speak_of_atoms():
    pytest.importorskip("rdkit")
    drugs = from_smiles(["CCO", "CCCO", "CC(C)O", "CCN", "CCCN", "CC(C)N"], list("ooonnn"))
    shown = WL().fit(drugs).explain(drugs[0])._repr_html_()
    assert "atom 2" in shown
    assert "3 atoms, 2 bonds" in shown
    assert "node" not in shown


def test_nothing_that_is_shown_is_markup(graphs, model):
    explanation = model.explain(graphs[21])
    found = model.suggest(graphs[20:].with_targets([-1] * 4), 2)
    for shown in (graphs, graphs[0], model, explanation, found):
        assert "script" not in Balanced(shown._repr_html_()).tags
        assert "&lt;script" in shown._repr_html_()
