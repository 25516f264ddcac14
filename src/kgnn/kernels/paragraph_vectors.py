"""Paragraph vectors by gensim: a vector for every document, including new ones.

gensim starts the vector of a new document from Python's hash of its words, which differs from
process to process, and draws its noise from one stream for all documents. Here every new document
starts from zero and has a stream of its own, so that the same words give the same vector, alone or
in company, today or tomorrow.

References
----------
Le & Mikolov, *Distributed representations of sentences and documents*, ICML 2014.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from kgnn.errors import MissingExtraError
from kgnn.graphs.graph import Floats
from kgnn.progress import track
from kgnn.seeds import derive

Sentences = Sequence[Sequence[str]]  # of one document
# gensim leaves out what is beyond this many words of a sentence.
_LONGEST = 10_000
_RATES = 0.025, 0.0001  # from, to
_MOST_WORK = 1 << 20  # passes by words of noise that a file may ask for


class ParagraphVectors:
    """Vectors that predict the words of documents.

    With a ``window`` a word is predicted from its document and so many words on each side (PV-DM),
    without from its document alone (PV-DBOW). There are ``negatives`` words of noise for each word,
    and words that occur less than ``min_count`` times are left out.
    """

    def __init__(
        self,
        dimensions: int,
        *,
        window: int | None,
        negatives: int,
        epochs: int,
        min_count: int,
        seed: int,
    ) -> None:
        self.dimensions, self.window, self.negatives = dimensions, window, negatives
        self.epochs, self.min_count, self.seed = epochs, min_count, derive(seed, "paragraphs")

    def fit(self, documents: Sequence[Sentences]) -> ParagraphVectors:
        """Learn word vectors from documents."""
        doc2vec = _gensim()
        self.model_ = self._new_model(self.min_count)
        tagged = [
            doc2vec.TaggedDocument(part, [number])
            for number, sentences in enumerate(documents)
            for part in _parts(sentences)
        ]
        self.model_.build_vocab(tagged)
        if len(self.model_.wv) > 0:
            n_words = self.model_.corpus_total_words
            for epoch in track(range(self.epochs), "learning vectors"):
                rates = [_rate(each, self.epochs) for each in (epoch, epoch + 1)]
                self.model_.train(
                    tagged,
                    total_examples=len(tagged),
                    total_words=n_words,
                    epochs=1,
                    start_alpha=rates[0],
                    end_alpha=rates[1],
                )
            self.model_.total_train_time = 0.0  # the same seed gives the same model, bit for bit
        return self

    def _new_model(self, min_count: int) -> Any:
        model = _gensim().Doc2Vec(
            vector_size=self.dimensions,
            dm=int(self.window is not None),
            window=self.window or 1,
            negative=self.negatives,
            sample=0,  # do not drop frequent words, which is meant for prose
            alpha=_RATES[0],
            min_alpha=_RATES[1],
            min_count=min_count,
            workers=1,
            seed=self.seed,
            hashfxn=derive_from_text,
        )
        model.lifecycle_events = None  # a log with timestamps
        return model

    def saved_state(self) -> dict[str, Any]:
        """Return the settings and the words with their vectors, without gensim's objects."""
        state = {key: value for key, value in vars(self).items() if key != "model_"}
        words, hidden = self.model_.wv, getattr(self.model_, "syn1neg", None)
        state["words"] = list(words.index_to_key)
        if len(words):
            state["counts"] = np.array([words.get_vecattr(w, "count") for w in words.index_to_key])
            state["vectors"], state["hidden"] = np.asarray(words.vectors), np.asarray(hidden)
        return state

    def require_sound(self) -> None:
        """Refuse values read from a file that could crash gensim's compiled code."""
        saved = dict(vars(self))
        numbers = [saved.pop(name) for name in ("dimensions", "negatives", "epochs", "min_count")]
        window, seed, words = (saved.pop(name) for name in ("window", "seed", "words"))
        whole = [*numbers, 1 if window is None else window, seed]
        is_sound = (
            all(type(each) is int for each in whole)
            and all(each >= 1 for each in whole[:-1])
            and self.epochs * self.negatives <= _MOST_WORK
            and 0 <= seed < 1 << 32
            and isinstance(words, list)
            and all(isinstance(word, str) for word in words)
            and len(set(words)) == len(words)
            and saved.keys() == ({"counts", "vectors", "hidden"} if words else set())
        )
        if is_sound and words:
            shape = (len(words), self.dimensions)
            counts = saved.pop("counts")
            is_sound = (
                isinstance(counts, np.ndarray)
                and (counts.dtype, counts.shape) == (np.int64, shape[:1])
                and bool((counts > 0).all())
                and all(
                    isinstance(each, np.ndarray) and (each.dtype, each.shape) == (np.float32, shape)
                    for each in saved.values()
                )
            )
        if not is_sound:
            raise ValueError("the vectors of words are not what was learned")

    @cached_property
    def model_(self) -> Any:
        """Return gensim's model, made again from what was saved, where it was not fitted here."""
        saved = vars(self)
        n_words, model = len(saved["words"]), self._new_model(1)
        if n_words:
            # Counts that only put the words into order; the true ones follow.
            order = {word: n_words - rank for rank, word in enumerate(saved["words"])}
            model.build_vocab_from_freq(order)
            model.prepare_weights()
            for word, count in zip(saved["words"], saved["counts"].tolist(), strict=True):
                model.wv.set_vecattr(word, "count", count)
            model.make_cum_table()
            model.wv.vectors, model.syn1neg = saved["vectors"], saved["hidden"]
        return model

    def infer(self, documents: Sequence[Sentences]) -> Floats:
        """Return the vectors of documents, with the words' vectors as they are."""
        rows = [self._infer(sentences) for sentences in track(documents, "embedding graphs")]
        return np.array(rows, dtype=np.float64).reshape(len(documents), self.dimensions)

    def _infer(self, sentences: Sentences) -> Any:
        model, doc2vec = self.model_, _gensim()
        vector = np.zeros((1, self.dimensions), dtype=np.float32)
        if len(model.wv) == 0:
            return vector[0]
        model.random = np.random.RandomState(self.seed)  # noqa: NPY002, gensim's own kind
        train = doc2vec.train_document_dbow if self.window is None else doc2vec.train_document_dm
        work = [np.zeros(self.dimensions, dtype=np.float32) for _ in range(1 + bool(self.window))]
        parts = list(_parts(sentences))
        for epoch in range(self.epochs):
            for part in parts:
                train(
                    model,
                    part,
                    [0],
                    _rate(epoch, self.epochs),
                    *work,
                    learn_words=False,
                    learn_hidden=False,
                    doctag_vectors=vector,
                    doctags_lockf=np.ones(1, dtype=np.float32),
                )
        return vector[0]


def derive_from_text(text: str) -> int:
    """Hash a text, the same in every process."""
    return derive(0, text)


def _rate(epoch: int, epochs: int) -> float:
    return _RATES[0] + (_RATES[1] - _RATES[0]) * epoch / epochs


def _parts(sentences: Sentences) -> Iterator[list[str]]:
    for sentence in sentences:
        for start in range(0, len(sentence), _LONGEST):
            yield list(sentence[start : start + _LONGEST])


def _gensim() -> Any:
    try:
        from gensim.models import doc2vec
    except ImportError as error:
        raise MissingExtraError.of("This embedding", "gensim", "embeddings") from error
    return doc2vec
