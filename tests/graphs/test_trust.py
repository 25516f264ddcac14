"""Nothing is read that was not written, nothing is believed for being said, nothing is dropped."""

from __future__ import annotations

import json
import os

import networkx as nx
import pytest

from kgnn.benchmark.record import Cell, Record, RecordError
from kgnn.errors import GraphDataError, KgnnWarning, ParameterError
from kgnn.estimator.labels import warn_of_look_alikes
from kgnn.estimator.parameters import parse
from kgnn.graphs.interop import from_networkx
from kgnn.graphs.loading import cells_of, columns_of, load, stream
from kgnn.graphs.readers.labels_csv import read_labels
from kgnn.methods.wl import WL
from tests.cli.calling import kgnn
from tests.graphs import tu_files

__all__ = ["kgnn"]

# -- bounds on whole inputs -----------------------------------------------------------------------


@pytest.mark.parametrize("read", [load, lambda path: list(stream(path))], ids=["load", "stream"])
def test_nodes_that_are_only_counted_are_bounded_over_the_whole_input(tmp_path, monkeypatch, read):
    path = tmp_path / "x.jsonl"
    path.write_text('{"nodes": 90, "edges": [[0, 1]]}\n' * 12)
    monkeypatch.setenv("KGNN_MAX_BARE_NODES", "1000")
    with pytest.raises(GraphDataError, match=r"x.jsonl, line 12: 88 nodes .* after 968 .* 1,000"):
        read(path)
    monkeypatch.setenv("KGNN_MAX_BARE_NODES", "1056")
    read(path)


def test_the_bound_holds_for_pyg_data_and_not_for_nodes_with_labels(tmp_path, monkeypatch):
    data = pytest.importorskip("torch_geometric.data")
    monkeypatch.setenv("KGNN_MAX_BARE_NODES", "10")
    from kgnn.graphs.pyg_data import from_pyg

    with pytest.raises(GraphDataError, match="KGNN_MAX_BARE_NODES"):
        from_pyg([data.Data(num_nodes=6), data.Data(num_nodes=6)])
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps({"nodes": ["C"] * 100, "edges": []}))
    assert load(path).n_nodes == 100


@pytest.mark.parametrize("told", ["1e9", "many", "\u0663"])
def test_a_bound_that_is_no_number_is_refused(tmp_path, monkeypatch, told):
    monkeypatch.setenv("KGNN_MAX_BARE_NODES", told)
    (tmp_path / "x.jsonl").write_text('{"nodes": 3, "edges": []}')
    with pytest.raises(ParameterError, match="KGNN_MAX_BARE_NODES must be a number"):
        load(tmp_path / "x.jsonl")


# -- what is said twice ---------------------------------------------------------------------------

GRAPHML = """<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="d0" for="graph" attr.name="target" attr.type="string"/>
<key id="d1" for="node" attr.name="label" attr.type="string"/>
<key id="d2" for="graph" attr.name="label" attr.type="string"/>
<graph edgedefault="undirected">
{}
<node id="a"><data key="d1">C</data></node>
<node id="b"><data key="d1">C</data></node>
<edge source="a" target="b"/>
</graph>
</graphml>
"""
GML = (
    'graph [\n{}\nnode [ id 0 label "C" ]\nnode [ id 1 label "C" ]\nedge [ source 0 target 1 ]\n]\n'
)
TWICE = {
    "jsonl": ("x.jsonl", '{"nodes": 1, "edges": [], "target": "a", "target": "b"}', "line 1"),
    "jsonl-edges": ("x.jsonl", '{"nodes": 2, "edges": [[0, 1]], "edges": []}', "line 1"),
    "jsonl-node": ("x.jsonl", '{"nodes": [{"label": "a", "label": "b"}], "edges": []}', "line 1"),
    "csv-column": ("x.csv", "smiles,label,label\nC,a,b\n", "header"),
    "csv-smiles": ("x.csv", "smiles,smiles,label\nC,CC,b\n", "header"),
    "csv-label-target": ("x.csv", "smiles,label,target\nC,a,b\n", "header"),
    "graphml-data": (
        "x.graphml",
        GRAPHML.format('<data key="d0">a</data><data key="d0">b</data>'),
        "line 6",
    ),
    "graphml-node": ("x.graphml", GRAPHML.format('<node id="a"/>'), "line 7"),
    "graphml-key-id": (
        "x.graphml",
        GRAPHML.replace('id="d2"', 'id="d0"').format(""),
        "line 4: a second key has the id 'd0'",
    ),
    "graphml-key-name": (
        "x.graphml",
        GRAPHML.replace('for="graph" attr.name="label"', 'for="node" attr.name="label"').format(""),
        "line 4: a second key has the attr.name 'label'",
    ),
    "graphml-keys": (
        "x.graphml",
        GRAPHML.format('<data key="d0">a</data><data key="d2">b</data>'),
        "'a' and 'b'",
    ),
    "gml": ("x.gml", GML.format('target "a"\ntarget "b"'), "'a' and 'b'"),
    "gml-keys": ("x.gml", GML.format('target "a"\nlabel "b"'), "'a' and 'b'"),
    "gml-weight": (
        "x.gml",
        GML.replace("target 1 ]", "target 1 weight 1 weight 2 ]").format(""),
        "an edge takes one weight",
    ),
    "gml-node": ("x.gml", GML.format('node [ id 0 label "C" ]'), "duplicated"),
}


@pytest.mark.parametrize(("name", "content", "told"), TWICE.values(), ids=TWICE)
def test_what_is_said_twice_is_refused_with_its_place(tmp_path, name, content, told):
    (tmp_path / name).write_text(content)
    source = tmp_path if name.endswith("ml") else tmp_path / name
    with pytest.raises(GraphDataError, match=told) as caught:
        load(source)
    assert name in str(caught.value)


def test_a_column_of_labels_that_comes_twice_is_refused(tmp_path):
    path = tmp_path / "labels.csv"
    for name in ("label", "Label"):
        path.write_text(f"id,label,{name}\na,x,y\n")
        with pytest.raises(GraphDataError, match=rf"'label' \(2\) and '{name}' \(3\)"):
            read_labels(path)
    path.write_text("id,label,note,note\na,x,y,z\n")
    assert read_labels(path)["a"].text == "x"


def test_two_fields_for_the_class_of_a_molecule_are_refused_in_sdf(tmp_path):
    chem = pytest.importorskip("rdkit.Chem")
    block = chem.MolToMolBlock(chem.MolFromSmiles("CCO"))
    path = tmp_path / "x.sdf"
    path.write_text(f"{block}> <label>\na\n\n> <target>\nb\n\n$$$$\n")
    with pytest.raises(GraphDataError, match="'target' .* and 'label' .* are ambiguous"):
        load(path)
    assert load(path, target_column="label")[0].target == "a"


def test_a_column_without_a_use_that_comes_twice_is_kept_under_two_names(tmp_path):
    pytest.importorskip("rdkit")
    path = tmp_path / "x.csv"
    path.write_text("smiles,note,note,,\nC,a,b,,\n")
    assert columns_of(path) == ["smiles", "note", "note_2", "", "_2"]
    assert list(cells_of(path)) == [
        ("0", {"smiles": "C", "note": "a", "note_2": "b", "": "", "_2": ""})
    ]


def test_a_key_of_a_record_that_comes_twice_is_refused():
    text = Record(Cell("x", "y", "wl"), "failed", reason="r").to_json()
    with pytest.raises(RecordError, match="'outcome' occurs twice"):
        Record.from_json(text.replace('"outcome"', '"outcome": "done",\n  "outcome"', 1))


def test_a_setting_that_comes_twice_is_refused(kgnn, tmp_path):
    with pytest.raises(ParameterError, match=r"'C' is set twice, to \(1,\) and 2"):
        parse(WL, ["C=1", "C=2"])
    (tmp_path / "x.csv").write_text("smiles,label\nC,a\n")
    for words in (("--read", "id_column=a", "--read", "id_column=b"), ("--seed", 1, "--seed", 2)):
        done = kgnn("fit", tmp_path / "x.csv", "-o", tmp_path / "model", *words)
        assert (done.code, "twice" in done.err) == (2, True)


def test_a_class_that_a_graph_and_a_table_say_differently_is_refused(tmp_path):
    (tmp_path / "x.graphml").write_text(GRAPHML.format('<data key="d0">a</data>'))
    (tmp_path / "labels.csv").write_text("id,label\nx,b\n")
    with pytest.raises(
        GraphDataError, match=r"the class in the graph is 'a', but 'b' in .*labels.csv"
    ):
        load(tmp_path)
    with pytest.raises(GraphDataError, match="has two classes"):
        from_networkx([nx.Graph([(0, 1)], target=1, y=2)])


# -- what is read is what was written -------------------------------------------------------------


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_line_breaks_in_quoted_cells_are_kept(tmp_path, end):
    path = tmp_path / "labels.csv"
    path.write_text(f'id,label{end}"a{end}b",x{end}{end}ab,y{end}"c{end}{end}d",z{end}', newline="")
    labels = read_labels(path)
    assert {name: label.text for name, label in labels.items()} == {
        "a\nb": "x", "ab": "y", "c\n\nd": "z",
    }  # fmt: skip
    assert [label.line for label in labels.values()] == [3, 5, 8]


def test_a_row_of_which_a_line_is_unreadable_is_left_out_as_a_whole(tmp_path):
    pytest.importorskip("rdkit")
    path = tmp_path / "x.csv"
    path.write_bytes(b'id,smiles\n"a\n\xff\nb",C\nc,CC\n')
    errors = []
    graphs = load(path, on_error=errors.append)
    assert [graph.name for graph in graphs] == ["c"]
    assert len(errors) == 1


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("</graphml>", '<graph edgedefault="undirected"/></graphml>', "line 11: a second graph"),
        ('target="b"', 'target="z"', "line 9: an edge names node 'z', which is not declared"),
        ("<edge", "<hyperedge/><edge", "line 9: a hyperedge"),
    ],
)
def test_graphml_that_would_be_read_as_something_else_is_refused(tmp_path, old, new, told):
    (tmp_path / "x.graphml").write_text(GRAPHML.format("").replace(old, new))
    with pytest.raises(GraphDataError, match=f"x.graphml, {told}"):
        load(tmp_path)


def test_gexf_is_checked_in_the_same_way(tmp_path):
    path = tmp_path / "x.gexf"
    nx.write_gexf(nx.Graph([("a", "b")]), path)
    assert load(tmp_path).n_nodes == 2
    path.write_text(path.read_text().replace('target="b"', 'target="z"'))
    with pytest.raises(GraphDataError, match=r"x.gexf, line \d+: an edge names node 'z'"):
        load(tmp_path)


@pytest.mark.parametrize("weight", [float("nan"), float("inf")])
def test_weights_that_are_no_numbers_are_refused_even_if_all_are(weight):
    graph = nx.Graph()
    graph.add_edge(0, 1, weight=weight)
    with pytest.raises(GraphDataError, match="finite"):
        from_networkx([graph])


def test_an_empty_label_in_a_table_is_unknown_and_not_the_folder(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.graphml").write_text(GRAPHML.format(""))
    (tmp_path / "labels.csv").write_text("id,label\none/x,\n")
    assert [graph.target for graph in load(tmp_path)] == [None, "two"]


def _dangling(path):
    path.symlink_to("../.git/annex/objects/x")


@pytest.mark.parametrize("put", [_dangling, os.mkfifo, os.mkdir], ids=["link", "pipe", "folder"])
def test_what_stands_in_the_place_of_a_file_is_refused(tmp_path, put):
    folder = tu_files.folder(tmp_path / "TINY", node_labels=None)
    (folder / "TINY_node_labels.txt").unlink(missing_ok=True)
    put(folder / "TINY_node_labels.txt")
    with pytest.raises(GraphDataError, match=r"TINY_node_labels.txt is a .*; a file is needed"):
        load(folder)


@pytest.mark.parametrize("put", [_dangling, os.mkfifo], ids=["link", "pipe"])
def test_what_stands_in_the_place_of_a_graph_file_is_refused(tmp_path, put):
    (tmp_path / "x.graphml").write_text(GRAPHML.format(""))
    put(tmp_path / "y.graphml")
    with pytest.raises(GraphDataError, match=r"y.graphml is a .*; a file is needed"):
        load(tmp_path)


def test_a_long_name_of_an_encoding_does_not_fill_the_screen(tmp_path):
    (tmp_path / "x.graphml").write_text(
        f"<?xml version='1.0' encoding='{'utf' * 9999}'?><graphml/>"
    )
    with pytest.raises(GraphDataError, match="x.graphml is not well-formed") as caught:
        load(tmp_path)
    assert len(str(caught.value)) < 500


def test_files_that_are_not_read_are_named(tmp_path):
    folder = tu_files.folder(tmp_path / "TINY", graph_attributes="0.5\n1\n", node_label="1\n")
    with pytest.warns(KgnnWarning, match=r"unused files: TINY_graph_attributes.txt, TINY_node_l"):
        load(folder)


@pytest.mark.parametrize("number", ["1_0", "\u0663", "\uff11"])
@pytest.mark.parametrize("file", ["graph_labels", "node_attributes"])
def test_numbers_are_ascii_digits_and_others_are_told_with_their_line(tmp_path, number, file):
    lines = tu_files.FILES[f"TINY_{file}.txt"].splitlines()
    lines[1] = lines[1].replace("1", number)
    folder = tu_files.folder(tmp_path / "TINY", **{file: "\n".join(lines)})
    with pytest.raises(GraphDataError, match=rf"TINY_{file}.txt, line 2: .*{number}"):
        load(folder)


def test_data_of_pyg_under_other_keys_are_named():
    torch, data = pytest.importorskip("torch"), pytest.importorskip("torch_geometric.data")
    from kgnn.graphs.pyg_data import from_pyg

    here = data.Data(num_nodes=2, edge_index=torch.tensor([[0, 1], [1, 0]]), y=1, name="a")
    assert from_pyg([here])[0].name == "a"
    there = data.Data(num_nodes=2, pos=torch.zeros(2, 3), name="b")
    with pytest.warns(KgnnWarning, match="unused data under 'pos'; the keys used are x, "):
        from_pyg([here, there])


def test_data_under_other_keys_are_named():
    graph = nx.Graph()
    graph.add_node(0, color="red", charge=1)
    graph.add_edge(0, 1, length=2.0)
    with (
        pytest.warns(KgnnWarning, match="nodes have unused data under 'color', 'charg"),
        pytest.warns(KgnnWarning, match="edges have unused data under 'length'"),
    ):
        from_networkx([graph])


def test_data_of_whole_graphs_under_other_keys_are_named(tmp_path):
    told = "graphs have data that are not used, under 'category'; read are 'target' and 'label'"
    with pytest.warns(KgnnWarning, match=f"{told} and 'y'"):
        from_networkx([nx.Graph([(0, 1)], category="a", name="x")])
    text = GRAPHML.format('<data key="d0">a</data>').replace('"target"', '"category"')
    (tmp_path / "x.graphml").write_text(text)
    with pytest.warns(KgnnWarning, match=told):
        assert load(tmp_path)[0].target is None


@pytest.mark.parametrize(("label", "is_told"), [("C", True), ("7", False)])
def test_labels_that_are_taken_as_names_are_named(tmp_path, label, is_told):
    (tmp_path / "x.gml").write_text(GML.format("").replace('0 label "C"', f'0 label "{label}"', 1)
                                    .replace('1 label "C"', '1 label "8"'))  # fmt: skip
    if is_told:
        with pytest.warns(KgnnWarning, match="taken as names and not used: C "):
            graphs = load(tmp_path)
    else:
        graphs = load(tmp_path)
    assert graphs.node_labels is None
    assert load(tmp_path, has_node_labels=True).node_label_names == tuple(sorted(["8", label]))


def test_several_weights_of_an_edge_are_refused_in_pyg():
    torch, data = pytest.importorskip("torch"), pytest.importorskip("torch_geometric.data")
    from kgnn.graphs.pyg_data import from_pyg

    edges = torch.tensor([[0, 1], [1, 0]])
    graph = data.Data(num_nodes=2, edge_index=edges, edge_weight=torch.ones(2, 2))
    with pytest.raises(GraphDataError, match=r"one weight, got edge_weight of shape \(2, 2\)"):
        from_pyg([graph])


@pytest.mark.parametrize(
    "names",
    [("1", "1.0"), ("1", "01"), ("caf\u00e9", "cafe\u0301"), ("active", "\u0430ctive"),
     ("a b", "a\u00a0b"), ("a", "a\u200b"), ("-1", "\u22121")],
)  # fmt: skip
def test_classes_that_look_alike_are_told_with_both_spellings(names):
    with pytest.warns(KgnnWarning, match="look alike") as caught:
        warn_of_look_alikes(names)
    assert all(ascii(name) in str(caught[0].message) for name in names)


def test_classes_that_differ_to_the_eye_are_not_warned_of():
    warn_of_look_alikes(["1", "2", "10", "1_0", "a", "A", "b", "1.0.0", 1.5, True])
