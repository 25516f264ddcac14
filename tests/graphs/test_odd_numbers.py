"""Where numbers of nodes and edges should be, readers find them to the last bit or name the place.

Missing, infinite, huge and mixed values are drawn among good ones.
"""

from __future__ import annotations

import json
import math

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgnn.errors import GraphDataError
from kgnn.graphs.interop import from_networkx
from kgnn.graphs.loading import load
from kgnn.graphs.pyg_data import from_pyg
from tests.graphs import tu_files

_GOOD = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**30), 10**30)
_NEVER = (math.nan, math.inf, -math.inf, 10**400, None, "", "one", {})  # no number anywhere
_SOMETIMES = ("1.5", True, [1.0])  # a reader may take these for numbers


@st.composite
def tables(draw, odd=_NEVER, most=4):
    """Draw rows of numbers, and one place with something odd: a row, or a row and a column."""
    n, width = draw(st.integers(1, most)), draw(st.integers(1, 3))
    row = st.lists(_GOOD, min_size=width, max_size=width)
    rows = draw(st.lists(row, min_size=n, max_size=n))
    where = draw(st.sampled_from(["nowhere", "in a cell", "a row", "a length"]))
    bad = draw(st.integers(0, n - 1))
    if where == "in a cell":
        rows[bad][draw(st.integers(0, width - 1))] = draw(st.sampled_from(odd))
    elif where == "a row" and n > 1:
        rows[bad] = draw(st.sampled_from(odd))
    elif where == "a length" and n > 1:
        rows[bad] = [*rows[bad], 1.0] if draw(st.booleans()) else rows[bad][:-1]
    else:
        where = "nowhere"
    return rows, where


def read_or_refused(read):
    """Return what is read, or why it is not."""
    try:
        return read(), None
    except GraphDataError as error:
        return None, str(error)


def checked(read, rows, where, place):
    """Read; good tables must come back as they are, others be refused by their place."""
    found, refusal = read_or_refused(read)
    assert (refusal is None) == (where == "nowhere"), (rows, refusal)
    if refusal is None:
        np.testing.assert_array_equal(found, np.array(rows, dtype=np.float64))
    else:
        assert place in refusal


@settings(max_examples=200, deadline=None)
@given(tables(odd=_NEVER + _SOMETIMES), st.booleans())
def test_lines_of_json(tmp_path_factory, table, of_edges):
    rows, where = table
    path = tmp_path_factory.getbasetemp() / "odd.jsonl"
    nodes = [{"attributes": row} for row in rows]
    record = {"nodes": nodes, "edges": []}
    if of_edges:
        edges = [[0, 1 + i] for i in range(len(rows))]
        record = {"nodes": len(rows) + 1, "edges": edges, "edge_attributes": rows}
    path.write_text(json.dumps(record))
    what = "edge_attributes" if of_edges else "node_attributes"
    checked(lambda: getattr(load(path)[0], what), rows, where, "odd.jsonl, line 1")


@settings(max_examples=200, deadline=None)
@given(tables(), st.booleans())
def test_networkx_graphs(table, of_edges):
    rows, where = table
    graph = nx.star_graph(len(rows)) if of_edges else nx.empty_graph(len(rows))
    places = [graph.edges[0, 1 + i] for i in range(len(rows))] if of_edges else graph.nodes.values()
    for data, row in zip(places, rows, strict=True):
        data["attributes"] = row
    what = "edge_attributes" if of_edges else "node_attributes"
    both = [nx.Graph(), graph]
    checked(lambda: getattr(from_networkx(both)[1], what), rows, where, "graphs[1]")


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats() | st.none(), min_size=1, max_size=4), st.sampled_from(["gml", "xml"]))
def test_weights_and_attributes_in_files_of_networkx(tmp_path_factory, values, kind):
    is_good = None not in values and bool(np.isfinite(values).all())
    graph = nx.star_graph(len(values))
    nx.set_node_attributes(graph, 1.5, "attributes")
    for end, value in enumerate(values, start=1):
        if value is not None:
            graph.nodes[end]["attributes"] = graph.edges[0, end]["weight"] = value
    folder = tmp_path_factory.mktemp("networks")
    write, name = (nx.write_gml, "g.gml") if kind == "gml" else (nx.write_graphml, "g.graphml")
    write(graph, folder / name)
    found, refusal = read_or_refused(lambda: load(folder)[0])
    if refusal is not None:
        assert not is_good, refusal
        assert name in refusal
        return
    if None in values:  # no edge has a weight, so all nodes have the same attribute
        assert set(values) == {None}
        assert found.edge_weights is None
        return
    assert is_good
    assert found.edge_weights.tolist() == values
    assert found.node_attributes[1:, 0].tolist() == values


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.floats(width=32), min_size=3, max_size=3), min_size=1, max_size=4))
def test_tensors_of_pyg(rows):
    torch = pytest.importorskip("torch")
    data = pytest.importorskip("torch_geometric.data").Data
    x = torch.tensor(rows)
    good = data(x=torch.full((1, 3), 2.5))
    found, refusal = read_or_refused(lambda: from_pyg([good, data(x=x)])[1].node_attributes)
    assert (refusal is None) == bool(torch.isfinite(x).all())
    if refusal is None:
        np.testing.assert_array_equal(found, x.numpy())
    else:
        assert "data_list[1]" in refusal


@pytest.mark.parametrize("odd", ["", "nan", "inf", "one", "1;2", "1,2,3", "1e999", "None"])
@pytest.mark.parametrize("line", [1, 2, 3])
def test_files_of_tu_name_the_line(tmp_path, line, odd):
    lines = ["0.5,1", "1,2", "-1e3,0", "0,0", "1e300,-1e300"]
    good = tu_files.folder(tmp_path / "TINY", node_attributes="\n".join(lines))
    assert load(good).node_attributes[4].tolist() == [1e300, -1e300]
    lines[line] = odd if odd in ("", "1,2,3") else f"{odd},1"
    bad = tu_files.folder(tmp_path / "TINY", node_attributes="\n".join(lines))
    with pytest.raises(GraphDataError, match=rf"node_attributes\.txt, line {line + 1}: "):
        load(bad)
