"""The forest on Weisfeiler-Lehman counts: what it asks of graphs, and what it leaves out."""

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from kgnn.graphs.datasets.toy import planted_motifs
from kgnn.kernels.weisfeiler_lehman import WeisfeilerLehman
from kgnn.methods.wl_forest import WLForest

GRAPHS = planted_motifs(40, n_nodes=12)
LABELS = np.where(np.arange(40) < 20, GRAPHS.targets, -1)


def test_it_is_scikit_learns_forest_on_the_counts():
    model = WLForest(trees=20, cross_fit=0, iterations=2, random_state=5).fit(GRAPHS, LABELS)
    counts = WeisfeilerLehman(2, min_df=3).fit(GRAPHS).transform(GRAPHS)
    forest = RandomForestClassifier(20, random_state=5).fit(counts[:20], LABELS[:20])
    np.testing.assert_allclose(model.predict_proba(GRAPHS), forest.predict_proba(counts), atol=1e-6)


def test_unlabeled_graphs_say_which_colors_there_are():
    alone = WLForest(trees=1, cross_fit=0).fit(GRAPHS[:20], LABELS[:20]).kernel_
    beside = WLForest(trees=1, cross_fit=0).fit(GRAPHS, LABELS).kernel_
    assert beside.n_features_out_ > alone.n_features_out_
    rare = WLForest(trees=1, cross_fit=0, min_df=1).fit(GRAPHS, LABELS).kernel_
    assert rare.n_features_out_ > beside.n_features_out_
