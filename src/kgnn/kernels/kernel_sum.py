"""The sum of several kernels: their concatenated features, each kernel with equal weight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kgnn.errors import ParameterError
from kgnn.graphs.graph import CARRIED, GraphDataset
from kgnn.graphs.interop import as_dataset
from kgnn.kernels.base import Featurizer

_ROUNDING = 1e-12


class KernelSum(TransformerMixin, BaseEstimator):
    """Sum several kernels.

    The features of each kernel are scaled by one factor, so that the graphs given to `fit` are
    equally far apart by each: a kernel with long rows or many columns does not drown the others.

    Parameters
    ----------
    kernels : sequence of str or featurizer
        See `kgnn.kernels.make_kernel`, which also reads ``"wl(iterations=2) + sp"``.

    Attributes
    ----------
    kernels_ : list of featurizer
        Fitted.
    scales_ : list of float
        Factor of each kernel.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> graphs = cycles_and_trees(20)
    >>> both = KernelSum(["wl(iterations=1)", "sp"])
    >>> both.fit_transform(graphs).shape[1] == sum(
    ...     kernel.transform(graphs).shape[1] for kernel in both.kernels_
    ... )
    True
    """

    def __init__(self, kernels: Sequence[Any]) -> None:
        self.kernels = kernels

    @property
    def reads(self) -> tuple[str, ...]:
        """What some kernel reads of what graphs carry."""
        from kgnn.kernels import make_kernel

        each = [getattr(make_kernel(kernel), "reads", CARRIED) for kernel in self.kernels]
        return tuple(name for name in CARRIED if any(name in reads for reads in each))

    def fit(self, graphs: GraphDataset, y: Any = None) -> KernelSum:
        """Fit each kernel and its scale on these graphs."""
        self.fit_transform(graphs)
        return self

    def fit_transform(self, graphs: GraphDataset, y: Any = None) -> sparse.csr_array:
        """Fit, and return the features of the same graphs."""
        from kgnn.kernels import make_kernel  # imported late, because it makes sums, too

        if isinstance(self.kernels, str) or len(self.kernels) == 0:
            raise ParameterError(
                'A sum has a list of kernels, such as ["wl", "sp"]; a single text is for '
                f"`make_kernel`. Got {self.kernels!r}."
            )
        graphs = as_dataset(graphs)
        self.kernels_: list[Featurizer] = [make_kernel(each) for each in self.kernels]
        features = [sparse.csr_array(each.fit_transform(graphs)) for each in self.kernels_]
        self.scales_ = [_scale(each) for each in features]
        return self._beside(features)

    def transform(self, graphs: GraphDataset) -> sparse.csr_array:
        """Return the features of graphs, ``(n_graphs, n_features)``."""
        check_is_fitted(self, "kernels_")
        graphs = as_dataset(graphs)
        return self._beside([sparse.csr_array(each.transform(graphs)) for each in self.kernels_])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.str_]:
        """Name the columns as the kernels do."""
        check_is_fitted(self, "kernels_")
        names: list[Any] = [each.get_feature_names_out() for each in self.kernels_]  # type: ignore[attr-defined]
        return np.concatenate(names)

    def _beside(self, features: list[sparse.csr_array]) -> sparse.csr_array:
        scaled = [scale * each for scale, each in zip(self.scales_, features, strict=True)]
        return sparse.csr_array(sparse.hstack(scaled, format="csr"))


def _scale(features: sparse.csr_array) -> float:
    """Return the factor that makes the mean squared distance from the center 1."""
    n_graphs = max(1, features.shape[0])
    squares = float((features.data.astype(np.float64) ** 2).sum()) / n_graphs
    center = np.asarray(features.sum(axis=0)).ravel() / n_graphs
    spread = squares - float(center @ center)
    return 1.0 if spread <= _ROUNDING * squares else float(1 / np.sqrt(spread))
