import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from kgnn.reports.comparison import rank_methods
from kgnn.reports.figures import (
    all_figures,
    cost_figure,
    covered,
    label_ratio_figure,
    parameter_figure,
    rank_figure,
    rounds_figure,
    trust_figure,
)
from kgnn.reports.paper import method_title
from kgnn.reports.report_tables import main_methods, table_datasets
from kgnn.reports.results import Results
from tests.reports.stores import TABLE_2, TABLE_3, records

_SVG = "{http://www.w3.org/2000/svg}"


def marks(panel):
    return panel.count('class="mark"')


def with_parameter(name, value):
    """Records of KGNN that tell all their parameters, as real ones do."""
    is_usual = value is None
    told = {"width": 32, "hops": 3, **({} if is_usual else {name: value})}
    seeds = range(3) if is_usual else range(1, 4)  # a seed is a parameter, too
    own = records(["kgnn"], ["DD"], seeds, parameters={} if is_usual else {name: value})
    return [replace(r, all_parameters={**told, "random_state": r.cell.seed}) for r in own]


def test_label_ratios_have_a_panel_for_each_dataset_and_a_mark_for_each_group():
    there = [r for x in (0.05, 0.1, 0.2) for r in records(["kgnn", "wl"], ["DD"], [0, 1], labels=x)]
    there += records(["kgnn", "wl"], ["PROTEINS"], [0, 1])  # one ratio is no curve
    figure = label_ratio_figure(Results(there))
    assert list(figure.panels) == ["DD"]
    assert marks(figure.panels["DD"]) == 6
    assert "5 %" in figure.panels["DD"]


def lines(panel):
    """Style and name of each line of a chart."""
    return {
        (group.get("class").removeprefix("series "), group.findtext(f"{_SVG}text"))
        for group in ET.fromstring(panel).iter(f"{_SVG}g")
        if group.get("class").startswith("series") and group.find(f"{_SVG}text") is not None
    }


def harder(method, dataset, seed):
    """A method that is as good on each split, and splits of which the later ones are harder."""
    return 90.0 - 10 * seed


def test_curves_are_drawn_over_the_splits_that_all_points_share():
    there = records(["kgnn"], ["DD"], range(5), accuracy=harder)
    there += records(["kgnn"], ["DD"], range(3), labels=0.05, accuracy=harder)
    there += records(["wl"], ["DD"], range(4), accuracy=harder)
    there += records(["wl"], ["DD"], range(1, 4), labels=0.05, accuracy=harder)
    figure = label_ratio_figure(Results(there))
    notes = re.findall("<title>([^<]*) over (\\d+) splits", figure.panels["DD"])
    assert len(notes) == 4
    assert {(told.split(": ")[1].split()[0], n) for told, n in notes} == {("75.0", "2")}
    assert "have: 2 on DD." in figure.caption


def test_curves_of_other_splits_are_drawn_apart_and_that_is_told():
    there = records(["kgnn"], ["DD"], range(5), accuracy=harder)
    there += records(["kgnn"], ["DD"], range(3), labels=0.05, accuracy=harder)
    there += [r for x in (0.05, 0.1) for r in records(["wl"], ["DD"], [7], labels=x)]
    figure = label_ratio_figure(Results(there))
    assert figure.panels["DD"].count("<title>KGNN, 0.1: 80.0") == 1  # its own three
    assert "On DD no split is common to all points" in figure.caption


@pytest.mark.parametrize(("name", "values"), [("width", (8, 16, 64)), ("hops", (1, 2))])
def test_a_parameter_is_drawn_where_it_alone_differs(name, values):
    there = [r for value in (None, *values) for r in with_parameter(name, value)]
    other = "hops" if name == "width" else "width"
    there += with_parameter(other, 7)  # differs in another parameter
    there[0].all_parameters["patience"] = 2  # which the method of the other records did not have
    figure = parameter_figure(Results(there), name, name)
    assert marks(figure.panels["DD"]) == len(values) + 1
    assert figure.panels["DD"].count("over 2 splits") == len(values) + 1  # 1 and 2, not 0 and 3
    assert "have: 2 on DD." in figure.caption


def test_a_split_that_has_ended_counts_with_its_last_round():
    long, short = records(["kgnn"], ["DD"], [0, 1])
    for record, value in ((long, 70.0), (short, 50.0)):
        for each in record.result["rounds"]:
            each["agreement"] = value
            each["precision"] = None
            each["validation_accuracy"] = {"gnn": 60.0}
    del short.result["rounds"][2:]
    panel = rounds_figure(Results([long, short])).panels["DD"]
    assert marks(panel) == 4 + 4  # agreement and p; no mark where nothing is told
    assert "agreement, round 1: 60.0 over 2 splits" in panel
    assert "agreement, round 3: 60.0 over 2 splits" in panel


def test_methods_without_rounds_have_no_course():
    assert not rounds_figure(Results(records(["wl"], ["DD"], [0]))).panels


def test_ranks_and_cost_have_a_mark_for_each_method():
    results = Results(records([*TABLE_2, *TABLE_3[:-1]], ["DD", "PROTEINS"], [0, 1]))
    methods, parts = rank_figure(results).panels.values()
    assert marks(methods) == len(TABLE_2)
    assert marks(parts) == len(TABLE_3)
    assert marks(cost_figure(results).panels["cost"]) == len(TABLE_2) + len(TABLE_3) - 1


def test_methods_that_miss_a_dataset_do_not_take_it_from_the_others():
    has = {"DD": ["kgnn", "wl", "sp", "gk"], "PROTEINS": ["kgnn", "wl", "sp"]}
    methods, datasets = covered(has, ["kgnn", "wl", "sp", "gk"])
    assert methods == ["kgnn", "wl", "sp"]
    assert datasets == ["DD", "PROTEINS"]


def test_a_dataset_that_few_methods_have_does_not_take_the_others_from_them():
    has = {"DD": ["kgnn", "wl", "sp"], "PROTEINS": ["kgnn", "wl", "sp"], "COLLAB": ["kgnn"]}
    methods, datasets = covered(has, ["kgnn", "wl", "sp"])
    assert methods == ["kgnn", "wl", "sp"]
    assert datasets == ["DD", "PROTEINS"]


def test_ranks_are_those_of_the_tables_where_a_method_misses_a_dataset():
    there = records(["kgnn", "wl", "sp"], ["DD", "PROTEINS", "COLLAB"], range(3))
    there += records(["joao"], ["DD", "COLLAB"], range(3))
    results = Results(there)
    figure = rank_figure(results)
    told = figure.panels["Methods"]
    ranking = rank_methods(results, main_methods(results), table_datasets(results))
    assert set(ranking.ranks) == {"kgnn", "wl", "sp", "joao"}
    assert ranking.datasets == ("DD", "COLLAB")
    for method, rank in ranking.ranks.items():
        assert f"{method_title(method)}: average rank {rank:.2f}" in told
    assert "Methods: average over DD and COLLAB; some have no or few records on PROTEINS." in (
        figure.caption
    )


def test_cost_is_compared_on_common_splits_and_the_caption_names_who_is_left_out():
    there = records(["kgnn"], ["DD", "PROTEINS"], range(5), accuracy=harder)
    there += records(["wl"], ["DD"], range(3), accuracy=harder)
    there += records(["wl"], ["PROTEINS"], range(5), accuracy=harder)
    there += records(["gnn-self"], ["PROTEINS"], range(5), accuracy=harder)
    figure = cost_figure(Results(there))
    for name in ("KGNN", "WL"):  # 80 on DD, 70 on PROTEINS
        assert f"{name}: 75.0 %" in figure.panels["cost"]
    assert "have: 5 on PROTEINS; 3 on DD." in figure.caption
    assert "GNN-Self (nothing on DD)" in figure.caption
    assert marks(figure.panels["cost"]) == 2


def test_what_a_run_was_spared_is_part_of_its_cost():
    there = records(["kgnn", "wl"], ["DD"], [0, 1])
    for each in there:
        each.result["cpu_seconds"] = 10.0
        if each.cell.method == "wl" and each.cell.seed == 1:  # the first one had counted
            each.result["cpu_seconds"], each.result["seconds_saved"] = 1.0, 9.0
    panel = cost_figure(Results(there)).panels["cost"]
    assert panel.count("% in 10 s") == 2


def test_promises_are_drawn_for_each_method_that_made_them():
    there = records(["kgnn", "wl", "sp"], ["DD", "PROTEINS"], [0, 1])
    for each in there:
        each.result["coverage"] = 80.0 if each.cell.seed else 90.0
        if each.cell.method == "sp":  # of a time before label sets
            del each.result["coverage"]
    panels = trust_figure(Results(there)).panels
    assert marks(panels["coverage"]) == 4
    assert panels["coverage"].count("KGNN 85.0") == 2 + 2  # marks, and what is read aloud of them
    assert "target: 90" in panels["coverage"]
    assert marks(panels["calibration"]) == 6
    assert "target" not in panels["calibration"]
    assert panels["calibration"].rindex("KGNN") > panels["calibration"].rindex("WL")


def test_one_record_or_none_has_no_figures_but_its_own_course():
    assert all_figures(Results([])) == []
    assert [f.name for f in all_figures(Results(records(["kgnn"], ["DD"], [0])))] == ["rounds"]
