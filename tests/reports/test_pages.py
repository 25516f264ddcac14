"""Pages show what is known, need nothing but themselves, and nothing in them can do harm."""

import base64
import hashlib
import json
import re
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from html.parser import HTMLParser

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
from kgnn.reports.cases import case_records
from kgnn.reports.explanation_page import explanation_page
from kgnn.reports.model_page import model_page
from kgnn.reports.results import PAPER_DATASETS, Results
from kgnn.reports.results_page import Details, results_page
from tests.benchmark.cases import case, graph, record_with_cases
from tests.benchmark.stores import TABLE_2, TABLE_3, records, unfinished, with_metrics

EVIL = (
    "</script></style><script>alert('x')</script>\"'`<img src=x onerror=alert(1)>&amp;{{ 7*7 }}$x$"
)
_VOID = {"meta", "br", "hr", "input", "link", "img"}


class Page(HTMLParser):
    """Elements with their attributes, and text by element; everything that is opened is closed."""

    def __init__(self, text):
        super().__init__()
        self.elements = []
        self.text = {}
        self.open = []
        self.whole = text
        self.feed(text)
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open:
            self.text.setdefault(self.open[-1], []).append(data)

    def all(self, tag):
        """Return the attributes of all elements of a kind."""
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def words(self):
        """All that is read, elements apart."""
        shown = (text for tag, text in self.text.items() if tag not in ("script", "style"))
        return " ".join(" ".join(" ".join(each).split()) for each in shown)

    @property
    def data(self):
        """What the page's script reads."""
        return json.loads(self.text["script"][0])

    def check(self):
        """It needs nothing but itself, runs nothing but its own script, and its links lead on."""
        [policy] = [m["content"] for m in self.all("meta") if m.get("http-equiv")]
        assert policy.startswith("default-src 'none'")
        for element, rule in (("script", "script-src"), ("style", "style-src")):
            digest = hashlib.sha256(self.text[element][-1].encode()).digest()
            assert f"{rule} 'sha256-{base64.b64encode(digest).decode()}'" in policy
        assert len(self.all("style")) == 1
        assert not {"img", "link", "iframe", "object"} & {tag for tag, _ in self.elements}
        ids = [attributes["id"] for _, attributes in self.elements if "id" in attributes]
        for tag, attributes in self.elements:
            assert not {"src", "style"} & attributes.keys(), tag
            assert not [name for name in attributes if name.startswith("on")]
            link = attributes.get("href", attributes.get("xlink:href", "#"))
            assert link.startswith("#"), link
        links = [a["href"][1:] for a in self.all("a")]
        assert links
        assert set(links) <= set(ids)
        assert not re.search(r"@import|url\((?!#)", self.whole)
        for drawn in self.all("svg"):
            assert drawn.get("aria-hidden") or (drawn["role"] == "img" and drawn["aria-label"])


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
    table = whole.whole[whole.whole.index("<table", start) :].partition("</table>")[0]
    ours = [groups[int(b["data-group"])] for b in Page(f"{table}</table>").all("button")]
    assert {group["facts"]["protocol"] for group in ours} == {"paper"}
    assert "0" in {b.get("data-minus") for b in whole.all("button")}


def test_every_run_is_told_with_its_command():
    made = records(["kgnn", "wl"], ["DD"], range(3))
    made[0].result.update(coverage=91.0, set_size=1.25, calibration_error=0.0312, brier=0.4567)
    made[0].result.update(cpu_seconds=2.0, seconds_saved=3.0, validation_accuracy=None)
    results = Results(made)
    data = Details(results).data()
    group, of = data["groups"][0], results.groups[0].records
    first = dict(zip(data["headings"], group["runs"][0], strict=True))
    assert [first[name] for name in ("split", "VAL %", "CPU s")] == ["0", "–", "5.0"]
    quality = ("in label set %", "set size", "ECE %", "Brier")
    assert [first[name] for name in quality] == ["91.0", "1.25", "3.1", "0.457"]
    assert [run[1] for run in group["runs"]] == [f"{r.result['accuracy']:.1f}" for r in of]
    assert group["commands"] == [record.cell.command for record in of]
    shared = data["shared"]
    assert [shared[at] for at in group["versions"]] == [of[0].versions]
    assert [shared[at] for at in group["machines"]] == [of[0].machine]
    assert len(shared) == len(Details(Results(made[:1])).data()["shared"])  # kept once


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
    for group in page.data["groups"]:
        assert group["facts"]["labels"] == "5 labels per class"
        assert "ROC AUC" in group["facts"]


def test_a_full_benchmark_makes_a_small_page_in_seconds():
    there = records([*TABLE_2, "ldp", *TABLE_3[:-1]], PAPER_DATASETS, range(10))
    start = time.process_time()
    page = results_page(Results(there))
    assert time.process_time() - start < 12
    assert len(page.encode()) < 3e6


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


def test_a_page_of_a_model_has_only_what_there_is_to_show(facts):
    bare = replace(
        facts, method="wl", quality=None, rounds=[], examined=0, uncertain=[], suspicious=[]
    )
    page = Page(model_page(bare))
    page.check()
    assert not {"Rounds", "Most uncertain predictions"} & {*page.text["h2"]}
    assert "There are no held-out predictions to compare the labels with" in page.words
    # Labels that do not fit into nodes have a legend.
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


def test_the_page_of_a_molecule_draws_it_and_speaks_of_atoms(monkeypatch, tmp_path):
    pytest.importorskip("rdkit")
    alcohols = ["CCO", "CCCO", "CC(C)O", "OCCO", "OC1CCCC1"]
    amines = ["CCN", "CCCN", "CC(C)N", "NCCN", "NC1CCCC1"]
    drugs = from_smiles(alcohols + amines, ["alcohol"] * 5 + ["amine"] * 5)
    WL().fit(drugs).save(tmp_path / "model")
    model = kgnn.open_model(tmp_path / "model")
    alcohol = model.explain(from_smiles(["OCCc1ccccc1"])[0], neighbors=3)
    page = Page(explanation_page(alcohol))
    page.check()
    n_nodes = sum(len(graph.nodes) for graph in (alcohol.graph, *alcohol.neighbor_graphs))
    assert [circle["class"] for circle in page.all("circle")] == ["halo"] * n_nodes
    assert page.words.count(MOLECULE_NOTE) == 1
    for told in ("9 atoms, 9 bonds", "Numbers are positions of atoms", "atom 0: [OH]", "; atom 0;"):
        assert told in page.words, told
    assert "node" not in " ".join(page.text["small"])
    assert any("[OH]" in text for text in page.text["code"])
    monkeypatch.setitem(sys.modules, "rdkit", None)
    plain = Page(explanation_page(alcohol))
    plain.check()
    assert MOLECULE_NOTE not in plain.words
    assert [circle["class"] for circle in plain.all("circle")] == ["node"] * n_nodes


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
    frames = "".join(f"<iframe src={n}.html width={width} height=800></iframe>" for n in pages)
    script = """onload = () => {
    const seen = [...document.querySelectorAll("iframe")].map(({ contentDocument: page }) => {
      page.querySelector("[data-minus]")?.click();  // how a number was made
      const root = page.documentElement, shown = page.querySelector("dialog[open] .detail");
      return [root.scrollWidth - root.clientWidth, page.querySelectorAll("svg text").length > 3,
              shown && shown.querySelectorAll("table").length]; });
    document.body.textContent = `seen:${JSON.stringify(seen)}:seen`; }"""
    (tmp_path / "outer.html").write_text(f"<body>{frames}<script>{script}</script></body>")
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files"]
    done = subprocess.run(
        ["chromium", *options, "--enable-logging=stderr", "--dump-dom", tmp_path / "outer.html"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    results, *others = json.loads(done.stdout.partition("seen:")[2].partition(":seen")[0])
    assert results == [0, True, 2]  # the differences to a method, and the runs
    assert others == [[0, True, None]] * 2
    assert "Content Security Policy" not in done.stderr
