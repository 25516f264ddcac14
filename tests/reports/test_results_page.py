import base64
import hashlib
import json
import subprocess
import sys
import time
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from kgnn.benchmark.record import Cell, Record
from kgnn.reports.results import PAPER_DATASETS, Results
from kgnn.reports.results_page import Details, build_page
from kgnn.reports.table import TableCell
from tests.reports.cases import case, record_with_cases
from tests.reports.stores import TABLE_2, TABLE_3, records, unfinished, with_metrics

_EVIL = "</script></style><script>alert('x')</script>\"'`<img src=x onerror=alert(1)>&amp;$title"
_VOID = {"meta", "br", "hr", "input", "link", "img"}


class Page(HTMLParser):
    """A page as a browser takes it: elements with attributes, text by element."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.text, self.open = [], {}, []
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
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def data(self):
        return json.loads(self.text["script"][0])


@pytest.fixture(scope="module")
def whole():
    """A page with a bit of everything."""
    there = records([*TABLE_2, "ldp", *TABLE_3[:-1]], ["DD", "PROTEINS", "IMDB-BINARY"], range(3))
    there += records(["kgnn", "wl"], ["DD"], range(3), labels=0.2)
    there += records(TABLE_3, ["DD"], range(2), protocol="paper")
    there += [record_with_cases(case(), seed=9), unfinished("failed", "vat", "COLLAB", "no memory")]
    return build_page(there)


def evil_records():
    cell = Cell(
        dataset=_EVIL, fingerprint=_EVIL, method=_EVIL, parameters={_EVIL: _EVIL}, protocol="fair"
    )
    [like] = records(["kgnn"], ["DD"], [0])
    told = {
        "all_parameters": {_EVIL: _EVIL},
        "versions": {_EVIL: _EVIL},
        "machine": {_EVIL: _EVIL},
        "finished": _EVIL,
    }
    usual = [replace(cell, method=method, parameters={}) for method in (_EVIL, "kgnn", "wl")]
    cells = [cell, *usual, *(replace(each, labels=0.2) for each in (cell, *usual))]
    cells += [replace(each, dataset=f"{_EVIL} 2") for each in usual]
    done = [Record(each, "done", dict(like.result), **told) for each in cells]
    kept = record_with_cases(case(_EVIL, graph=_EVIL, classes=[_EVIL, _EVIL]), dataset=_EVIL)
    failed = [replace(each, outcome="failed", reason=_EVIL) for each in done[:1]]
    failed[0] = replace(failed[0], cell=replace(cell, seed=5))
    return [
        *done,
        replace(kept, **told),
        *failed,
        replace(failed[0], cell=replace(cell, protocol=_EVIL)),
    ]


def test_strings_of_records_are_never_markup():
    honest = Page(build_page(records(["kgnn"], ["DD"], [0])))
    page = Page(build_page(evil_records(), title=_EVIL))
    assert len(page.all("script")) == len(honest.all("script")) == 2
    assert len(page.all("style")) == 1
    assert not page.all("img")
    for _, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on")]
    assert page.text["h1"] == [_EVIL]
    assert {_EVIL: _EVIL} in page.data["shared"]


def test_only_our_own_script_and_style_may_run(whole):
    page = Page(whole)
    [policy] = [m["content"] for m in page.all("meta") if m.get("http-equiv")]
    for element, rule in (("script", "script-src"), ("style", "style-src")):
        digest = hashlib.sha256(page.text[element][-1].encode()).digest()
        assert f"{rule} 'sha256-{base64.b64encode(digest).decode()}'" in policy
    assert policy.startswith("default-src 'none'")
    assert not [a for _, a in page.elements if "style" in a]  # the policy would forbid them


def test_the_page_needs_nothing_but_itself(whole):
    page = Page(whole)
    for tag, attributes in page.elements:
        assert "src" not in attributes, tag
        assert attributes.get("href", "#").startswith("#"), tag
    assert "@import" not in whole
    assert "url(" not in whole


def test_links_lead_to_sections(whole):
    page = Page(whole)
    names = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(names) == len(set(names))
    targets = [attributes["href"][1:] for attributes in page.all("a")]
    assert len(targets) > 10
    assert set(targets) <= set(names)


def test_everything_asked_for_is_there(whole):
    page = Page(whole)
    titles = page.text["h2"]
    for words in ("In short", "Table 2", "Table 3", "twin", "Calibration", "Cost", "ranks", "cost"):
        assert any(words in title for title in titles), words
    for words in ("labels", "co-training", "Case study", "missing", "made", "paper's code"):
        assert any(words in title for title in titles), words
    assert "no memory" in whole


def test_each_number_leads_to_the_runs_behind_it(whole):
    page = Page(whole)
    groups = page.data["groups"]
    buttons = [int(b["data-group"]) for b in page.all("button") if "data-group" in b]
    assert len(buttons) > 100
    assert max(buttons) < len(groups)
    start = whole.index('id="accuracy-on-the-split-of-the-paper-s-code"')
    inside = Page(whole[whole.index("<table", start) : whole.index("</table>", start) + 8])
    ours = [groups[int(b["data-group"])] for b in inside.all("button")]
    assert ours
    assert {group["protocol"] for group in ours} == {"paper"}


def test_other_settings_of_any_method_lead_to_their_runs():
    made = records(["wl"], ["cycles-and-trees"], [0, 1], parameters={"iterations": [1]})
    page = Page(build_page(made + records(["wl"], ["DD"], [0], protocol="paper", labels=0.2)))
    assert "WL with other settings" in page.text["h2"]
    told = [
        page.data["groups"][int(b["data-group"])] for b in page.all("button") if "data-group" in b
    ]
    terms = [(each["title"], each["protocol"], each["labels"]) for each in told]
    assert ("WL on cycles-and-trees", "fair", 0.1) in terms
    assert ("WL on DD", "paper", 0.2) in terms
    assert {"iterations": [1]} in [each["parameters"] for each in told]


def test_a_page_of_a_budget_alone_has_its_runs_and_figures():
    made = [
        record
        for labels in (20, "5/class")
        for record in with_metrics(
            records(["kgnn", "wl"], ["DD"], range(3), protocol="budget", labels=labels)
        )
    ]
    page = Page(build_page(made, metric="roc_auc"))
    assert "ROC AUC, 5 labels per class and no VAL" in page.text["h2"]
    assert "ROC AUC against cost" in page.text["h2"]
    groups = page.data["groups"]
    assert {(g["labels"], g["labels_in_words"], g["metric"]) for g in groups} == {
        (20, "20 labels", "ROC AUC"),
        ("5/class", "5 labels per class", "ROC AUC"),
    }
    assert groups[0]["splits"][0][1] == round(made[0].result["roc_auc"], 2)
    assert any("data-group" in button for button in page.all("button"))


def test_figures_are_told_to_those_who_cannot_see(whole):
    charts = Page(whole).all("svg")
    assert len(charts) > 8
    assert all(c["role"] == "img" and c["aria-label"] for c in charts)


@pytest.mark.parametrize(
    "there",
    [
        records(["kgnn"], ["DD"], [0]),
        records(["wl"], ["mine.jsonl"], [0]),
        records(["kgnn"], ["DD"], [0, 1], protocol="paper"),
        records(["kgnn", "wl"], ["DD"], [0], labels=0.3),
        records(["kgnn"], ["DD"], [0], parameters={"hops": 1}),
        records(["kgnn", "wl"], ["DD"], [0]) + records(["gk"], ["COLLAB"], [0, 1]),
        [unfinished("failed", "vat", "DD", "no memory")],
        [unfinished("failed", "vat", "DD", f"reason {i}", seed=i) for i in range(40)],
        [],
    ],
    ids=["one", "own", "paper", "labels", "set", "partial", "failed", "many-failed", "none"],
)
def test_any_part_of_a_store_makes_a_page(there):
    page = Page(build_page(there))
    assert page.text["h1"]
    assert "nan" not in " ".join(page.text.get("td", []) + page.text.get("li", []))


def test_the_same_records_make_the_same_page():
    there = records(["kgnn", "wl"], ["DD"], [0, 1])
    assert build_page(there) == build_page(there)


def test_a_full_benchmark_makes_a_small_page_in_seconds():
    methods = [*TABLE_2, "ldp", *TABLE_3[:-1]]
    there = records(methods, PAPER_DATASETS, range(10))
    start = time.process_time()
    page = build_page(there)
    assert time.process_time() - start < 10
    assert len(page.encode()) < 3e6


def test_building_a_page_does_not_load_torch():
    code = (
        "import sys; from tests.reports.stores import records; "
        "from kgnn.reports.results_page import build_page; "
        "build_page(records(['kgnn', 'wl'], ['DD', 'PROTEINS'], [0, 1])); "
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_every_split_is_told_with_its_command():
    results = Results(records(["kgnn", "wl"], ["DD"], range(3)))
    data = Details(results).data()
    first = data["groups"][0]
    assert [split[0] for split in first["splits"]] == [0, 1, 2]
    for record, split in zip(results.groups[0].records, first["splits"], strict=True):
        assert split[1] == round(record.result["accuracy"], 2)
        assert record.cell.command in split
        assert data["shared"][split[-2]] == record.versions
        assert data["shared"][split[-1]] == record.machine


def test_every_number_that_opens_the_details_is_in_them():
    made = records(["kgnn"], ["DD"], [0])
    result = made[0].result
    result.update(coverage=91.0, set_size=1.25, calibration_error=0.0312, brier=0.4567)
    result.update(cpu_seconds=2.0, seconds_saved=3.0)
    [split] = Details(Results(made)).data()["groups"][0]["splits"]
    assert split[4:9] == [91.0, 1.25, 0.0312, 0.4567, 5.0]
    assert split[11] == made[0].cell.command  # the script counts


def test_positions_tell_settings_apart():
    there = records(["kgnn"], ["DD"], [0]) + records(["kgnn"], ["DD"], [0], parameters={"hops": 1})
    details = Details(Results(there))
    at = details.position(
        TableCell(method="kgnn", dataset="DD", parameters={"hops": 1}), "fair", 0.1
    )
    assert details.data()["groups"][at]["parameters"] == {"hops": 1}


def test_what_records_share_is_kept_once():
    few = Details(Results(records(["kgnn"], ["DD"], range(2)))).data()
    many = Details(Results(records(["kgnn"], ["DD", "PROTEINS"], range(50)))).data()
    assert len(many["shared"]) == len(few["shared"])
    assert len(json.dumps(many)) < 300 * 100
