import pytest

from kgnn.reports.choices_table import choices_table
from kgnn.reports.results import Results
from tests.reports.stores import records

DATASET = "PROTEINS"


def made(gains, seeds=range(5), **parameters):
    return records(
        ["kgnn"],
        [DATASET],
        seeds,
        parameters=parameters,
        accuracy=lambda m, d, seed: 70.0 + seed + gains[seed],
    )


def table(*several):
    return choices_table(Results([record for each in several for record in each]))


def test_settings_are_compared_with_the_defaults_on_the_same_splits():
    found = table(
        made([0] * 5), made([-2, -3, -2, -3, -2], hops=1), made([9] * 3, [0, 1, 2], width=64)
    )
    assert found.headings == ("setting", "PROTEINS")
    (hops, first), (width, second) = found.rows
    assert (hops.text, first.text, first.aside) == ("hops=1", "−2.4 ± 0.2", "5 splits")
    assert (width.text, second.text, second.aside) == ("width=64", "+9.0 ± 0.0", "3 splits")
    assert first.mark == "▼"
    assert first.mean == pytest.approx(-2.4)


def test_single_changes_come_first_and_many_are_counted():
    several = [
        made([0] * 5),
        made([0] * 5, width=8, hops=1, rounds=0, growth=0.5),
        made([0] * 5, hops=10),
        made([0] * 5, hops=9),
        made([0] * 5, normalize=None),
        made([0] * 5, coarse=()),
    ]
    assert [row[0].text for row in table(*several).rows] == [
        "coarse=()",
        "hops=9",
        "hops=10",
        "normalize=None",
        "growth=0.5, hops=1 and 2 more",
    ]


def test_without_defaults_to_compare_with_there_is_nothing_to_say():
    assert table(made([0] * 5, hops=1)).is_empty
    assert table(made([0] * 5)).is_empty


def test_one_split_has_no_error():
    ((_, cell),) = table(made([0], [0]), made([1.5], [0], hops=1)).rows
    assert (cell.text, cell.aside, cell.mark) == ("+1.5", "1 split", "")
