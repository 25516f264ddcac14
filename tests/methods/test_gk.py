from kgnn.methods.gk import GK


def test_smaller_graphlets_count_as_well():
    found = GK(sizes=(3, 5), scaling=("share",), normalize=(None,))._featurizers()
    assert [each.sizes for each in found] == [(3,), (3, 4, 5)]


def test_shares_stay_raw_and_counts_become_logarithms():
    found = GK(sizes=(3,), scaling=("share", "log"), normalize=(None,))._featurizers()
    assert [(each.shares, each.counts) for each in found] == [(True, "raw"), (False, "log")]


def test_samples_and_seed_are_passed_on():
    (kernel,) = GK(
        sizes=(5,), scaling=("share",), normalize=(None,), samples=7, random_state=3
    )._featurizers()
    assert (kernel.samples, kernel.seed) == (7, 3)
