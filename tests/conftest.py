"""Fixtures that all tests share, and the two rules that let them pass on any machine.

A test that needs the real datasets carries the marker ``data``. It is skipped where they are not;
any other test does not see them. No test connects to anything but this machine.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

# The same examples on every machine, however slow: what fails here fails everywhere. For new
# examples, --hypothesis-profile=explore.
hypothesis.settings.register_profile("steady", deadline=None, derandomize=True)
hypothesis.settings.register_profile("explore", deadline=None)
hypothesis.settings.load_profile("steady")

# Before anything loads numpy or torch: tests run side by side, on one thread each.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# A shell that runs the tests in the background has them ignore Ctrl-C, which some tests send.
signal.signal(signal.SIGINT, signal.default_int_handler)

_BESIDE = Path(__file__).parents[2] / "shared" / "datasets"
_DATASETS = Path(os.environ.get("KGNN_DATASETS") or _BESIDE)

# Processes that tests start are told to use a proxy that does not exist.
_PROXY = ("127.0.0.1", 1)
_PROXIES = dict.fromkeys(
    ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"),
    "http://{}:{}".format(*_PROXY),
)
_LOOPBACK = ("127.0.0.1", "::1", "localhost", "", None)


def _stay_on_this_machine(event: str, arguments: tuple[object, ...]) -> None:
    """Fail the test that is about to connect, look up a name or send to another machine."""
    if event in ("socket.connect", "socket.sendto"):
        address = arguments[1]
        if not isinstance(address, tuple):  # a Unix socket
            return
        host, port = address[:2]
    elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
        host, port = (*arguments, None)[:2]
    else:
        return
    if host not in _LOOPBACK or (host, port) == _PROXY:
        pytest.fail(
            f"{event} {host}:{port}: tests may connect to this machine only. "
            "A test that needs the real datasets carries the marker 'data'.",
        )


sys.addaudithook(_stay_on_this_machine)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests marked ``data`` where a dataset of the catalog is missing."""
    from kgnn.graphs.datasets.catalog import ENTRIES

    missing = [e.name for e in ENTRIES if not any((_DATASETS / p).is_file() for p in e.places)]
    if missing:
        reason = f"no {', '.join(missing)} in {_DATASETS}: set KGNN_DATASETS"
        for item in items:
            if item.get_closest_marker("data"):
                item.add_marker(pytest.mark.skip(reason))


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache for the tests alone, in an environment without the user's datasets and proxies."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KGNN_CACHE", str(folder))
        patch.delenv("KGNN_DATASETS", raising=False)
        patch.delenv("KGNN_DATASETS_URL", raising=False)
        patch.setenv("no_proxy", "127.0.0.1,localhost,::1")
        for name, address in _PROXIES.items():
            patch.setenv(name, address)
        yield folder


@pytest.fixture(autouse=True)
def datasets_folder(request: pytest.FixtureRequest) -> Iterator[Path | None]:
    """The folder of the real datasets, which only tests marked ``data`` are given."""
    if not request.node.get_closest_marker("data"):
        yield None
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KGNN_DATASETS", str(_DATASETS))
        yield _DATASETS
