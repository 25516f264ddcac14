import pytest

from kgnn.errors import KgnnError, UnknownNameError
from kgnn.estimator import registry
from kgnn.estimator.registry import entries, make, method_class
from kgnn.methods.wl import WL


def test_methods_are_made_by_name_in_any_case():
    assert isinstance(make("wl", committee=2), WL)
    assert method_class("WL") is WL


def test_unknown_names_suggest_the_nearest():
    with pytest.raises(
        UnknownNameError, match=r"There is no method 'gnnsup'\. Did you mean gnn-sup"
    ):
        make("gnnsup")
    with pytest.raises(UnknownNameError, match="Did you mean iterations"):
        make("wl", iteration=3)


class Point:
    """What importlib.metadata gives for an entry point."""

    dist = None

    def __init__(self, name, value):
        self.name, self.value = name, value


def test_other_packages_can_add_a_method_but_not_replace_one(monkeypatch):
    monkeypatch.setattr(
        registry, "entry_points", lambda group: [Point("mine", "kgnn.methods.wl:WL")]
    )
    assert entries()["mine"].family == "plug-in"
    assert method_class("mine") is WL
    monkeypatch.setattr(registry, "entry_points", lambda group: [Point("wl", "other:WL")])
    with pytest.raises(KgnnError, match="two methods are named 'wl'"):
        entries()
