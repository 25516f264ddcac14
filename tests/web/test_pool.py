"""Graphs are known by their content, and all of them can be drawn."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from kgnn.graphs.datasets.toy import cycles_and_trees, planted_motifs
from kgnn.graphs.molecules import from_smiles
from kgnn.graphs.packing import concatenate, pack
from kgnn.web.pool import Pool, content_keys


def _large(n=5000):
    rng = np.random.default_rng(0)
    ends = np.arange(1, n)
    starts = np.array([rng.integers(max(0, end - 40), end) for end in ends])
    return pack("large", [n], starts, ends, node_labels=["abc"[v % 3] for v in range(n)])


def test_keys_do_not_depend_on_names_classes_order_or_other_graphs():
    graphs = from_smiles(["CCO", "CCN", "C1CC1", "CC(=O)O"], [0, 1, 0, 1])
    keys = list(content_keys(graphs))
    assert len(set(keys)) == 4
    named = replace(graphs, graph_names=np.array(list("wxyz"))).with_targets([-1] * 4)
    assert list(content_keys(named)) == keys
    assert list(content_keys(graphs[[2, 0]])) == [keys[2], keys[0]]
    # Another element and another bond change the numbers of all labels.
    more = concatenate([from_smiles(["[Ag]C#B"]), graphs])
    assert list(content_keys(more))[1:] == keys


def test_graphs_that_differ_in_anything_have_different_keys():
    smiles = ["CC", "C=C", "C#C", "CN", "C[NH3+]", "[13CH3]C", "CCC", "C1CC1"]
    assert len(set(content_keys(from_smiles(smiles)))) == len(smiles)
    plain = pack("p", [3], [0, 1], [1, 2])
    weighted = pack("p", [3], [0, 1], [1, 2], edge_weights=[1.0, 2.0])
    heavier = pack("p", [3], [0, 1], [1, 2], edge_weights=[1.0, 3.0])
    one_way, other_way = (
        pack("p", [3], [0, 1], ends, edge_labels=labels, directed=True)
        for ends, labels in (([1, 2], ["-", "="]), ([1, 2], ["=", "-"]))
    )
    every = (plain, weighted, heavier, one_way, other_way)
    assert len({next(content_keys(each)) for each in every}) == len(every)


def test_equal_graphs_have_keys_of_their_own():
    graphs = cycles_and_trees(4)[[0, 1, 0, 0]]
    first, _, second, third = content_keys(graphs)
    assert (second, third) == (f"{first}.2", f"{first}.3")


def test_a_graph_of_thousands_of_nodes_is_drawn_in_a_second_and_stays_small():
    pool = Pool(_large())
    start = time.perf_counter()
    card = pool.card(0, is_large=True)
    assert time.perf_counter() - start < 1
    assert card["summarized"]
    assert card["size"].startswith("5,000 nodes")
    assert 20 < card["drawing"].count("<circle") <= 120
    assert len(card["drawing"]) < 100_000


def test_a_label_has_one_color_in_all_drawings():
    graphs = planted_motifs(30)
    named = replace(
        graphs,
        node_labels=(np.arange(graphs.n_nodes) % 3).astype(np.int32),
        node_label_names=("a", "b", "c"),
    )
    pool = Pool(named)
    fills = {}
    for row in range(10):
        for part in pool.card(row)["drawing"].split("<circle")[1:]:
            label = part.split("<title>")[1].split("<")[0].split(": ")[1]
            fills.setdefault(label, set()).add(part.split('fill="')[1].split('"')[0])
    assert set(fills) == {"a", "b", "c"}
    assert all(len(colors) == 1 for colors in fills.values())
    assert len({color for colors in fills.values() for color in colors}) == 3


def test_hostile_names_are_text_in_drawings():
    graphs = replace(cycles_and_trees(1), graph_names=np.array(["<script>alert(1)</script>"]))
    card = Pool(graphs).card(0)
    assert card["name"] == "<script>alert(1)</script>"
    assert "<script" not in card["drawing"]
