"""The workbench as a person uses it, in Chromium."""

from __future__ import annotations

import csv
import json
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kgnn.graphs.datasets.toy import cycles_and_trees
from kgnn.graphs.molecules import from_smiles
from kgnn.graphs.packing import concatenate, pack
from kgnn.graphs.readers import jsonl
from kgnn.methods.wl_linear import WLLinear

_CHROMIUM = shutil.which("chromium")
playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
pytestmark = pytest.mark.skipif(_CHROMIUM is None, reason="needs the browser chromium")

_HOSTILE = "<script>document.title='broken'</script>"


class Server:
    """A command that serves pages, in a process of its own."""

    def __init__(self, folder: Path, *words: str) -> None:
        self._words, self._folder = [*words, "--port", "0"], folder
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "kgnn", *self._words],
            stderr=subprocess.PIPE,
            text=True,
            cwd=self._folder,
        )
        told = ""
        for line in self.process.stderr:
            told += line
            if found := re.search(r"(http://127\.0\.0\.1:\d+)/", line):
                self.address = found[1]  # and again, when it is started again
                self._words[self._words.index("--port") + 1] = self.address.rpartition(":")[2]
                return
        pytest.fail(f"the server has ended: {told}")

    def end(self, how: signal.Signals) -> int:
        self.process.send_signal(how)
        code = self.process.wait(timeout=30)
        self.process.stderr.close()
        return code


def _labeling(folder: Path, data: str, *words: str) -> Server:
    quick = ["--method", "ldp", "--set", "trees=20", "--no-browser", *words]
    return Server(folder, "label", data, "-o", "project", *quick)


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as running:
        options = ["--no-sandbox", "--disable-gpu"]
        browser = running.chromium.launch(executable_path=_CHROMIUM, args=options)
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser):
    """A function that opens a page, which then may neither complain nor ask another host."""
    complaints, contexts = [], []

    def open_at(server, path="/", **options):
        context = browser.new_context(viewport={"width": 1280, "height": 800}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))

        def listen(message):
            # A killed server, and refusals that a test asks for.
            is_expected = any(each in message.text for each in ("net::ERR_", "409", "422"))
            if message.type in ("error", "warning") and not is_expected:
                complaints.append(message.text)

        page.on("console", listen)

        def check(request):
            if not request.url.startswith((server.address, "blob:", "data:")):
                complaints.append(f"asked {request.url}")

        page.on("request", check)
        page.goto(server.address + path)
        return page

    yield open_at
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with cycles and trees, one with a hostile name, and a graph of 5,000 nodes."""
    folder = tmp_path_factory.mktemp("browser")
    graphs = cycles_and_trees(60)
    names = [f"{graph.target} {graph.row}" for graph in graphs]
    names[7] = _HOSTILE
    rng = np.random.default_rng(0)
    ends = np.arange(1, 5000)
    starts = np.array([rng.integers(max(0, end - 30), end) for end in ends])
    large = pack("large", [5000], starts, ends, targets=["tree"], graph_names=["tree of 5,000"])
    graphs = concatenate([replace(graphs, graph_names=np.array(names)), large])
    jsonl.write(graphs, folder / "graphs.jsonl")
    return folder


@pytest.fixture(scope="module")
def server(folder):
    server = _labeling(folder, "graphs.jsonl", "--without-targets", "--every", "0")
    yield server
    assert server.end(signal.SIGTERM) == 0


def _until(page, condition: str, seconds: float = 60.0) -> None:
    """Wait until a condition holds; playwright's own way needs eval, which pages forbid."""
    end = time.monotonic() + seconds
    while not page.evaluate(condition):
        assert time.monotonic() < end, f"{condition} does not become true"
        page.wait_for_timeout(20)


def _name(page) -> str:
    return page.text_content("#name")


def _truth(name: str) -> str:
    """Return the key of the class of a graph: classes are in the order of the alphabet."""
    return "1" if name.startswith("cycle") or name == _HOSTILE and _is_cycle_7() else "2"


def _is_cycle_7() -> bool:
    return cycles_and_trees(60)[7].target == "cycle"


def _ready(page) -> None:
    page.wait_for_selector("#paper svg")
    page.wait_for_selector("#classes button")


def _saved(page) -> None:
    _until(page, "document.getElementById('saved').textContent === 'saved'")


def _labeled(server) -> dict[str, str]:
    import httpx

    rows = csv.DictReader(httpx.get(f"{server.address}/labels.csv").text.splitlines())
    return {row["id"]: row["label"] or row["answer"] for row in rows}


def test_twenty_graphs_are_labeled_by_keyboard_undone_learned_from_and_kept(server, open_page):
    page = open_page(server)
    _ready(page)
    given, slowest = {}, 0.0
    for _ in range(20):
        _until(page, "document.querySelector('#paper svg')")
        name = _name(page)
        key = _truth(name)
        given[name] = {"1": "cycle", "2": "tree"}[key]
        took = page.evaluate(
            """key => { const start = performance.now();
            document.body.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
            return [performance.now() - start, document.getElementById("name").textContent]; }""",
            key,
        )
        slowest = max(slowest, took[0])
        assert took[1] != name
        _until(page, "document.getElementById('name').textContent !== '…'")
    assert slowest < 50
    _saved(page)
    assert _labeled(server) == given

    last = list(given)[-1]
    page.keyboard.press("u")
    assert _name(page) == last
    _until(page, "document.getElementById('count').textContent.startsWith('19 ')")
    assert last not in _labeled(server)
    page.keyboard.press("x")
    _until(page, "document.getElementById('count').textContent.startsWith('20 ')")
    assert _labeled(server)[last] == "invalid"

    # Nobody sees what the model thinks before asking.
    assert page.is_hidden("#opinion")
    page.goto(f"{server.address}/learn")
    page.click("#learn")
    _until(page, "document.querySelectorAll('#curve .point').length === 1", 120)
    assert "19" in page.text_content("#models")

    server.end(signal.SIGKILL)
    server.start()
    assert _labeled(server) == {**given, last: "invalid"}
    page = open_page(server)
    _ready(page)
    _until(page, "document.getElementById('status').textContent.includes('expected')")
    assert _name(page) not in given
    page.keyboard.press("o")
    page.wait_for_selector("#opinion .meter")
    page.keyboard.press("e")
    page.wait_for_selector("#evidence .cards svg", timeout=30_000)

    for _ in range(8):
        page.keyboard.press(_truth(_name(page)))
        _until(page, "document.getElementById('name').textContent !== '…'")
    _saved(page)
    page.goto(f"{server.address}/learn")
    page.click("#learn")
    _until(page, "document.querySelectorAll('#curve .point').length === 2")
    with page.expect_download() as download:
        page.click("text=Download labels.csv")
    rows = list(csv.DictReader(Path(download.value.path()).read_text().splitlines()))
    assert len(rows) == 28


def test_evidence_that_arrives_late_is_not_shown_beside_another_graph(server, open_page):
    page, held = open_page(server), []
    _ready(page)
    page.route("**/evidence", lambda route: held.append(route))
    first = _name(page)
    for n_held in (1, 2):
        page.keyboard.press("e")
        while len(held) < n_held:
            page.wait_for_timeout(20)
        if n_held == 1:
            page.keyboard.press(" ")
            _until(page, f"document.getElementById('name').textContent !== {first!r}")
    held[0].fulfill(content_type="text/html", body="<p>of the first</p>")
    page.wait_for_timeout(200)
    assert "first" not in page.text_content("#evidence")
    held[1].fulfill(content_type="text/html", body="<p>its own</p>")
    _until(page, "document.getElementById('evidence').textContent === 'its own'")


def test_an_evidence_that_cannot_be_fetched_is_told_where_it_was_asked_for(server, open_page):
    page = open_page(server)
    _ready(page)
    page.route("**/evidence", lambda route: route.abort())
    page.keyboard.press("e")
    page.wait_for_selector("#evidence .warning")


def test_two_windows_ask_about_different_graphs_and_neither_overwrites_the_other(server, open_page):
    one, other = open_page(server), open_page(server)
    for page in (one, other):
        _ready(page)
    assert _name(one) != _name(other)
    key = one.evaluate(
        "fetch('/api/table').then(r => r.json()).then(t => t.graph[t.answer.indexOf(null)])"
    )
    for page in (one, other):
        page.goto(f"{server.address}/explain/{key}")
        page.wait_for_selector("#classes button")
        page.wait_for_selector("#history li")
    # The second window does not know yet what the first one says.
    other.evaluate("window.stop()")
    other.route("**/api/graphs/*", lambda route: route.abort())
    one.click("#classes button >> nth=0")
    one.wait_for_selector("#classes button[aria-pressed=true]")
    other.unroute("**/api/graphs/*")
    before = one.evaluate(f"fetch('/api/graphs/{key}').then(r => r.json()).then(g => g.answer)")
    status = other.evaluate(
        """key => fetch("/api/answers", {
        method: "POST", headers: {"content-type": "application/json"},
        body: JSON.stringify({action: "late", answers: [{graph: key, kind: "unsure", seen: 0}]})})
        .then(r => r.status)""",
        key,
    )
    assert status == 409
    after = one.evaluate(f"fetch('/api/graphs/{key}').then(r => r.json()).then(g => g.answer)")
    assert after == before


def test_graphs_are_explored_filtered_and_labeled_together(server, open_page):
    page = open_page(server, "/explore")
    page.wait_for_selector("#grid .tile svg")
    _until(page, "document.getElementById('found').textContent.startsWith('61 graphs')")
    page.fill("[name=name]", "<SCRIPT>")
    _until(page, "document.getElementById('found').textContent.startsWith('1 of')")
    assert page.text_content("#grid a") == _HOSTILE
    assert page.title() != "broken"
    page.fill("[name=name]", "")
    page.select_option("[name=answer]", "none")
    n = 61 - len(_labeled(server))
    _until(page, f"document.getElementById('found').textContent.startsWith('{n} ')")
    for number in range(3):
        page.click(f"#grid .tile figcaption >> nth={number}", position={"x": 60, "y": 30})
    assert page.text_content("#selected") == "3 selected"
    page.click("#bulk [data-bulk=unsure]")
    _until(page, f"document.getElementById('found').textContent.startsWith('{n - 3} ')")
    page.click("#bulk-undo")
    _until(page, f"document.getElementById('found').textContent.startsWith('{n} ')")
    page.wait_for_selector("#legend li")
    box = page.locator("#map").bounding_box()
    inset = 7  # the corners are round
    page.mouse.move(box["x"] + inset, box["y"] + inset)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - inset, box["y"] + box["height"] - inset)
    page.mouse.up()
    assert page.text_content("#selected") == f"{n} selected"
    with page.expect_download() as download:
        page.click("#csv")
    assert len(Path(download.value.path()).read_text().splitlines()) == n + 1


def test_a_large_graph_and_a_hostile_name_are_shown(server, open_page):
    import httpx

    table = httpx.get(f"{server.address}/api/table").json()
    for name in ("tree of 5,000", _HOSTILE):
        key = table["graph"][table["name"].index(name)]
        start = time.perf_counter()
        page = open_page(server, f"/explain/{key}")
        page.wait_for_selector("#paper svg circle")
        assert _name(page) == name
        if name != _HOSTILE:
            assert time.perf_counter() - start < 5
            assert "groups" in page.text_content("#size")
        assert page.title() != "broken"


def test_a_drawing_is_zoomed_and_moved_by_keys_buttons_wheel_and_mouse(server, open_page):
    page = open_page(server)
    _ready(page)
    box = page.locator("#stage").bounding_box()
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def view() -> list[float]:
        return [float(each) for each in page.get_attribute("#paper svg", "viewBox").split()]

    def drag() -> None:
        page.mouse.move(*middle)
        page.mouse.down()
        page.mouse.move(middle[0] + 50, middle[1])
        page.mouse.up()

    whole = view()
    ways = (
        lambda: page.keyboard.press("+"),
        lambda: page.click("[data-zoom=in]"),
        lambda: (page.mouse.move(*middle), page.mouse.wheel(0, -200)),
    )
    for zoom in ways:
        zoom()
        _until(page, f"document.querySelector('#paper svg').viewBox.baseVal.width < {whole[2]}")
        page.keyboard.press("0")
        assert view() == pytest.approx(whole)
    drag()
    assert view()[0] < whole[0]
    assert view()[2:] == pytest.approx(whole[2:])
    page.click("[data-zoom=all]")
    assert view() == pytest.approx(whole)


def test_skipped_graphs_come_again_and_the_help_names_the_keys(server, open_page):
    page = open_page(server)
    _ready(page)
    first, before = _name(page), page.text_content("#count")
    page.keyboard.press(" ")
    _until(page, f"document.getElementById('name').textContent !== {json.dumps(first)}")
    page.keyboard.press("u")
    assert _name(page) == first
    seen = set()
    while (name := _name(page)) not in seen:
        seen.add(name)
        page.keyboard.press(" ")
        _until(
            page,
            f"!['…', {json.dumps(name)}].includes(document.getElementById('name').textContent)",
        )
    assert len(seen) == 61 - len(_labeled(server))
    assert page.is_hidden("#done")
    assert page.text_content("#count") == before
    page.keyboard.press("?")
    assert "skip: ask again later" in page.text_content("#help")
    page.click("#help .close")
    assert page.is_hidden("#help")


def test_an_answer_on_the_page_of_a_graph_is_given_and_undone_by_keys(server, open_page):
    page = open_page(server)
    key = page.evaluate(
        "fetch('/api/table').then(r => r.json()).then(t => t.graph[t.answer.indexOf(null)])"
    )
    page.goto(f"{server.address}/explain/{key}")
    page.wait_for_selector("#classes button")
    page.wait_for_selector("#history li")
    assert page.is_disabled("[data-do=undo]")
    page.keyboard.press("2")
    page.wait_for_selector("#classes button[aria-pressed=true]:has-text('tree')")
    page.keyboard.press("u")
    page.wait_for_selector("#history li:has-text('undone')")
    page.wait_for_selector("#classes button[aria-pressed=true]", state="detached")


@pytest.fixture(scope="module")
def doubted(tmp_path_factory):
    """A project with a model, a label that is wrong, and graphs of an unusual size."""
    folder = tmp_path_factory.mktemp("doubted")
    graphs = cycles_and_trees(60)
    targets = graphs.targets.copy()
    targets[5] = 1 - targets[5]
    targets[40:] = -1
    names = np.array([str(row) for row in range(60)])
    graphs = replace(graphs, graph_names=names).with_targets(targets)
    ring, names = np.arange(400), ["ring of 400"]
    large = pack("large", [400], ring, (ring + 1) % 400, targets=["cycle"], graph_names=names)
    both = concatenate([graphs, large.with_targets([-1])])
    jsonl.write(both, folder / "graphs.jsonl")
    server = _labeling(folder, "graphs.jsonl", "--every", "0")
    yield server
    server.end(signal.SIGTERM)


def test_filters_find_what_the_table_says(doubted, open_page):
    page = open_page(doubted, "/learn")
    page.click("#learn")
    _until(page, "document.querySelectorAll('#curve .point').length === 1", 120)
    _until(page, "document.getElementById('status').textContent.includes('expected')")
    page.goto(f"{doubted.address}/explore")
    page.wait_for_selector("#grid .tile")
    _until(page, "fetch('/api/table').then(r => r.json()).then(t => t.asked > 0)")
    table = page.evaluate("fetch('/api/table').then(r => r.json())")

    def found(**wanted: str) -> int:
        for name, value in wanted.items():
            control = f"[name={name}]"
            if name in ("least", "most"):
                page.fill(control, value)
            else:
                page.select_option(control, value)
        page.wait_for_timeout(400)
        n = int(page.text_content("#found").split()[0])
        for name in wanted:
            page.fill(f"[name={name}]", "") if name in ("least", "most") else page.select_option(
                f"[name={name}]", index=0
            )
        return n

    assert found(prediction="=tree") == table["prediction"].count("tree") > 0
    sure = [share for share in table["confidence"] if share >= 0.9]
    assert found(least="90") == len(sure) < 61
    assert found(answer="=cycle") == table["label"].count("cycle") > 0
    assert found(only="novel") == sum(each is not None for each in table["unlike"]) > 0
    assert table["unlike"][table["name"].index("ring of 400")]
    assert found(only="suspicious") == sum(each is not None for each in table["suspicious"]) > 0
    assert found(only="disagree") == 0  # this method is one part


def test_a_wrong_label_is_seen_beside_what_contradicts_it_and_changed(doubted, open_page):
    page = open_page(doubted, "/check")
    page.wait_for_selector(".doubt")
    doubt = page.locator(".doubt", has=page.locator("h2", has_text=re.compile("^5$")))
    assert doubt.locator("svg").count() >= 2
    given, likely = (
        re.sub(".*labeled ", "", text) for text in doubt.locator("h3").all_text_contents()
    )
    assert {given, likely} == {"cycle", "tree"}
    n = page.locator(".doubt").count()
    assert page.text_content("#doubts") == str(n)

    page.route("**/api/answers", lambda route: route.abort())
    doubt.get_by_text(f"Change to {likely}").click()
    page.wait_for_selector(".toast:has-text('does not answer')")
    assert doubt.count() == 1  # nothing was saved, so it stays
    page.unroute("**/api/answers")
    doubt.get_by_text(f"Change to {likely}").click()
    _until(page, f"document.querySelectorAll('.doubt').length === {n - 1}")
    assert _labeled(doubted)["5"] == likely


def test_progress_and_the_time_that_is_left_are_shown_while_it_learns(server, open_page):
    page = open_page(server)
    state = page.evaluate("fetch('/api/state').then(r => r.json())")
    state["learning"] = {
        **{"is_running": True, "failure": "", "what": "fold 2", "done": 1, "total": 4},
        **{"seconds": 5, "seconds_left": 100},
    }
    state["advice"] = "This may be enough."
    told = f"retry: 60000\ndata: {json.dumps(state)}\n\n"
    page.route("**/api/events", lambda r: r.fulfill(body=told, content_type="text/event-stream"))
    page.goto(f"{server.address}/learn")
    page.wait_for_selector("#running:visible")
    assert page.text_content("#left") == "about 2 min left"
    assert page.text_content("#what") == "fold 2, 5 s so far"
    assert page.evaluate("document.getElementById('progress').value") == 0.25
    assert page.text_content("#advice") == "This may be enough."
    assert page.is_disabled("#learn")
    assert page.is_visible("#stop")


@pytest.fixture(scope="module")
def model_server(tmp_path_factory):
    pytest.importorskip("rdkit")
    folder = tmp_path_factory.mktemp("model")
    smiles = ["CCO", "CCCO", "CC(C)O", "OCC1CC1", "CCN", "CCCN", "CC(C)N", "NCC1CC1"]
    WLLinear().fit(from_smiles(smiles, ["alcohol"] * 4 + ["amine"] * 4)).save(folder / "model")
    server = Server(folder, "serve", "model")
    yield server
    server.end(signal.SIGTERM)


def test_a_served_model_answers_what_is_pasted_opened_and_dropped(
    model_server, open_page, tmp_path
):
    page = open_page(model_server)
    page.fill("#text", f"CCCCO {_HOSTILE}\nCCCCN\nCCCCN")
    page.click("#form button")
    _until(page, "document.querySelectorAll('.reply svg .bond').length > 0")
    assert page.locator(".reply h2").all_text_contents() == [_HOSTILE, "CCCCN", "CCCCN (2)"]
    assert page.locator(".reply .said b").all_text_contents() == ["alcohol", "amine", "amine"]
    assert page.title() != "broken"

    page.click(".reply button >> nth=1")
    page.wait_for_selector("#evidence .cards svg", timeout=30_000)
    assert page.text_content("#evidence h2 >> nth=0") == "Why amine? Evidence for CCCCN"
    assert (
        page.evaluate("document.querySelectorAll('.reply')[1].nextElementSibling.id") == "evidence"
    )

    page.fill("#text", "CCO\nnonsense")
    page.press("#text", "Control+Enter")
    page.wait_for_selector("#problem:visible")
    assert "line 2" in page.text_content("#problem")
    assert page.locator(".reply").count() == 0

    file = tmp_path / "some.smi"
    file.write_text("CCO ethanol\n")
    page.set_input_files("#file", file)
    page.wait_for_selector(".reply h2:has-text('ethanol')")
    dropped = page.evaluate_handle(
        """() => { const held = new DataTransfer();
        held.items.add(new File(["CCN ethylamine"], "some.smi")); return held; }"""
    )
    page.dispatch_event("body", "drop", {"dataTransfer": dropped})
    page.wait_for_selector(".reply h2:has-text('ethylamine')")
    assert page.locator(".reply").count() == 1


# Texts with too little contrast to what is painted behind them (WCAG 2.2, level AA).
_FAINT = """() => {
  const pen = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
  const luminance = () => {
    const parts = [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3).map((byte) => byte / 255);
    const [r, g, b] = parts.map((x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const paint = (color) => { pen.fillStyle = color; pen.fillRect(0, 0, 1, 1); };
  const faint = [];
  for (const each of document.querySelectorAll("body *:not(svg *)")) {
    const isText = [...each.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!isText || !each.checkVisibility() || each.matches(":disabled, .unseen, option")) continue;
    const style = getComputedStyle(each), behind = [];
    for (let box = each; box; box = box.parentElement) behind.unshift(getComputedStyle(box));
    paint("white");
    for (const box of behind) paint(box.backgroundColor);
    const under = luminance();
    paint(style.color);
    const [low, high] = [luminance(), under].sort((a, b) => a - b);
    const size = parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    const ratio = (high + 0.05) / (low + 0.05);
    if (ratio < (isLarge ? 3 : 4.5)) faint.push(`${each.textContent.trim()}: ${ratio}`);
  }
  return faint;
}"""


def test_a_class_is_made_and_molecules_are_drawn_as_molecules(tmp_path, open_page):
    pytest.importorskip("rdkit")
    lines = ["id,smiles,source", "ethanol,CCO,shelf 1", "benzene,c1ccccc1,shelf 2"]
    (tmp_path / "molecules.csv").write_text("\n".join(lines), encoding="utf-8")
    server = _labeling(tmp_path, "molecules.csv")
    try:
        page = open_page(server)
        page.wait_for_selector("#paper svg .bond")
        assert "shelf" in page.text_content("#cells")
        for name in ("toxic", "<b>safe</b>"):
            page.keyboard.press("n")
            page.keyboard.type(name)
            page.keyboard.press("Enter")
            page.wait_for_selector(f"#classes button:has-text('{name}')")
        page.keyboard.press("2")
        page.keyboard.press("d")
        page.wait_for_selector("#done:visible")
        _saved(page)
        assert sorted(_labeled(server).values()) == ["<b>safe</b>", "unsure"]
    finally:
        server.end(signal.SIGTERM)


@pytest.mark.parametrize("width", [390, 1280, 2560])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_fit_into_windows_of_all_sizes(server, browser, width, scheme):
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    for path in ("/", "/explore", "/check", "/learn"):
        page.goto(server.address + path)
        _until(page, "document.getElementById('status').textContent !== '…'")
        root = "document.documentElement"
        assert page.evaluate(f"{root}.scrollWidth - {root}.clientWidth") == 0
        unnamed = """() => [...document.querySelectorAll("button, input, select, a")].filter(
          each => each.offsetParent
            && !(each.ariaLabel || each.textContent.trim() || each.labels?.length)).length"""
        assert page.evaluate(unnamed) == 0
        assert page.evaluate(_FAINT) == []
    page.close()
