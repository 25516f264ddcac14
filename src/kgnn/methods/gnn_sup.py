"""GNN-Sup: the GIN on the labeled graphs alone (Ju et al., WSDM 2022, §5.3)."""

from __future__ import annotations

from kgnn.estimator.parameters import parameters
from kgnn.methods.kgnn import PaperSettings
from kgnn.methods.neural import NeuralClassifier


@parameters
class GNNSup(PaperSettings, NeuralClassifier):
    """The GNN alone, trained on labeled graphs; the unlabeled ones are not used.

    The first of the paper's ablations, and round 0 of KGNN. See `NeuralClassifier` for the
    parameters.

    Parameters
    ----------
    use_edge_labels : bool
        Whether to use labels, directions, weights and attributes of edges.

    References
    ----------
    Xu et al., *How powerful are graph neural networks?*, ICLR 2019.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> graphs = cycles_and_trees(60)
    >>> model = GNNSup(epochs=20).fit(graphs[:40], graphs.targets[:40])
    >>> model.predict_proba(graphs[40:]).shape
    (20, 2)
    """

    use_edge_labels: bool = True
