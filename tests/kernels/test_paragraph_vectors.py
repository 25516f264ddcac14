from kgnn.kernels.paragraph_vectors import ParagraphVectors


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
