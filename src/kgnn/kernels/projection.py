"""Project sparse features to a few dense coordinates that nearly preserve distances."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.decomposition import TruncatedSVD

from kgnn.seeds import for_sklearn

_ROUNDING = 1e-12  # relative rounding error of squared 32-bit numbers


class Projection:
    """The leading singular vectors of the features of all training graphs, labeled or not.

    Coordinates are centered and scaled by one factor, to a mean squared length of ``length``.

    There are at most ``dimensions`` of them, fewer for few graphs. The decomposition is randomized
    (Halko et al., *Finding structure with randomness*, SIAM Review 53, 2011).
    """

    def __init__(self, dimensions: int, *, length: float = 1.0, seed: int = 0) -> None:
        self.dimensions, self.length, self.seed = dimensions, length, seed

    def fit(self, features: sparse.csr_array) -> Projection:
        """Find the basis."""
        n_kept = min(self.dimensions, *features.shape)
        if n_kept < 2:
            self.basis = np.ones((features.shape[1], 1), dtype=np.float32)
        else:
            with np.errstate(invalid="ignore", divide="ignore"):  # graphs that are all alike
                svd = TruncatedSVD(n_kept, random_state=for_sklearn(self.seed)).fit(features)
            self.basis = svd.components_.T.astype(np.float32)
        self.center, self.factor = np.float32(0), 1.0
        coordinates = self.transform(features)
        self.center = coordinates.mean(axis=0)
        spread = float(((coordinates - self.center) ** 2).sum(axis=1).mean())
        is_rounding = spread <= _ROUNDING * float((coordinates**2).sum(axis=1).mean())
        self.factor = 1.0 if is_rounding else float(np.sqrt(self.length / spread))
        return self

    def require_sound(self) -> None:
        """Refuse what a file says if it is no basis with a center."""
        center, numbers = self.center, (self.dimensions, self.seed)
        is_sound = (
            all(type(each) is int and each >= 0 for each in numbers)
            and all(type(each) in (int, float) and each > 0 for each in (self.length, self.factor))
            and isinstance(self.basis, np.ndarray)
            and isinstance(center, np.ndarray)
            and self.basis.dtype == center.dtype == np.float32
            and center.shape == self.basis.shape[1:]
            and center.ndim == 1
        )
        if not is_sound:
            raise ValueError("a projection has no basis and center that belong together")

    def transform(self, features: sparse.csr_array) -> NDArray[np.float32]:
        """Return the coordinates of feature rows, ``(n, n_coordinates)``."""
        coordinates: Any = features.astype(np.float32) @ self.basis
        return np.asarray((coordinates - self.center) * np.float32(self.factor), dtype=np.float32)
