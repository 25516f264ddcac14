import xml.etree.ElementTree as ET

from kgnn.reports.rank_diagram import rank_diagram


def kinds(root, kind):
    return [each for each in root.iter() if each.get("class") == kind]


def test_methods_are_listed_best_first_with_one_mark_each():
    kinds_of = ["s1", "s0", "s2"]
    chart = rank_diagram("Ranks", ["a", "b", "c"], [3, 1, 2], [], 0.5, kinds=kinds_of)
    root = ET.fromstring(chart)
    names = kinds(root, "name")
    assert [name.text for name in names] == ["b", "c", "a"]
    assert [float(name.get("y")) for name in names] == sorted(float(n.get("y")) for n in names)
    assert len(kinds(root, "mark")) == 3
    series = [each.get("class") for each in root.iter() if "series" in each.get("class", "")]
    assert series == ["series s0", "series s2", "series s1"]


def test_methods_of_no_kind_have_the_mark_of_none():
    root = ET.fromstring(rank_diagram("Ranks", ["a", "b"], [1, 2], [], 0.5))
    assert len(kinds(root, "series other")) == 2


def test_styles_are_explained_above_the_ranks():
    styles = [(f"s{i}", f"a family with a long name {i}") for i in range(4)]
    root = ET.fromstring(rank_diagram("", ["a", "b"], [1, 2], [], 0.5, styles=styles))
    told = [float(t.get("y")) for t in kinds(root, "tick") if "family" in t.text]
    others = [float(t.get("y")) for t in kinds(root, "tick") if "family" not in t.text]
    assert len(told) == 4
    assert max(told) + 10 < min(others)


def test_a_bar_covers_the_methods_of_a_group_and_no_other():
    chart = rank_diagram("", ["a", "b", "c"], [1, 2.5, 2.6], [[1, 2]], 0.5)
    root = ET.fromstring(chart)
    [bar] = [each for each in kinds(root, "bar") if each.tag.endswith("line")]
    heights = {name.text: float(name.get("y")) for name in kinds(root, "name")}
    assert heights["a"] < float(bar.get("y1")) < heights["b"]
    assert heights["c"] - 4 < float(bar.get("y2"))


def test_a_difference_longer_than_the_axis_is_told_but_not_drawn():
    chart = rank_diagram("", ["a", "b"], [1, 2], [[0, 1]], 16.3)
    assert "critical difference 16.30" in chart
    assert chart.count('class="bar"') == 1
