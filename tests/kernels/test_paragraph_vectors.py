import copy

import numpy as np
import pytest

from kgnn.estimator.saved_values import Reader, Writer
from kgnn.kernels.paragraph_vectors import ParagraphVectors

TEXTS = [[["a", "b"] * 20], [["c", "d"] * 20]]


def test_training_makes_words_more_probable():
    texts = [[["a", "b"] * 20], [["c", "d"] * 20]] * 10
    settings = {"window": None, "negatives": 5, "min_count": 1, "seed": 0}

    def margin(epochs):
        vectors = ParagraphVectors(8, epochs=epochs, **settings).fit(texts)
        document = vectors.infer(texts[:1])[0]
        out = {word: vectors.model_.syn1neg[vectors.model_.wv.key_to_index[word]] for word in "ac"}
        return document @ (out["a"] - out["c"])

    assert margin(40) > margin(1) > 0


def test_sentences_beyond_the_longest_are_not_cut_off(monkeypatch):
    texts = [[["a"] * 30 + ["b"] * 30], [["c"] * 60]] * 5
    settings = {"window": None, "negatives": 2, "epochs": 5, "min_count": 1, "seed": 0}
    monkeypatch.setattr("kgnn.kernels.paragraph_vectors._LONGEST", 25)
    vectors = ParagraphVectors(4, **settings).fit(texts)
    assert vectors.model_.corpus_total_words == 5 * 120
    assert (vectors.infer([[["a"] * 30]]) != vectors.infer([[["a"] * 30 + ["b"] * 30]])).any()


def test_what_compiled_code_would_believe_is_refused_before_it_sees_it():
    vectors = ParagraphVectors(4, window=2, negatives=2, epochs=1, min_count=1, seed=0).fit(TEXTS)
    writer = Writer()
    tree = writer.write(vectors)
    again = Reader(writer.arrays).read(tree)
    np.testing.assert_array_equal(again.infer(TEXTS), vectors.infer(TEXTS))
    state, of = tree["state"], {k: v["name"] for k, v in tree["state"].items() if "name" in str(v)}
    changes = [
        *({"state": {**state, name: 10**9}} for name in ("dimensions", "epochs", "negatives")),
        *({"state": {**state, name: 0.5}} for name in ("dimensions", "window", "min_count")),
        {"state": {**state, "words": ["a", "a", "c", "d"]}},
        {"state": {**state, "words": state["words"][:2]}},
        *({name: array[:1]} for name, array in writer.arrays.items()),
        *({name: array.ravel()} for name, array in writer.arrays.items() if array.ndim > 1),
        {of["vectors"]: writer.arrays[of["vectors"]].astype(np.float64)},
        {of["counts"]: 0 * writer.arrays[of["counts"]]},  # gensim divides by their sum
    ]
    for change in changes:
        changed = {**copy.deepcopy(tree), **{k: v for k, v in change.items() if k == "state"}}
        arrays = {**writer.arrays, **{k: v for k, v in change.items() if k != "state"}}
        with pytest.raises(ValueError, match="vectors of words"):
            Reader(arrays).read(changed)
