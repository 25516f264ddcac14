import torch

from kgnn.seeds import derive, generator, seeded_torch


def test_seeds_of_different_purposes_differ_and_stay():
    assert derive(0, "split") == derive(0, "split")
    assert len({derive(s, p) for s in range(50) for p in ("a", "b", "c")}) == 150
    assert generator(1, "x").integers(1 << 30) == generator(1, "x").integers(1 << 30)


def test_torch_is_seeded_inside_and_untouched_outside():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    with seeded_torch(0, "weights"):
        first = torch.rand(3)
    assert (torch.rand(3) == expected).all()
    with seeded_torch(0, "weights"):
        assert (torch.rand(3) == first).all()
