from kgnn.graphs.datasets.toy import planted_motifs
from kgnn.kernels.optimal_assignment import OptimalAssignment
from kgnn.kernels.weisfeiler_lehman import WeisfeilerLehman
from kgnn.methods.wl import WL

GRAPHS = planted_motifs(40, n_nodes=12)


def test_all_combinations_of_settings_are_candidates():
    found = WL(iterations=(1, 2), counts=("raw", "log"), normalize=("level",))._featurizers()
    assert [type(each) for each in found] == [WeisfeilerLehman] * 4
    settings = [(each.iterations, each.counts, each.normalize) for each in found]
    assert settings == [
        (1, "raw", "level"),
        (1, "log", "level"),
        (2, "raw", "level"),
        (2, "log", "level"),
    ]


def test_the_assignment_kernel_has_no_counts_to_transform():
    found = WL(kernel="assignment", iterations=(2,))._featurizers()
    assert {type(each) for each in found} == {OptimalAssignment}
    assert {each.counts for each in found} == {"raw"}


def test_unlabeled_graphs_change_nothing():
    alone = WL().fit(GRAPHS[:20], GRAPHS.targets[:20])
    labels = GRAPHS.targets[:30].copy()
    labels[20:] = -1
    with_others = WL().fit(GRAPHS[:30], labels)
    assert (alone.predict_proba(GRAPHS[30:]) == with_others.predict_proba(GRAPHS[30:])).all()
