import re
import xml.etree.ElementTree as ET

from kgnn.reports.drawing import draw

_SVG = "{http://www.w3.org/2000/svg}"


def test_a_drawing_has_a_circle_for_each_node_and_a_stroke_for_each_edge():
    root = ET.fromstring(draw(4, [(0, 1), (1, 2), (2, 3)]))
    assert len(root.findall(f"{_SVG}circle")) == 4
    assert sum(path.get("d").count("M") for path in root.findall(f"{_SVG}path")) == 3


def test_everything_is_inside_the_drawing():
    root = ET.fromstring(draw(50, [(0, i) for i in range(1, 50)], width=200, height=120))
    for circle in root.findall(f"{_SVG}circle"):
        radius = float(circle.get("r"))
        assert radius <= float(circle.get("cx")) <= 200 - radius
        assert radius <= float(circle.get("cy")) <= 120 - radius


def test_marked_nodes_and_the_edges_between_them_are_stressed():
    root = ET.fromstring(draw(4, [(0, 1), (1, 2), (2, 3)], marked={1, 2}))
    stressed = [c for c in root.findall(f"{_SVG}circle") if "stressed" in c.get("class")]
    assert len(stressed) == 2
    [path] = [p for p in root.findall(f"{_SVG}path") if "stressed-edge" in p.get("class")]
    assert path.get("d").count("M") == 1


def test_names_and_styles_of_nodes_are_drawn_and_escaped():
    drawn = draw(2, [(0, 1)], title="<x>", names=["C", "<N>"], styles=["s1", "s2"])
    root = ET.fromstring(drawn)
    assert [text.text for text in root.findall(f"{_SVG}text")] == ["C", "<N>"]
    assert [c.get("class") for c in root.findall(f"{_SVG}circle")] == ["node s1", "node s2"]
    assert root.get("aria-label") == "<x>"


def test_graphs_without_edges_or_nodes_can_be_drawn():
    assert draw(1, []).count("<circle") == 1
    assert draw(3, []).count("<circle") == 3
    assert draw(0, []).count("<circle") == 0
    assert not re.search("nan|inf", draw(1, []))


def test_nodes_tell_who_they_are_and_are_numbered_beside():
    notes = ["node 4: <x>", "node 7: y"]
    root = ET.fromstring(draw(2, [(0, 1)], names=["a", "b"], numbers=["4", ""], notes=notes))
    circles = root.findall(f"{_SVG}circle")
    assert [circle.find(f"{_SVG}title").text for circle in circles] == notes
    [number] = [t for t in root.findall(f"{_SVG}text") if t.get("class") == "number"]
    assert number.text == "4"
    assert float(number.get("x")) > float(circles[0].get("cx"))
