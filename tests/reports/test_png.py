import sys

import pytest

from kgnn.errors import MissingExtraError
from kgnn.reports.drawing import draw
from kgnn.reports.figure_data import Figure
from kgnn.reports.png import png, standalone, write_pngs


def test_a_standalone_drawing_has_its_colors_in_it():
    text = standalone(draw(2, [(0, 1)]))
    assert "var(" not in text
    assert "#d55e00" in text


def test_each_panel_becomes_a_file_with_a_plain_name(tmp_path):
    pytest.importorskip("resvg_py")
    figure = Figure("cost", "", "", {"a/../b c": draw(1, []), "plain": draw(2, [])})
    paths = write_pngs([figure], tmp_path / "new")
    assert [path.name for path in paths] == ["cost-a----b-c.png", "cost-plain.png"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths)
    assert sorted((tmp_path / "new").iterdir()) == sorted(paths)


def test_marked_nodes_have_their_color():
    pytest.importorskip("resvg_py")
    assert png(draw(3, [(0, 1)], marked=[0])) != png(draw(3, [(0, 1)]))


def test_without_the_extra_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(MissingExtraError, match=r"kgnn\[plot\]"):
        png(draw(1, []))
