from kgnn.methods.kgnn import KGNN
from tests.cli.calling import kgnn

__all__ = ["kgnn"]


def test_a_preset_gives_the_papers_settings_and_set_changes_them(kgnn, monkeypatch):
    made = []
    monkeypatch.setattr(
        "kgnn.evaluation.protocol.evaluate_splits",
        lambda build, *_, **__: iter(made.append(build(0)) or ()),
    )
    command = ("run", "kgnn", "cycles-and-trees", "--preset", "paper", "--set", "epochs=3")
    assert kgnn(*command).code == 0
    assert made[0].get_params() == KGNN.paper(epochs=3, random_state=0).get_params()
    done = kgnn("run", "wl", "cycles-and-trees", "--preset", "paper")
    assert done.code == 2
    assert "WL has no preset 'paper'" in done.err
