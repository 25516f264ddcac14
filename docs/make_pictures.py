"""Draw the pictures of the workbench in the documentation: ``python docs/make_pictures.py DATA``.

DATA is a table of molecules with labels, such as ``fgfr1.csv`` of the shared datasets. A simulated
person labels some of them, and Chromium draws what the person sees.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

import kgnn

_FOLDER = Path(__file__).parent
_LABELS = 80


def main(data: str) -> None:
    """Label, and draw."""
    graphs = kgnn.load(data)
    truth = {graph.name: graph.target for graph in graphs}
    with tempfile.TemporaryDirectory() as folder:
        words = ["label", data, "-o", folder, "--without-targets", "--method", "wl-linear"]
        words += ["--every", "20", "--port", "0", "--no-browser"]
        with subprocess.Popen(
            [sys.executable, "-m", "kgnn", *words], stderr=subprocess.PIPE, text=True
        ) as server:
            address = _address(server)
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(
                    executable_path=shutil.which("chromium"), args=["--no-sandbox"]
                )
                page = browser.new_page(viewport={"width": 1180, "height": 700})
                page.goto(address)
                _label(page, truth, list(graphs.class_names))
                page.keyboard.press("o")
                page.wait_for_selector("#opinion .meter")
                page.wait_for_timeout(500)
                page.screenshot(path=_FOLDER / "workbench-queue.png")
                page.set_viewport_size({"width": 1280, "height": 700})
                page.goto(f"{address}/explore")
                page.wait_for_selector("#legend li")
                page.select_option("[name=color]", "prediction")
                page.wait_for_timeout(2000)
                page.screenshot(path=_FOLDER / "workbench-map.png")
                browser.close()
            server.terminate()


def _address(server: subprocess.Popen[str]) -> str:
    for line in server.stderr or ():
        if found := re.search(r"http://127\.0\.0\.1:\d+", line):
            return found[0]
    raise SystemExit("The server has ended.")


def _label(page: Page, truth: dict[str, str], classes: list[str]) -> None:
    """Answer with the truth, and wait for the model."""
    page.wait_for_selector("#classes button")
    for _ in range(_LABELS):
        while (name := page.text_content("#name") or "…") not in truth:
            page.wait_for_timeout(20)
        page.keyboard.press(str(classes.index(truth[name]) + 1))
    while "expected" not in (page.text_content("#status") or ""):
        page.wait_for_timeout(100)
    page.wait_for_timeout(8000)


if __name__ == "__main__":
    main(sys.argv[1])
