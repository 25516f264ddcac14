"""A download is complete or not there at all."""

from __future__ import annotations

import io
import socket
import sys

import pytest

from kgnn.errors import DatasetUnavailableError, GraphDataError
from kgnn.graphs.datasets import download
from kgnn.graphs.datasets.download import fetch
from tests.graphs.server import content, endless, serving, status

BODY = bytes(range(256)) * 1000


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deep" / "file.bin"


def leftovers(path):
    return sorted(p.name for p in path.parent.iterdir())


class TestSuccess:
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
            monkeypatch.setattr(download, "BAR_DELAY", delay)
            with serving(content(BODY)) as (url, _):
                fetch(url, path)
            assert ("file.bin" in sys.stderr.getvalue()) is expected


class TestFailure:
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
