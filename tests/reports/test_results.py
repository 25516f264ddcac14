from dataclasses import replace

import pytest
from scipy.stats import t

from kgnn.benchmark.store import Store
from kgnn.errors import UnknownNameError
from kgnn.reports.paper import dataset_title
from kgnn.reports.results import Results, Terms
from kgnn.reports.results_page import results_page
from kgnn.reports.summary import readme_markdown, summary_markdown, what_is_missing
from tests.reports.stores import records, unfinished


def test_what_was_run_on_the_same_terms_is_one_group():
    made = records(["wl", "kgnn"], ["PROTEINS", "DD"], range(3))
    made += records(["kgnn"], ["PROTEINS"], range(2), labels=0.05)
    made += records(["kgnn"], ["PROTEINS"], range(2), protocol="paper")
    made += records(["kgnn"], ["PROTEINS"], range(2), parameters={"hops": 5})
    results = Results(made)
    assert len(results.groups) == 7
    assert results.find("kgnn", "PROTEINS").seeds == [0, 1, 2]
    assert results.find("kgnn", "PROTEINS", Terms(labels=0.05)).seeds == [0, 1]
    assert results.find("kgnn", "PROTEINS", parameters={"hops": 5}).parameters == {"hops": 5}
    assert results.find("kgnn", "COLLAB") is None


def test_records_come_in_any_order():
    made = records(["wl"], ["DD"], range(4))
    assert Results(reversed(made)).groups == Results(made).groups


def test_numbers_are_those_of_the_records():
    values = [70.0, 72.0, 77.0]
    made = records(["wl"], ["DD"], range(3), accuracy=lambda m, d, seed: values[seed])
    [group] = Results(made).groups
    assert group.mean == pytest.approx(73)
    assert group.std == pytest.approx(13**0.5)
    # The splits overlap: Nadeau & Bengio add n_test / n_train.
    sizes = made[0].result
    overlap = sizes["test"] / (sizes["labeled"] + sizes["unlabeled"])
    assert group.interval == pytest.approx(t.ppf(0.975, 2) * (13 * (1 / 3 + overlap)) ** 0.5)
    of_one_split = [replace(each, cell=replace(each.cell, protocol="paper")) for each in made]
    [of_seeds] = Results(of_one_split).groups
    assert of_seeds.interval == pytest.approx(t.ppf(0.975, 2) * (13 / 3) ** 0.5)
    made[0].result["peak_mib"] = None
    assert group.values("peak_mib") == [r.result["peak_mib"] for r in made[1:]]


def test_a_single_split_has_no_interval():
    [group] = Results(records(["wl"], ["DD"], [0])).groups
    assert (group.std, group.interval) == (0, 0)


def test_datasets_and_methods_are_in_the_papers_order_then_by_name():
    results = Results(records(["kgnn", "other", "gk"], ["zoo", "DD", "PROTEINS", "a"], [0]))
    assert results.datasets == ["PROTEINS", "DD", "a", "zoo"]
    assert results.methods == ["gk", "kgnn", "other"]


def test_what_is_not_done_is_kept_apart():
    bad = unfinished("declined", "wl", "DD", "too large")
    results = Results([*records(["wl"], ["DD"], [1]), bad])
    assert results.unfinished == [bad]
    assert results.find("wl", "DD").seeds == [1]


def test_what_others_had_counted_is_part_of_the_cost():
    made = records(["wl"], ["DD"], range(3))
    made[0].result.update(cpu_seconds=2.0, seconds_saved=3.5)
    made[1].result.update(cpu_seconds=4.0)
    made[2].result.update(cpu_seconds=None)
    assert Results(made).find("wl", "DD").cpu_seconds == [5.5, 4.0]


def test_a_split_that_was_run_twice_counts_once():
    [one] = records(["kgnn"], ["DD"], [0])
    again = replace(one, cell=replace(one.cell, cases=2))
    assert Results([one, again]).find("kgnn", "DD").seeds == [0]


def test_a_dataset_has_one_name_whatever_it_was_run_by():
    one, other = records(["wl"], ["IMDB-BINARY"], range(2))
    other = replace(other, cell=replace(other.cell, dataset="folder/imdb.zip"))
    assert Results([one, other]).find("wl", "IMDB-BINARY").seeds == [0, 1]


def test_two_contents_of_one_name_are_two_datasets():
    one, other = records(["wl"], ["mine.jsonl"], range(2))
    other = replace(other, cell=replace(other.cell, fingerprint="abcdef0123"))
    results = Results([one, other])
    assert results.datasets == ["mine.jsonl", "mine.jsonl (abcdef)"]


def test_two_files_of_one_name_are_told_apart():
    one, other = records(["wl"], ["a/mine.jsonl", "b/mine.jsonl"], [0])
    other = replace(other, cell=replace(other.cell, fingerprint="abcdef0123"))
    bad = replace(other, cell=replace(other.cell, seed=1), outcome="failed", reason="?")
    results = Results([one, other, bad])
    titles = [dataset_title(name) for name in results.datasets]
    assert titles == ["mine.jsonl", "mine.jsonl (abcdef)"]
    assert dataset_title(results.unfinished[0].cell.dataset) == titles[1]


def of_revision(made, revision):
    return [replace(r, cell=replace(r.cell, revision=revision)) for r in made]


def test_revisions_are_never_mixed_and_what_is_left_out_is_counted():
    older = of_revision(records(["wl"], ["DD", "PROTEINS"], [0, 1, 2]), 7)
    newer = of_revision(records(["wl"], ["DD"], [0]), 8)
    results = Results([*older, *newer])
    assert [(g.dataset, g.seeds) for g in results.groups] == [("DD", [0])]
    assert {r.cell.revision for r in results.records} == {8}
    assert results.outdated == {("wl", 7): 6}
    told = "Left out: 6 runs of WL revision 7, as there are runs of revision 8."
    assert told in what_is_missing(results)


def test_results_of_an_older_revision_than_the_code_are_labeled(monkeypatch):
    monkeypatch.setattr("kgnn.reports.results.code_revision", lambda method: 3)
    monkeypatch.setattr("kgnn.reports.summary.code_revision", lambda method: 3)
    older = of_revision(records(["kgnn", "wl"], ["DD", "PROTEINS"], [0, 1, 2]), 2)
    newer = of_revision(records(["wl"], ["DD", "PROTEINS"], [0, 1, 2]), 3)
    results = Results([*older, *newer])
    assert results.title("kgnn") == "KGNN revision 2"
    assert results.title("wl") == "WL"
    told = "The code is newer than the runs of KGNN revision 2 (now 3)."
    assert told in what_is_missing(results)
    pages = summary_markdown(results), readme_markdown(results), results_page(Results(older))
    for shown in pages:
        assert "KGNN revision 2" in shown


def test_a_failure_of_a_newer_revision_does_not_hide_the_results():
    older = of_revision(records(["wl"], ["DD"], [0]), 1)
    failed = [replace(r, outcome="failed", result={}, reason="x") for r in of_revision(older, 2)]
    results = Results([*older, *failed])
    assert len(results.groups) == 1
    assert len(results.unfinished) == 1
    assert not results.outdated


def test_a_method_without_runs_of_its_defaults_stands_with_what_was_run():
    made = records(["wl"], ["DD"], range(3), parameters={"iterations": [2]})
    made += records(["wl"], ["DD"], range(2), parameters={"iterations": [5]})
    results = Results(made)
    assert results.find("wl", "DD").parameters == {"iterations": [2]}
    assert results.title("wl") == "WL (iterations=[2])"
    usual = Results([*made, *records(["wl"], ["DD"], [0])])
    assert usual.find("wl", "DD").parameters == {}
    assert usual.title("wl") == "WL"


def test_the_main_terms_are_the_usual_ones_or_those_of_most_runs():
    budget = records(["wl", "sp"], ["DD"], [0], protocol="budget", labels=20)
    fewer = records(["wl"], ["DD"], [0], labels=0.3)
    assert Results([*budget, *fewer]).terms == Terms("budget", 20)
    assert Results([*budget, *records(["gk"], ["DD"], [0])]).terms == Terms()


def test_stores_are_read_together_and_a_reference_must_be_there(tmp_path):
    made = records(["wl", "kgnn"], ["DD"], range(2))
    for record in made:
        Store(tmp_path / "one").put(record)
    Store(tmp_path / "two").put(replace(made[0], outcome="failed", result={}, reason="?"))
    results = Results.read(tmp_path / "two", tmp_path / "one", reference="wl")
    assert len(results.groups) == 2
    assert not results.unfinished
    with pytest.raises(UnknownNameError, match="'gk'"):
        Results.read(tmp_path / "one", reference="gk")
