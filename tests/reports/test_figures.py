from dataclasses import replace

import pytest

from kgnn.reports.curve_figures import label_ratio_figure, parameter_figure, rounds_figure
from kgnn.reports.figures import all_figures
from kgnn.reports.method_figures import cost_figure, covered, rank_figure
from kgnn.reports.results import Results
from kgnn.reports.trust_figure import trust_figure
from tests.reports.stores import TABLE_2, TABLE_3, records


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


def test_groups_with_other_parameters_are_lines_of_their_own():
    there = [r for x in (0.05, 0.1) for r in records(["kgnn"], ["DD"], [0], labels=x)]
    for x in (0.05, 0.1):
        there += records(["kgnn"], ["DD"], [0], labels=x, parameters={"hops": 1})
    panel = label_ratio_figure(Results(there)).panels["DD"]
    assert marks(panel) == 4
    assert panel.count('class="line"') == 2
    assert "KGNN (hops=1)" in panel


def test_in_a_crowd_only_kgnn_has_a_color():
    there = [r for x in (0.05, 0.1) for r in records(TABLE_2, ["DD"], [0, 1], labels=x)]
    panel = label_ratio_figure(Results(there)).panels["DD"]
    assert panel.count('class="series s0"') == 2  # the line and its name
    assert panel.count('class="series muted"') == 2 * (len(TABLE_2) - 1)


@pytest.mark.parametrize(("name", "values"), [("width", (8, 16, 64)), ("hops", (1, 2))])
def test_a_parameter_is_drawn_where_it_alone_differs(name, values):
    there = [r for value in (None, *values) for r in with_parameter(name, value)]
    other = "hops" if name == "width" else "width"
    there += with_parameter(other, 7)  # differs in another parameter
    figure = parameter_figure(Results(there), name, name)
    assert marks(figure.panels["DD"]) == len(values) + 1


def test_rounds_are_means_over_the_splits_that_have_them():
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
    assert "agreement, round 3: 70.0 over 1 splits" in panel


def test_methods_without_rounds_have_no_course():
    assert not rounds_figure(Results(records(["wl"], ["DD"], [0]))).panels


def test_ranks_and_cost_have_a_mark_for_each_method():
    results = Results(records([*TABLE_2, *TABLE_3[:-1]], ["DD", "PROTEINS"], [0, 1]))
    methods, parts = rank_figure(results).panels.values()
    assert marks(methods) == len(TABLE_2)
    assert marks(parts) == len(TABLE_3)
    assert marks(cost_figure(results).panels["cost"]) == len(TABLE_2) + len(TABLE_3) - 1


def test_methods_that_miss_a_dataset_do_not_take_it_from_the_others():
    there = records(["kgnn", "wl", "sp"], ["DD", "PROTEINS", "COLLAB"], [0])
    there += records(["gk"], ["DD"], [0])
    methods, datasets = covered(Results(there), ["kgnn", "wl", "sp", "gk"], "fair", 0.1)
    assert methods == ["kgnn", "wl", "sp"]
    assert datasets == ["PROTEINS", "DD", "COLLAB"]


def test_a_dataset_that_few_methods_have_does_not_take_the_others_from_them():
    there = records(["kgnn", "wl", "sp"], ["DD", "PROTEINS"], [0])
    there += records(["kgnn"], ["COLLAB"], [0])
    methods, datasets = covered(Results(there), ["kgnn", "wl", "sp"], "fair", 0.1)
    assert methods == ["kgnn", "wl", "sp"]
    assert datasets == ["PROTEINS", "DD"]


def test_a_run_that_took_no_time_has_a_place():
    there = records(["kgnn", "wl"], ["DD"], [0])
    there[0].result["cpu_seconds"] = 0.0
    assert marks(cost_figure(Results(there)).panels["cost"]) == 2


def test_promises_are_drawn_for_each_method_that_made_them():
    there = records(["kgnn", "wl", "sp"], ["DD", "PROTEINS"], [0, 1])
    for each in there:
        each.result["coverage"] = 80.0 if each.cell.seed else 90.0
        if each.cell.method == "sp":  # of a time before label sets
            del each.result["coverage"]
    panels = trust_figure(Results(there)).panels
    assert marks(panels["coverage"]) == 4
    assert panels["coverage"].count("KGNN 85.0") == 2 + 2  # marks, and what is read aloud of them
    assert "promised: 90" in panels["coverage"]
    assert marks(panels["calibration"]) == 6
    assert "promised" not in panels["calibration"]
    assert panels["calibration"].rindex("KGNN") > panels["calibration"].rindex("WL")


def test_one_record_or_none_has_no_figures_but_its_own_course():
    assert all_figures(Results([])) == []
    assert [f.name for f in all_figures(Results(records(["kgnn"], ["DD"], [0])))] == ["rounds"]
