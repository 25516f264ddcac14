"""The page about a model says everything, and nothing in it can do harm."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from kgnn.estimator.explanation import Sketch
from kgnn.evaluation.metrics import Bin, quality
from kgnn.evaluation.model_facts import ModelFacts, RoundFacts, ShownGraph
from kgnn.reports.charts import reliability_diagram
from kgnn.reports.model_page import confusion_table, model_page
from kgnn.reports.molecule import MOLECULE_NOTE

EVIL = '<script>alert("x")</script>'


def shown(name, given=None, labels=("C", "O"), note="the model says b (90%)"):
    sketch = Sketch(name, 2, 1, (0, 1), ((0, 1),), labels)
    return ShownGraph(sketch, given, {"a": 0.1, "b": 0.9}, note)


@pytest.fixture
def facts():
    proba = np.array([[0.9, 0.1], [0.3, 0.7], [0.6, 0.4]])
    return ModelFacts(
        method="kgnn",
        parameters={"epochs": 5},
        data=["4 graphs", f"classes {EVIL}"],
        calibration="all labels are learned from",
        basis="3 labeled graphs",
        quality=quality(["a", "b", EVIL], proba, ["a", "b"]),
        rounds=[
            RoundFacts(0, None, {"gnn": 0.5, "memory": 0.75, "both": 0.7}),
            RoundFacts(21, 0.875, {"gnn": 0.6, "memory": 0.75, "both": 0.8}),
        ],
        ending="patience",
        labeled=10,
        examined=3,
        uncertain=[shown("u1")],
        n_suspicious=30,
        suspicious=[shown(f"s1{EVIL}", given=EVIL)],
        suggested=[shown("n1", note="stands for many")],
        made={"data": "molecules", "command": f"kgnn fit {EVIL}"},
    )


class _Tags(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.text += data


def test_everything_is_told(facts):
    text = _Tags(model_page(facts)).text
    for told in (
        "A model of molecules",
        "4 graphs",
        "87.5",  # agreement of round 1
        "no longer rose",
        "u1",
        "Labeled <script>",  # as text
        "Stands for many",
        "epochs=5",
        "Only 3 of 10 labels were examined",
        "30 are suspicious",
        "66.7 ± 27.2 % of 3 graphs right",
    ):
        assert told in text, told


def test_foreign_text_is_never_markup_and_nothing_is_fetched(facts):
    page = model_page(facts)
    tags = _Tags(page).tags
    assert not {"script", "img", "link", "iframe"} & {tag for tag, _ in tags}
    assert "default-src 'none'" in page.replace("&#x27;", "'")
    fetched = [a for _, attributes in tags for a in attributes if a in ("src", "srcset")]
    assert not fetched
    assert all(a.get("href", "#").startswith("#") for _, a in tags)


def test_links_lead_to_the_parts(facts):
    tags = _Tags(model_page(facts)).tags
    targets = {a["href"][1:] for tag, a in tags if tag == "a"}
    assert targets == {a["id"] for tag, a in tags if tag == "section"}


def test_a_model_without_rounds_or_held_out_labels_has_a_page(facts):
    bare = replace(
        facts, method="wl", quality=None, rounds=[], examined=0, uncertain=[], suspicious=[]
    )
    text = _Tags(model_page(bare)).text
    assert "Rounds" not in text
    assert "No label could be compared with a prediction that was made without it" in text
    assert "The model is certain about all unlabeled graphs" in text


def test_nodes_tell_their_numbers_and_labels(facts):
    assert "<title>node 1: O</title>" in model_page(facts)


def test_labels_too_long_for_nodes_have_a_legend(facts):
    long = replace(facts, uncertain=[shown("u", labels=("carbon", "oxygen"))])
    page = model_page(long)
    assert 'class="key s1">carbon' in page
    assert 'class="key s1">C<' not in page


def test_molecules_are_drawn_as_such_and_need_no_legend(facts):
    atoms = ("[CH2]", "[O]")
    bonded = replace(shown("u").sketch, node_labels=atoms, edge_labels=("=",))
    molecule = shown("u")._replace(sketch=bonded)
    page = model_page(replace(facts, uncertain=[molecule], suspicious=[], suggested=[]))
    assert 'class="bond"' in page
    assert page.count(MOLECULE_NOTE) == 1
    assert 'class="key s1">C<' not in page
    assert MOLECULE_NOTE not in model_page(facts)


def test_the_table_of_classes_marks_right_and_wrong(facts):
    table = confusion_table(facts.quality)
    assert table.count('class="right"') == 2
    assert table.count('class="wrong"') == 1  # of the class that the model does not know
    assert "100%" in table


def test_reliable_predictions_lie_on_the_diagonal():
    drawn = reliability_diagram([Bin(5, 0.8, 0.8), Bin(20, 0.5, 0.9)])
    sizes = [float(part.split('"')[0]) for part in drawn.split(' r="')[1:]]
    assert len(sizes) == 2
    assert sizes[1] == 2 * sizes[0]  # four times the graphs, four times the area
    assert "20 graphs: confidence 50%, right 90%" in drawn
    heights = [re.findall(r'y[12]="([\d.]+)"', part)[:2] for part in drawn.split('"gap"')[1:]]
    assert heights[0][0] == heights[0][1] != heights[1][0]
