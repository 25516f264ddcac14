import xml.etree.ElementTree as ET

from kgnn.reports.strip_chart import Mark, strip_chart

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


def test_styles_are_explained_without_covering_the_rows():
    styles = [(f"s{i}", f"a family with a long name {i}") for i in range(6)]
    chart = strip_chart("Coverage", ROWS, x_title="%", styles=styles)
    keys = [y for _, y in places(chart, "mark key")]
    assert keys
    assert max(keys) + 10 < min(y for _, y in places(chart, "mark"))
