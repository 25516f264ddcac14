"""Pages show what is known, need nothing but themselves, and nothing in them can do harm."""

import json
import shutil
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

import kgnn
from kgnn.benchmark.record import Cell, Record
from kgnn.colors import DARK, LIGHT
from kgnn.errors import MissingExtraError
from kgnn.estimator.evidence import Evidence, Substructure
from kgnn.estimator.explanation import Explanation, Neighbor
from kgnn.estimator.novelty import Novelty
from kgnn.evaluation.metrics import quality
from kgnn.evaluation.model_facts import ModelFacts, RoundFacts, ShownGraph
from kgnn.graphs.drawing import Sketch
from kgnn.graphs.molecule_drawing import MOLECULE_NOTE
from kgnn.graphs.molecules import from_smiles
from kgnn.methods.wl import WL
from kgnn.reports.cases import case_records, class_names
from kgnn.reports.explanation_page import explanation_page
from kgnn.reports.model_page import model_page
from kgnn.reports.results import PAPER_DATASETS, Results
from kgnn.reports.results_page import Details, results_page
from tests.reports.cases import case, graph, record_with_cases
from tests.reports.pages import EVIL, Page
from tests.reports.stores import TABLE_2, TABLE_3, records, unfinished, with_metrics


def page_of(made, **options):
    return Page(results_page(Results(made), **options))


# Results.


@pytest.fixture(scope="module")
def whole():
    """A page with a bit of everything."""
    there = records([*TABLE_2, "ldp", *TABLE_3[:-1]], ["DD", "PROTEINS", "IMDB-BINARY"], range(3))
    there += records(["kgnn", "wl"], ["DD"], range(3), labels=0.2)
    there += records(TABLE_3, ["DD"], range(2), protocol="paper")
    there += [record_with_cases(case(), seed=9), unfinished("failed", "vat", "COLLAB", "no memory")]
    return page_of(there)


def test_everything_asked_for_is_there(whole):
    whole.check()
    titles = " ".join(whole.text["h2"])
    for words in ("In short", "Table 2", "Table 3", "twin", "Calibration", "Cost", "ranks", "cost"):
        assert words in titles, words
    for words in ("labels", "round", "Case study", "missing", "made", "paper's code"):
        assert words in titles, words
    assert "no memory" in whole.words


def test_each_number_leads_to_the_runs_behind_it(whole):
    groups = whole.data["groups"]
    buttons = [int(b["data-group"]) for b in whole.all("button") if "data-group" in b]
    assert len(buttons) > 100
    assert max(buttons) < len(groups)
    start = whole.whole.index('id="accuracy-on-the-split-of-the-paper-s-code"')
    inside = Page(
        whole.whole[whole.whole.index("<table", start) :].partition("</table>")[0] + "</table>"
    )
    ours = [groups[int(b["data-group"])] for b in inside.all("button")]
    assert {group["protocol"] for group in ours} == {"paper"}
    [minus] = {b["data-minus"] for b in whole.all("button") if "data-minus" in b} & {"0"}
    assert minus == "0"


def test_every_split_is_told_with_its_command():
    made = records(["kgnn", "wl"], ["DD"], range(3))
    made[0].result.update(coverage=91.0, set_size=1.25, calibration_error=0.0312, brier=0.4567)
    made[0].result.update(cpu_seconds=2.0, seconds_saved=3.0)
    results = Results(made)
    data = Details(results).data()
    splits = data["groups"][0]["splits"]
    assert [split[0] for split in splits] == [0, 1, 2]
    assert splits[0][4:9] == [91.0, 1.25, 0.0312, 0.4567, 5.0]
    for record, split in zip(results.groups[0].records, splits, strict=True):
        assert split[1] == round(record.result["accuracy"], 2)
        assert split[11] == record.cell.command  # the script counts
        assert data["shared"][split[12]] == record.versions
        assert data["shared"][split[13]] == record.machine
    assert len(data["shared"]) == len(Details(Results(made[:1])).data()["shared"])  # kept once


def test_strings_of_records_are_never_markup():
    cell = Cell(dataset=EVIL, fingerprint=EVIL, method=EVIL, parameters={EVIL: EVIL})
    [like] = records(["kgnn"], ["DD"], [0])
    told = {name: {EVIL: EVIL} for name in ("all_parameters", "versions", "machine")}
    cells = [
        replace(cell, method=method, dataset=dataset, fingerprint=dataset, parameters={}, labels=x)
        for method in (EVIL, "kgnn", "wl")
        for dataset in (EVIL, f"{EVIL} 2")
        for x in (0.1, 0.2)
    ]
    done = [Record(c, "done", dict(like.result), **told, finished=EVIL) for c in (cell, *cells)]
    kept = record_with_cases(case(EVIL, graph=EVIL, classes=[EVIL, EVIL]), dataset=EVIL)
    failed = replace(done[0], outcome="failed", reason=EVIL, cell=replace(cell, seed=5))
    page = page_of([*done, replace(kept, **told), failed], title=EVIL)
    page.check()
    assert len(page.all("script")) == 2
    assert page.text["h1"] == [EVIL]
    assert {EVIL: EVIL} in page.data["shared"]
    assert "49" not in page.text["h1"][0]  # what looks like a template is none


@pytest.mark.parametrize(
    "there",
    [
        records(["kgnn"], ["DD"], [0]),
        records(["wl"], ["mine.jsonl"], [0]),
        records(["kgnn"], ["DD"], [0, 1], protocol="paper"),
        records(["kgnn", "wl"], ["DD"], [0], labels=0.3),
        records(["kgnn"], ["DD"], [0], parameters={"hops": 1}),
        records(["kgnn", "wl"], ["DD"], [0]) + records(["gk"], ["COLLAB"], [0, 1]),
        [unfinished("failed", "vat", "DD", f"reason {i}", seed=i) for i in range(40)],
        [],
    ],
    ids=["one", "own", "paper", "labels", "set", "partial", "failed", "none"],
)
def test_any_part_of_a_store_makes_a_page(there):
    page = page_of(there)
    page.check()
    assert "nan" not in " ".join(page.text.get("td", []) + page.text.get("li", []))


def test_a_page_of_a_budget_alone_has_its_runs_and_figures():
    made = with_metrics(
        records(["kgnn", "wl"], ["DD"], range(3), protocol="budget", labels="5/class")
    )
    page = Page(results_page(Results(made, "roc_auc")))
    terms = ", 5 labels per class and no VAL"
    wanted = {f"ROC AUC{terms}", f"Expected and actual accuracy{terms}", "ROC AUC against cost"}
    assert wanted <= {*page.text["h2"]}
    assert "runs with 5 labels per class by the protocol budget" in page.words
    assert {(g["labels_in_words"], g["metric"]) for g in page.data["groups"]} == {
        ("5 labels per class", "ROC AUC")
    }


def test_a_full_benchmark_makes_a_small_page_in_seconds():
    there = records([*TABLE_2, "ldp", *TABLE_3[:-1]], PAPER_DATASETS, range(10))
    start = time.process_time()
    page = results_page(Results(there))
    assert time.process_time() - start < 12
    assert len(page.encode()) < 3e6
    assert page == results_page(Results(there))


def test_without_matplotlib_the_page_says_how_to_have_figures(monkeypatch):
    def missing(name):
        raise MissingExtraError.of("A figure", "matplotlib", "plot")

    monkeypatch.setattr("kgnn.reports.page.import_module", missing)
    page = page_of(records(["kgnn", "wl"], ["DD", "PROTEINS"], range(3)))
    page.check()
    assert "pip install 'kgnn[plot]'" in page.words
    assert "Accuracy" in page.text["h2"]


def test_a_case_is_drawn_beside_the_graphs_attended_to():
    huge = graph(1, "other", n_nodes=5000, weight=0.1)
    there = [record_with_cases(case(), seed=2), record_with_cases(case(attended=[huge]), seed=1)]
    there.append(record_with_cases(case(), dataset="PROTEINS", seed=3))
    kept = [(r.cell.dataset, r.cell.seed) for r in case_records(Results(there))]
    assert kept == [("PROTEINS", 3), ("DD", 1)]  # of each dataset its first split
    page = page_of(there)
    for told in ("class ring, weight 25.0 %", "class other, weight 50.0 %", "Too large to draw"):
        assert told in page.words, told
    bars = [float(bar["width"]) for bar in page.all("rect") if bar.get("height") == "8"]
    assert bars[:4] == [20.0, 70.0, 80.0, 30.0]
    assert class_names([case()]) == {0: "ring"}
    assert class_names([case(classes=["ring", "tree"])]) == {0: "ring", 1: "tree"}


# Models.


def shown(name, given=None, labels=("C", "O"), note="the model says b (90%)"):
    sketch = Sketch(name, 2, 1, (0, 1), ((0, 1),), labels)
    return ShownGraph(sketch, given, {"a": 0.1, "b": 0.9}, note)


@pytest.fixture
def facts():
    proba = np.array([[0.9, 0.1], [0.3, 0.7], [0.6, 0.4]])
    return ModelFacts(
        method="kgnn",
        parameters={"epochs": 5},
        data=["4 graphs", f"classes {EVIL}"],
        calibration="all labels are learned from",
        basis="3 labeled graphs",
        quality=quality(["a", "b", EVIL], proba, ["a", "b"]),
        rounds=[
            RoundFacts(0, None, {"gnn": 0.5, "memory": 0.75, "all": 0.7}),
            RoundFacts(21, 0.875, {"gnn": 0.6, "memory": 0.75, "all": 0.8}),
        ],
        ending="patience",
        labeled=10,
        examined=3,
        uncertain=[shown("u1")],
        n_suspicious=30,
        suspicious=[shown(f"s1{EVIL}", given=EVIL)],
        suggested=[shown("n1", note="stands for many")],
        made={"data": "molecules", "command": f"kgnn fit {EVIL}"},
    )


def test_the_page_of_a_model_tells_everything(facts):
    page = Page(model_page(facts))
    page.check()
    for told in (
        "Model of molecules",
        "4 graphs",
        "87.5",  # agreement of round 1
        "no longer rose",
        "u1",
        "Stands for many",
        "epochs=5",
        "Only 3 of 10 labels were examined",
        "30 are suspicious",
        "66.7 ± 27.2 % of 3 graphs right",
        "node 1: O",
        " ".join(EVIL.split()),  # as text
    ):
        assert told in page.words, told
    kinds = [cell.get("class") for cell in page.all("td")]
    assert (kinds.count("right"), kinds.count("wrong")) == (2, 1)


def test_a_model_without_rounds_or_held_out_labels_has_a_page(facts):
    bare = replace(
        facts, method="wl", quality=None, rounds=[], examined=0, uncertain=[], suspicious=[]
    )
    page = Page(model_page(bare))
    page.check()
    assert "Rounds" not in page.words
    assert "There are no held-out predictions to compare the labels with" in page.words
    assert "Most uncertain predictions" not in page.words


def test_labels_that_do_not_fit_into_nodes_have_a_legend(facts):
    long = Page(model_page(replace(facts, uncertain=[shown("u", labels=("carbon", "oxygen"))])))
    assert {"carbon", "oxygen"} <= {*long.text["span"]}
    assert "C" not in long.text["span"]


def test_molecules_are_drawn_as_such_and_told_in_the_words_of_chemists(facts):
    pytest.importorskip("rdkit")
    atoms = ("[CH2]", "[O]")
    bonded = replace(shown("u").sketch, node_labels=atoms, edge_labels=("=",))
    molecule = shown("u")._replace(sketch=bonded)
    page = model_page(replace(facts, uncertain=[molecule], suspicious=[], suggested=[]))
    assert 'class="bond"' in page
    assert "2 atoms, 1 bond." in page
    assert page.count(MOLECULE_NOTE) == 1
    assert MOLECULE_NOTE not in model_page(facts)


# Explanations.

_SKETCH = Sketch("g", 4, 3, (0, 1, 2, 3), ((0, 1), (1, 2), (2, 3)), ("a", "b", "a", "b"))
_PARTS = (
    Substructure("b(2 a)", 1, (1,), {"prediction": 2.0, "gnn": 1.5, "memory": 0.5}, 0.3),
    Substructure("a", 0, (0, 2), {"prediction": -0.7, "gnn": -0.6, "memory": -0.1}, 0.9),
)
_EXPLANATION = Explanation(
    "KGNN",
    _SKETCH,
    ("ring", "tree"),
    "ring",
    {"prediction": (0.8, 0.2), "gnn": (0.7, 0.3), "memory": (0.9, 0.1)},
    ("ring",),
    0.1,
    Novelty(0.0, (), 0),
    Evidence((0.0, 2.0, -1.0, 0.4), _PARTS, ()),
    (Neighbor(5, "near", "ring", 0.91, (0.5, 0.25)), Neighbor(2, "far", "tree", 0.3, (0.1, 0.2))),
    (_SKETCH, _SKETCH),
    (0.2, 0.3),
)


def test_the_page_of_an_explanation_shows_what_is_known():
    page = Page(explanation_page(_EXPLANATION))
    page.check()
    for told in (
        "Graph g: class ring",
        "probability 80.0%",
        "70.0 % GNN",
        "90.0 % memory",
        "Label set: ring.",
        "b(2 a)",
        "+2.00",
        "−0.70",
        "30.0% without",
        "class ring, kernel value 0.91, attention 37.5%",
        "graphs annotated by the model",
    ):
        assert told in page.words, told
    fills = [circle["fill"] for circle in page.all("circle")[:4]]
    assert "var(--s0,#d55e00) 0%" in fills[0]
    assert fills[1] == "var(--s1,#0072b2)"
    assert "var(--s0,#d55e00) 50%" in fills[2]
    assert "var(--s1,#0072b2) 20%" in fills[3]


@pytest.mark.parametrize(("value", "told"), [(711.3, "≥ +20"), (-20.0, "≤ −20"), (19.5, "+19.5")])
def test_evidence_beyond_its_bound_is_not_told_as_measured(value, told):
    part = Substructure("a", 0, (0,), {"prediction": 1.0, "gnn": value}, 0.0)
    evidence = Evidence((0.0,) * 4, (part,), ())
    assert f"GNN {told};" in explanation_page(replace(_EXPLANATION, evidence=evidence))


def test_nothing_that_an_explanation_quotes_is_markup():
    page = Page(
        explanation_page(
            replace(
                _EXPLANATION,
                classes=(EVIL, "tree"),
                predicted=EVIL,
                label_set=(EVIL,),
                graph=replace(_SKETCH, name=EVIL, node_labels=("<", ">", "&", '"')),
                novelty=Novelty(1.0, (EVIL,), 0),
                evidence=replace(
                    _EXPLANATION.evidence,
                    substructures=(replace(_PARTS[0], text=EVIL),),
                    notes=(EVIL,),
                ),
                neighbors=(replace(_EXPLANATION.neighbors[0], name=EVIL, label=EVIL),),
                neighbor_graphs=(replace(_SKETCH, name=EVIL),),
            )
        )
    )
    page.check()
    assert len(page.all("script")) == 1
    [warning] = [p for p in page.all("p") if p.get("class") == "warning"]
    assert warning


def test_without_a_memory_there_are_similar_graphs_and_no_hops():
    plain = replace(
        _EXPLANATION,
        neighbors=tuple(replace(near, attention=()) for near in _EXPLANATION.neighbors),
        elsewhere=(),
        proba={"prediction": (0.8, 0.2)},
        label_set=None,
        evidence=Evidence((0.0,) * 4, (), ("no parts",)),
    )
    page = Page(explanation_page(plain))
    page.check()
    for told in ("Similar labeled graphs", "No label set", "None was found.", "no parts"):
        assert told in page.words, told
    assert "hop 1" not in page.words
    tiny = Sketch("tiny", 0, 0, (), (), ())
    assert "nan" not in explanation_page(replace(plain, graph=tiny, evidence=Evidence((), (), ())))


@pytest.fixture(scope="module")
def alcohol(tmp_path_factory):
    """What a saved model says of a molecule."""
    pytest.importorskip("rdkit")
    alcohols = ["CCO", "CCCO", "CC(C)O", "OCCO", "OC1CCCC1"]
    amines = ["CCN", "CCCN", "CC(C)N", "NCCN", "NC1CCCC1"]
    drugs = from_smiles(alcohols + amines, ["alcohol"] * 5 + ["amine"] * 5)
    folder = tmp_path_factory.mktemp("model") / "model"
    WL().fit(drugs).save(folder)
    return kgnn.open_model(folder).explain(from_smiles(["OCCc1ccccc1"])[0], neighbors=3)


def test_the_page_of_a_molecule_draws_it_and_speaks_of_atoms(alcohol):
    page = Page(explanation_page(alcohol))
    page.check()
    kinds = [circle["class"] for circle in page.all("circle")]
    graphs = (alcohol.graph, *alcohol.neighbor_graphs)
    assert kinds == ["halo"] * sum(len(graph.nodes) for graph in graphs)
    assert page.words.count(MOLECULE_NOTE) == 1
    for told in ("9 atoms, 9 bonds", "Numbers are positions of atoms", "atom 0: [OH]", "; atom 0;"):
        assert told in page.words, told
    assert "node" not in " ".join(page.text["small"])
    assert any("[OH]" in text for text in page.text["code"])


def test_without_rdkit_the_page_of_a_molecule_has_the_usual_drawings(monkeypatch, alcohol):
    monkeypatch.setitem(sys.modules, "rdkit", None)
    page = Page(explanation_page(alcohol))
    page.check()
    assert MOLECULE_NOTE not in page.words
    graphs = (alcohol.graph, *alcohol.neighbor_graphs)
    kinds = [circle["class"] for circle in page.all("circle")]
    assert kinds == ["node"] * sum(len(graph.nodes) for graph in graphs)


# As a browser shows them.


def luminance(color):
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("colors", [LIGHT, DARK], ids=["light", "dark"])
def test_words_can_be_read_on_every_ground(colors):
    for ground in ("paper", "raised"):
        for ink in ("ink", "soft", "accent", "bad"):
            low, high = sorted(luminance(colors[name]) for name in (ground, ink))
            assert (high + 0.05) / (low + 0.05) > 4.5, (ground, ink)


@pytest.mark.skipif(not shutil.which("chromium"), reason="needs chromium")
@pytest.mark.parametrize("width", [1280, 390])
def test_a_browser_shows_pages_without_complaint_and_nothing_is_cut_off(tmp_path, facts, width):
    made = records(["kgnn", "wl", "sp"], ["DD", "PROTEINS"], range(3))
    pages = {"results": results_page(Results([*made, record_with_cases(case())]))}
    pages |= {"model": model_page(facts), "explanation": explanation_page(_EXPLANATION)}
    for name, text in pages.items():
        (tmp_path / f"{name}.html").write_text(text, encoding="utf-8")
    frames = "".join(
        f"<iframe src={name}.html width={width} height=800></iframe>" for name in pages
    )
    script = """
    const wide = [...document.querySelectorAll("iframe")].map(f => {
      const root = f.contentDocument.documentElement;
      return [root.scrollWidth - root.clientWidth,
              f.contentDocument.querySelectorAll("svg text").length,
              f.contentWindow.getComputedStyle(f.contentDocument.body).margin]; });
    document.body.textContent = JSON.stringify(wide);
    """
    outer = f"<body>{frames}<script>onload = () => {{{script}}}</script></body>"
    (tmp_path / "outer.html").write_text(outer)
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files"]
    done = subprocess.run(
        ["chromium", *options, "--enable-logging=stderr", "--dump-dom", tmp_path / "outer.html"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    told = json.loads(
        done.stdout.partition("[[")[1] + done.stdout.partition("[[")[2].partition("]]")[0] + "]]"
    )
    assert [beyond for beyond, _, _ in told] == [0, 0, 0]
    assert all(texts > 3 for _, texts, _ in told)
    assert "Content Security Policy" not in done.stderr
