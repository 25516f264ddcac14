import os
import subprocess
import sys

import numpy as np
import pytest

from kgnn.errors import MissingExtraError, ParameterError
from kgnn.graphs.datasets.toy import cycles_and_trees, planted_motifs
from kgnn.graphs.packing import concatenate, pack
from kgnn.kernels.weisfeiler_lehman import WeisfeilerLehman
from kgnn.methods.graph2vec import GraphVectors, documents
from kgnn.methods.sub2vec import WalkVectors
from kgnn.testing.methods import _renumbered

GRAPHS = planted_motifs(30, n_nodes=12)
EMBEDDINGS = [
    GraphVectors(dimensions=8, epochs=3),
    GraphVectors(dimensions=8, embedding="ppmi"),
    WalkVectors(dimensions=8, walks=3, length=20, epochs=2),
]


def ids(embedding):
    return f"{type(embedding).__name__}-{getattr(embedding, 'embedding', '')}"


@pytest.mark.parametrize("embedding", EMBEDDINGS, ids=ids)
def test_new_graphs_get_vectors_that_depend_on_them_alone(embedding):
    embedding.fit(GRAPHS[:20])
    together = embedding.transform(GRAPHS[20:])
    assert together.shape == (10, 8)
    assert np.isfinite(together).all()
    for row in range(10):
        assert (embedding.transform(GRAPHS[[20 + row]])[0] == together[row]).all()
    assert (embedding.transform(_renumbered(GRAPHS[20:])) == together).all()


@pytest.mark.parametrize("embedding", EMBEDDINGS, ids=ids)
def test_graphs_of_fit_are_embedded_like_others_and_copies_alike(embedding):
    twice = concatenate([GRAPHS[:10], GRAPHS[:10]])
    vectors = embedding.fit_transform(twice)
    assert (vectors[:10] == vectors[10:]).all()
    assert (embedding.transform(twice) == vectors).all()
    assert len(np.unique(vectors, axis=0)) > 1


@pytest.mark.parametrize("embedding", EMBEDDINGS, ids=ids)
def test_the_seed_decides(embedding):
    first = embedding.fit_transform(GRAPHS)
    assert (embedding.fit_transform(GRAPHS) == first).all()
    if getattr(embedding, "embedding", "doc2vec") == "doc2vec":
        other = type(embedding)(**{**embedding.get_params(), "seed": 1}).fit_transform(GRAPHS)
        assert (other != first).any()


def test_vectors_are_the_same_in_every_process():
    code = (
        "from kgnn.methods.graph2vec import GraphVectors\n"
        "from kgnn.graphs.datasets.toy import planted_motifs\n"
        "graphs = planted_motifs(20, n_nodes=12)\n"
        "print(GraphVectors(dimensions=4, epochs=2).fit_transform(graphs).tobytes().hex())\n"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "2")
    }
    assert len(printed) == 1


def test_a_document_is_the_bag_of_all_colors():
    counts = WeisfeilerLehman(2).fit_transform(GRAPHS)
    for row, (sentence,) in enumerate(documents(counts)):
        assert len(sentence) == 3 * GRAPHS[row].n_nodes
        bag = np.bincount(np.array(sentence, dtype=int), minlength=counts.shape[1])
        assert (bag == counts[[row]].toarray()[0]).all()


def test_graphs_without_a_known_word_have_a_finite_vector():
    for embedding in EMBEDDINGS:
        embedding.fit(cycles_and_trees(10))
        odd = pack("odd", [1, 0, 40], [1, 2], [3, 4])
        assert np.isfinite(embedding.transform(odd)).all()


def test_misuse_and_a_missing_package_are_told(monkeypatch):
    with pytest.raises(ParameterError, match="'embedding'.*got 'word'"):
        GraphVectors(embedding="word").fit(GRAPHS)
    monkeypatch.setitem(sys.modules, "gensim.models", None)
    with pytest.raises(MissingExtraError, match="kgnn\\[embeddings\\]"):
        GraphVectors().fit(GRAPHS)
