"""The one list of methods; a method is imported when it is first used."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from kgnn.errors import KgnnError, UnknownNameError

if TYPE_CHECKING:
    from kgnn.estimator.classifier import GraphClassifier


@dataclass(frozen=True)
class Entry:
    """A method as it is listed.

    Attributes
    ----------
    name : str
        The paper's name in lower case.
    path : str
        ``module:Class``.
    family : str
    title : str
        One line for people.
    reference : str
        Where it was published.
    revision : int
        Raised when a change of the code changes what the method answers, so that recorded results
        of before are not taken for those of now.
    """

    name: str
    path: str
    family: str
    title: str
    reference: str
    revision: int = 1


_ENTRIES = (
    Entry(
        "gk",
        "kgnn.methods.gk:GK",
        "kernel",
        "Graphlet counts with a support vector machine",
        "Shervashidze et al., AISTATS 2009",
        revision=2,
    ),
    Entry(
        "sp",
        "kgnn.methods.sp:SP",
        "kernel",
        "Shortest paths between labeled nodes with a support vector machine",
        "Borgwardt & Kriegel, ICDM 2005",
        revision=2,
    ),
    Entry(
        "wl",
        "kgnn.methods.wl:WL",
        "kernel",
        "Weisfeiler-Lehman subtree features with a support vector machine",
        "Shervashidze et al., JMLR 2011",
        revision=2,
    ),
    Entry(
        "dgk",
        "kgnn.methods.dgk:DGK",
        "kernel",
        "Deep graph kernel: substructures match by their contexts",
        "Yanardag & Vishwanathan, KDD 2015",
        revision=3,
    ),
    Entry(
        "sub2vec",
        "kgnn.methods.sub2vec:Sub2Vec",
        "embedding",
        "Paragraph vectors of degrees along random walks",
        "Adhikari et al., PAKDD 2018",
        revision=2,
    ),
    Entry(
        "graph2vec",
        "kgnn.methods.graph2vec:Graph2Vec",
        "embedding",
        "Paragraph vectors of Weisfeiler-Lehman colors",
        "Narayanan et al., 2017",
        revision=2,
    ),
    Entry(
        "entmin",
        "kgnn.methods.entmin:EntMin",
        "semi-supervised",
        "Entropy minimization on unlabeled graphs",
        "Grandvalet & Bengio, NeurIPS 2004",
    ),
    Entry(
        "pi-model",
        "kgnn.methods.pi_model:PiModel",
        "semi-supervised",
        "Two looks at a graph, with different noise, agree",
        "Laine & Aila, ICLR 2017",
    ),
    Entry(
        "mean-teacher",
        "kgnn.methods.mean_teacher:MeanTeacher",
        "semi-supervised",
        "The network agrees with the average of its former selves",
        "Tarvainen & Valpola, NeurIPS 2017",
    ),
    Entry(
        "vat",
        "kgnn.methods.vat:VAT",
        "semi-supervised",
        "Virtual adversarial training: the worst small change changes no class",
        "Miyato et al., TPAMI 2019",
    ),
    Entry(
        "infograph",
        "kgnn.methods.infograph:InfoGraph",
        "semi-supervised",
        "A second encoder that knows which nodes are of which graph guides the first",
        "Sun et al., ICLR 2020",
        revision=2,
    ),
    Entry(
        "asgn",
        "kgnn.methods.asgn:ASGN",
        "semi-supervised",
        "A teacher of self-made tasks, and a student that starts from it",
        "Hao et al., KDD 2020",
        revision=2,
    ),
    Entry(
        "graphcl",
        "kgnn.methods.graphcl:GraphCL",
        "semi-supervised",
        "Views of one graph alike, of different graphs unlike; then fine-tuning",
        "You et al., NeurIPS 2020",
        revision=2,
    ),
    Entry(
        "joao",
        "kgnn.methods.joao:JOAO",
        "semi-supervised",
        "GraphCL whose views are chosen to be hard",
        "You et al., ICML 2021",
        revision=2,
    ),
    Entry(
        "ldp",
        "kgnn.methods.ldp:LDP",
        "peer",
        "Degree profiles with a random forest (not in the paper)",
        "Cai & Wang, 2018",
        revision=2,
    ),
    Entry(
        "kgnn",
        "kgnn.methods.kgnn:KGNN",
        "kgnn",
        "Graph neural network and kernel memory network that teach each other",
        "Ju et al., WSDM 2022",
        revision=3,
    ),
    Entry(
        "gnn-sup",
        "kgnn.methods.gnn_sup:GNNSup",
        "ablation",
        "The graph isomorphism network p on labeled graphs alone",
        "Xu et al., ICLR 2019; Ju et al., WSDM 2022",
    ),
    Entry(
        "memnn-sup",
        "kgnn.methods.memnn_sup:MemNNSup",
        "ablation",
        "The kernel memory network q on labeled graphs alone",
        "Ju et al., WSDM 2022",
    ),
    Entry(
        "gnn-self",
        "kgnn.methods.gnn_self:GNNSelf",
        "ablation",
        "The graph isomorphism network p, which teaches itself",
        "Ju et al., WSDM 2022",
    ),
    Entry(
        "ensemble-self",
        "kgnn.methods.ensemble_self:EnsembleSelf",
        "ablation",
        "p and q as one model, which teaches itself",
        "Ju et al., WSDM 2022",
        revision=2,
    ),
    Entry(
        "kgnn-sep",
        "kgnn.methods.kgnn_sep:KGNNSep",
        "ablation",
        "KGNN without the check that p and q agree",
        "Ju et al., WSDM 2022",
        revision=3,
    ),
)
# Other packages add methods with an entry point of this group: name = "module:Class".
_GROUP = "kgnn.methods"


def entries() -> dict[str, Entry]:
    """Return all methods by name: ours first, then those that other packages add."""
    listed = {entry.name: entry for entry in _ENTRIES}
    for point in entry_points(group=_GROUP):
        if point.name in listed:
            raise KgnnError(f"two methods are named '{point.name}': {point.value} and ours")
        source = point.dist.name if point.dist else point.value
        listed[point.name] = Entry(point.name, point.value, "plug-in", f"from {source}", "")
    return listed


def method_class(name: str) -> type[GraphClassifier]:
    """Return the class of a method."""
    known = entries()
    if name.lower() not in known:
        raise UnknownNameError.of("method", name, known)
    module, _, attribute = known[name.lower()].path.partition(":")
    cls: type[GraphClassifier] = getattr(import_module(module), attribute)
    return cls


def name_of(method: object) -> str:
    """Return the name of a method in the list, or that of its class if it is not there."""
    path = f"{type(method).__module__}:{type(method).__qualname__}"
    found = [entry.name for entry in entries().values() if entry.path == path]
    return found[0] if found else type(method).__name__


def make(name: str, **settings: Any) -> GraphClassifier:
    """Build a method by name.

    Examples
    --------
    >>> make("wl", iterations=(1,))
    WL(iterations=(1,))
    """
    cls = method_class(name)
    known = cls._get_param_names()
    for setting in settings:
        if setting not in known:
            raise UnknownNameError.of(f"parameter of {cls.__name__}", setting, known)
    return cls(**settings)
