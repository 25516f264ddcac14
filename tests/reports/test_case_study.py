from kgnn.reports.case_study import (
    case_figure,
    case_records,
    case_study,
    class_names,
    probability_bars,
)
from kgnn.reports.results import Results
from tests.reports.cases import case, graph, record_with_cases
from tests.reports.stores import records


def test_a_case_is_drawn_beside_the_graphs_attended_to():
    shown = case_study(Results([record_with_cases(case())]))
    assert shown.count("<svg") == 5  # the graph, the bars, three neighbors
    assert shown.count("<circle") == 4 * 6
    assert "class ring, the same class; weight 25.0 %" in shown
    assert "class other, another class; weight 50.0 %" in shown


def test_records_without_cases_have_no_study():
    assert case_study(Results(records(["kgnn", "wl"], ["DD"], [0]))) == ""
    assert not case_figure(Results(records(["kgnn"], ["DD"], [0]))).panels


def test_each_dataset_tells_of_its_first_split():
    there = [record_with_cases(case(), seed=2), record_with_cases(case(), seed=1)]
    there.append(record_with_cases(case(), dataset="PROTEINS", seed=3))
    assert [(r.cell.dataset, r.cell.seed) for r in case_records(Results(there))] == [
        ("PROTEINS", 3),
        ("DD", 1),
    ]


def test_bars_are_as_long_as_probabilities():
    bars = probability_bars(case(), {0: "ring"})
    widths = [float(part.split('width="')[1].split('"')[0]) for part in bars.split("<rect")[1:]]
    assert [round(width / widths[1], 1) for width in widths] == [0.3, 1.0, 1.1, 0.4]
    assert 'class="heading" text-anchor="end">ring<' in bars


def test_names_of_classes_come_from_cases_or_are_given():
    assert class_names([case()]) == {0: "ring"}
    assert class_names([case(classes=["ring", "tree"])]) == {0: "ring", 1: "tree"}


def test_huge_graphs_are_not_drawn():
    huge = graph(1, "other", n_nodes=5000, weight=0.1)
    shown = case_study(Results([record_with_cases(case(attended=[huge]))]))
    assert "Too large to draw" in shown
    assert "5,000 nodes" in shown


def test_every_drawing_of_a_case_is_a_panel():
    panels = case_figure(Results([record_with_cases(case())])).panels
    assert list(panels) == [
        "DD-7",
        "DD-7-probabilities",
        "DD-7-attended-1",
        "DD-7-attended-2",
        "DD-7-attended-3",
    ]
