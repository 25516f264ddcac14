import numpy as np
import pytest

from kgnn.estimator.novelty import Familiar
from kgnn.graphs.datasets.toy import cycles_and_trees, planted_motifs
from kgnn.graphs.graph import GraphDataset
from kgnn.graphs.molecules import from_smiles
from kgnn.graphs.packing import pack

GRAPHS = planted_motifs(200)


def star(n_leaves, labels=None) -> GraphDataset:
    leaves = np.arange(1, n_leaves + 1)
    return pack("star", [n_leaves + 1], np.zeros(n_leaves, int), leaves, node_labels=labels)


def test_graphs_like_those_seen_are_rarely_flagged():
    flagged = [n.is_novel for n in Familiar.of(GRAPHS).compare(planted_motifs(200, seed=5))]
    assert np.mean(flagged) < 0.06


def test_the_score_is_the_share_of_nodes_with_new_neighborhoods():
    # A center of degree 8, and leaves whose neighbor has degree 8: all of it is new.
    (novelty,) = Familiar.of(cycles_and_trees(40, max_nodes=8)).compare(star(8))
    assert novelty.score == 1.0
    assert any("100% of its nodes" in reason for reason in novelty.reasons)
    (again,) = Familiar.of(star(8)).compare(star(8))
    assert again == (0.0, (), 0)


def test_labels_that_were_never_there_are_counted_and_named():
    familiar = Familiar.of(star(3, ["C", "H", "H", "H"]))
    (novelty,) = familiar.compare(star(3, ["C", "H", "Cl", "Br"]))
    assert novelty.unknown_labels == 2
    assert "2 of 4 nodes have a label that no training graph has" in novelty.reasons


def test_a_label_that_is_listed_but_not_used_is_unknown():
    both = pack("two", [2, 2], [0, 2], [1, 3], node_labels=["a", "a", "b", "b"])
    novelties = Familiar.of(both[:1]).compare(both)
    assert [n.unknown_labels for n in novelties] == [0, 2]


@pytest.mark.parametrize(("n_leaves", "is_strange"), [(5, False), (8, False), (20, True)])
def test_sizes_far_outside_are_named(n_leaves, is_strange):
    familiar = Familiar.of(pack("two", [5, 7], [0, 1, 5], [1, 2, 6]))
    (novelty,) = familiar.compare(star(n_leaves))
    told = [reason for reason in novelty.reasons if "training graphs have 5 to 7" in reason]
    assert bool(told) == is_strange


def test_graphs_with_labels_are_unlike_graphs_without():
    (novelty,) = Familiar.of(star(3)).compare(star(3, ["a", "b", "b", "b"]))
    assert any("no labels" in reason for reason in novelty.reasons)


def test_a_graph_without_nodes_has_nothing_strange_in_it():
    (novelty,) = Familiar.of(GRAPHS).compare(pack("empty", [0], [], []))
    assert novelty.score == 0


def test_of_molecules_it_speaks_of_atoms():
    pytest.importorskip("rdkit")
    familiar = Familiar.of(from_smiles(["CCO", "CCCO", "CCCCO"]))
    (novelty,) = familiar.compare(from_smiles(["CC(Br)C(Br)CCCCCCC"]))
    text = " ".join(novelty.reasons)
    assert "4 of 12 atoms are of a kind that no training molecule has" in text
    assert "it has 12 atoms, training graphs have 3 to 5" in text
    assert "node" not in text
