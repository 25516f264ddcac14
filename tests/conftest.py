"""Fixtures that all tests share."""

from __future__ import annotations

import os
import signal
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

_ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache of the tests' own: the user's is neither used nor touched."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KGNN_CACHE", str(folder))
        yield folder


@pytest.fixture(scope="session")
def datasets_folder() -> Path:
    """The folder of the real datasets, for tests marked ``data``."""
    chosen = os.environ.get("KGNN_DATASETS")
    folder = Path(chosen) if chosen else _ROOT.parent / "shared" / "datasets"
    if not folder.is_dir():
        pytest.skip("the real datasets are not here: set KGNN_DATASETS")
    return folder
