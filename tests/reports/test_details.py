import json

from kgnn.reports.details import Details
from kgnn.reports.results import Results
from kgnn.reports.table_data import TableCell
from tests.reports.stores import records


def test_every_split_is_told_with_its_command():
    results = Results(records(["kgnn", "wl"], ["DD"], range(3)))
    data = Details(results).data()
    first = data["groups"][0]
    assert [split[0] for split in first["splits"]] == [0, 1, 2]
    for record, split in zip(results.groups[0].records, first["splits"], strict=True):
        assert split[1] == round(record.result["accuracy"], 2)
        assert record.cell.command in split
        assert data["shared"][split[-2]] == record.versions
        assert data["shared"][split[-1]] == record.machine


def test_every_number_that_opens_the_details_is_in_them():
    made = records(["kgnn"], ["DD"], [0])
    result = made[0].result
    result.update(coverage=91.0, set_size=1.25, calibration_error=0.0312, brier=0.4567)
    result.update(cpu_seconds=2.0, seconds_saved=3.0)
    [split] = Details(Results(made)).data()["groups"][0]["splits"]
    assert split[4:9] == [91.0, 1.25, 0.0312, 0.4567, 5.0]
    assert split[11] == made[0].cell.command  # the script counts


def test_positions_tell_protocols_apart():
    there = records(["kgnn"], ["DD"], [0]) + records(["kgnn"], ["DD"], [0], protocol="paper")
    details = Details(Results(there))
    at = details.position(TableCell(method="kgnn", dataset="DD"), "paper", 0.1)
    assert details.data()["groups"][at]["protocol"] == "paper"
    assert details.position(TableCell(method="wl", dataset="DD"), "fair", 0.1) is None


def test_positions_tell_settings_apart():
    there = records(["kgnn"], ["DD"], [0]) + records(["kgnn"], ["DD"], [0], parameters={"hops": 1})
    details = Details(Results(there))
    at = details.position(
        TableCell(method="kgnn", dataset="DD", parameters={"hops": 1}), "fair", 0.1
    )
    assert details.data()["groups"][at]["parameters"] == {"hops": 1}


def test_what_records_share_is_kept_once():
    few = Details(Results(records(["kgnn"], ["DD"], range(2)))).data()
    many = Details(Results(records(["kgnn"], ["DD", "PROTEINS"], range(50)))).data()
    assert len(many["shared"]) == len(few["shared"])
    assert len(json.dumps(many)) < 300 * 100


def test_seeds_do_not_make_parameters_differ():
    data = Details(Results(records(["kgnn"], ["DD"], range(2)))).data()
    assert "random_state" not in json.dumps(data)
