"""The base class of all methods: scikit-learn's interface for graphs."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted

from kgnn.engine.folds import deal_folds
from kgnn.engine.task import OutOfFold, Task
from kgnn.errors import GraphDataError, KgnnWarning, ParameterError
from kgnn.estimator.calibration import HeldOut, calibrate_model, labels_in_sets, sharpen
from kgnn.estimator.carried import (
    unused_by,
    used_by,
    warn_of_more,
    warn_of_new_labels,
    warn_of_unused,
)
from kgnn.estimator.evidence import PREDICTION
from kgnn.estimator.explanation import (
    Explanation,
    Neighbor,
    explain,
    most_similar_labeled,
    plain_similarity,
)
from kgnn.estimator.labels import (
    encode_labels,
    other_form,
    require_same_form,
    warn_of_look_alikes,
    warn_of_names,
)
from kgnn.estimator.novelty import Familiar, Novelty
from kgnn.estimator.parameters import CountOrZero, check, parameters
from kgnn.estimator.suggestion import Suggestions, next_to_label
from kgnn.graphs.graph import Floats, GraphDataset, Ints
from kgnn.graphs.interop import as_dataset, is_graph
from kgnn.kernels.colors import looks
from kgnn.progress import track

if TYPE_CHECKING:
    from typing_extensions import Self

    from kgnn.engine.loop import History

UNLABELED = -1
_NODES_AT_ONCE = 1 << 19
Graphs = GraphDataset | Sequence[Any]


@dataclass(frozen=True)
class Story:
    """The history of `fit`, for records and pages; fields that do not apply are empty."""

    curves: dict[str, History]  # loss and validation score per epoch, by network
    # Plain JSON per round: ``n_selected``, ``agreement``, ``accuracy`` by network, and the
    # annotated ``rows`` of the training graphs with their ``targets`` and the annotator's
    # ``confidence`` (these three not in a saved model).
    rounds: list[dict[str, Any]]
    ending: str  # why the rounds ended; empty if there are none


@parameters
class GraphClassifier(ClassifierMixin, BaseEstimator):
    """Base class of all methods; a subclass implements `_fit` and `_predict_proba`.

    Parameters
    ----------
    random_state : int
        Random seed of `fit`. The same seed gives the same model, bit for bit, on the same kind of
        processor with the same versions.
    cross_fit : int
        Number of folds for cross-fitting, which replaces a missing validation set. Each fold of the
        labels is predicted by models trained on the others. These out-of-fold predictions serve to
        select, to calibrate and to estimate accuracy, while all labels are used for training.
        0: train once on all labels, without selection and calibration.
    class_weight : {"balanced", None}
        With ``"balanced"``, rare classes count as much as frequent ones in training.

    Attributes
    ----------
    classes_ : array
        Labels in the order of the columns of `predict_proba`.
    target_names_ : tuple of str
        Class names of the training dataset; labels may be positions in them.
    labeled_graphs_ : GraphDataset
        The labeled training graphs, with their classes as targets.
    labeled_rows_ : array of int64
        Positions of the labeled graphs in the training data.
    held_out_ : HeldOut or None
        Predictions for the validation graphs or, without these, out-of-fold predictions.
    sharpness_ : float
        Factor on log-probabilities that calibrates them, fitted on the held-out predictions.
    familiar_ : Familiar
        Summary of the training graphs, for `novelty`.
    fitted_on_ : dict
        Facts about the training data: name, numbers of graphs, classes.
    unused_ : tuple of str
        Data of the graphs, such as edge labels, that the method cannot use.
    interrupted_ : bool
        Whether Ctrl-C stopped `fit`; the model is then the best one up to that moment.
    """

    random_state: int = 0
    cross_fit: CountOrZero = 5
    class_weight: Literal["balanced"] | None = None

    # Fitted attributes that predictions do not need.
    _not_saved: ClassVar[tuple[str, ...]] = ()
    # Whether `_fit` makes use of ``Task.folds``; if not, the method is fitted again for each fold.
    _cross_fits: ClassVar[bool] = False

    def fit(
        self,
        X: Graphs,
        y: ArrayLike | None = None,
        *,
        validation: tuple[Graphs, ArrayLike | None] | Graphs | None = None,
    ) -> Self:
        """Fit on labeled and unlabeled graphs.

        Parameters
        ----------
        X : GraphDataset or list of graphs
        y : array, optional
            Label of each graph, by position, all of one kind; −1, None, NaN or empty text for
            unlabeled graphs. Default: the dataset's targets.
        validation : (graphs, labels) or graphs, optional
            Validation set for selection and calibration; it is not trained on. The labels default
            to the targets. Without it, cross-fitting takes its place; see ``cross_fit``.
        """
        check(self)
        graphs = as_dataset(X)
        targets, classes = encode_labels(graphs, y)
        if not classes:
            raise GraphDataError(
                f"none of the {len(graphs)} graphs has a label; pass y with at least one label per "
                "class, and -1 for unlabeled graphs"
            )
        self._forget()
        try:
            self._fit_labeled(graphs, targets, classes, validation)
        except BaseException:
            self._forget()  # an incomplete model must not predict
            raise
        return self

    def _fit_labeled(
        self, graphs: GraphDataset, targets: Ints, classes: list[Any], validation: Any
    ) -> None:
        self.classes_ = np.array(classes)
        self.target_names_ = graphs.class_names
        warn_of_names(classes)
        warn_of_look_alikes(classes)
        judging, judges = self._validation(validation) if validation is not None else (None, None)
        task = Task(
            graphs=_hidden(graphs),
            targets=targets,
            n_classes=len(classes),
            validation=judges,
            seed=self.random_state,
            class_weights=self._class_weights(targets, len(classes)),
        )
        if task.validation is None and task.n_classes > 1 and self.cross_fit:
            task = replace(task, folds=self._folds(task))
        self.interrupted_, self.sharpness_ = False, 1.0
        self.held_out_: HeldOut | None = None
        self._remember(task, graphs.name)
        self.unused_ = unused_by(self, graphs)
        warn_of_unused(self, self.unused_, graphs)
        task = replace(task, graphs=used_by(self, task.graphs))
        if task.n_classes == 1:
            warnings.warn(
                f"All labeled graphs are of one class, {classes[0]!r}, so every prediction will "
                "be this class. If -1 is one of your classes, rename it: -1 means unlabeled.",
                KgnnWarning,
                stacklevel=3,
            )
            return
        try:
            answers = self._fit(task if self._cross_fits else replace(task, folds=()))
        except KeyboardInterrupt:
            if not self._can_predict():
                raise
            self.interrupted_ = True
            told = "Training was stopped by hand; the model is the best one up to that moment."
            warnings.warn(told, KgnnWarning, stacklevel=3)
        else:
            calibrate_model(self, task, answers, judging)

    def _folds(self, task: Task) -> tuple[Ints, ...]:
        """Deal the labeled graphs into folds; graphs that look alike stay together."""
        labeled = task.labeled
        copies = looks(task.graphs[labeled])
        folds = deal_folds(task.targets[labeled], copies, max(2, self.cross_fit), task.seed)
        return tuple(labeled[fold] for fold in folds)

    def _class_weights(self, targets: Ints, n_classes: int) -> Floats | None:
        if self.class_weight is None:
            return None
        counts = np.bincount(targets[targets >= 0], minlength=n_classes)
        return np.asarray(counts.sum() / (n_classes * counts))

    def _forget(self) -> None:
        """Remove the attributes of an earlier fit; not every fit sets all of them."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)

    def _remember(self, task: Task, name: str) -> None:
        names = tuple(map(str, self.classes_.tolist()))
        labeled = replace(task.graphs[task.labeled], class_names=names)
        self.labeled_graphs_ = labeled.with_targets(task.targets[task.labeled])
        self.labeled_rows_ = task.labeled
        self.familiar_ = Familiar.of(task.graphs)
        self.fitted_on_ = {
            "name": name,
            "labeled": len(task.labeled),
            "unlabeled": len(task.unlabeled),
            "validation": 0 if task.validation is None else len(task.validation[1]),
            "classes": self.classes_.tolist(),
        }

    def predict(self, X: Graphs) -> NDArray[Any]:
        """Return the most probable label of each graph."""
        check_is_fitted(self, "classes_")
        graphs = as_dataset(X)
        warn_of_new_labels(self, graphs)
        best = self.predict_proba(graphs).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def predict_proba(self, X: Graphs) -> Floats:
        """Return the probability of each class, ``(n_graphs, n_classes)``."""
        check_is_fitted(self, "classes_")
        graphs = as_dataset(X)
        if len(self.classes_) == 1 or len(graphs) == 0:
            return np.ones((len(graphs), len(self.classes_)))
        runs = track(_runs(graphs), "predicting")
        proba = [self._predict_proba(_hidden(graphs[run])) for run in runs]
        warn_of_more(self, graphs)
        return sharpen(np.concatenate(proba), self.sharpness_)

    def predict_sets(self, X: Graphs, *, error: float = 0.1) -> list[list[Any]]:
        """Return a conformal label set for each graph, the most probable label first.

        For graphs like the training graphs, at most a share of ``error`` of the sets misses the
        true label, on average. This needs validation graphs, or ``cross_fit`` and two labeled
        graphs of a class.
        """
        return self.sets_of(self.predict_proba(X), error=error)

    def sets_of(self, proba: Floats, *, error: float = 0.1) -> list[list[Any]]:
        """Return the sets of `predict_sets` for these probabilities."""
        return labels_in_sets(proba, self.classes_.tolist(), self.held_out_, error)

    def score(self, X: Graphs, y: ArrayLike | None = None, sample_weight: Any = None) -> float:
        """Return the accuracy on the labeled graphs.

        ``y`` defaults to the dataset's targets. As in `fit`, −1 and None mean unlabeled, so that
        `sklearn.model_selection.cross_val_score` works on partly labeled graphs.
        """
        check_is_fitted(self, "classes_")
        graphs = as_dataset(X)
        codes, labels = self._encode(graphs, y)
        known = np.flatnonzero(codes >= 0)
        if not len(known):
            raise GraphDataError(
                f"a score needs labels, but none of the {len(graphs)} graphs has one"
            )
        require_same_form(codes, labels, len(self.classes_))
        right = self.predict_proba(graphs[known]).argmax(axis=1) == codes[known]
        weights = None if sample_weight is None else np.asarray(sample_weight)[known]
        return float(np.average(right, weights=weights))

    def explain(self, graph: Any, *, neighbors: int = 5, error: float = 0.1) -> Explanation:
        """Explain the prediction for a graph: evidence for and against it, similar labeled graphs.

        Parameters
        ----------
        graph : Graph
            A graph, also of another library, or a list with one graph.
        neighbors : int
            Number of similar labeled graphs.
        error : float
            Error rate of the label set; see `predict_sets`.
        """
        check_is_fitted(self, "classes_")
        return explain(self, graph, neighbors=neighbors, error=error)

    def similar(self, X: Graphs, n: int = 5) -> list[tuple[Neighbor, ...]]:
        """Return the labeled graphs most similar to each graph.

        Similarity is that of the model's kernel features or, without these, of plain
        Weisfeiler-Lehman features.
        """
        check_is_fitted(self, "classes_")
        return most_similar_labeled(self, as_dataset(X), n)

    def novelty(self, X: Graphs) -> list[Novelty]:
        """Return how each graph differs from the training graphs."""
        check_is_fitted(self, "classes_")
        return self.familiar_.compare(as_dataset(X))

    def suggest(self, X: Graphs, n: int = 20) -> Suggestions:
        """Return at most ``n`` of these graphs to label next, the most useful first.

        Labeled graphs, and graphs that look exactly like a labeled one, are left out. See
        `kgnn.estimator.suggestion`.
        """
        check_is_fitted(self, "classes_")

        def ask(graphs: GraphDataset) -> dict[str, Floats]:
            runs = track(_runs(graphs), "predicting")
            parts = [self.predict_proba_all(_hidden(graphs[run])) for run in runs]
            return {who: np.concatenate([part[who] for part in parts]) for who in parts[0]}

        labels = self.classes_.tolist()
        return next_to_label(as_dataset(X), self.labeled_graphs_, ask, labels, n)

    def save(self, path: str | Path) -> Path:
        """Save to a folder or a ``.safetensors`` file; `kgnn.open_model` opens it."""
        from kgnn.estimator.saving import save_model

        check_is_fitted(self, "classes_")
        return save_model(self, path)

    @property
    def class_names(self) -> list[str]:
        """The classes as text."""
        check_is_fitted(self, "classes_")
        return list(self.labeled_graphs_.class_names)

    def name_classes(self, names: Sequence[str]) -> Self:
        """Replace classes that are positions in ``names`` by these names."""
        check_is_fitted(self, "classes_")
        if self.classes_.dtype.kind != "i" or not (
            min(self.classes_) >= 0 and max(self.classes_) < len(names)
        ):
            classes = self.classes_.tolist()
            raise ParameterError(f"The classes {classes} are not positions in {list(names)}.")
        self.classes_ = np.array(names)[self.classes_]
        called = self.classes_.tolist()
        self.labeled_graphs_ = replace(self.labeled_graphs_, class_names=tuple(called))
        self.fitted_on_["classes"] = called
        return self

    # Methods may override these.

    def story(self) -> Story:
        """Return the history of `fit`."""
        check_is_fitted(self, "classes_")
        return Story({"gnn": self.history_} if hasattr(self, "history_") else {}, [], "")

    def predict_proba_each(self, X: Graphs) -> dict[str, Floats]:
        """Return the probabilities of each network of the model, and of ``all`` together.

        Empty for models without several networks, which are most.
        """
        check_is_fitted(self, "classes_")
        return {}

    def predict_proba_all(self, X: Graphs) -> dict[str, Floats]:
        """Return the model's probabilities as ``prediction``, and those of its networks."""
        return {PREDICTION: self.predict_proba(X), **self.predict_proba_each(X)}

    def similarity_to_labeled(self, graphs: GraphDataset) -> Floats:
        """Return kernel values with the labeled graphs, ``(n_graphs, n_labeled)``."""
        return plain_similarity(graphs, self.labeled_graphs_)

    def attention_to_labeled(self, graphs: GraphDataset) -> Floats:
        """Return attention to the labeled graphs, ``(n_hops, n_graphs, n_labeled)``, if any."""
        return np.zeros((0, len(graphs), len(self.labeled_graphs_)))

    def saved_state(self) -> dict[str, Any]:
        """Return the fitted attributes that predictions need."""
        fitted = {key: value for key, value in vars(self).items() if key.endswith("_")}
        return {key: value for key, value in fitted.items() if key not in self._not_saved}

    # Methods implement these.

    def _fit(self, task: Task) -> OutOfFold | None:
        """Fit to a task with at least two classes; set attributes that end in ``_``.

        A method that trains a member for each of ``task.folds`` returns the out-of-fold
        predictions; see ``_cross_fits``.
        """
        raise NotImplementedError

    def _predict_proba(self, graphs: GraphDataset) -> Floats:
        """Return class probabilities of at least one graph."""
        raise NotImplementedError

    def _unread(self) -> tuple[str, ...]:
        """Return the data of graphs that the method does not read with these parameters.

        Each is a field of graphs such as ``node_labels``, or a switch such as ``use_edge_labels``
        that has no effect. Data for which the method has no switch need not be named.
        """
        return ()

    def _can_predict(self) -> bool:
        """Tell whether the model can predict after Ctrl-C stopped its fit."""
        return False

    def _encode(self, graphs: GraphDataset, y: Any) -> tuple[Ints, list[Any]]:
        """Encode labels as positions in ``classes_``, with unknown labels appended."""
        return encode_labels(graphs, y, self.classes_.tolist(), self.target_names_)

    def _validation(
        self, validation: Any
    ) -> tuple[Ints, tuple[GraphDataset, Ints]] | tuple[None, None]:
        """Return the positions of the validation graphs of known classes, and these graphs."""
        is_pair = isinstance(validation, tuple | list) and len(validation) == 2
        X, y = validation if is_pair and not is_graph(validation[0]) else (validation, None)
        graphs = as_dataset(X)
        targets, labels = self._encode(graphs, y)
        known = targets[targets >= 0]
        if not len(known) and y is None:
            raise GraphDataError(
                f"none of the {len(graphs)} validation graphs has a target; "
                "pass validation=(graphs, labels)"
            )
        if not len(known):
            warnings.warn(
                f"None of the {len(graphs)} validation graphs has a label, so they cannot be used "
                "for selection or calibration.",
                KgnnWarning,
                stacklevel=4,
            )
            return None, None
        n_classes = len(self.classes_)
        usable = np.flatnonzero((targets >= 0) & (targets < n_classes))
        if len(usable) == 0:
            raise other_form("validation label", labels[known[0]], labels[:n_classes])
        return usable, (_hidden(graphs[usable]), targets[usable])

    def _repr_html_(self) -> str:
        """Return HTML for notebooks: scikit-learn's diagram or, once fitted, a summary."""
        if not hasattr(self, "classes_"):
            return estimator_html_repr(self)
        from kgnn.estimator.notebook import model_html

        return model_html(self)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags


def _runs(graphs: GraphDataset) -> list[slice]:
    """Cut graphs into runs of a bounded number of nodes, to bound memory."""
    run = graphs.node_offsets[:-1] // _NODES_AT_ONCE
    return [slice(a, b) for a, b in pairwise([0, *(np.flatnonzero(np.diff(run)) + 1), len(graphs)])]


def _hidden(graphs: GraphDataset) -> GraphDataset:
    """Return the graphs without targets, so that no method can read them."""
    return graphs.with_targets(np.full(len(graphs), UNLABELED))
