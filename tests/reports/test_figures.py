"""Figures show what the records say."""

import re
import subprocess
import sys
from dataclasses import replace

import pytest

pytest.importorskip("matplotlib")

import kgnn
from kgnn.errors import ParameterError
from kgnn.evaluation.metrics import Bin
from kgnn.evaluation.model_facts import RoundFacts
from kgnn.graphs.datasets.toy import planted_motifs
from kgnn.methods.wl import WL
from kgnn.reports.chart import save, svg, write_figures
from kgnn.reports.comparison import rank_methods
from kgnn.reports.figures import (
    cost_chart,
    covered,
    labels_chart,
    parameter_chart,
    rank_chart,
    result_charts,
    rounds_chart,
    trust_chart,
)
from kgnn.reports.model_figures import calibration_chart, model_rounds_chart
from kgnn.reports.paper import method_title
from kgnn.reports.results import Results
from kgnn.reports.tables import main_methods, table_datasets
from tests.benchmark.stores import TABLE_2, TABLE_3, records


def drawn(chart):
    """Each panel as SVG."""
    return {name: svg(figure, panel.title) for name, panel, figure in chart.apart()}


def notes(text):
    return re.findall("<title>([^<]*)</title>", text)


def with_parameter(name, value):
    """Records of KGNN that tell all their parameters, as real ones do."""
    is_usual = value is None
    told = {"width": 32, "hops": 3, **({} if is_usual else {name: value})}
    seeds = range(3) if is_usual else range(1, 4)  # a seed is a parameter, too
    own = records(["kgnn"], ["DD"], seeds, parameters={} if is_usual else {name: value})
    return [replace(r, all_parameters={**told, "random_state": r.cell.seed}) for r in own]


def harder(methods, datasets, seeds, **options):
    """Methods that are as good on each split, and splits of which the later ones are harder."""
    return records(methods, datasets, seeds, accuracy=lambda m, d, s: 90.0 - 10 * s, **options)


def test_curves_are_drawn_over_the_splits_that_all_points_share():
    there = harder(["kgnn"], ["DD"], range(5)) + harder(["kgnn"], ["DD"], range(3), labels=0.05)
    there += harder(["wl"], ["DD"], range(4)) + harder(["wl"], ["DD"], range(1, 4), labels=0.05)
    there += harder(["kgnn", "wl"], ["PROTEINS"], [0, 1])  # one share is no curve
    chart = labels_chart(Results(there))
    assert list(chart.panels) == ["DD"]
    [shown] = drawn(chart).values()
    assert len(notes(shown)) == 4
    assert all(each.endswith(": 75.0 ± 7.1 over 2 splits") for each in notes(shown))
    [read] = re.findall('aria-label="([^"]*)"', shown)  # to those who cannot see it
    assert read.startswith("DD; ")
    assert all(each in read for each in notes(shown))
    assert "have: 2 on DD." in chart.caption
    apart = [r for x in (0.05, 0.1) for r in records(["vat"], ["DD"], [7], labels=x)]
    assert "On DD no split is common to all" in labels_chart(Results([*there, *apart])).caption


@pytest.mark.parametrize(("name", "values"), [("width", (8, 16, 64)), ("hops", (1, 2))])
def test_a_parameter_is_drawn_where_it_alone_differs(name, values):
    there = [r for value in (None, *values) for r in with_parameter(name, value)]
    there += with_parameter("hops" if name == "width" else "width", 7)
    there[0].all_parameters["patience"] = 2  # which the method of the other records did not have
    told = notes(drawn(parameter_chart(Results(there), name))["DD"])
    assert len(told) == len(values) + 1
    assert all("over 2 splits" in each for each in told)  # 1 and 2, not 0 and 3


def test_a_split_that_has_ended_counts_with_its_last_round():
    long, short = records(["kgnn"], ["DD"], [0, 1])
    for record, value in ((long, 70.0), (short, 50.0)):
        for each in record.result["rounds"]:
            each.update(agreement=value, precision=None, validation_accuracy={"gnn": 60.0})
    del short.result["rounds"][2:]
    told = notes(drawn(rounds_chart(Results([long, short])))["DD"])
    assert len(told) == 4 + 4  # no mark where nothing is told
    for number in (1, 3):
        assert f"agreement, round {number}: 60.0 over 2 splits" in told
    assert not rounds_chart(Results(records(["wl"], ["DD"], [0]))).panels


def test_ranks_are_those_of_the_tables_where_a_method_misses_a_dataset():
    there = records(["kgnn", "wl", "sp"], ["DD", "PROTEINS", "COLLAB"], range(3))
    there += records(["joao"], ["DD", "COLLAB"], range(3))
    results = Results(there)
    chart = rank_chart(results)
    ranking = rank_methods(results, main_methods(results), table_datasets(results))
    assert ranking.datasets == ("DD", "COLLAB")
    told = notes(drawn(chart)["Methods"])
    for method, rank in ranking.ranks.items():
        assert f"{method_title(method)}: average rank {rank:.2f}" in told
    assert "Methods: average over DD and COLLAB." in chart.caption


def test_cost_is_compared_on_common_splits_with_what_others_had_counted():
    has = {"DD": ["kgnn", "wl", "sp", "gk"], "PROTEINS": ["kgnn", "wl", "sp"], "COLLAB": ["kgnn"]}
    assert covered(has, ["kgnn", "wl", "sp", "gk"]) == (["kgnn", "wl", "sp"], ["DD", "PROTEINS"])
    there = harder(["kgnn"], ["DD", "PROTEINS"], range(5)) + harder(["wl"], ["DD"], range(3))
    there += harder(["wl", "gnn-self"], ["PROTEINS"], range(5))
    for each in there:
        each.result.update(cpu_seconds=1.0, seconds_saved=9.0)
    chart = cost_chart(Results(there))
    told = notes(drawn(chart)["cost"])
    assert sorted(told) == ["KGNN: 75.0 % in 10 s", "WL: 75.0 % in 10 s"]  # 80 on DD, 70
    assert "have: 5 on PROTEINS; 3 on DD." in chart.caption
    assert "Not run on all of these: GNN-Self." in chart.caption
    older = [replace(each, cell=replace(each.cell, revision=0)) for each in there]
    assert "WL revision 0 and KGNN revision 0." in cost_chart(Results(older)).caption


def test_promises_are_drawn_for_each_method_that_made_them():
    there = records(["kgnn", "wl", "sp"], ["DD", "PROTEINS"], [0, 1])
    for each in there:
        each.result["coverage"] = 80.0 if each.cell.seed else 90.0
        if each.cell.method == "sp":  # of a time before label sets
            del each.result["coverage"]
    panels = drawn(trust_chart(Results(there)))
    marks = [f"{d}, {m}: 85.0" for d in ("DD", "PROTEINS") for m in ("KGNN", "WL")]
    assert sorted(notes(panels["coverage"])) == [*marks, "target: 90"]
    assert len(notes(panels["calibration"])) == 6


def test_models_have_figures_of_their_rounds_and_their_calibration():
    rounds = [RoundFacts(0, None, {"gnn": 0.5, "memory": 0.75}), RoundFacts(9, 0.8, {"gnn": 0.6})]
    told = notes(drawn(model_rounds_chart(rounds))["rounds"])
    assert told == ["GNN, round 0: 50.0 %", "GNN, round 1: 60.0 %", "memory, round 0: 75.0 %"]
    bins = drawn(calibration_chart([Bin(5, 0.8, 0.8), Bin(20, 0.5, 0.9)]))["reliability"]
    assert "20 graphs: confidence 50 %, right 90 %" in notes(bins)


def test_few_records_and_names_of_any_kind_can_be_drawn():
    assert result_charts(Results([])) == []
    assert [c.name for c in result_charts(Results(records(["kgnn"], ["DD"], [0])))] == ["rounds"]
    names = ["$x_{$", "a" * 500, "\x01\u4e2d\U0001f600", "<b>&amp;"]
    results = Results(records(names, ["DD", names[0]], [0, 1, 2]), reference=names[1])
    for chart in result_charts(results):
        for text in drawn(chart).values():
            assert "<b>" not in text


def test_figures_are_the_same_whenever_they_are_drawn_and_take_the_colors_of_the_page():
    results = Results(records([*TABLE_2, *TABLE_3[:-1]], ["DD", "PROTEINS"], [0, 1]))
    once, again = (drawn(cost_chart(results))["cost"] for _ in range(2))
    assert once == again
    assert "var(--s0)" in once
    assert not re.search(r'style=|<style|"#[0-9a-f]{6}"|<metadata', once)


def test_the_public_functions_return_figures_to_change_and_save(tmp_path):
    results = Results(records(["kgnn", "wl", "sp"], ["DD", "PROTEINS"], range(3)))
    figure = kgnn.plot.average_ranks(results)
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["Methods"]
    for name, start in (("a.png", b"\x89PNG"), ("a.pdf", b"%PDF"), ("a.svg", b"<?xml")):
        save(figure, tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(start)
    assert figure._repr_png_().startswith(b"\x89PNG")  # what a notebook shows
    assert len(write_figures([cost_chart(results)], tmp_path, "pdf")) == 1
    with pytest.raises(ParameterError, match="nothing to draw: 'Accuracy by number of labels'"):
        kgnn.plot.accuracy_by_labels(results)
    motifs = planted_motifs(40)
    explanation = WL().fit(motifs).explain(motifs[0])
    rows = [label.get_text() for label in kgnn.plot.evidence(explanation).axes[0].get_yticklabels()]
    assert explanation.speaking()[0].text in rows
    with pytest.raises(ParameterError, match="needs a model with a memory"):
        kgnn.plot.attention(explanation)


def test_without_matplotlib_a_figure_says_how_to_install_it():
    check = """
import sys
sys.modules["matplotlib"] = None
from kgnn import *
try:
    plot.average_ranks(Results([]))
except KgnnError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("Install it with: pip install 'kgnn[plot]'")
