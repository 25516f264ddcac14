"""A named dataset comes from the first place that has it."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pytest

from kgnn.errors import DatasetUnavailableError, KgnnWarning
from kgnn.graphs.datasets import sources
from kgnn.graphs.datasets.catalog import find
from kgnn.graphs.datasets.sources import local_path, open_entry
from kgnn.graphs.readers import tu
from tests.graphs.server import content, serving, status
from tests.graphs.tu_files import folder, zipped


@pytest.fixture
def entry(tmp_path):
    expected = tu.read(folder(tmp_path / "expected")).fingerprint
    return replace(find("MUTAG"), name="TINY", fingerprint=expected)


@pytest.fixture(autouse=True)
def places(tmp_path, monkeypatch):
    """Empty places everywhere, and no way to the internet."""
    (tmp_path / "own").mkdir()
    monkeypatch.setenv("KGNN_DATASETS", str(tmp_path / "own"))
    monkeypatch.setenv("KGNN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("KGNN_DATASETS_URL", "http://127.0.0.1:9")


@pytest.fixture
def own(tmp_path):
    return tmp_path / "own"


class TestOrder:
    def test_the_users_folder_comes_first(self, entry, own, tmp_path):
        (own / "TINY.zip").write_bytes(zipped())
        (tmp_path / "cache" / "datasets").mkdir(parents=True)
        (tmp_path / "cache" / "datasets" / "TINY.zip").write_bytes(b"never looked at")
        assert len(open_entry(entry)) == 2
        assert local_path(entry) == own / "TINY.zip"

    @pytest.mark.parametrize("place", ["TINY", "TINY/raw"])
    def test_a_folder_will_do(self, entry, own, place):
        (own / place).parent.mkdir(exist_ok=True)
        folder(own / place)
        assert len(open_entry(entry)) == 2

    def test_the_cache_comes_next(self, entry, tmp_path):
        (tmp_path / "cache" / "datasets").mkdir(parents=True)
        (tmp_path / "cache" / "datasets" / "TINY.zip").write_bytes(zipped())
        assert len(open_entry(entry)) == 2

    def test_the_mirror_comes_last_and_is_asked_once(self, entry, monkeypatch, tmp_path):
        with serving(content(zipped())) as (url, asked):
            monkeypatch.setenv("KGNN_DATASETS_URL", f"{url}/tu/")
            open_entry(entry)
            open_entry(entry)
        assert asked == ["/tu/TINY.zip"]
        assert (tmp_path / "cache" / "datasets" / "TINY.zip").exists()

    def test_without_a_mirror_the_collection_is_asked(self, entry, monkeypatch):
        monkeypatch.delenv("KGNN_DATASETS_URL")

        def fetch(url, path, **_):
            raise DatasetUnavailableError(f"asked {url}")

        monkeypatch.setattr(sources, "fetch", fetch)
        official = "https://www.chrsmrrs.com/graphkerneldatasets/TINY.zip"
        with pytest.raises(DatasetUnavailableError, match=f"asked {official}"):
            open_entry(entry)


class TestFailure:
    def test_a_failed_download_says_what_was_tried_and_what_to_do(self, entry, own, monkeypatch):
        with serving(status(404)) as (url, _):
            monkeypatch.setenv("KGNN_DATASETS_URL", url)
            with pytest.raises(DatasetUnavailableError) as caught:
                open_entry(entry)
        message = str(caught.value)
        assert str(own / "TINY.zip") in message
        assert f"{url}/TINY.zip: the server answered 404" in message
        assert "Set KGNN_DATASETS to a folder that holds TINY.zip" in message

    def test_a_page_instead_of_a_zip_is_not_kept(self, entry, monkeypatch, tmp_path):
        monkeypatch.setattr("time.sleep", lambda _: None)
        with serving(content(b"<html>please log in</html>")) as (url, _):
            monkeypatch.setenv("KGNN_DATASETS_URL", url)
            with pytest.raises(DatasetUnavailableError, match="not a zip archive"):
                open_entry(entry)
        assert list((tmp_path / "cache" / "datasets").iterdir()) == []

    def test_a_cache_that_cannot_be_written_to_does_not_stop_a_download(
        self, entry, monkeypatch, tmp_path
    ):
        (tmp_path / "file").write_text("in the way")
        monkeypatch.setenv("KGNN_CACHE", str(tmp_path / "file"))
        with serving(content(zipped())) as (url, _):
            monkeypatch.setenv("KGNN_DATASETS_URL", url)
            assert len(open_entry(entry)) == 2

    def test_other_content_is_read_with_a_warning(self, entry, own):
        folder(own / "TINY", graph_labels="1\n1\n")
        for _ in range(2):  # parsed, then from the cache
            with pytest.warns(KgnnWarning, match="The content of TINY .* differs from the known"):
                open_entry(entry)


class TestArrays:
    def test_the_second_time_nothing_is_parsed(self, entry, own, monkeypatch):
        (own / "TINY.zip").write_bytes(zipped())
        first = open_entry(entry)
        monkeypatch.setattr(tu, "read", lambda _: 1 / 0)
        second = open_entry(entry)
        assert isinstance(second.neighbors.base, np.memmap)
        assert second.fingerprint == first.fingerprint

    def test_a_changed_source_is_parsed_again(self, entry, own):
        path = folder(own / "TINY")
        open_entry(entry)
        folder(path, graph_labels="1\n1\n")
        os.utime(path / "TINY_graph_labels.txt", ns=(1, 1))
        with pytest.warns(KgnnWarning, match="differs"):
            assert open_entry(entry).n_classes == 1


@pytest.mark.data
def test_the_second_load_of_collab_reads_nothing_before_it_is_asked_for(
    datasets_folder, monkeypatch
):
    monkeypatch.setenv("KGNN_DATASETS", str(datasets_folder))
    first = open_entry(find("COLLAB"))
    monkeypatch.delattr(tu, "read")
    second = open_entry(find("COLLAB"))
    assert second.fingerprint == first.fingerprint == find("COLLAB").fingerprint
    assert isinstance(second.neighbors.base, np.memmap)
