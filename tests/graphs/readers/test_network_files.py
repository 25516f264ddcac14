"""A folder of graph files is a dataset; XML is read without trust."""

from __future__ import annotations

import gzip

import networkx as nx
import pytest

from kgnn.errors import DatasetUnavailableError, GraphDataError, KgnnWarning
from kgnn.graphs.readers import network_files

WRITERS = {".graphml": nx.write_graphml, ".gml": nx.write_gml, ".gexf": nx.write_gexf}


def graph(n_nodes=3, **attributes):
    result = nx.path_graph(n_nodes)
    result.graph.update(attributes)
    return result


def labeled(labels):
    result = graph(len(labels))
    nx.set_node_attributes(result, dict(enumerate(labels)), "label")
    return result


class TestReading:
    @pytest.mark.parametrize("suffix", WRITERS)
    @pytest.mark.parametrize("packed", ["", ".gz"])
    def test_each_file_is_a_graph_sorted_and_named_by_file(self, tmp_path, suffix, packed):
        for name, size in (("b", 4), ("a", 3)):
            WRITERS[suffix](graph(size), tmp_path / f"{name}{suffix}{packed}")
        dataset = network_files.read(tmp_path)
        assert [graph.name for graph in dataset] == ["a", "b"]
        assert dataset.graph_sizes.tolist() == [3, 4]
        assert dataset.edge_counts.tolist() == [2, 3]
        assert dataset.node_labels is None
        assert dataset.name == tmp_path.name

    def test_formats_may_be_mixed(self, tmp_path):
        for suffix, write in WRITERS.items():
            write(graph(), tmp_path / f"{suffix[1:]}{suffix}")
        assert len(network_files.read(tmp_path)) == 3

    @pytest.mark.parametrize("suffix", [".graphml", ".gexf"])
    def test_labels_of_nodes_are_read(self, tmp_path, suffix):
        WRITERS[suffix](labeled("CCO"), tmp_path / f"a{suffix}")
        assert network_files.read(tmp_path)[0].node_labels == ["C", "C", "O"]

    def test_labels_of_nodes_in_gml_may_repeat(self, tmp_path):
        nodes = "".join(f'node [ id {v} label "{c}" ]\n' for v, c in enumerate("CCO"))
        (tmp_path / "a.gml").write_text(f"graph [\n{nodes}edge [ source 0 target 1 ]\n]")
        assert network_files.read(tmp_path)[0].node_labels == ["C", "C", "O"]

    def test_labels_and_weights_of_edges_are_read(self, tmp_path):
        drawn = graph(2)
        drawn.edges[0, 1].update(label="double", weight=2.0)
        nx.write_graphml(drawn, tmp_path / "a.graphml")
        found = network_files.read(tmp_path)[0]
        assert (found.edge_labels, found.edge_weights.tolist()) == (["double"], [2])

    def test_directed_files_are_read_with_one_warning(self, tmp_path):
        for name in "ab":
            nx.write_graphml(nx.DiGraph([(0, 1)]), tmp_path / f"{name}.graphml")
        with pytest.warns(KgnnWarning, match="2 of 2 graphs are directed") as warned:
            network_files.read(tmp_path)
        assert len(warned) == 1


class TestTargets:
    @pytest.mark.parametrize("key", ["target", "label"])
    def test_a_graph_may_know_its_class(self, tmp_path, key):
        nx.write_graphml(graph(**{key: "x"}), tmp_path / "a.graphml")
        assert network_files.read(tmp_path)[0].target == "x"

    def test_a_table_may_know_the_classes(self, tmp_path):
        for name in "abc":
            nx.write_graphml(graph(), tmp_path / f"{name}.graphml")
        (tmp_path / "labels.csv").write_text("id,label\nc,two\na,one\n")
        assert [graph.target for graph in network_files.read(tmp_path)] == ["one", None, "two"]

    def test_a_table_may_name_files_with_their_ending(self, tmp_path):
        (tmp_path / "sub").mkdir()
        files = ("a.graphml", "b.graphml.gz", "c.graphml.gz", "sub/d.graphml", "e.graphml")
        for name in files:
            nx.write_graphml(graph(), tmp_path / name)
        (tmp_path / "labels.csv").write_text(
            "id,label\na.graphml,1\nb.graphml,2\nc.graphml.gz,3\nsub/d.graphml,4\ne,5\n"
        )
        found = network_files.read(tmp_path)
        assert {each.name: each.target for each in found} == {
            "a": "1",
            "b": "2",
            "c": "3",
            "e": "5",
            "sub/d": "4",
        }

    def test_a_name_that_ends_like_a_file_is_a_name_first(self, tmp_path):
        for name in ("a.graphml", "a.graphml.graphml"):
            nx.write_graphml(graph(), tmp_path / name)
        (tmp_path / "labels.csv").write_text("id,label\na.graphml,inner\na,outer\n")
        found = {each.name: each.target for each in network_files.read(tmp_path)}
        assert found == {"a": "outer", "a.graphml": "inner"}

    def test_subfolders_are_classes(self, tmp_path):
        for name in ("yes/a", "no/a"):
            (tmp_path / name).parent.mkdir()
            nx.write_graphml(graph(), tmp_path / f"{name}.graphml")
        dataset = network_files.read(tmp_path)
        assert [(graph.name, graph.target) for graph in dataset] == [
            ("no/a", "no"),
            ("yes/a", "yes"),
        ]

    @pytest.mark.parametrize(
        ("table", "message"),
        [
            ("name,class\na,x\n", r"labels.csv, line 1: expected a header with the columns id"),
            ("", r"labels.csv is empty: expected a header"),
            ("id,label\n\nb,x\n", r"labels.csv, line 3: there is no graph file named 'b'"),
            ("id,label\na,x\na,y\n", r"labels.csv, line 3: 'a' is y here, but x in line 2"),
            ("id,label\na,x\na.graphml,y\n", r"line 3: 'a.graphml' is y here, but x under another"),
            ("id,label\na.gml,x\n", r"labels.csv, line 2: there is no graph file named 'a.gml'"),
            ("id,label\na\n", r"labels.csv, line 2: expected 2 cells, got 1"),
        ],
    )
    def test_a_bad_table_is_refused_by_line(self, tmp_path, table, message):
        nx.write_graphml(graph(), tmp_path / "a.graphml")
        (tmp_path / "labels.csv").write_text(table)
        with pytest.raises(GraphDataError, match=message):
            network_files.read(tmp_path)


BOMB = """<?xml version="1.0"?>
<!DOCTYPE bomb [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>
<graphml><graph edgedefault="undirected"><node id="&b;"/></graph></graphml>"""


class TestRefusals:
    @pytest.mark.parametrize("suffix", [".graphml", ".gexf", ".graphml.gz"])
    @pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
    def test_a_document_type_is_refused_in_any_encoding(self, tmp_path, suffix, encoding):
        content = BOMB.encode(encoding)
        packed = gzip.compress(content) if suffix.endswith(".gz") else content
        (tmp_path / f"a{suffix}").write_bytes(packed)
        with pytest.raises(GraphDataError, match=rf"a{suffix}, line 2: a document type"):
            network_files.read(tmp_path)

    def test_the_words_in_a_comment_do_no_harm(self, tmp_path):
        nx.write_graphml(graph(), tmp_path / "a.graphml")
        text = (tmp_path / "a.graphml").read_text()
        (tmp_path / "a.graphml").write_text(text + "<!-- <!DOCTYPE and <!ENTITY -->")
        assert len(network_files.read(tmp_path)) == 1

    @pytest.mark.parametrize("suffix", ["", ".gz"])
    def test_a_file_that_is_too_large_is_refused(self, tmp_path, monkeypatch, suffix):
        monkeypatch.setattr(network_files, "MAX_FILE_BYTES", 50)
        nx.write_graphml(graph(), tmp_path / f"a.graphml{suffix}")
        with pytest.raises(GraphDataError, match=r"a\.graphml.* is larger than the 50 bytes"):
            network_files.read(tmp_path)

    @pytest.mark.parametrize(
        ("name", "text", "message"),
        [
            ("a.graphml", "<graphml><graph>", "not well-formed XML: .*line 1"),
            ("a.graphml", "<html></html>", "cannot be read by networkx"),
            ("a.gexf", "<gexf></gexf>", "cannot be read by networkx"),
            ("a.gml", "graph [ node [ id 0 ", "cannot be read by networkx"),
            ("a.gml", "nonsense", "cannot be read by networkx"),
            ("a.gml", "", "cannot be read by networkx"),
        ],
    )
    def test_a_bad_file_is_refused_by_name(self, tmp_path, name, text, message):
        (tmp_path / name).write_text(text)
        with pytest.raises(GraphDataError, match=rf"{name} .*{message}"):
            network_files.read(tmp_path)

    def test_graphs_that_do_not_match_are_refused_by_name(self, tmp_path):
        nx.write_graphml(labeled("CC"), tmp_path / "a.graphml")
        nx.write_graphml(graph(), tmp_path / "b.graphml")
        with pytest.raises(
            GraphDataError, match=r"b\.graphml lacks node labels, which .*a\.graphml"
        ):
            network_files.read(tmp_path)

    def test_two_files_of_one_name_are_refused(self, tmp_path):
        nx.write_graphml(graph(), tmp_path / "a.graphml")
        nx.write_gml(graph(), tmp_path / "a.gml")
        with pytest.raises(GraphDataError, match="the name 'a' is already taken"):
            network_files.read(tmp_path)

    def test_a_folder_without_graphs_is_refused(self, tmp_path):
        with pytest.raises(GraphDataError, match=r"holds no \.graphml, \.gml, \.gexf files"):
            network_files.read(tmp_path)

    def test_a_folder_that_is_not_there_is_said_so(self, tmp_path):
        with pytest.raises(DatasetUnavailableError, match="There is no folder"):
            network_files.read(tmp_path / "none")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.graphml", "<?xml version='1.0' encoding='utf-9'?><graphml/>", "unknown encoding"),
        ("a.gexf", "<?xml version='1.0' encoding='shift_jis'?><gexf/>", "encoding"),
        ("a.gml", 'graph [ node [ id 0 label "a" label "b" ] ]', "node labels must be text or"),
        ("a.gml", "graph [ node [ id 0 label [ x 1 ] ] ]", "node labels must be text or numbers"),
        ("a.gml", f"graph [ {'x [ ' * 9999}", "cannot be read by networkx: RecursionError"),
        (
            "a.gml",
            f"graph [ node [ id 0 ] edge [ source 0 target 0 weight {'9' * 400} ] ]",
            "edge weights must be numbers",
        ),
    ],
)
def test_a_strange_file_is_refused_by_name(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(GraphDataError, match=rf"{name}.*{message}"):
        network_files.read(tmp_path, has_node_labels=True)
    if "label" in text:
        with pytest.warns(KgnnWarning, match="taken as names and not used"):
            assert len(network_files.read(tmp_path)) == 1


def test_half_a_character_in_gml_is_refused(tmp_path):
    (tmp_path / "a.gml").write_text('graph [ target "&#xD800;" node [ id 0 ] ]')
    with pytest.raises(GraphDataError, match=r"a\.gml: target and name must be text"):
        network_files.read(tmp_path)
