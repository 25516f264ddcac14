"""``kgnn explain``: why a fitted model gives a graph its class."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kgnn.cli.own_graphs import (
    JsonOption,
    ReadOption,
    SkipBad,
    as_fitted,
    find_graph,
    load_readable,
    reading_options,
    require_model,
    require_writable,
)
from kgnn.cli.show import out, print_json, progress_bars, say
from kgnn.errors import ParameterError


def explain(
    model: Annotated[Path, typer.Argument(help="A saved model.")],
    dataset: Annotated[str, typer.Argument(help="Name of a dataset, or a path.")],
    graph: Annotated[str, typer.Option("--id", help="Name of a graph, or its position from 0.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Also write an HTML page.")
    ] = None,
    number: Annotated[
        int, typer.Option("-n", "--number", min=1, help="Similar labeled graphs to show.")
    ] = 5,
    skip_bad: SkipBad = False,
    read: ReadOption = None,
    as_json: JsonOption = False,
) -> None:
    """Explain the prediction for one graph: the evidence and similar labeled graphs.

    For example: kgnn explain model new.csv --id aspirin -o why.html
    """
    if output is not None and output.is_dir():
        raise ParameterError(f"{output} is a folder; name a file, such as {output / 'page.html'}.")
    require_model(model)
    reading_options(dataset, read)
    from kgnn.estimator.saved_files import file_of

    if output is not None:
        require_writable(output, file_of(model), dataset)
    with progress_bars():
        from kgnn.estimator.saving import open_model

        opened = open_model(model)
        settings = as_fitted(dataset, read, opened)
        found = find_graph(load_readable(dataset, settings, skip_bad), graph)
        explanation = opened.explain(found, neighbors=number)
    if as_json:
        print_json(explanation.to_json())
    else:
        out().print(str(explanation), highlight=False, soft_wrap=True)
    if output is not None:
        from kgnn.files import write_text
        from kgnn.reports.explanation_page import explanation_page

        write_text(output, explanation_page(explanation))
        say(f"The page is in {output}.")
