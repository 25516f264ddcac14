import sys
import xml.etree.ElementTree as ET
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgnn.errors import MissingExtraError
from kgnn.reports.axes import log_ticks, nice_ticks
from kgnn.reports.charts import Dot, Mark, rank_diagram, scatter, strip_chart
from kgnn.reports.drawing import draw
from kgnn.reports.figures import Figure
from kgnn.reports.line_chart import Point, Series, line_chart
from kgnn.reports.svg import MUTED, Box, beside_points, png, spread, standalone, write_pngs

_SVG = "{http://www.w3.org/2000/svg}"


def points(*ys, band=1.0):
    return [Point(x, y, y - band, y + band, f"at {x}") for x, y in enumerate(ys, start=1)]


def drawn(*series, **settings):
    chart = line_chart("A <title>", series, x_title="hops", y_title="accuracy", **settings)
    return ET.fromstring(chart)


def classes(root, name):
    return [each for each in root.iter() if each.get("class") == name]


def test_each_point_has_one_mark_with_a_note():
    root = drawn(Series("a", points(1, 2, 3), "s0"), Series("b", points(3, 1), "s1"))
    marks = classes(root, "mark")
    assert len(marks) == 5
    assert [m.findtext(f"{_SVG}title") for m in marks].count("at 1") == 2


def test_higher_numbers_are_higher_up():
    circles = classes(drawn(Series("a", points(1, 9), "s0")), "mark")
    assert float(circles[0].get("cy")) > float(circles[1].get("cy"))


def test_names_of_many_lines_do_not_overlap_and_stay_inside():
    root = drawn(*(Series(f"method {i}", points(50, 50 + i / 50), MUTED) for i in range(20)))
    heights = sorted(float(t.get("y")) for t in classes(root, "name"))
    assert len(heights) == 20
    assert all(b - a >= 11 for a, b in zip(heights, heights[1:], strict=False))
    assert heights[-1] <= float(root.get("height"))


def test_the_chart_says_what_it_shows():
    root = drawn(Series("KGNN", points(1, 2), "s0"))
    assert root.get("role") == "img"
    assert "KGNN" in root.get("aria-label")
    assert "A <title>" in root.get("aria-label")


@pytest.mark.parametrize("x_is_log", [True, False])
def test_marks_stay_inside_the_area(x_is_log):
    root = drawn(Series("a", points(3, 1, 4, 1, 5), "s0"), x_is_log=x_is_log)
    for mark in classes(root, "mark"):
        assert 30 <= float(mark.get("cx")) <= float(root.get("width")) - 20


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


ROWS = {
    "DD": [Mark(80.0, "s1", "WL 80"), Mark(92.0, "s0", "<KGNN> 92")],
    "A <dataset> with a long name": [Mark(86.0, "s0", "KGNN 86")],
}


def places(chart, kind):
    found = [each for each in ET.fromstring(chart).iter() if each.get("class") == kind]
    return [(float(each.get("cx")), float(each.get("cy"))) for each in found if each.get("cx")]


def test_more_is_further_right_and_rows_come_in_order():
    chart = strip_chart("Coverage", ROWS, x_title="%")
    (high, first), (middle, second) = places(chart, "mark")  # circles alone: those of KGNN
    assert high > middle
    assert first < second


def test_what_is_promised_has_its_place_among_the_marks():
    root = ET.fromstring(strip_chart("Coverage", ROWS, x_title="%", promised=86.0))
    [line] = [each for each in root.iter() if each.get("class") == "axis"]
    [_, (x, _)] = places(strip_chart("Coverage", ROWS, x_title="%", promised=86.0), "mark")
    assert float(line.get("x1")) == x


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


def test_a_bar_covers_the_methods_of_a_group_and_no_other():
    chart = rank_diagram("", ["a", "b", "c"], [1, 2.5, 2.6], [[1, 2]], 0.5)
    root = ET.fromstring(chart)
    [bar] = [each for each in kinds(root, "bar") if each.tag.endswith("line")]
    heights = {name.text: float(name.get("y")) for name in kinds(root, "name")}
    assert heights["a"] < float(bar.get("y1")) < heights["b"]
    assert heights["c"] - 4 < float(bar.get("y2"))


_NUMBERS = st.floats(-1e6, 1e6).map(lambda x: round(x, 3))


@given(_NUMBERS, st.floats(0.01, 1e6))
def test_ticks_are_few_and_cover_the_range(low, extent):
    ticks = nice_ticks(low, low + extent)
    assert ticks[0] <= low + 1e-6
    assert ticks[-1] >= low + extent - 1e-6
    assert 3 <= len(ticks) <= 8
    assert ticks == sorted(set(ticks))


@given(st.floats(1e-3, 1e4), st.floats(2.6, 1e5))
def test_ticks_of_a_logarithmic_axis_are_within_it(low, factor):
    ticks = log_ticks(low, low * factor)
    assert ticks
    assert all(low <= tick <= low * factor for tick in ticks)


@given(st.lists(st.floats(0, 200), max_size=15))
def test_spread_labels_never_overlap_nor_leave_the_area(wanted):
    placed = spread(wanted, gap=12, low=0, high=200)
    for above, below in pairwise(sorted(placed)):
        assert below - above >= 12 - 1e-6
    assert all(-1e-6 <= place <= 200 + 1e-6 for place in placed)


@pytest.mark.parametrize(("seed", "extent"), [(0, 340), (1, 260), (5, 200), (6, 200)])
def test_names_of_points_cover_neither_each_other_nor_points(seed, extent):
    random = np.random.default_rng(seed)
    points = [(float(x), float(y)) for x, y in random.uniform(60, 60 + extent, (21, 2))]
    boxes = beside_points(points, ["Mean-Teacher"] * 21, 12, Box(0, 0, 480, 480))
    assert not any(a.overlap(b) for a, b in combinations(boxes, 2))
    marks = [Box(x - 3, y - 3, x + 3, y + 3) for x, y in points]
    assert not any(box.overlap(mark) for box in boxes for mark in marks)


def test_a_standalone_drawing_has_its_colors_in_it():
    text = standalone(draw(2, [(0, 1)]))
    assert "var(" not in text
    assert "#d55e00" in text


def test_each_panel_becomes_a_file_with_a_plain_name(tmp_path):
    pytest.importorskip("resvg_py")
    figure = Figure("cost", "", "", {"a/../b c": draw(1, []), "plain": draw(2, [])})
    paths = write_pngs([figure], tmp_path / "new")
    assert [path.name for path in paths] == ["cost-a----b-c.png", "cost-plain.png"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths)
    assert sorted((tmp_path / "new").iterdir()) == sorted(paths)


def test_without_the_extra_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(MissingExtraError, match=r"kgnn\[plot\]"):
        png(draw(1, []))
