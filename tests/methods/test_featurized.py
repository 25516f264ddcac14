import numpy as np
import pytest

from kgnn.graphs.packing import pack
from kgnn.graphs.toy import cycles_and_trees, planted_motifs
from kgnn.methods.featurized import _folds
from kgnn.methods.wl import WL


def test_val_decides_where_the_labeled_graphs_cannot():
    # One labeled graph per class: no cross-validation. Depth 0 sees no difference, depth 1 does.
    graphs = planted_motifs(60, n_node_labels=1)
    labels = graphs.targets.copy()
    labels[2:] = -1
    model = WL(iterations=(0, 2), committee=1, start="constant", normalize=("graph",))
    model.fit(graphs, labels, validation=(graphs[2:40], graphs.targets[2:40]))
    assert model.members_[0].featurizer.iterations == 2


def test_the_first_candidate_is_taken_where_nothing_can_be_judged():
    graphs = cycles_and_trees(2)
    model = WL(iterations=(3, 1), C=(10.0, 1.0), committee=1).fit(graphs)
    assert model.members_[0].featurizer.iterations == 3
    assert model.members_[0].svm.C == 10


def test_the_committee_is_the_mean_of_its_members():
    graphs = planted_motifs(40)
    model = WL(iterations=(1, 2), committee=3).fit(graphs[:30], graphs.targets[:30])
    assert len(model.members_) == 3
    assert [m.score for m in model.members_] == sorted(
        (m.score for m in model.members_), reverse=True
    )
    mean = np.mean([m.proba(graphs[30:]) for m in model.members_], axis=0)
    assert (model.predict_proba(graphs[30:]) == mean).all()


def test_a_committee_of_one_predicts_what_its_machine_predicts():
    # Three classes: the probabilities must not contradict the machine's own decision.
    rng = np.random.default_rng(0)
    sizes = rng.integers(4, 30, 90)
    targets = np.digitize(sizes, [12, 20])
    ends = [
        (first + i, first + i + 1)
        for first, n in zip(np.cumsum(sizes) - sizes, sizes, strict=True)
        for i in range(n - 1)
    ]
    graphs = pack("paths", sizes, *zip(*ends, strict=True), targets=targets.tolist())
    model = WL(committee=1, iterations=(1,)).fit(graphs[:60], targets[:60])
    (member,) = model.members_
    kernel = (member.featurizer.transform(graphs[60:]) @ member.support.T).toarray() * member.scale
    assert (model.predict(graphs[60:]) == member.svm.predict(kernel)).all()


@pytest.mark.parametrize(("counts", "n_folds"), [((1, 5), 0), ((2, 5), 2), ((9, 9), 5)])
def test_there_are_as_many_folds_as_the_rarest_class_allows(counts, n_folds):
    targets = np.repeat([0, 1], counts)
    folds = _folds(targets, seed=0)
    assert len(folds) == n_folds
    for train, held_out in folds:
        assert set(targets[train]) == {0, 1}
        assert set(train) | set(held_out) == set(range(len(targets)))
