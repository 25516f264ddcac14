"""A named dataset comes from the first place that has it; a download is complete or not there."""

from __future__ import annotations

import io
import os
import socket
import sys
from dataclasses import replace

import numpy as np
import pytest

from kgnn.errors import DatasetUnavailableError, GraphDataError, KgnnWarning
from kgnn.graphs.datasets import sources
from kgnn.graphs.datasets.catalog import find
from kgnn.graphs.datasets.sources import fetch, local_path, open_entry
from kgnn.graphs.readers import tu
from tests.graphs.server import content, endless, serving, status
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


BODY = bytes(range(256)) * 1000


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deep" / "file.bin"


def leftovers(path):
    return sorted(p.name for p in path.parent.iterdir())


class TestDownload:
    def test_the_file_is_what_was_sent(self, path):
        with serving(content(BODY)) as (url, asked):
            fetch(f"{url}/a.zip", path)
        assert path.read_bytes() == BODY
        assert asked == ["/a.zip"]
        assert leftovers(path) == ["file.bin"]

    def test_a_length_that_is_not_told_does_no_harm(self, path):
        with serving(endless) as (url, _):
            fetch(url, path)
        assert path.stat().st_size == 100_000

    @pytest.mark.parametrize("failure", [status(503), status(429), content(BODY, len(BODY) + 9)])
    def test_a_failure_that_may_pass_is_tried_again(self, path, failure):
        with serving(failure, failure, content(BODY)) as (url, asked):
            fetch(url, path, backoff=0)
        assert path.read_bytes() == BODY
        assert len(asked) == 3

    def test_progress_is_told(self, path):
        told = []
        with serving(content(BODY)) as (url, _):
            fetch(url, path, progress=lambda *numbers: told.append(numbers))
        assert told[-1] == (len(BODY), len(BODY))
        assert told == sorted(told)

    def test_the_file_is_not_visible_before_it_is_complete(self, path):
        seen = []
        with serving(content(BODY)) as (url, _):
            fetch(url, path, progress=lambda *_: seen.append(path.exists()))
        assert not any(seen)

    def test_a_bar_appears_only_when_it_takes_long(self, path, monkeypatch):
        class Terminal(io.StringIO):
            def isatty(self):
                return True

        for delay, expected in ((60.0, False), (0.0, True)):
            monkeypatch.setattr(sys, "stderr", Terminal())
            monkeypatch.setattr(sources, "BAR_DELAY", delay)
            with serving(content(BODY)) as (url, _):
                fetch(url, path)
            assert ("file.bin" in sys.stderr.getvalue()) is expected


class TestFailedDownload:
    def failing(self, path, *answers, **options):
        with serving(*answers) as (url, asked):
            with pytest.raises(DatasetUnavailableError) as caught:
                fetch(f"{url}/a.zip", path, **({"backoff": 0} | options))
            assert url in str(caught.value)
        assert leftovers(path) == []
        return str(caught.value), len(asked)

    def test_an_answer_that_is_final_is_not_asked_for_again(self, path):
        message, n_asked = self.failing(path, status(404))
        assert "the server answered 404 Not Found" in message
        assert n_asked == 1

    def test_a_truncated_body_leaves_nothing_behind(self, path):
        message, n_asked = self.failing(path, content(BODY, len(BODY) + 5))
        assert "broke off 5 bytes before the end" in message
        assert n_asked == 3

    def test_a_server_that_keeps_failing_is_given_up(self, path):
        message, n_asked = self.failing(path, status(500))
        assert "500" in message
        assert n_asked == 3

    @pytest.mark.parametrize("answer", [content(BODY), endless])
    def test_more_than_allowed_is_refused(self, path, answer):
        message, n_asked = self.failing(path, answer, max_bytes=1000)
        assert "larger than the 1000 bytes allowed" in message
        assert n_asked == 1

    def test_what_is_not_as_expected_leaves_nothing_behind(self, path):
        def verify(received):
            raise GraphDataError(f"{received.stat().st_size} bytes of nonsense")

        message, _ = self.failing(path, content(BODY), verify=verify)
        assert "256000 bytes of nonsense" in message

    def test_an_interruption_leaves_nothing_behind(self, path):
        def interrupt(*_):
            raise KeyboardInterrupt

        with serving(content(BODY)) as (url, _), pytest.raises(KeyboardInterrupt):
            fetch(url, path, progress=interrupt)
        assert leftovers(path) == []

    def test_a_failure_leaves_the_old_file(self, path):
        path.parent.mkdir()
        path.write_bytes(b"old")
        with serving(status(404)) as (url, _), pytest.raises(DatasetUnavailableError):
            fetch(url, path)
        assert path.read_bytes() == b"old"

    def test_a_server_that_is_not_there_is_said_so(self, path):
        with socket.create_server(("127.0.0.1", 0)) as closed:
            port = closed.getsockname()[1]
        with pytest.raises(DatasetUnavailableError, match="refused"):
            fetch(f"http://127.0.0.1:{port}", path, backoff=0)

    def test_a_server_that_says_nothing_is_given_up(self, path):
        with (
            socket.create_server(("127.0.0.1", 0)) as silent,
            pytest.raises(DatasetUnavailableError, match="timed out"),
        ):
            fetch(f"http://127.0.0.1:{silent.getsockname()[1]}", path, timeout=0.1, backoff=0)

    @pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://x", "nonsense"])
    def test_other_kinds_of_addresses_are_refused(self, path, url):
        with pytest.raises(DatasetUnavailableError, match="not an http or https address"):
            fetch(url, path)
