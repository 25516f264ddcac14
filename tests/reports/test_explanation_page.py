import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from kgnn.estimator.evidence import Evidence, Substructure
from kgnn.estimator.explanation import Explanation, Neighbor, Sketch
from kgnn.estimator.novelty import Novelty
from kgnn.reports.explanation_page import explanation_page, shade

_SKETCH = Sketch("g", 4, 3, (0, 1, 2, 3), ((0, 1), (1, 2), (2, 3)), ("a", "b", "a", "b"))
_PARTS = (
    Substructure("b(2 a)", 1, (1,), {"prediction": 2.0, "gnn": 1.5, "memory": 0.5}, 0.3),
    Substructure("a", 0, (0, 2), {"prediction": -0.7, "gnn": -0.6, "memory": -0.1}, 0.9),
)
_EXPLANATION = Explanation(
    "KGNN",
    _SKETCH,
    ("ring", "tree"),
    "ring",
    {"prediction": (0.8, 0.2), "gnn": (0.7, 0.3), "memory": (0.9, 0.1)},
    ("ring",),
    0.1,
    Novelty(0.0, (), 0),
    Evidence((0.0, 2.0, -1.0, 0.4), _PARTS, ()),
    (Neighbor(5, "near", "ring", 0.91, (0.5, 0.25)), Neighbor(2, "far", "tree", 0.3, (0.1, 0.2))),
    (_SKETCH, _SKETCH),
    (0.2, 0.3),
)


class _Balanced(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.tags = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_whole_and_needs_nothing_else():
    page = explanation_page(_EXPLANATION)
    parser = _Balanced()
    parser.feed(page)
    assert not parser.open
    assert not {"script", "img", "link", "iframe"} & set(parser.tags)
    assert not re.search(r"src=|href=.[^#]|url\(|@import|style=", page)
    assert "default-src 'none'" in page.replace("&#x27;", "'")
    assert "$" not in page


def test_the_page_shows_what_is_known():
    page = explanation_page(_EXPLANATION)
    for told in (
        "Graph g: class ring",
        "probability 80.0%",
        "70.0% GNN",
        "90.0% memory",
        "the class is ring",
        "<code>b(2 a)</code>",
        "+2.00",
        "−0.70",
        "30.0% without",
        "Graph near, class ring. Kernel value 0.91, attention 37.5%",
        "graphs it labeled itself",
    ):
        assert told in page, told
    assert page.count("<svg") == 4


def test_nodes_are_marked_as_much_as_they_speak():
    drawn = explanation_page(_EXPLANATION).split("<svg")[2]
    kinds = re.findall(r'<circle class="node ([\w-]+)"', drawn)
    assert kinds == ["silent", "for-4", "against-2", "for-1"]
    assert shade(0.0, 0.0) == "silent"


def figure(explanation):
    return re.search('<figure class="drawn">.*?</figure>', explanation_page(explanation), re.S)[0]


def numbers(explanation):
    return re.findall('class="number"[^>]*>([^<]+)<', figure(explanation))


def test_nodes_can_be_found_by_their_numbers():
    labels = ("UnaryOp", "Name", "Name", "Name")
    sketch = replace(_SKETCH, n_nodes=9, nodes=(2, 4, 5, 8), node_labels=labels)
    evidence = replace(_EXPLANATION.evidence, nodes=(0.0,) * 9)
    shown = replace(_EXPLANATION, graph=sketch, evidence=evidence)
    assert "<title>node 2: UnaryOp</title>" in figure(shown)
    assert numbers(shown) == ["2", "4", "5", "8"]
    assert numbers(_EXPLANATION) == ["0", "1", "2", "3"]  # beside the labels


@pytest.mark.parametrize(("value", "told"), [(711.3, "≥ +20"), (-20.0, "≤ −20"), (19.5, "+19.5")])
def test_evidence_beyond_its_bound_is_not_told_as_measured(value, told):
    part = Substructure("a", 0, (0,), {"prediction": 1.0, "gnn": value}, 0.0)
    evidence = Evidence((0.0,) * 4, (part,), ())
    page = explanation_page(replace(_EXPLANATION, evidence=evidence))
    assert f"GNN {told};" in page


def test_everything_from_elsewhere_is_escaped():
    evil = "<script>alert(1)</script>"
    part = replace(_PARTS[0], text=evil)
    page = explanation_page(
        replace(
            _EXPLANATION,
            classes=(evil, "tree"),
            predicted=evil,
            label_set=(evil,),
            graph=replace(_SKETCH, name=evil, node_labels=("<", ">", "&", '"')),
            novelty=Novelty(1.0, (evil,), 0),
            evidence=replace(_EXPLANATION.evidence, substructures=(part,), notes=(evil,)),
            neighbors=(replace(_EXPLANATION.neighbors[0], name=evil, label=evil),),
            neighbor_graphs=(replace(_SKETCH, name=evil),),
        )
    )
    assert "<script" not in page
    assert page.count("&lt;script") >= 10
    parser = _Balanced()
    parser.feed(page)
    assert not parser.open


def test_a_novel_graph_comes_with_a_warning():
    page = explanation_page(replace(_EXPLANATION, novelty=Novelty(1.0, ("it is large",), 0)))
    assert 'class="warning">Unlike the training graphs: it is large.' in page
    assert 'class="warning"' not in explanation_page(_EXPLANATION)


def test_without_a_memory_there_are_similar_graphs_and_no_hops():
    plain = [replace(near, attention=()) for near in _EXPLANATION.neighbors]
    proba = {"prediction": (0.8, 0.2)}
    parts = [replace(part, evidence={"prediction": 1.0}) for part in _PARTS]
    page = explanation_page(
        replace(
            _EXPLANATION,
            neighbors=tuple(plain),
            elsewhere=(),
            proba=proba,
            label_set=None,
            evidence=replace(_EXPLANATION.evidence, substructures=tuple(parts)),
        )
    )
    assert "Similar labeled graphs" in page
    assert "hop 1" not in page
    assert "No set of labels" in page
    assert "Nothing was found." in page


@pytest.mark.parametrize("n_nodes", [0, 1])
def test_the_smallest_graphs_can_be_shown(n_nodes):
    tiny = Sketch("tiny", n_nodes, 0, tuple(range(n_nodes)), (), ())
    nothing = Evidence((0.0,) * n_nodes, (), ("no parts",))
    page = explanation_page(replace(_EXPLANATION, graph=tiny, evidence=nothing))
    assert "no parts" in page
    assert "nan" not in page


def test_a_page_is_built_without_torch():
    code = "import sys, kgnn.reports.explanation_page; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
