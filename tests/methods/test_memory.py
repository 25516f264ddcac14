import numpy as np
import pytest
import torch
from scipy import sparse

from kgnn.engine.memory import Embedding, SparseRows
from kgnn.methods.ensemble_self import EnsembleNetwork
from kgnn.methods.kgnn import MemoryNetwork
from tests.reference.literal_kgnn import memory_forward


def make(n_features=6, **options):
    torch.manual_seed(0)
    settings = {"width": 4, "hops": 3, "dropout": 0.0, "identity": False, **options}
    return MemoryNetwork(n_features, 2, **settings).double().eval()


def data(n_queries=5, n_slots=7, n_features=6, seed=0):
    rng = np.random.default_rng(seed)
    queries, memory = (torch.from_numpy(rng.random((n, n_features))) for n in (n_queries, n_slots))
    targets = torch.nn.functional.one_hot(torch.arange(n_slots) % 2, 2).double()
    return queries, memory, targets


@pytest.mark.parametrize("hops", [1, 3])
def test_the_network_is_the_papers_equations(hops):
    """Eqs. 10 to 12: queries to logits, one slot at a time."""
    network = make(
        attention="dot", reading="output", hops=hops, labels=False, sharpness=None, norm=False
    )
    queries, memory, targets = data()
    expected = memory_forward(network.state_dict(), queries, memory, hops)
    torch.testing.assert_close(network(queries, memory, targets), expected)
    assert expected.std(dim=0).min() > 1e-5  # the queries are told apart
    sharp = make(attention="dot", reading="output", hops=hops, labels=False, sharpness=3.0)
    assert not torch.allclose(sharp(queries, memory, targets), expected)


def test_adjacent_hops_share_a_matrix():
    network = make(hops=4)
    assert len(network.slots) == 5
    names = {name.split(".")[0] for name, _ in network.named_parameters()}
    assert names == {"query", "slots", "log_sharpness", "norm", "classifier", "label_weight"}


@pytest.mark.parametrize("attention", ["dot", "distance"])
def test_attention_sums_to_one_and_never_looks_at_itself(attention):
    network = make(attention=attention)
    _, memory, _ = data()
    vector, slots = network.query(memory), network.slots[0](memory)
    own = torch.arange(len(memory))
    weights = network.attend(vector, slots, 1.0, own)
    torch.testing.assert_close(weights.sum(dim=1), torch.ones(7).double())
    assert (weights.diagonal() == 0).all()
    assert (network.attend(vector, slots, 1.0).diagonal() > 0).all()
    assert (network.attend(vector, slots, 1.0, own.fill_(-1)) > 0).all()


def test_distance_attention_prefers_the_nearest_slot():
    network = make(n_features=4, identity=True, sharpness=50.0)
    points = torch.eye(4).double() * torch.tensor([1.0, 5.0, 9.0, 2.0]).double()
    weights = network.attend(network.query(points), network.slots[0](points), 50.0)
    assert (weights.argmax(dim=1) == torch.arange(4)).all()
    in_line = torch.tensor([[1.0], [5.0], [9.0], [2.0]]).double() * torch.eye(4)[0].double()
    weights = network.attend(network.query(in_line), network.slots[0](in_line), 50.0)
    assert (weights.argmax(dim=1) == torch.arange(4)).all()  # inner products prefer the longest


def test_the_order_of_slots_and_their_duplicates_do_not_matter():
    network = make()
    queries, memory, targets = data()
    expected = network(queries, memory, targets)
    order = torch.randperm(7)
    torch.testing.assert_close(network(queries, memory[order], targets[order]), expected)
    doubled = network(queries, memory.repeat(2, 1), targets.repeat(2, 1))
    torch.testing.assert_close(doubled, expected)


def test_a_single_slot_is_attended_to_even_by_itself():
    network = make()
    _, memory, targets = data(n_slots=1)
    assert torch.isfinite(network(memory, memory, targets, torch.zeros(1).long())).all()


@pytest.mark.parametrize("attention", ["dot", "distance"])
def test_gradients_reach_every_parameter(attention):
    network = make(attention=attention)
    queries, memory, targets = data()
    truth = torch.tensor([0, 1, 0, 1, 1])
    torch.nn.functional.cross_entropy(network(queries, memory, targets), truth).backward()
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().max() > 1e-6, name


def test_labels_in_memory_pull_towards_the_classes_nearby():
    network = make(n_features=4, identity=True, sharpness=5.0)
    near = torch.tensor([[3.0, 0, 0, 0], [0, 3.0, 0, 0]]).double()
    classes = torch.eye(2).double()
    _, votes = network.read(near, near, classes)
    assert votes.argmax(dim=1).tolist() == [0, 1]
    flipped = network(near, near, classes.flip(0)) - network(near, near, classes)
    assert flipped[0, 1] > 0 > flipped[0, 0]


def test_sparse_rows_are_embedded_as_dense_ones():
    dense = sparse.random(9, 50, density=0.1, rng=np.random.default_rng(0)).toarray()
    rows = SparseRows.of(sparse.csr_array(dense))
    embedding = Embedding(50, 8)
    expected = embedding(torch.from_numpy(dense).float())
    torch.testing.assert_close(embedding(rows), expected)
    some = torch.tensor([4, 0, 4, 8])
    torch.testing.assert_close(embedding(rows[some]), expected[some])
    embedding(rows).sum().backward()
    np.testing.assert_allclose(embedding.weight.grad[:, 0], dense.sum(axis=0), atol=1e-6)


def test_the_classes_that_the_first_hop_attends_to_count():
    network = MemoryNetwork(4, 2, width=3, hops=3).eval()
    queries, memory, targets = torch.rand(2, 4), torch.rand(6, 4), torch.rand(6, 2)
    first, *_ = network.hops(queries, memory)
    _, votes = network.read(queries, memory, targets)
    torch.testing.assert_close(votes, first[0] @ targets)


def test_a_million_columns_and_a_large_memory_fit():
    network = MemoryNetwork(1_000_000, 3, width=4, hops=2, identity=False, attention="dot")
    matrix = sparse.random(
        3000, 1_000_000, density=1e-5, format="csr", rng=np.random.default_rng(0)
    )
    rows = SparseRows.of(matrix)
    targets = torch.full((3000, 3), 1 / 3)
    with torch.no_grad():
        assert network.eval()(rows[torch.arange(32)], rows, targets).shape == (32, 3)


def test_the_ensemble_reads_both_networks():
    from kgnn.engine.batch import GraphBatches
    from kgnn.engine.gin import GIN
    from kgnn.engine.node_features import NodeFeatures
    from kgnn.graphs.datasets.toy import planted_motifs

    graphs = planted_motifs(6)
    batch = GraphBatches(graphs, NodeFeatures.of(graphs))[np.arange(6)]
    features = torch.randn(6, 5)
    model = EnsembleNetwork(GIN(3, 2, width=4), MemoryNetwork(5, 2, width=4), 2, 4, 0.0)
    targets = torch.nn.functional.one_hot(torch.arange(6) % 2, 2).float()
    model(batch, features, features, targets, torch.arange(6)).sum().backward()
    assert model.gin.layers[0].inner.weight.grad.abs().max() > 0
    assert model.memory.query.weight.grad.abs().max() > 0
