from hypothesis import given
from hypothesis import strategies as st

from kgnn.reports.scales import Scale, log_ticks, nice_ticks

_NUMBERS = st.floats(-1e6, 1e6).map(lambda x: round(x, 3))


@given(_NUMBERS, st.floats(0.01, 1e6))
def test_ticks_are_few_and_cover_the_range(low, extent):
    ticks = nice_ticks(low, low + extent)
    assert ticks[0] <= low + 1e-6
    assert ticks[-1] >= low + extent - 1e-6
    assert 3 <= len(ticks) <= 8
    assert ticks == sorted(set(ticks))


def test_a_range_of_one_number_has_ticks():
    assert nice_ticks(70, 70)[0] < 70 < nice_ticks(70, 70)[-1]


@given(st.floats(1e-3, 1e4), st.floats(2.6, 1e5))
def test_ticks_of_a_logarithmic_axis_are_within_it(low, factor):
    ticks = log_ticks(low, low * factor)
    assert ticks
    assert all(low <= tick <= low * factor for tick in ticks)


def test_a_logarithmic_axis_gives_factors_the_same_room():
    scale = Scale(1, 1000, 0, 300, is_log=True)
    assert [round(scale.at(x)) for x in (1, 10, 100, 1000)] == [0, 100, 200, 300]
