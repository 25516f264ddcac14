"""Whatever a model file says, it is refused by name, or it is a model that works.

`benchmarks/faults.py models` does the same for as long as you like.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest

from kgnn.errors import KgnnError
from kgnn.estimator.registry import entries
from kgnn.estimator.saved_files import ModelFileError, pack, unpack
from kgnn.estimator.saving import open_model
from kgnn.evaluation.model_facts import doubted_labels, held_out_quality, rounds_of
from kgnn.graphs.datasets.toy import planted_motifs
from tests.contracts.test_methods import fast
from tests.estimator.model_mutations import mutated


def graphs_with_numbers():
    """Graphs that have all that methods read: attributes of nodes, weights and labels of edges."""
    graphs = planted_motifs(40, n_nodes=12)
    rng, degrees = np.random.default_rng(0), graphs.degrees
    sums = degrees[graphs.arc_sources] + degrees[graphs.neighbors]
    return replace(
        graphs,
        node_attributes=rng.normal(size=(graphs.n_nodes, 2)),
        edge_weights=sums.astype(np.float64),
        edge_labels=(sums % 2).astype(np.int32),
        edge_label_names=("even", "odd"),
    )


GRAPHS = graphs_with_numbers()
_MUTATIONS, _FLIPS, _CUTS = 40, 60, 15
_LONGEST_SECONDS = 20  # of computing for one file; it should be a hundredth of that


def saved(name, folder):
    labels = GRAPHS.targets.copy()
    labels[16:] = -1
    return fast(name).fit(GRAPHS[:30], labels[:30]).save(folder / f"{name}.safetensors")


def opens(file):
    """Tell whether a file is a model; what is none is refused with the file's name, in time."""
    start = time.process_time()
    try:
        model = open_model(file)
    except ModelFileError as error:
        model, message = None, str(error)
    assert time.process_time() - start < _LONGEST_SECONDS, "it takes too long"
    if model is None:
        assert str(file) in message
        return False
    use(model, file.parent)
    return True


def use(model, folder):
    """Use a model in all ways that there are: it may decline, in the way that others do."""
    new = GRAPHS[30:]
    try:
        proba = model.predict_proba(new)
        assert np.isfinite(proba).all()
        np.testing.assert_allclose(proba.sum(axis=1), 1, atol=1e-5)
        model.predict_sets(new)
        model.novelty(new)
        model.story()
        model.suggest(new, 3)
        model.explain(new[0])
        model.similar(new[:1])
        rounds_of(model), held_out_quality(model), doubted_labels(model)
        open_model(model.save(folder / "again.safetensors"))
    except KgnnError:
        return


@pytest.mark.filterwarnings("ignore::kgnn.errors.KgnnWarning")
@pytest.mark.parametrize("name", entries())
def test_a_crafted_model_is_refused_or_works(tmp_path, name):
    file = saved(name, tmp_path)
    assert opens(file)
    content, rng = unpack(file.read_bytes()), np.random.default_rng(0)
    refused, believed = 0, []
    for _ in range(_MUTATIONS):
        what, (header, arrays) = mutated(content, rng)
        file.write_bytes(pack(header, arrays))
        try:
            if not opens(file):
                refused += 1
            elif what.startswith("array"):
                believed.append(what)
        except Exception as error:
            raise AssertionError(f"{what}: {error!r}") from error
    assert not believed
    # The others are other models, that a fit could have written: with another history, say.
    assert refused >= 0.8 * _MUTATIONS


@pytest.mark.filterwarnings("ignore::kgnn.errors.KgnnWarning")
@pytest.mark.parametrize("name", entries())
def test_every_flipped_bit_and_every_cut_is_noticed(tmp_path, name):
    file = saved(name, tmp_path)
    content, rng = file.read_bytes(), np.random.default_rng(0)
    header = 8 + int.from_bytes(content[:8], "little")
    for end in (header, len(content)):
        for place in rng.integers(0, end, _FLIPS):
            damaged = bytearray(content)
            damaged[place] ^= 1 << int(rng.integers(8))
            file.write_bytes(damaged)
            assert not opens(file)
    for length in [0, 7, 8, 9, header, len(content) - 1, *rng.integers(0, len(content), _CUTS)]:
        file.write_bytes(content[:length])
        assert not opens(file)
    file.write_bytes(content + b" ")
    assert not opens(file)
