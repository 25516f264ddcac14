"""On the command line, columns of a table that came in come out, and all is read as for the fit."""

import csv
import io
import json
import warnings

import pytest

from tests.cli.calling import kgnn

__all__ = ["kgnn"]

pytest.importorskip("rdkit")


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    alcohols = [("alcohol", f"{'C' * n}O") for n in range(1, 9)]
    ethers = [("ether", f"{'C' * n}OC.[Na+]") for n in range(2, 10)]
    rows = [("owner", "smiles", "label", "id")]
    for n, (kind, smiles) in enumerate(alcohols + ethers):
        rows.append((f"o, {n}", smiles, kind if n % 2 else "", f"m{n}"))
    with (tmp_path / "drugs.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    return "drugs.csv"


@pytest.fixture
def model(kgnn, table):
    done = kgnn("fit", table, "-o", "model", "--method", "wl", "--read", "salts=strip")
    assert done.code == 0
    return "model"


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_predictions_have_the_columns_of_the_table(kgnn, model, table):
    rows = rows_of(kgnn("predict", model, table).out)
    assert [row["owner"] for row in rows] == [f"o, {n}" for n in range(16)]
    assert [row["given_label"] for row in rows[:2]] == ["", "alcohol"]
    assert rows[9]["smiles"] == "CCCOC.[Na+]"
    assert list(rows[0]).count("id") == 1


def test_rows_that_cannot_be_read_do_not_shift_the_others(kgnn, model, tmp_path):
    (tmp_path / "new.csv").write_text("structure,owner\nCCO,a\nC(,b\nCC,c\nx,d,e\nCCC,f\n")
    settings = ("--read", "smiles_column=structure", "--skip-bad")
    rows = rows_of(kgnn("predict", model, "new.csv", *settings).out)
    assert [(row["id"], row["structure"], row["owner"]) for row in rows] == [
        *(("0", "CCO", "a"), ("2", "CC", "c"), ("4", "CCC", "f")),
    ]


def test_several_sources_share_their_columns(kgnn, model, tmp_path):
    (tmp_path / "a.csv").write_text("smiles,x\nCCO,1\n")
    (tmp_path / "b.smi").write_text("CCC propane\n")
    rows = rows_of(kgnn("predict", model, "a.csv", "b.smi").out)
    found = [(row["id"], row["smiles"], row["x"], row["name"]) for row in rows]
    assert found == [("0", "CCO", "1", ""), ("propane", "CCC", "", "propane")]


def test_molecules_are_read_as_for_the_fit(kgnn, model, tmp_path):
    (tmp_path / "new.csv").write_text("smiles\nCCOC.[Na+]\nCCOC\n")
    done = kgnn("predict", model, "new.csv")
    assert "--read salts=strip, as for the fit" in done.err
    salt, base = rows_of(done.out)
    assert salt["confidence"] == base["confidence"]
    kept = rows_of(kgnn("predict", model, "new.csv", "--read", "salts=keep").out)
    assert kept[0]["confidence"] != kept[1]["confidence"]


def test_columns_have_the_names_of_the_fit_where_a_table_has_them(kgnn, table, tmp_path):
    renamed = (tmp_path / table).read_text().replace("owner,smiles,label,id", "owner,made,kind,id")
    (tmp_path / "own.csv").write_text(renamed)
    read = ("--read", "smiles_column=made", "--read", "target_column=kind")
    assert kgnn("fit", "own.csv", "-o", "own", "--method", "wl", *read).code == 0
    done = kgnn("predict", "own", "own.csv")
    assert "--read smiles_column=made --read target_column=kind, as for the fit" in done.err
    assert len(rows_of(done.out)) == 16
    # A table with the usual name, and one where another column is asked for.
    (tmp_path / "usual.csv").write_text("smiles\nCCO\n")
    assert rows_of(kgnn("predict", "own", "usual.csv").out)[0]["smiles"] == "CCO"
    (tmp_path / "both.csv").write_text("made,other\nnothing,CCO\n")
    done = kgnn("predict", "own", "both.csv", "--read", "smiles_column=other")
    assert rows_of(done.out)[0]["made"] == "nothing"
    assert kgnn("evaluate", "own", "own.csv").code == 0


def test_directions_are_read_as_for_the_fit(kgnn, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = []
    for row in range(30):
        size, turns = 4 + row // 2, row % 2
        edges = [[i, i + 1][:: -1 if turns and i % 2 else 1] for i in range(size - 1)]
        rows.append({"nodes": size, "edges": edges, "target": turns})
    (tmp_path / "flow.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    asked = ("--method", "wl", "--read", "directed=true")
    assert "directions" in kgnn("fit", "flow.jsonl", "-o", "model", *asked).err
    done = kgnn("predict", "model", "flow.jsonl")
    assert "--read directed=true, as for the fit" in done.err
    assert [row["label"] for row in rows_of(done.out)] == ["0", "1"] * 15
    told = kgnn("predict", "model", "flow.jsonl", "--read", "directed=false")
    assert (told.code, "directed=True" in told.err) == (1, True)


def flow():
    rows = ({"nodes": n, "edges": [[i, i + 1] for i in range(n - 1)]} for n in range(3, 23))
    return "".join(json.dumps(row | {"target": row["nodes"] % 2}) + "\n" for row in rows)


def drugs():
    chem = pytest.importorskip("rdkit.Chem")
    made = [("alcohol", "C" * n + "O") for n in range(1, 11)]
    made += [("ether", "C" * n + "OC") for n in range(2, 12)]
    blocks = ((chem.MolToMolBlock(chem.MolFromSmiles(smiles)), kind) for kind, smiles in made)
    return "".join(f"{block}>  <label>\n{kind}\n\n$$$$\n" for block, kind in blocks)


@pytest.mark.parametrize(
    ("name", "content", "options", "unused"),
    [
        ("flow.jsonl", flow, ("--read", "directed=true"), ["edge directions"]),
        ("drugs.sdf", drugs, (), ["node attributes", "edge labels"]),
    ],
)
def test_what_a_method_cannot_use_is_said_once_and_wherever_a_model_is_shown(
    kgnn, tmp_path, monkeypatch, name, content, options, unused
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(content())
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        made = ("-o", "model", "--method", "ldp", "--report", "page.html")
        done = kgnn("fit", name, *made, *options)
    assert done.code == 0, done.err
    told = f"does not use the {' and '.join(unused)}"
    assert done.err.count(f"LDP {told} of") == 1
    assert json.loads(kgnn("model", "show", "model", "--json").out)["unused"] == unused
    assert unused[0] in kgnn("model", "show", "model").out
    assert f"The method {told}" in (tmp_path / "page.html").read_text()


def test_the_table_to_fill_in_shows_the_molecules(kgnn, model, table, tmp_path):
    assert kgnn("suggest", model, table, "-n", 3, "-o", "to_label.csv").code == 0
    rows = rows_of((tmp_path / "to_label.csv").read_text())
    given = rows_of((tmp_path / table).read_text())
    smiles = {row["id"]: (row["smiles"], row["owner"]) for row in given}
    assert len(rows) == 3
    assert all((row["smiles"], row["owner"]) == smiles[row["id"]] for row in rows)
    assert {row["label"] for row in rows} == {""}
