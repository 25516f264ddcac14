from kgnn.kernels.shortest_paths import ShortestPaths
from kgnn.methods.sp import SP


def test_all_combinations_of_settings_are_candidates():
    found = SP(start=("auto", "degree"), max_distance=(None, 3), counts=("log",))._featurizers()
    assert all(isinstance(each, ShortestPaths) for each in found)
    settings = {(e.start, e.max_distance, e.counts, e.normalize) for e in found}
    assert settings == {
        (start, distance, "log", normalize)
        for start in ("auto", "degree")
        for distance in (None, 3)
        for normalize in ("graph", None)
    }
