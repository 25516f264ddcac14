"""``kgnn similar``: the graphs most similar to a given one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kgnn.cli.own_graphs import JsonOption, ReadOption, SkipBad, find_graph, load_readable
from kgnn.cli.show import out, print_json, progress_bars, table

if TYPE_CHECKING:
    from kgnn.graphs.graph import Graph


def similar(
    dataset: Annotated[str, typer.Argument(help="Name of a dataset, or a path.")],
    graph: Annotated[str, typer.Argument(help="Name of a graph, or its position from 0.")],
    number: Annotated[int, typer.Option("-n", "--number", help="Number of graphs.", min=1)] = 10,
    kernel: Annotated[str, typer.Option(help="wl, wl-oa, sp, graphlets or degrees.")] = "wl",
    skip_bad: SkipBad = False,
    read: ReadOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the graphs most similar to a given one, with their kernel values.

    For example: kgnn similar PROTEINS 0 --kernel sp -n 5
    """
    with progress_bars():
        graphs = load_readable(dataset, read, skip_bad)
        from kgnn.kernels.similarity import most_similar

        query = find_graph(graphs, graph)
        rows, values = most_similar(query, graphs, number, kernel=kernel)
    found = [(graphs[int(row)], float(value)) for row, value in zip(rows, values, strict=True)]
    if as_json:
        shown = [{**_described(each), "kernel_value": value} for each, value in found]
        print_json(
            {"dataset": graphs.name, "kernel": kernel, **_described(query), "similar": shown}
        )
        return
    title = (
        f"Most similar to {query.name} (class {query.target or 'unknown'}, {query.n_nodes} nodes, "
        f"{query.n_edges} edges), {graphs.name}, kernel {kernel}"
    )
    grid = table(title, "graph", "class", ">nodes", ">edges", ">value")
    for each, value in found:
        sizes = (str(each.n_nodes), str(each.n_edges))
        grid.add_row(each.name, each.target or "", *sizes, f"{value:.4f}")
    out().print(grid)


def _described(graph: Graph) -> dict[str, str | int | None]:
    return {
        "graph": graph.name,
        "row": graph.row,
        "class": graph.target,
        "nodes": graph.n_nodes,
        "edges": graph.n_edges,
    }
