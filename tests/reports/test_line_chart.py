import xml.etree.ElementTree as ET

import pytest

from kgnn.reports.line_chart import Point, Series, line_chart
from kgnn.reports.palette import MUTED, style

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


def test_a_single_point_is_a_mark_without_a_line():
    root = drawn(Series("a", points(50), "s0"))
    assert len(classes(root, "mark")) == 1
    assert not classes(root, "line")
    assert not classes(root, "band")


def test_higher_numbers_are_higher_up():
    circles = classes(drawn(Series("a", points(1, 9), "s0")), "mark")
    assert float(circles[0].get("cy")) > float(circles[1].get("cy"))


def test_bands_reach_from_low_to_high_and_a_crowd_has_none():
    [band] = classes(drawn(Series("a", points(5, 5, band=2), "s0")), "band")
    heights = {round(float(pair.split()[1])) for pair in band.get("d")[1:-1].split("L")}
    assert len(heights) == 2
    assert not classes(drawn(Series("a", points(5, 5), MUTED)), "band")


def test_points_side_by_side_do_not_cover_each_other_and_have_whiskers():
    same = [Series(f"m{i}", points(5, 6, band=2), f"s{i}") for i in range(5)]
    root = drawn(*same, side_by_side=True)
    assert not classes(root, "band")
    places = sorted(float(w.get("d")[1:].split()[0]) for w in classes(root, "whisker"))
    assert all(b - a >= 5 for a, b in zip(places, places[1:], strict=False))
    [tick] = [float(t.get("x")) for t in classes(root, "tick") if t.text == "1"]
    assert sum(places) / 5 == pytest.approx(tick, abs=0.1)


def test_points_side_by_side_stay_nearer_to_their_place_than_to_the_next():
    crowd = [Series(f"m{i}", points(*range(20)), f"s{i}") for i in range(5)]
    root = drawn(*crowd, side_by_side=True)
    starts = [
        [float(way.split()[0]) for way in whisker.get("d")[1:].split("M")]
        for whisker in classes(root, "whisker")
    ]
    by_place = list(zip(*starts, strict=True))
    assert all(max(a) < min(b) for a, b in zip(by_place, by_place[1:], strict=False))


def test_charts_can_share_a_scale():
    low, high = Series("a", points(10, 12), "s0"), Series("a", points(70, 75), "s0")
    scales = [
        [t.text for t in classes(drawn(each, y_range=(0.0, 80.0)), "tick")] for each in (low, high)
    ]
    assert scales[0] == scales[1]
    assert {"0", "80"} <= set(scales[0])


def test_lines_have_their_mark_beside_their_name_unless_there_is_but_one():
    two = drawn(Series("a", points(1, 2), "s0"), Series("b", points(2, 1), "s1"))
    assert len(classes(two, "mark key")) == 2
    assert not classes(drawn(Series("a", points(1, 2), "s0")), "mark key")


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


def test_series_beyond_the_palette_are_muted():
    assert style(0) == "s0"
    assert style(99) == MUTED
