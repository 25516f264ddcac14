"""``kgnn suggest``: which graphs to label next."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from kgnn.graphs.datasets.toy import planted_motifs
from kgnn.graphs.readers import jsonl
from kgnn.methods.ldp import LDP
from tests.cli.calling import kgnn

__all__ = ["kgnn"]

GRAPHS = planted_motifs(60)
SIMULATE = ("suggest", "--simulate", "planted-motifs", "--method", "ldp", "--set", "trees=10",
            "--set", "cross_fit=0",
            "--start", "6", "--step", "6", "--rounds", "2", "--splits", "2")  # fmt: skip


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A model of ten labeled graphs, and sixty graphs with these labels."""
    monkeypatch.chdir(tmp_path)
    targets = np.where(np.arange(60) < 10, GRAPHS.targets, -1)
    jsonl.write(GRAPHS.with_targets(targets), "graphs.jsonl")
    jsonl.write(GRAPHS.with_targets(np.full(60, -1)), "bare.jsonl")
    LDP(trees=20).fit(GRAPHS.with_targets(targets)).save("model")
    return tmp_path


def test_suggestions_are_shown_with_reasons(kgnn, files):
    done = kgnn("suggest", "model", "graphs.jsonl", "-n", "5")
    assert done.code == 0, done.err
    assert "to label next" in done.out
    assert "undecided between" in done.out


def test_json_has_the_promised_shape(kgnn, files):
    told = json.loads(kgnn("suggest", "model", "graphs.jsonl", "-n", "5", "--json").out)
    assert list(told) == ["dataset", "suggestions"]
    assert len(told["suggestions"]) == 5
    for each in told["suggestions"]:
        assert list(each) == [
            "row", "name", "predicted", "confidence", "disagreement", "distance", "alike", "why"
        ]  # fmt: skip
        assert each["row"] >= 10


def test_a_table_is_written(kgnn, files):
    done = kgnn("suggest", "model", "graphs.jsonl", "-n", "7", "-o", "next.csv")
    assert done.code == 0, done.err
    assert done.out == ""
    with Path("next.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 7
    assert list(rows[0]) == [
        "id", "label", "predicted", "confidence", "disagreement", "distance", "alike", "why"
    ]  # fmt: skip
    assert {row["label"] for row in rows} == {""}
    assert rows[0]["disagreement"] == ""
    assert kgnn("suggest", "model", "graphs.jsonl", "-n", "7", "-o", "next.json").code == 0
    told = json.loads(Path("next.json").read_text(encoding="utf-8"))
    assert [each["name"] for each in told["suggestions"]] == [row["id"] for row in rows]


def filled_in(path):
    """Play the one who knows: write the true class into each line, all but the last."""
    with Path(path).open(encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    for row in rows[:-1]:
        row[1] = GRAPHS[int(row[0])].target
    with Path(path).open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])


def fit_again(kgnn, *labels, data="graphs.jsonl"):
    return kgnn("fit", data, *labels, "--method", "ldp", "--set", "trees=10", "-o", "again")


def test_the_table_is_filled_in_and_given_back_beside_the_earlier_labels(kgnn, files):
    lines = [f"{row},{GRAPHS[row].target}\n" for row in range(12)]
    Path("labels.csv").write_text("".join(["id,label\n", *lines]))
    done = kgnn("suggest", "model", "bare.jsonl", "--labels", "labels.csv", "-n", "6",
                "-o", "to_label.csv")  # fmt: skip
    both = ("--labels", "labels.csv", "--labels", "to_label.csv")
    assert (
        f"then: kgnn fit bare.jsonl {' '.join(both)} --method ldp --set trees=20 -o MODEL"
        in done.err
    )
    assert "12 graphs are labeled" in fit_again(kgnn, *both, data="bare.jsonl").err
    filled_in("to_label.csv")
    done = fit_again(kgnn, *both, data="bare.jsonl")
    assert done.code == 0, done.err
    assert "17 graphs are labeled, 43 are not" in done.err  # one line was left empty


def test_the_table_is_filled_in_and_given_back_beside_labels_in_the_data(kgnn, files):
    done = kgnn("suggest", "model", "graphs.jsonl", "-n", "6", "-o", "to_label.csv")
    again = "kgnn fit graphs.jsonl --labels to_label.csv --keep-targets"
    assert f"{again} --method ldp --set trees=20 -o MODEL" in done.err
    filled_in("to_label.csv")
    done = fit_again(kgnn, "--labels", "to_label.csv", "--keep-targets")
    assert "15 graphs are labeled, 45 are not" in done.err
    done = fit_again(kgnn, "--labels", "to_label.csv")
    assert "5 graphs are labeled, 55 are not" in done.err
    assert "10 graphs have a class in the data but not in --labels" in done.err


def test_the_table_has_the_columns_of_the_other_labels(kgnn, files):
    lines = [f"{row},{GRAPHS[row].target}\n" for row in range(10)]
    Path("mine.csv").write_text("".join(["why,kind\n", *lines]))
    columns = ("--id-column", "why", "--label-column", "kind")
    done = kgnn("suggest", "model", "bare.jsonl", "--labels", "mine.csv", *columns, "-n", "3",
                "-o", "next.csv")  # fmt: skip
    assert done.code == 0, done.err
    header = Path("next.csv").read_text().splitlines()[0]
    assert header == "why,kind,predicted,confidence,disagreement,distance,alike"
    filled_in("next.csv")
    labels = ("--labels", "mine.csv", "--labels", "next.csv")
    assert "12 graphs are labeled" in fit_again(kgnn, *labels, *columns, data="bare.jsonl").err


def test_graphs_with_a_label_in_the_data_are_not_suggested_either(kgnn, files):
    lines = [f"{row},{GRAPHS[row].target}\n" for row in range(10, 40)]
    Path("labels.csv").write_text("".join(["id,label\n", *lines]))
    LDP(trees=5).fit(GRAPHS[40:50]).save("other")
    done = kgnn("suggest", "other", "graphs.jsonl", "--labels", "labels.csv", "-n", "60", "--json")
    assert {each["row"] for each in json.loads(done.out)["suggestions"]} <= set(range(40, 60))


def test_graphs_in_a_table_of_labels_are_not_suggested(kgnn, files):
    lines = [f"{row},{GRAPHS[row].target}\n" for row in range(40)]
    Path("labels.csv").write_text("".join(["id,label\n", *lines]))
    done = kgnn("suggest", "model", "bare.jsonl", "--labels", "labels.csv", "-n", "60", "--json")
    rows = {each["row"] for each in json.loads(done.out)["suggestions"]}
    assert rows == set(range(40, 60))


def test_where_nothing_is_left_it_is_said(kgnn, files):
    jsonl.write(GRAPHS, "all.jsonl")
    done = kgnn("suggest", "model", "all.jsonl", "-o", "next.csv")
    assert done.code == 0
    assert "are labeled or look exactly like" in done.err
    assert Path("next.csv").read_text().startswith("id,label,predicted")


def test_a_simulation_shows_both_curves(kgnn, files):
    done = kgnn(*SIMULATE)
    assert done.code == 0, done.err
    assert "suggested" in done.out
    assert "random" in done.out
    assert [line.split()[0] for line in done.out.splitlines() if " ± " in line] == ["6", "12", "18"]
    assert "points on average" in done.err


def test_a_simulation_is_written_as_drawing_table_or_json(kgnn, files):
    for name in ("curve.svg", "curve.csv", "curve.json"):
        done = kgnn(*SIMULATE, "-o", name)
        assert done.code == 0, done.err
    drawing = Path("curve.svg").read_text(encoding="utf-8")
    assert "<svg" in drawing
    assert "12 labels, suggested" in drawing
    lines = Path("curve.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "seed,choice,labels,accuracy"
    assert len(lines) == 1 + 2 * 2 * 3
    told = json.loads(Path("curve.json").read_text(encoding="utf-8"))
    assert (told["method"], told["labels"]) == ("ldp", [6, 12, 18])
    assert told == json.loads(kgnn(*SIMULATE, "--json").out)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "MODEL and DATA are both needed"),
        (("model",), "kgnn suggest MODEL DATA"),
        (("model", "graphs.jsonl", "-o", "next.svg"), "must end in .csv or .json, got next.svg"),
        (("model", "--simulate", "MUTAG"), "--simulate fits its own models"),
        (
            ("--simulate", "planted-motifs", "-o", "curve.gif"),
            "must end in .svg or .png or .pdf or .csv or .json",
        ),
        (("--simulate", "planted-motifs", "--method", "ldpp"), "ldpp"),
        (("--simulate", "MUTAG", "-n", "3", "--labels", "x.csv"), "--number, --labels cannot be"),
        (("model", "graphs.jsonl", "--start", "7", "--set", "a=1"), "--set, --start cannot be"),
        (("model", "graphs.jsonl", "--id-column", "x"), "--id-column needs --labels"),
        (("--simulate", "planted-motifs", "--method", "ldp", "--start", "60"), "got 60"),
    ],
)
def test_misuse_is_told_in_a_line(kgnn, files, arguments, told):
    done = kgnn("suggest", *arguments)
    assert done.code == 2
    assert told in done.err


def test_one_split_is_not_reported_as_certain(kgnn, files):
    once = (*SIMULATE[:-1], "1")
    done = kgnn(*once)
    assert done.code == 0, done.err
    assert "±" not in done.out + done.err
    assert "a single split has no standard error" in done.err
    assert json.loads(kgnn(*once, "--json").out)["gain_error"] is None
    several = kgnn(*SIMULATE)
    assert "± is the standard error over 2 splits" in several.err
    assert json.loads(kgnn(*SIMULATE, "--json").out)["gain_error"] >= 0


def test_the_next_command_reads_as_this_one_did(kgnn, files):
    table = ["mol,cls\n", *(f"{row},{GRAPHS[row].target}\n" for row in range(12))]
    Path("labels.csv").write_text("".join(table))
    columns = ("--id-column", "mol", "--label-column", "cls")
    given = ("--labels", "labels.csv", *columns)
    done = kgnn("suggest", "model", "bare.jsonl", *given, "-n", "4", "-o", "more.csv")
    command = f"kgnn fit bare.jsonl --labels labels.csv --labels more.csv {' '.join(columns)} "
    assert command in done.err
    again = fit_again(kgnn, "--labels", "more.csv", *given, data="bare.jsonl")
    assert (again.code, "12 graphs are labeled" in again.err) == (0, True), again.err


def test_the_next_command_takes_targets_from_the_same_column(kgnn, files):
    lines = [f"m{row},{'C' * (row + 1)},{'ab'[row % 2] if row < 8 else ''}" for row in range(20)]
    Path("mol.csv").write_text("\n".join(["name,smiles,kind", *lines, ""]))
    read = ("--read", "target_column=kind")
    fast = ("--method", "ldp", "--set", "trees=5")
    assert kgnn("fit", "mol.csv", *read, *fast, "-o", "kind").code == 0
    done = kgnn("suggest", "kind", "mol.csv", *read, "-n", "3", "-o", "more.csv")
    assert f"kgnn fit mol.csv {' '.join(read)} --labels more.csv --keep-targets " in done.err


def test_a_table_of_labels_is_not_written_over(kgnn, files):
    Path("labels.csv").write_text("id,label\n0,fan\n")
    done = kgnn("suggest", "model", "bare.jsonl", "--labels", "labels.csv", "-o", "./labels.csv")
    assert done.code == 2
    assert "labels.csv is an input of this command" in done.err
    assert Path("labels.csv").read_text() == "id,label\n0,fan\n"


@pytest.fixture
def molecules(files):
    """Forty molecules, 24 of them with a class in a column of another name; two are bad."""
    rows = [f"m{row},{'C' * (row + 1)},{'ab'[row % 2] if row < 24 else ''}" for row in range(40)]
    rows[30:30] = ["bad1,C(,a", "bad2,C(,b"]
    Path("mol.csv").write_text("\n".join(["name,smiles,kind", *rows, ""]))
    return ("--read", "target_column=kind", "--skip-bad")


FAST = ("--method", "ldp", "--set", "trees=5")


def printed_command(told):
    """Return the words of the command that suggest prints, without its model."""
    (line,) = [line for line in told.splitlines() if "then: kgnn fit " in line]
    return line.partition("then: kgnn ")[2].removesuffix(" -o MODEL").split()


def fill_in(path, label="a"):
    with Path(path).open(encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    for row in rows:
        row[1] = label
    with Path(path).open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])


@pytest.mark.parametrize("validation", ["0", "0.25"])
@pytest.mark.parametrize("repeats_options", [True, False])
def test_the_printed_command_loses_no_label(kgnn, molecules, repeats_options, validation):
    fitted = kgnn("fit", "mol.csv", *molecules, *FAST, "--validation", validation, "-o", "kind")
    assert "24 graphs are labeled, 16 are not" in fitted.err, fitted.err
    again = molecules if repeats_options else ()
    done = kgnn("suggest", "kind", "mol.csv", *again, "-n", "6", "-o", "more.csv")
    assert done.code == 0, done.err
    with Path("more.csv").open(encoding="utf-8") as file:
        suggested = {row["id"] for row in csv.DictReader(file)}
    # Those that were held out of the fit have a label as well.
    assert suggested <= {f"m{row}" for row in range(24, 40)}
    fill_in("more.csv")
    done = kgnn(*printed_command(done.err), "-o", "next")
    assert "30 graphs are labeled, 10 are not" in done.err, done.err
    # And once more, with the labels of a table and of the column.
    again = (*molecules, "--labels", "more.csv") if repeats_options else ()
    done = kgnn("suggest", "next", "mol.csv", *again, "-n", "4", "-o", "most.csv")
    fill_in("most.csv")
    done = kgnn(*printed_command(done.err), "-o", "last")
    assert "34 graphs are labeled, 6 are not" in done.err, done.err


def test_labels_of_a_table_are_read_again_as_well(kgnn, files):
    table = ["mol,cls\n", *(f"{row},{GRAPHS[row].target}\n" for row in range(12)), "none,fan\n"]
    Path("labels.csv").write_text("".join(table))
    given = ("--labels", "labels.csv", "--id-column", "mol", "--label-column", "cls")
    assert kgnn("fit", "bare.jsonl", *given, "--ignore-unknown", *FAST, "-o", "own").code == 0
    done = kgnn("suggest", "own", "bare.jsonl", "-n", "4", "-o", "more.csv")
    assert f"reading bare.jsonl with {' '.join(given)}, as for the fit" in done.err
    filled_in("more.csv")
    done = kgnn(*printed_command(done.err), "-o", "next")
    assert "15 graphs are labeled" in done.err, done.err


def test_a_command_that_would_lose_labels_is_not_printed(kgnn, files):
    """The model was not fitted by the command line, and its labels are not given here."""
    done = kgnn("suggest", "model", "bare.jsonl", "-n", "4", "-o", "more.csv")
    assert done.code == 0, done.err
    assert "kgnn fit" not in done.err
    assert "10 of the 10 labels that the model was fitted on were not read here" in done.err
    assert "pass the same --labels and --read as to fit" in done.err


def test_what_the_fit_was_told_about_other_data_is_of_no_use(kgnn, files, molecules):
    assert kgnn("fit", "mol.csv", *molecules, *FAST, "-o", "kind").code == 0
    done = kgnn("suggest", "kind", "bare.jsonl", "-n", "4", "-o", "more.csv")
    assert done.code == 0, done.err
    assert "24 of the 24 labels that the model was fitted on were not read here" in done.err


def test_a_table_that_the_fit_has_read_is_not_written_over(kgnn, files):
    lines = [f"{row},{GRAPHS[row].target}\n" for row in range(12)]
    Path("labels.csv").write_text("".join(["id,label\n", *lines]))
    fitted = kgnn("fit", "bare.jsonl", "--labels", "labels.csv", *FAST, "-o", "own")
    assert fitted.code == 0, fitted.err
    done = kgnn("suggest", "own", "bare.jsonl", "-o", "labels.csv")
    assert (done.code, "would be overwritten" in done.err) == (2, True), done.err
    assert len(Path("labels.csv").read_text().splitlines()) == 13


def test_where_the_fit_was_told_nothing_special_nothing_is_said_of_it(kgnn, files):
    assert kgnn("fit", "graphs.jsonl", *FAST, "-o", "own").code == 0
    done = kgnn("suggest", "own", "graphs.jsonl", "-n", "4", "-o", "more.csv")
    assert "as for the fit" not in done.err
    assert "kgnn fit graphs.jsonl --labels more.csv --keep-targets" in done.err
