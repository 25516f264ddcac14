import numpy as np
import pytest
from scipy import stats

from kgnn.reports.comparison import rank_methods
from kgnn.reports.headline import about_parts, headline, headline_table
from kgnn.reports.results import Results
from kgnn.reports.standing import standings
from tests.reports.stores import records

WOBBLE = (-1.0, 0.5, 1.0, -0.5, 0.0)


def results(means, seeds=range(5), spread=1.0):
    """Records with the given means by dataset and method, and small differences of their own."""
    made = []
    for dataset, by_method in means.items():
        for turn, (method, mean) in enumerate(by_method.items()):
            noise = [spread * WOBBLE[s] + 0.2 * WOBBLE[(s + turn) % 5] for s in range(5)]
            made += records(
                [method], [dataset], seeds, accuracy=lambda m, d, s, a=mean, b=noise: a + b[s]
            )
    return Results(made)


def told(means, methods=("wl", "sp", "kgnn"), **how):
    return headline(results(means, **how), methods, list(means))


def test_where_kgnn_is_first_is_said():
    sentences = told(
        {"PROTEINS": {"wl": 65, "sp": 73.9, "kgnn": 73.2}, "DD": {"wl": 65, "sp": 60, "kgnn": 70}}
    )
    assert sentences[0] == "KGNN is first of 3 methods on 1 of 2 datasets: DD."


def test_who_is_level_with_kgnn_is_said():
    sentences = told({"DD": {"wl": 70.04, "sp": 60, "kgnn": 70.0}})
    assert sentences[0] == "KGNN is first of 3 methods on 1 of 1 dataset (level with WL on DD)."


def test_a_method_above_is_named_with_both_numbers():
    means = {"PROTEINS": {"wl": 65, "sp": 73.3, "kgnn": 73.2}}
    assert "On PROTEINS, SP is above it (73.3 against 73.2), not significantly." in told(means)
    means = {"PROTEINS": {"wl": 65, "sp": 79, "kgnn": 73.2}}
    assert "On PROTEINS, SP is above it (79.0 against 73.2), significantly." in told(means)


def test_several_above_are_listed_best_first():
    means = {"PROTEINS": {"wl": 74, "sp": 79, "gk": 73.3, "kgnn": 73.2}}
    sentences = told(means, ("wl", "sp", "gk", "kgnn"))
    assert (
        "On PROTEINS, SP (79.0), WL (74.0) and GK (73.3) are above it (73.2), "
        "significantly so SP and WL."
    ) in sentences


def test_two_splits_are_not_called_a_test():
    means = {"PROTEINS": {"sp": 79, "kgnn": 73.2}}
    sentences = told(means, seeds=range(2))
    assert "; these splits allow no test." in sentences[1]
    assert not any("comparisons" in sentence for sentence in sentences)


def test_numbers_that_are_printed_alike_are_level():
    [standing] = standings(results({"DD": {"wl": 70.04, "kgnn": 70.0}}), ["wl", "kgnn"], ["DD"])
    assert standing.is_first
    assert [group.method for group in standing.first] == ["wl", "kgnn"]


def test_the_interval_tells_who_is_near():
    near = {"PROTEINS": {"sp": 73.9, "kgnn": 73.2}}
    sentence = (
        "On PROTEINS the first is within the 95 % interval of its mean (Student's t over splits, "
        "with the correction of Nadeau & Bengio for their overlap)."
    )
    assert sentence in told(near)
    assert sentence not in told(near, spread=0.1)


def test_ranks_and_comparisons_are_counted():
    means = {d: {"wl": 65, "sp": 60, "kgnn": 70} for d in ("PROTEINS", "DD")}
    sentences = told(means)
    assert (
        "Its average rank over 2 datasets is 1.0, the best of 3; next is WL with 2.0."
        in (sentences[1])
    )
    assert (
        "In 4 comparisons with one method on one dataset it is significantly better 4 times and "
        "significantly worse 0 times."
    ) in sentences


def test_another_best_rank_is_named():
    means = {d: {"wl": 75, "kgnn": 70} for d in ("PROTEINS", "DD")}
    assert any("number 2 of 2; the best is WL with 1.0." in s for s in told(means))


def test_ours_is_held_against_the_paper():
    means = {"PROTEINS": {"kgnn": 71.9}, "DD": {"kgnn": 68.5}}  # printed: 70.9 and 70.5
    assert told(means)[-1] == (
        "Against the numbers that the paper printed for it, ours are −0.5 points on average over "
        "2 datasets, from −2.0 on DD to +1.0 on PROTEINS."
    )


@pytest.mark.parametrize("means", [{}, {"DD": {"wl": 70}}])
def test_without_kgnn_there_is_nothing_to_say(means):
    assert told(means) == [
        "There are no records of KGNN with its defaults, 10 % of all graphs labeled and new splits."
    ]


def test_runs_on_the_papers_split_alone_are_not_denied():
    made = records(["kgnn"], ["DD"], range(3), protocol="paper")
    [sentence] = headline(Results(made), ["kgnn"], ["DD"])
    assert "new splits. Those on the split of the paper's code have a table" in sentence


def test_the_short_table_has_a_row_for_each_dataset():
    made = results({"DD": {"sp": 75, "kgnn": 70}, "own": {"sp": 60, "kgnn": 70}})
    table = headline_table(made, ["sp", "kgnn"], ["DD", "own"])
    assert [row[0].text for row in table.rows] == ["DD", "own"]
    assert [row[3].text for row in table.rows] == ["70.5 ± 0.6", ""]
    assert [row[4].text.split(",")[0] for row in table.rows] == ["SP", "KGNN"]
    assert [row[1].is_best for row in table.rows] == [False, True]


def test_the_short_table_has_the_interval_of_the_mean():
    made = results({"DD": {"sp": 75, "kgnn": 70}})
    values = made.find("kgnn", "DD").values("accuracy")
    error = np.std(values, ddof=1) * (1 / 5 + 222 / 669) ** 0.5
    low, high = stats.t.interval(0.95, 4, loc=np.mean(values), scale=error)
    assert (
        headline_table(made, ["sp", "kgnn"], ["DD"]).rows[0][2].text == f"{low:.1f} to {high:.1f}"
    )
    single = results({"DD": {"sp": 75, "kgnn": 70}}, seeds=range(1))
    assert headline_table(single, ["sp", "kgnn"], ["DD"]).rows[0][2].text == ""


def test_a_dataset_without_some_methods_gives_no_places():
    means = {"PROTEINS": {"wl": 65, "sp": 79, "kgnn": 73}, "DD": {"wl": 65, "kgnn": 70}}
    sentences = told(means)
    assert sentences[0] == "KGNN is first of 3 methods on 0 of 1 dataset."
    assert sentences[1] == "Not counted here: DD (no runs of SP)."
    table = headline_table(results(means), ("wl", "sp", "kgnn"), list(means))
    assert len(table.rows) == 1


def test_places_are_those_of_the_splits_that_all_have():
    # KGNN has two splits more, which are harder for everybody.
    seeds = {"kgnn": range(5), "wl": range(3)}
    made = [
        record
        for method, run in seeds.items()
        for record in records(
            [method],
            ["PROTEINS"],
            run,
            accuracy=lambda m, d, s: {"kgnn": 75.0, "wl": 74.0}[m] - 10 * (s > 2),
        )
    ]
    [standing] = standings(Results(made), ["wl", "kgnn"], ["PROTEINS"])
    assert standing.is_first
    assert standing.own.mean == 75.0
    assert rank_methods(Results(made), ["wl", "kgnn"], ["PROTEINS"]).ranks["kgnn"] == 1


def test_one_method_with_one_split_does_not_leave_all_places_to_it():
    easy = {"kgnn": 70.0, "sp": 69.0, "wl": 60.0, "gk": 68.0}
    made = [
        record
        for method in easy
        for dataset in ("PROTEINS", "DD")
        for record in records(
            [method],
            [dataset],
            range(1 if (method, dataset) == ("wl", "DD") else 5),
            accuracy=lambda m, d, s: easy[m] + 12 * (s == 0) * (m == "sp"),
        )
    ]
    methods = ["sp", "wl", "gk", "kgnn"]
    sentences = headline(Results(made), methods, ["PROTEINS", "DD"])
    assert "Not counted here: DD (of 5 splits, WL has 1)." in sentences
    assert not any(sentence.startswith("On DD") for sentence in sentences)
    assert rank_methods(Results(made), methods, ["PROTEINS", "DD"]).datasets == ("PROTEINS",)
    only_dd = headline(Results(made), methods, ["DD"])
    assert only_dd == ["Not counted here: DD (of 5 splits, WL has 1)."]


def test_a_dataset_without_kgnn_is_named():
    means = {"PROTEINS": {"wl": 65, "kgnn": 73}, "DD": {"wl": 65}}
    assert "Not counted here: DD (no runs of KGNN)." in told(means, ("wl", "kgnn"))


def test_one_split_that_failed_does_not_remove_a_dataset():
    made = records(["wl", "sp", "kgnn"], ["PROTEINS"], range(5))
    made = [r for r in made if (r.cell.method, r.cell.seed) != ("wl", 4)]
    [standing] = standings(Results(made), ["wl", "sp", "kgnn"], ["PROTEINS"])
    assert standing.is_even
    assert {len(group.records) for group in standing.groups} == {4}
    assert not any("Not counted" in s for s in headline(Results(made), ["wl", "sp"], ["PROTEINS"]))
    fewer = [r for r in made if (r.cell.method, r.cell.seed) not in {("wl", 2), ("wl", 3)}]
    [standing] = standings(Results(fewer), ["wl", "sp", "kgnn"], ["PROTEINS"])
    assert not standing.is_even
    of_three = [r for r in fewer if r.cell.seed < 3]  # WL has two of them
    [standing] = standings(Results(of_three), ["wl", "sp", "kgnn"], ["PROTEINS"])
    assert not standing.is_even


def test_kgnn_alone_is_not_the_best_of_one():
    assert headline_table(results({"DD": {"kgnn": 70}}), ["kgnn"], ["DD"]).is_empty


def test_the_short_table_says_that_parts_are_not_in_it():
    made = results({"DD": {"wl": 60, "kgnn-sep": 75, "kgnn": 70}})
    assert headline_table(made, ["wl", "kgnn"], ["DD"]).notes[1:] == (
        "The own parts of KGNN are not among the 2.",
    )
    assert len(headline_table(made, ["wl", "kgnn-sep", "kgnn"], ["DD"]).notes) == 1


def test_parts_that_do_better_alone_are_named_with_the_difference():
    means = {
        "PROTEINS": {"kgnn": 73.2, "memnn-sup": 73.7, "kgnn-sep": 73.0},
        "DD": {"kgnn": 77.0, "memnn-sup": 79.5, "kgnn-sep": 77.2},
    }
    parts = ["memnn-sup", "kgnn-sep", "kgnn"]
    said = about_parts(results(means), parts, list(means))
    assert said[0] == (
        "Of its own parts, compared on 2 datasets, above it are MemNN-Sup on PROTEINS (+0.5) and "
        "DD (+2.5); KGNN-Sep on DD (+0.2); 1 of these significantly."
    )
    assert said[1].startswith(
        "Among its own parts, its average rank over 2 datasets is 2.5, number 2 of 3, level with "
        "KGNN-Sep; the best is MemNN-Sup with 1.0."
    )
    untested = about_parts(results(means, seeds=range(2)), parts, list(means))
    assert untested[0].endswith("; these splits allow no test.")
    means["PROTEINS"]["memnn-sup"] = means["DD"]["memnn-sup"] = means["DD"]["kgnn-sep"] = 60.0
    said = about_parts(results(means), parts, list(means))
    assert said[0] == "None of its own parts is above it on 2 datasets."
    assert "is 1.0, the best of 3; next is" in said[1]
    assert about_parts(results({"DD": {"kgnn": 77.0}}), ["kgnn"], ["DD"]) == []
