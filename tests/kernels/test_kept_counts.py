import os
import shutil

import numpy as np
import pytest

from kgnn.graphs.datasets.toy import random_graphs
from kgnn.kernels.kept_counts import keeping_counts
from kgnn.kernels.shortest_paths import ShortestPaths
from kgnn.kernels.weisfeiler_lehman import WeisfeilerLehman

GRAPHS = random_graphs(20, n_nodes=8, n_edges=12, n_node_labels=2)


@pytest.fixture
def counted(monkeypatch):
    """Numbers of graphs that were really counted."""
    numbers = []
    count = WeisfeilerLehman._count
    monkeypatch.setattr(
        WeisfeilerLehman,
        "_count",
        lambda self, graphs: numbers.append(len(graphs)) or count(self, graphs),
    )
    return numbers


def features(**settings):
    wl = WeisfeilerLehman(2, **settings)
    return [wl.fit_transform(GRAPHS[:12]), wl.transform(GRAPHS[12:])]


def assert_same_bits(some, others):
    for a, b in zip(some, others, strict=True):
        for field in ("data", "indices", "indptr"):
            assert getattr(a, field).dtype == getattr(b, field).dtype
            assert np.array_equal(getattr(a, field), getattr(b, field))


@pytest.mark.parametrize("normalize", [None, "graph", "dataset"])
@pytest.mark.parametrize("unseen", ["drop", "count"])
def test_kept_counts_give_the_same_bits(tmp_path, counted, normalize, unseen):
    plain = features(normalize=normalize, unseen=unseen)
    counted.clear()
    for _ in range(2):
        with keeping_counts(tmp_path, WeisfeilerLehman):
            assert_same_bits(features(normalize=normalize, unseen=unseen), plain)
    assert counted == [12, 8]


def test_what_is_done_after_counting_shares_the_counts(tmp_path, counted):
    with keeping_counts(tmp_path, WeisfeilerLehman) as kept:
        features()
        assert kept.seconds_saved == 0
        features(counts="log", normalize="graph", min_df=2)
        assert kept.seconds_saved > 0
    assert counted == [12, 8]


def test_other_graphs_parameters_and_kinds_are_counted_by_themselves(tmp_path, counted):
    with keeping_counts(tmp_path, WeisfeilerLehman):
        features()
        features(start="degree")
        WeisfeilerLehman(2).fit(GRAPHS[:11])
        WeisfeilerLehman(1).fit(GRAPHS[:12])
        ShortestPaths().fit(GRAPHS[:12])
    assert counted == [12, 8, 12, 8, 11, 12]
    assert len(list(tmp_path.iterdir())) == 6  # none of shortest paths


def test_nothing_is_kept_unless_asked_for(tmp_path, counted):
    with keeping_counts(tmp_path, WeisfeilerLehman):
        pass
    features()
    features()
    assert len(counted) == 4
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("file", ["counts.json", "colors.npy", "data.npy", "offsets.npy"])
@pytest.mark.parametrize("harm", [lambda path: path.unlink(), lambda path: path.write_bytes(b"{")])
def test_a_damaged_entry_is_counted_again(tmp_path, counted, file, harm):
    plain = features()
    with keeping_counts(tmp_path, WeisfeilerLehman):
        features()
        for path in tmp_path.glob(f"*/{file}"):
            harm(path)
        assert_same_bits(features(), plain)
        counted.clear()
        assert_same_bits(features(), plain)
    assert counted == []  # it was kept anew


def test_features_live_on_when_the_folder_is_deleted(tmp_path):
    with keeping_counts(tmp_path, WeisfeilerLehman):
        features()
        found = features()
        shutil.rmtree(tmp_path)
        assert_same_bits(found, features())


def test_features_may_be_written_to_and_the_kept_ones_stay(tmp_path):
    with keeping_counts(tmp_path, WeisfeilerLehman):
        features()
        features()[0].data[:] = 7
        assert_same_bits(features(), features())
    assert_same_bits(features(), features())


def test_a_folder_that_cannot_be_written_to_is_done_without(tmp_path, caplog):
    (tmp_path / "file").touch()
    with keeping_counts(tmp_path / "file", WeisfeilerLehman):
        assert_same_bits(features(), features())
    assert "not kept" in caplog.text


def test_what_was_not_used_for_longest_is_removed_first(tmp_path):
    def entry_of(depth, folder=tmp_path, limit=1 << 30):
        before = set(folder.iterdir())
        with keeping_counts(folder, WeisfeilerLehman, limit=limit):
            WeisfeilerLehman(depth).fit(GRAPHS)
        return next(iter(set(folder.iterdir()) - before), None)

    def size_of(entry):
        return sum(path.stat().st_size for path in entry.iterdir())

    first, second = entry_of(0), entry_of(1)
    os.utime(first, (0, 1e9))
    os.utime(second, (0, 1e9 + 100))
    entry_of(0)  # it was the oldest, and is used again
    (tmp_path / "elsewhere").mkdir()
    digits = 40  # an entry says its seconds, with some digits more or less each time
    assert size_of(second) > digits
    room = size_of(first) + size_of(entry_of(2, tmp_path / "elsewhere")) + digits
    shutil.rmtree(tmp_path / "elsewhere")
    assert entry_of(2, limit=room).exists()
    assert first.exists()
    assert not second.exists()


def test_no_graphs_have_no_counts(tmp_path):
    with keeping_counts(tmp_path, WeisfeilerLehman):
        shapes = [WeisfeilerLehman(1).fit_transform(GRAPHS[:0]).shape for _ in range(2)]
    assert shapes[0] == shapes[1]
