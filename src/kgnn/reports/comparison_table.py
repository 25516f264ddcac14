"""KGNN against each other method, as a table."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from kgnn.evaluation.metrics import mean_and_std
from kgnn.reports.comparison import ALPHA, ASSUMPTION, REFERENCE, Comparison, compare
from kgnn.reports.numbers import p_value, signed
from kgnn.reports.paper import dataset_title, method_title
from kgnn.reports.results import Results
from kgnn.reports.table_data import Table, TableCell, method_table

_NAME = method_title(REFERENCE)
_DIFFERENCES = (
    f"Accuracy of {_NAME} minus that of the method on the same splits, in percentage points."
)
_TESTS = (
    "Beside it, p of the paired t-test with the correction of Nadeau & Bengio → after Holm's "
    f"correction over the methods of the column. {ASSUMPTION}"
)
_BALANCE = (
    f"Last: datasets on which {_NAME} is above, equal (to a tenth of a point), below; and on how "
    f"many of these significantly, above / below (α = {ALPHA:g})."
)


def comparison_table(
    results: Results,
    methods: Sequence[str],
    datasets: Sequence[str],
    *,
    title: str = f"{_NAME} against each method",
    labels: float = 0.1,
) -> Table:
    """Build a table of KGNN against each other method, from KGNN's point of view.

    Datasets on which there is nothing to compare are no columns.
    """
    every = {d: compare(results, methods, d, labels=labels) for d in datasets}
    compared = {dataset: found for dataset, found in every.items() if found}
    others = [m for m in methods if any(m in each for each in compared.values())]
    met = {m: [each[m] for each in compared.values() if m in each] for m in others}

    def cell(method: str, dataset: str) -> TableCell:
        each = compared[dataset].get(method)
        if each is None:
            return TableCell()
        told = "" if math.isnan(each.p) else f"p {p_value(each.p)}\n→ {p_value(each.holm_p)}"
        return TableCell(
            signed(-each.difference),
            told,
            method=REFERENCE,
            dataset=dataset,
            mean=-each.difference,
            n=each.n,
            minus=method,
        )

    columns = [(dataset_title(d), [cell(m, d) for m in others]) for d in compared]
    means = [-mean_and_std([each.difference for each in met[m]])[0] for m in others]
    columns += [
        ("mean", [TableCell(signed(mean), mean=mean) for mean in means]),
        ("wins / ties / losses", [TableCell(_balance(met[m])) for m in others]),
        ("significant", [TableCell(_significant(met[m])) for m in others]),
    ]
    tested = any(not math.isnan(each.p) for several in met.values() for each in several)
    notes = (_DIFFERENCES, _TESTS if tested else "There are too few splits for a test.", _BALANCE)
    return method_table(title, others, columns, notes)


def _balance(met: list[Comparison]) -> str:
    above = [-round(each.difference, 1) for each in met]
    return " / ".join(
        str(sum(chosen))
        for chosen in ((x > 0 for x in above), (x == 0 for x in above), (x < 0 for x in above))
    )


def _significant(met: list[Comparison]) -> str:
    verdicts = Counter(each.verdict for each in met)
    return f"{verdicts['worse']} / {verdicts['better']}"
