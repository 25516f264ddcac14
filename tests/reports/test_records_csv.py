import csv
import io
import json
from dataclasses import fields, replace

from kgnn.evaluation.protocol import SplitResult
from kgnn.reports.records_csv import COLUMNS, records_csv
from tests.reports.stores import records, unfinished, with_metrics


def rows(made):
    return list(csv.DictReader(io.StringIO(records_csv(made))))


def test_every_record_is_a_row_with_all_its_numbers():
    made = with_metrics(
        records(["wl", "kgnn"], ["PROTEINS"], range(2), parameters={"hops": [1, 2]})
    )
    found = rows(made)
    assert [row["key"] for row in found] == [record.cell.key for record in made]
    for row, record in zip(found, made, strict=True):
        for name, value in record.result.items():
            if isinstance(value, float):
                assert float(row[name]) == value  # to the last bit
        assert int(row["test"]) == record.result["test"]
        assert json.loads(row["recalls"]) == record.result["recalls"]
        assert int(row["rounds"]) == len(record.result["rounds"])
        assert json.loads(row["parameters"]) == {"hops": [1, 2]}
        assert (row["method"], row["seed"]) == (record.cell.method, str(record.cell.seed))


def test_all_numbers_of_a_result_have_a_column():
    [record] = with_metrics(records(["kgnn"], ["DD"], [0]))
    assert set(record.result) - {"curves"} <= set(COLUMNS)
    assert "seconds_saved" in COLUMNS
    assert {each.name for each in fields(SplitResult)} - {"curves"} <= set(COLUMNS)


def test_text_comes_back_as_it_was():
    reason = 'MemoryError: "no",\nmore; π'
    [row] = rows([unfinished("failed", "vat", "data/my, graphs.jsonl", reason)])
    assert (row["outcome"], row["reason"]) == ("failed", reason)
    assert row["dataset"] == "data/my, graphs.jsonl"


def test_what_there_is_none_of_is_empty():
    made = records(["wl"], ["DD"], [0])
    made[0].result["accuracy_without_twins"] = None
    done, failed = rows([*made, unfinished("failed", "vat", "DD", "?")])
    assert done["accuracy_without_twins"] == done["parameters"] == failed["accuracy"] == ""


def test_no_records_are_a_table_of_headings():
    assert records_csv([]).strip().split(",") == list(COLUMNS)


def test_text_that_a_spreadsheet_would_run_is_neutralized_where_asked():
    made = [replace(each, reason="=1+1") for each in records(["wl"], ["DD"], [0])]
    (plain,), (safe,) = rows(made), csv.DictReader(io.StringIO(records_csv(made, True)))
    assert (plain["reason"], safe["reason"]) == ("=1+1", "'=1+1")
    assert {**plain, "reason": ""} == {**safe, "reason": ""}
