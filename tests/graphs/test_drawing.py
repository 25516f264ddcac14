import re
import time
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist, squareform

from kgnn.graphs.drawing import Mark, Sketch, draw, lay_out, size_in_words


def ring(n, start=0):
    return [(start + i, start + (i + 1) % n) for i in range(n)]


def tree(n, hub=0.3):
    """A discussion: many reply to the first, some to each other."""
    random = np.random.default_rng(0)
    return [(0 if random.random() < hub else int(random.integers(i)), i) for i in range(1, n)]


def clique(n):
    return [(i, j) for j in range(n) for i in range(j)]


_GRAPHS = {
    "ring": (12, ring(12)),
    "two rings": (18, [(0, 1), *ring(6, 2), *ring(10, 8)]),
    "star": (150, [(0, i) for i in range(1, 150)]),
    "double star": (80, [(i % 2, i) for i in range(2, 80)] + [(0, 1)]),
    "tree": (300, tree(300)),
    "deep tree": (200, tree(200, hub=0.0)),
    "path": (40, [(i, i + 1) for i in range(39)]),
    "clique": (30, clique(30)),
    "bipartite": (20, [(i, 10 + j) for i in range(10) for j in range(10)]),
    "naphthalene": (10, [*ring(6), (0, 6), (6, 7), (7, 8), (8, 9), (9, 5)]),
    "comb": (36, [*((i, i + 1) for i in range(11)), *((i % 12, i) for i in range(12, 36))]),
    "edgeless": (9, []),
    "one node": (1, []),
    "two nodes": (2, [(0, 1)]),
    "loops and repetitions": (4, [(0, 0), (0, 1), (1, 0), (1, 2), (2, 2)]),
}


@pytest.mark.parametrize("name", _GRAPHS)
def test_all_nodes_have_places_of_their_own(name):
    n, edges = _GRAPHS[name]
    places = lay_out(n, edges)
    assert places.shape == (n, 2)
    assert np.isfinite(places).all()
    if n > 1:
        assert pdist(places).min() > 0.03  # an edge is about 1 long


def test_nodes_of_graphs_that_are_too_large_for_all_pairs_do_not_coincide():
    assert pdist(lay_out(2500, tree(2500, hub=0.0))).min() > 1e-6


@pytest.mark.parametrize("name", ["ring", "tree", "deep tree", "path", "naphthalene", "two rings"])
def test_adjacent_nodes_are_nearer_than_others(name):
    n, edges = _GRAPHS[name]
    apart = squareform(pdist(lay_out(n, edges)))
    assert np.mean([apart[u, v] for u, v in edges]) < 0.6 * apart[np.triu_indices(n, 1)].mean()


def test_a_ring_is_a_circle():
    places = lay_out(30, ring(30))
    radii = np.hypot(*(places - places.mean(axis=0)).T)
    assert radii.std() < 0.02 * radii.mean()
    sides = np.hypot(*(places - np.roll(places, 1, axis=0)).T)
    assert sides.std() < 0.02 * sides.mean()


def test_a_path_does_not_cross_itself():
    places = lay_out(20, [(i, i + 1) for i in range(19)])
    along = np.argsort(places[:, 0])
    assert along.tolist() in (list(range(20)), list(range(20))[::-1])


def test_leaves_of_a_star_surround_its_middle():
    places = lay_out(41, [(0, i) for i in range(1, 41)])
    around = places[1:] - places[0]
    turns = np.sort(np.arctan2(around[:, 1], around[:, 0]))
    assert np.diff(turns).max() < 3 * 2 * np.pi / 40


def test_components_do_not_overlap():
    places = lay_out(18, _GRAPHS["two rings"][1])
    boxes = [(p.min(axis=0), p.max(axis=0)) for p in (places[:2], places[2:8], places[8:])]
    for i, (low, high) in enumerate(boxes):
        for other_low, other_high in boxes[:i]:
            assert (high < other_low).any() or (other_high < low).any()


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 25), st.lists(st.tuples(st.integers(0, 24), st.integers(0, 24)), max_size=60))
def test_any_graph_can_be_laid_out(n, edges):
    places = lay_out(n, [(u % n, v % n) for u, v in edges])
    assert np.isfinite(places).all()
    assert n == 1 or pdist(places).min() > 1e-3


def test_large_graphs_take_no_longer_than_a_reader_waits():
    start = time.process_time()
    lay_out(400, tree(400))
    lay_out(5000, tree(5000))
    assert time.process_time() - start < 6  # a fraction of a second each on an idle machine


_SVG = "{http://www.w3.org/2000/svg}"


def sketch(n, edges, labels=(), name="g"):
    return Sketch(name, n, len(edges), tuple(range(n)), tuple(edges), tuple(labels))


def root_of(*arguments, **options):
    return ET.fromstring(draw(sketch(*arguments), **options))


def test_a_drawing_has_a_circle_for_each_node_and_a_stroke_for_each_edge():
    root = root_of(4, [(0, 1), (1, 2), (2, 3)])
    assert len(root.findall(f"{_SVG}circle")) == 4
    assert sum(path.get("d").count("M") for path in root.findall(f"{_SVG}path")) == 3


def test_everything_is_inside_the_drawing():
    root = root_of(50, [(0, i) for i in range(1, 50)], width=200, height=120)
    for circle in root.findall(f"{_SVG}circle"):
        radius = float(circle.get("r"))
        assert radius <= float(circle.get("cx")) <= 200 - radius
        assert radius <= float(circle.get("cy")) <= 120 - radius


def test_labels_of_nodes_are_drawn_and_escaped():
    root = root_of(2, [(0, 1)], ["C", "<N"], "<x>")
    assert [text.text for text in root.findall(f"{_SVG}text")] == ["C", "<N"]
    assert len({circle.get("fill") for circle in root.findall(f"{_SVG}circle")}) == 2
    assert root.get("aria-label") == "graph <x>"


def test_graphs_without_edges_or_nodes_can_be_drawn():
    for n in (0, 1, 3):
        drawn = draw(sketch(n, []))
        assert drawn.count("<circle") == n
        assert not re.search("nan|inf", drawn)


def test_nodes_tell_who_they_are_and_are_numbered_beside():
    shown = Sketch("g", 9, 1, (4, 7), ((0, 1),), ("<x>", "y"))
    root = ET.fromstring(draw(shown, numbered=[4], width=300))
    circles = root.findall(f"{_SVG}circle")
    notes = [circle.find(f"{_SVG}title").text for circle in circles]
    assert notes == ["node 4: <x>", "node 7: y"]
    first, second = root.findall(f"{_SVG}text")  # in a small graph all have their numbers
    assert (first.text, second.text) == ("4", "7")
    assert float(first.get("x")) > float(circles[0].get("cx"))
    many = sketch(60, [(0, i) for i in range(1, 60)])
    assert re.findall(">([0-9]+)</text>", draw(many, numbered=[5])) == ["5"]


def test_marks_are_colors_of_the_page_or_our_own():
    drawn = draw(sketch(2, [(0, 1)]), [Mark("s0"), Mark("s1", 0.5)])
    assert 'fill="var(--s0,#d55e00)"' in drawn
    assert "color-mix(in srgb,var(--s1,#0072b2) 50%,var(--rule,#dfe3e7))" in drawn
    assert "style" not in drawn


def test_sizes_are_told_in_words():
    assert size_in_words(sketch(1, [])) == "1 node, 0 edges"
    part = Sketch("g", 2000, 3000, (0, 1), ((0, 1),), ())
    assert size_in_words(part) == "2,000 nodes, 3,000 edges (2 nodes drawn)"
