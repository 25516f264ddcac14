import xml.etree.ElementTree as ET

from kgnn.reports.scatter import Dot, scatter


def test_each_dot_has_one_mark_and_its_name():
    dots = [Dot(f"<m{i}>", 10.0**i, 50 + i, f"s{i}", "note") for i in range(7)]
    styles = [("s0", "ours"), ("s1", "a family with a long name")]
    chart = scatter("Cost", dots, x_title="s", y_title="%", styles=styles)
    root = ET.fromstring(chart)
    kinds = [each.get("class") for each in root.iter()]
    assert kinds.count("mark") == 7
    assert kinds.count("mark key") == 2
    named = [each.text for each in root.iter() if each.get("class") == "name"]
    assert named == [dot.name for dot in dots]


def test_cheaper_is_further_left_and_better_is_higher():
    dots = [Dot("cheap", 1, 80, "s0", ""), Dot("dear", 100, 60, "s0", "")]
    root = ET.fromstring(scatter("", dots, x_title="", y_title=""))
    cheap, dear = [each for each in root.iter() if each.get("class") == "mark"]
    assert float(cheap.get("cx")) < float(dear.get("cx"))
    assert float(cheap.get("cy")) < float(dear.get("cy"))


def test_dots_of_equal_cost_and_accuracy_can_be_drawn():
    dots = [Dot("a", 5, 70, "s0", ""), Dot("b", 5, 70, "s1", "")]
    assert scatter("", dots, x_title="", y_title="").count('class="mark"') == 2
