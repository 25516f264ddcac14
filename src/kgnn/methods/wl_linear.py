"""WL-Linear: a logistic regression on the features of KGNN's memory (not in the paper)."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np
from scipy import sparse
from scipy.special import softmax

from kgnn.engine.linear import PENALTY, fit_linear, make_projection
from kgnn.engine.task import OutOfFold, Task
from kgnn.estimator.classifier import GraphClassifier
from kgnn.estimator.parameters import Bounds, Count, parameters
from kgnn.graphs.graph import Floats, GraphDataset, Ints
from kgnn.kernels import make_kernel
from kgnn.methods.memory import DEFAULT_KERNELS


@parameters
class WLLinear(GraphClassifier):
    """The leading coordinates of kernel features with a strongly penalized logistic regression.

    The baseline that any claim about few labels has to beat. It is where KGNN's memory starts, and
    nothing is chosen: with twenty labels, a choice costs more than it brings. Unlabeled graphs
    count in the features and their coordinates.

    Parameters
    ----------
    kernel : str or featurizer
        See `kgnn.kernels.make_kernel`. ``auto`` is the Weisfeiler-Lehman kernel with coarse colors.
    dimensions : int or "auto"
        Coordinates; ``auto`` is half as many as there are labeled graphs, from 64 to 256.
    C : float
        Inverse of the penalty, for coordinates of a mean squared length of 8.
    use_node_attributes, use_edge_labels : bool
        Whether to use node attributes, and labels and other data of edges.

    Attributes
    ----------
    kernel_ : featurizer
    projection_ : Projection
    coefficients_, biases_ : array
        ``(n_classes, n_coordinates)`` and ``(n_classes,)``.

    References
    ----------
    The features are those of Shervashidze et al., *Weisfeiler-Lehman graph kernels*, JMLR 12, 2011,
    on graphs whose colors are those of `kgnn.kernels.weisfeiler_lehman`.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> graphs = cycles_and_trees(60)
    >>> model = WLLinear().fit(graphs[:40], graphs.targets[:40])
    >>> model.score(graphs[40:], graphs.targets[40:])
    1.0
    """

    kernel: object = "auto"
    dimensions: Count | Literal["auto"] = "auto"
    C: Annotated[float, Bounds(1e-9)] = PENALTY
    use_node_attributes: bool = True
    use_edge_labels: bool = True

    _cross_fits: ClassVar[bool] = True

    def _fit(self, task: Task) -> OutOfFold | None:
        is_auto = isinstance(self.kernel, str) and self.kernel == "auto"
        self.kernel_ = make_kernel(DEFAULT_KERNELS[0] if is_auto else self.kernel)
        features = sparse.csr_array(self.kernel_.fit(task.graphs).transform(task.graphs))
        projection = make_projection(self.dimensions, task)
        assert projection is not None  # there are always coordinates
        self.projection_ = projection.fit(features)
        coordinates = self.projection_.transform(features)

        def fit(labeled: Ints) -> tuple[Floats, Floats]:
            targets = task.targets[labeled]
            weights = None if task.class_weights is None else task.class_weights[targets]
            return fit_linear(
                coordinates[labeled], targets, task.n_classes, penalty=self.C, weights=weights
            )

        self.coefficients_, self.biases_ = fit(task.labeled)
        members = [each for each in task.members() if len(each.held_out)]
        if task.validation is not None or not members:
            return None
        answers = []
        for member in members:
            coefficients, biases = fit(member.labeled)
            answers.append(coordinates[member.held_out] @ coefficients.T + biases)
        rows = np.concatenate([member.held_out for member in members])
        return OutOfFold(rows, np.asarray(softmax(np.concatenate(answers), axis=1)))

    def require_sound(self) -> None:
        """Refuse coefficients, read from a file, that are not those of the classes."""
        if len(self.classes_) > 1 and (
            self.coefficients_.ndim != 2 or self.biases_.shape != self.coefficients_.shape[:1]
        ):
            raise ValueError("the coefficients and biases are not those of one classifier")

    def _predict_proba(self, graphs: GraphDataset) -> Floats:
        features = sparse.csr_array(self.kernel_.transform(graphs))
        coordinates = self.projection_.transform(features)
        return np.asarray(softmax(coordinates @ self.coefficients_.T + self.biases_, axis=1))
