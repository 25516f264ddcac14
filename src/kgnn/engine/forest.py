"""Random forests: decision trees on counts, for a method of their own or beside networks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor, nn

from kgnn.engine.configured import configured
from kgnn.engine.loop import History
from kgnn.engine.network import Fitted, Learner, Training
from kgnn.graphs.graph import Floats, GraphDataset, Ints
from kgnn.kernels.base import Featurizer
from kgnn.progress import track
from kgnn.seeds import derive, for_sklearn

_CELLS = 1 << 24  # of the dense features in one pass
# Of the probabilities, spread over all classes: no leaf is certain.
_DOUBT = 0.02


@configured
class Forest(nn.Module):
    """Fitted decision trees, all their nodes in the same arrays, so that they can be saved.

    ``grow`` makes one. The buffers are ``columns``, the features that any tree asks for; ``roots``;
    and for each node ``left`` and ``right``, where to go next (a leaf points to itself),
    ``feature``, a position in ``columns``, ``threshold``, to the left of which values are at most
    that, and ``shares`` of the classes among the training graphs that came here.
    """

    columns: Tensor
    left: Tensor

    def __init__(self, n_columns: int, n_trees: int, n_nodes: int, n_classes: int) -> None:
        super().__init__()
        whole = {"columns": n_columns, "roots": n_trees}
        whole |= dict.fromkeys(("left", "right", "feature"), n_nodes)
        for name, length in whole.items():
            self.register_buffer(name, torch.zeros(length, dtype=torch.int64))
        self.register_buffer("threshold", torch.zeros(n_nodes, dtype=torch.float64))
        self.register_buffer("shares", torch.zeros(n_nodes, n_classes, dtype=torch.float64))

    @classmethod
    def grow(
        cls,
        features: Any,
        targets: Ints,
        n_classes: int,
        *,
        trees: int,
        seed: int,
        weights: Floats | None = None,
    ) -> Forest:
        """Grow a forest on dense or sparse features, as scikit-learn does."""
        from sklearn.ensemble import RandomForestClassifier  # not needed to predict

        forest = RandomForestClassifier(trees, random_state=for_sklearn(seed))
        grown = [tree.tree_ for tree in forest.fit(features, targets, weights).estimators_]
        firsts = np.cumsum([0] + [tree.node_count for tree in grown])
        own = np.arange(firsts[-1])
        offsets = np.repeat(firsts[:-1], np.diff(firsts))
        left = np.concatenate([tree.children_left for tree in grown])
        right = np.concatenate([tree.children_right for tree in grown])
        asked = np.concatenate([tree.feature for tree in grown])
        is_leaf = left < 0
        columns, place = np.unique(asked[~is_leaf], return_inverse=True)
        feature = np.zeros_like(own)
        feature[~is_leaf] = place
        shares = np.zeros((len(own), n_classes))
        known = forest.classes_.astype(np.int64)
        shares[:, known] = np.concatenate([tree.value[:, 0, :] for tree in grown])
        made = cls(len(columns), trees, len(own), n_classes)
        arrays = {
            "columns": columns,
            "roots": firsts[:-1],
            "left": np.where(is_leaf, own, left + offsets),
            "right": np.where(is_leaf, own, right + offsets),
            "feature": feature,
            "threshold": np.concatenate([tree.threshold for tree in grown]),
            "shares": shares / shares.sum(axis=1, keepdims=True),
        }
        made.load_state_dict({name: torch.from_numpy(each) for name, each in arrays.items()})
        return made

    def require_sound(self) -> None:
        """Refuse trees, read from a file, that ask or go where nothing is."""
        limits = {"left": len(self.left), "right": len(self.left), "roots": len(self.left)}
        for name, limit in {**limits, "feature": max(1, len(self.columns))}.items():
            places = self.get_buffer(name)
            if len(places) and not 0 <= int(places.min()) <= int(places.max()) < limit:
                raise ValueError(f"the trees of a forest have '{name}' beyond {limit}")
        if len(self.columns) and int(self.columns.min()) < 0:
            raise ValueError("the trees of a forest ask for features that there are not")

    def predict_proba(self, features: Any) -> Floats:
        """Return the mean over the trees, ``(n_rows, n_classes)``."""
        parts = {name: each.numpy() for name, each in self.named_buffers()}
        n_rows = features.shape[0]
        size = max(1, _CELLS // max(1, len(parts["columns"]), len(parts["roots"])))
        proba = np.empty((n_rows, parts["shares"].shape[1]))
        for first in range(0, n_rows, size):
            rows = features[first : first + size][:, parts["columns"]]
            dense = rows.toarray() if sparse.issparse(rows) else rows
            leaves = _leaves(np.asarray(dense, dtype=np.float32), parts)  # as when it was grown
            proba[first : first + size] = parts["shares"][leaves].mean(axis=1)
        return proba


def _leaves(features: np.ndarray, parts: Mapping[str, np.ndarray]) -> Ints:
    """Return the leaf that each row reaches in each tree."""
    at = np.tile(parts["roots"], (len(features), 1))  # (n_rows, n_trees)
    if not features.shape[1]:  # all trees are single leaves
        return at
    every = np.arange(len(features))[:, None]
    for _ in range(len(parts["left"])):  # no way down is longer, even in a damaged file
        goes_left = features[every, parts["feature"][at]] <= parts["threshold"][at]
        then = np.where(goes_left, parts["left"][at], parts["right"][at])
        if np.array_equal(then, at):
            break
        at = then
    return at


class ForestVoice(Learner):
    """A forest on kernel features of a pool of graphs, which speaks beside networks.

    It learns the labeled graphs alone: trees that are taught their own answers only repeat them.

    Parameters
    ----------
    pool : GraphDataset
    kernel : Featurizer
        Fitted on the pool.
    trees : int
        Of each member.
    """

    name = "forest"
    needed = ("kernel", "fitted")

    def __init__(self, pool: GraphDataset, kernel: Featurizer, trees: int) -> None:
        self.kernel, self.trees = kernel, trees
        fit_transform = getattr(
            kernel, "fit_transform", lambda pool: kernel.fit(pool).transform(pool)
        )
        self.pool = sparse.csr_array(fit_transform(pool))

    def prepare(self, graphs: GraphDataset) -> sparse.csr_array:
        """Compute kernel features."""
        return sparse.csr_array(self.kernel.transform(graphs))

    def part(self, rows: Ints) -> sparse.csr_array:
        """Return some of the training graphs, prepared."""
        return self.pool[rows]

    def fit(
        self, trainings: Sequence[Training], *, what: str = "training", **options: Any
    ) -> list[Fitted]:
        """Grow a forest for each of ``trainings``; there is no epoch to choose."""
        self.fitted = [self._grow(training) for training in track(trainings, what)]
        return self.fitted

    def _grow(self, training: Training) -> Fitted:
        examples = training.examples
        targets = examples.targets[examples.labeled].argmax(dim=1).numpy()
        weights = None
        if examples.class_weights is not None:
            weights = examples.class_weights.numpy()[targets]
        forest = Forest.grow(
            self.part(examples.labeled),
            targets,
            examples.targets.shape[1],
            trees=self.trees,
            seed=derive(training.seed, self.name),
            weights=weights,
        )
        fitted = Fitted(forest, History())
        if training.judges is not None:
            fitted.answers = self._outputs(forest, training.judges, fitted)
        return fitted

    def _outputs(
        self, module: nn.Module, prepared: Any, fitted: Fitted, own: Tensor | None = None
    ) -> Floats:
        assert isinstance(module, Forest)
        proba = module.predict_proba(prepared)
        return np.asarray(np.log((1 - _DOUBT) * proba + _DOUBT / proba.shape[1]))
