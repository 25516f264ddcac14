from dataclasses import replace

import pytest
from scipy.stats import t

from kgnn.benchmark.store import Store
from kgnn.errors import UnknownNameError
from kgnn.reports.paper import dataset_title
from kgnn.reports.results import Results, Terms
from kgnn.reports.results_page import results_page
from kgnn.reports.summary import summary_markdown, what_is_missing
from tests.benchmark.stores import records, unfinished


def in_cell(record, **changes):
    """The same record, of another cell."""
    return replace(record, cell=replace(record.cell, **changes))


def test_what_was_run_on_the_same_terms_is_one_group_in_any_order():
    made = records(["wl", "kgnn"], ["PROTEINS", "DD"], range(3))
    made += records(["kgnn"], ["PROTEINS"], range(2), labels=0.05)
    made += records(["kgnn"], ["PROTEINS"], range(2), protocol="paper")
    made += records(["kgnn"], ["PROTEINS"], range(2), parameters={"hops": 5})
    results = Results(made)
    assert len(results.groups) == 7
    assert results.find("kgnn", "PROTEINS").seeds == [0, 1, 2]
    assert results.on("fair", 0.05).find("kgnn", "PROTEINS").seeds == [0, 1]
    assert results.terms == Terms()  # unchanged
    assert results.find("kgnn", "PROTEINS", {"hops": 5}).parameters == {"hops": 5}
    assert results.find("kgnn", "COLLAB") is None
    turned = Results(reversed(made)).groups
    assert {(g.name, g.dataset, g.terms): g.seeds for g in turned} == {
        (g.name, g.dataset, g.terms): g.seeds for g in results.groups
    }


def test_numbers_are_those_of_the_records():
    values = [70.0, 72.0, 77.0]
    made = records(["wl"], ["DD"], range(3), accuracy=lambda m, d, seed: values[seed])
    made[0].result.update(cpu_seconds=2.0, seconds_saved=3.5)  # counts that another run had made
    made[1].result.update(cpu_seconds=4.0)
    made[2].result.update(cpu_seconds=None)
    [group] = Results(made).groups
    assert (group.mean, group.std) == (pytest.approx(73), pytest.approx(13**0.5))
    assert group.cpu_seconds == [5.5, 4.0]
    # The splits overlap: Nadeau & Bengio add n_test / n_train.
    sizes = made[0].result
    overlap = sizes["test"] / (sizes["labeled"] + sizes["unlabeled"])
    assert group.interval == pytest.approx(t.ppf(0.975, 2) * (13 * (1 / 3 + overlap)) ** 0.5)
    [of_seeds] = Results(in_cell(each, protocol="paper") for each in made).groups
    assert of_seeds.interval == pytest.approx(t.ppf(0.975, 2) * (13 / 3) ** 0.5)
    [single] = Results(made[:1]).groups
    assert (single.std, single.interval) == (0, 0)


def test_datasets_and_methods_are_in_the_papers_order_then_by_name():
    results = Results(records(["kgnn", "other", "gk"], ["zoo", "DD", "PROTEINS", "a"], [0]))
    assert results.datasets == ["PROTEINS", "DD", "a", "zoo"]
    assert results.methods == ["gk", "kgnn", "other"]


def test_what_is_not_done_is_kept_apart_and_what_was_run_twice_counts_once():
    bad = unfinished("declined", "wl", "DD", "too large")
    [one] = records(["wl"], ["DD"], [1])
    results = Results([one, in_cell(one, cases=2), bad])
    assert results.unfinished == [bad]
    assert results.find("wl", "DD").seeds == [1]


def test_a_dataset_has_one_name_whatever_it_was_run_by_and_one_content():
    one, other = records(["wl"], ["IMDB-BINARY"], range(2))
    same = Results([one, in_cell(other, dataset="folder/imdb.zip")])
    assert same.find("wl", "IMDB-BINARY").seeds == [0, 1]
    for names in (["mine.jsonl", "mine.jsonl"], ["a/mine.jsonl", "b/mine.jsonl"]):
        one, other = (records(["wl"], [name], [0])[0] for name in names)
        other = in_cell(other, fingerprint="abcdef0123")
        bad = replace(in_cell(other, seed=1), outcome="failed", reason="?")
        results = Results([one, other, bad])
        titles = [dataset_title(name) for name in results.datasets]
        assert titles == ["mine.jsonl", "mine.jsonl (abcdef)"]
        assert dataset_title(results.unfinished[0].cell.dataset) == titles[1]


def test_revisions_are_never_mixed_and_what_is_left_out_is_counted():
    older = [in_cell(r, revision=7) for r in records(["wl"], ["DD", "PROTEINS"], [0, 1, 2])]
    newer = [in_cell(r, revision=8) for r in records(["wl"], ["DD"], [0])]
    results = Results([*older, *newer])
    assert [(g.dataset, g.seeds) for g in results.groups] == [("DD", [0])]
    assert {r.cell.revision for r in results.records} == {8}
    assert results.outdated == {("wl", 7): 6}
    told = "Left out: 6 runs of WL revision 7, as there are runs of revision 8."
    assert told in what_is_missing(results)
    failed = [replace(each, outcome="failed", result={}, reason="x") for each in newer]
    kept = Results([*older, *failed])  # a failure hides no results
    assert (len(kept.groups), len(kept.unfinished), not kept.outdated) == (2, 1, True)


def test_results_of_an_older_revision_than_the_code_are_labeled(monkeypatch):
    for module in ("results", "summary"):
        monkeypatch.setattr(f"kgnn.reports.{module}.code_revision", lambda method: 3)
    made = records(["kgnn", "wl"], ["DD", "PROTEINS"], [0, 1, 2])
    results = Results(in_cell(r, revision=2 if r.cell.method == "kgnn" else 3) for r in made)
    assert (results.title("kgnn"), results.title("wl")) == ("KGNN revision 2", "WL")
    told = "The code is newer than the runs of KGNN revision 2 (now 3)."
    assert told in what_is_missing(results)
    for shown in (summary_markdown(results), results_page(results)):
        assert "KGNN revision 2" in shown


def test_a_method_without_runs_of_its_defaults_stands_with_what_was_run():
    made = records(["wl"], ["DD"], range(3), parameters={"iterations": [2]})
    made += records(["wl"], ["DD"], range(2), parameters={"iterations": [5]})
    results = Results(made)
    assert results.find("wl", "DD").parameters == {"iterations": [2]}
    assert results.title("wl") == "WL (iterations=[2])"
    usual = Results([*made, *records(["wl"], ["DD"], [0])])
    assert (usual.find("wl", "DD").parameters, usual.title("wl")) == ({}, "WL")


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
