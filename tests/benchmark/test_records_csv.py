import csv
import io
import json
from dataclasses import fields, replace

from kgnn.benchmark.records_csv import COLUMNS, records_csv
from kgnn.evaluation.protocol import SplitResult
from tests.benchmark.stores import records, unfinished, with_metrics


def rows(made, **options):
    return list(csv.DictReader(io.StringIO(records_csv(made, **options))))


def test_every_record_is_a_row_with_all_its_numbers():
    made = with_metrics(
        records(["wl", "kgnn"], ["PROTEINS"], range(2), parameters={"hops": [1, 2]})
    )
    made[0].result["accuracy_without_twins"] = None
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
    assert found[0]["accuracy_without_twins"] == ""
    assert {*made[0].result, *(each.name for each in fields(SplitResult))} - {"curves"} <= {
        *COLUMNS
    }
    assert list(csv.reader(io.StringIO(records_csv([])))) == [list(COLUMNS)]


def test_text_comes_back_as_it_was_or_as_a_spreadsheet_would_not_run_it():
    failed = unfinished("failed", "vat", "data/my, graphs.jsonl", 'MemoryError: "no",\nmore; π')
    formula = replace(failed, reason="=1+1")
    for record in (failed, formula):
        [row] = rows([record])
        assert (row["outcome"], row["reason"]) == ("failed", record.reason)
        assert (row["dataset"], row["accuracy"]) == ("data/my, graphs.jsonl", "")
    [safe] = rows([formula], for_spreadsheets=True)
    assert safe == {**row, "reason": "'=1+1"}
