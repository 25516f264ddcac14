"""Whatever happens to a file, reading gives sound graphs or an error that names the file."""

from __future__ import annotations

import gzip
import io
import json
import re
import resource
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import networkx as nx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rdkit import Chem

from kgnn.errors import KgnnError, Skipped
from kgnn.graphs.collector import named
from kgnn.graphs.datasets import cache
from kgnn.graphs.datasets.toy import planted_motifs
from kgnn.graphs.graph import GraphDataset
from kgnn.graphs.loading import load, stream
from kgnn.graphs.packing import concatenate
from kgnn.graphs.soundness import require_sound
from tests.graphs import tu_files
from tests.graphs.mutations import mutated, rewritten

_ROOM = 2 << 30  # bytes that reading a tiny file may take; it should be nothing like that
_LONGEST_MESSAGE = 1000
_fuzz = settings(
    max_examples=60,
    deadline=10_000,  # milliseconds: a hang
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

LABELS = b"""\
{"id": "a", "nodes": ["C", "C", "O"], "edges": [[0, 1, "s"], [1, 2, "d"]], "weights": [1, 0.5]}
{"id": "b", "nodes": ["N"], "edges": [], "target": 1}
{"id": 3, "nodes": [{"label": "C"}, {"label": 8}], "edges": [[1, 0, 2]], "weights": [2]}
"""
ATTRIBUTES = b"""\
{"nodes": [{"attributes": [1.5, 2]}, {"attributes": [0, 1]}], "edges": [[0, 1]], "target": "x"}
{"nodes": 0, "edges": []}
"""
COUNTS = b"""\
{"nodes": 3, "edges": [[0, 1], [1, 2]], "target": null}
{"nodes": 2, "edges": [], "target": 2}
"""
SMILES = b"""\
id,smiles,label
a,CCO,x
b,c1ccccc1[N+](=O)[O-],y
c,"C/C=C\\C",
"""
SMI = b"""\
CCO a
c1ccccc1[N+](=O)[O-] b
C/C=C\\C c
"""
SDF = "".join(
    f"{Chem.MolToMolBlock(Chem.MolFromSmiles(smiles))}>  <label>\n{label}\n\n$$$$\n"
    for smiles, label in (("CC[O-]", "x"), ("C1CC1F", "y"))
).encode()
TU = tu_files.changed(edge_attributes="1\n1\n2\n2\n0.5\n.5\n")
BARE_TU = {name: TU[name] for name in ("TINY_A.txt", "TINY_graph_indicator.txt")}


class Case(NamedTuple):
    """Files in a folder, the one that is changed, and how they are read."""

    files: dict[str, bytes]
    changed: str
    source: str | None = None  # None: the folder
    read: Callable[[Path], GraphDataset] = load
    has_lines: bool = True  # messages name them
    is_text: bool = True

    def written(self, folder: Path) -> Path:
        for name, content in self.files.items():
            (folder / name).write_bytes(content)
        return folder if self.source is None else folder / self.source


def one(name: str, content: bytes, **options) -> Case:
    return Case({name: content}, name, name, **options)


def tu_case(changed: str, files: dict[str, str]) -> Case:
    return Case({name: text.encode() for name, text in files.items()}, changed)


def network_case(suffix: str) -> Case:
    write = {".graphml": nx.write_graphml, ".gml": nx.write_gml, ".gexf": nx.write_gexf}[suffix]
    graph = nx.Graph([("a", "b"), ("b", "c")], target="x")
    nx.set_node_attributes(graph, {"a": "C", "b": "C", "c": "O"}, "label")
    nx.set_edge_attributes(graph, {("a", "b"): 1.5, ("b", "c"): 2.0}, "weight")
    content = io.BytesIO()
    write(graph, content)
    # One more file, for what is bad only beside others.
    files = {f"{name}{suffix}": content.getvalue() for name in "gh"}
    return Case(files, f"g{suffix}", has_lines=False)


def stored_case(changed: str) -> Case:
    with tempfile.TemporaryDirectory() as folder:
        cache.save(planted_motifs(3, seed=1), Path(folder) / "entry")
        files = {path.name: path.read_bytes() for path in (Path(folder) / "entry").iterdir()}
    return Case(files, changed, read=cache.open_folder, has_lines=False, is_text=False)


CASES = {
    "jsonl-labels": one("x.jsonl", LABELS),
    "jsonl-attributes": one("x.jsonl", ATTRIBUTES),
    "jsonl-counts": one("x.ndjson", COUNTS),
    "jsonl-gz": one("x.jsonl.gz", gzip.compress(LABELS, mtime=0), has_lines=False, is_text=False),
    "smiles": one("x.csv", SMILES),
    "smi": one("x.smi", SMI),
    "sdf": one("x.sdf", SDF, is_text=False),  # lines that are blank have a meaning
    **{f"tu-{name[5:-4]}": tu_case(name, TU) for name in TU},
    **{f"bare-tu-{name[5:-4]}": tu_case(name, BARE_TU) for name in BARE_TU},
    **{
        f"zip-{method}": one(
            "x.zip", tu_files.zipped(compression=method), has_lines=False, is_text=False
        )
        for method in (
            zipfile.ZIP_STORED,
            zipfile.ZIP_DEFLATED,
            zipfile.ZIP_BZIP2,
            zipfile.ZIP_LZMA,
        )
    },
    **{suffix[1:]: network_case(suffix) for suffix in (".graphml", ".gml", ".gexf")},
    **{
        f"stored-{name}": stored_case(name)
        for name in ("dataset.json", "neighbors.npy", "arc_offsets.npy", "node_labels.npy")
    },
}
TEXTS = {name: case for name, case in CASES.items() if case.is_text}
LINES = {name: CASES[name] for name in ("jsonl-labels", "jsonl-counts", "smiles", "smi", "sdf")}


@pytest.fixture(autouse=True, scope="module")
def _bounded_memory() -> Iterator[None]:
    """Make a huge allocation fail, rather than the machine."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + _ROOM, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


def attempt(case: Case, folder: Path, content: bytes) -> GraphDataset | None:
    """Read the changed file; return None where it is refused as it should be."""
    source = case.written(folder)
    (folder / case.changed).write_bytes(content)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # such as directed edges
            graphs = case.read(source)
    except KgnnError as error:
        message = str(error)
        assert str(folder) in message
        assert len(message) - message.count(str(folder)) * len(str(folder)) < _LONGEST_MESSAGE
        if case.has_lines:
            assert re.search(r"\blines? |holds no|has no column|has \d+ lines", message), message
        return None
    finally:
        assert {path.name for path in folder.iterdir()} == {*case.files}
    return graphs


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@_fuzz
@given(data=st.data())
def test_a_damaged_file_is_read_as_sound_graphs_or_refused_by_name(tmp_path, case, data):
    graphs = attempt(case, tmp_path, data.draw(mutated(case.files[case.changed])))
    if graphs is not None:
        require_sound(graphs)
        assert graphs[:].fingerprint  # all of it can be copied, and written as text


@pytest.mark.filterwarnings("ignore:No label of a node comes twice")  # as in the original
@pytest.mark.parametrize("case", TEXTS.values(), ids=TEXTS)
@settings(_fuzz, max_examples=10)
@given(data=st.data())
def test_a_file_that_was_only_rewritten_holds_the_same_graphs(tmp_path, case, data):
    original = case.read(case.written(tmp_path))
    graphs = attempt(case, tmp_path, data.draw(rewritten(case.files[case.changed])))
    assert graphs is not None
    assert graphs.fingerprint == original.fingerprint


@pytest.mark.parametrize("case", LINES.values(), ids=LINES)
@_fuzz
@given(data=st.data())
def test_streaming_reads_and_refuses_as_loading_does(tmp_path, case, data):
    content = data.draw(mutated(case.files[case.changed]))
    whole = attempt(case, tmp_path, content)
    streamed = case._replace(read=lambda source: concatenate(list(stream(source))))
    graphs = attempt(streamed, tmp_path, content)
    if whole is None:
        assert graphs is None
    else:
        assert graphs.fingerprint == named(whole).fingerprint


GOOD = st.integers(1, 9).map(lambda n: json.dumps({"nodes": n, "edges": [[0, n - 1]]}).encode())
BAD = st.sampled_from(
    [b"{", b"[]", b"\xff\xfe", b"a\0b", b'{"nodes": 1, "edges": [[0, 1]]}', b"[" * 3000, b"NaN",
     b'{"nodes": 3000000000, "edges": []}', b'{"id": "named", "nodes": 1, "edges": []}']
)  # fmt: skip


@_fuzz
@given(lines=st.lists(st.tuples(st.booleans(), GOOD, BAD), max_size=8))
def test_skipping_leaves_out_the_bad_lines_and_no_other(tmp_path, lines):
    path, first = tmp_path / "x.jsonl", b'{"nodes": 2, "edges": []}'
    lines = [first, *(good if is_good else bad for is_good, good, bad in lines)]
    path.write_bytes(b"\n".join(lines))
    sizes = {}
    for row, line in enumerate(lines):
        if line == first or line.startswith(b'{"nodes"') and b"3000000000" not in line:
            record = json.loads(line)
            if all(max(edge) < record["nodes"] for edge in record["edges"]):
                sizes[str(row)] = record["nodes"]
    skipped = Skipped()
    graphs = concatenate(list(stream(path, on_error=skipped)))
    assert {graph.name: graph.n_nodes for graph in graphs} == sizes
    assert skipped.n == len(lines) - len(sizes)
    assert all(f"{path}, line " in reason for reason in skipped.reasons)
