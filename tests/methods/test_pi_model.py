from kgnn.methods.pi_model import PiModel
from tests.methods.stepping import fitted, gradients, one_step


def test_two_looks_without_noise_agree_exactly():
    quiet = {"dropout": 0.0, "edge_drop": 0.0}
    parts = fitted(PiModel, **quiet).history_.parts
    assert parts["consistency"] == [0.0] * len(parts["labeled"])
    for noise in ({"dropout": 0.5}, {"edge_drop": 0.2}):
        parts = fitted(PiModel, **{**quiet, **noise}).history_.parts
        assert all(value > 0 for value in parts["consistency"])


def test_two_looks_are_all_graphs_and_the_second_one_learns():
    term, step = one_step(PiModel)
    step.logits.retain_grad()
    value = term(step)
    value.backward()
    assert 0 < value.item() <= 1
    assert step.logits.grad is None
    assert any(
        gradient is not None and (gradient != 0).any() for gradient in gradients(step.module)
    )
