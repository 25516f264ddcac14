"""The list of methods; each is imported on first use."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from kgnn.errors import KgnnError, ParameterError, UnknownNameError

if TYPE_CHECKING:
    from kgnn.estimator.classifier import GraphClassifier


@dataclass(frozen=True)
class Entry:
    """A method in the list."""

    name: str  # the paper's name in lower case
    path: str  # ``module:Class``
    family: str
    title: str  # one line
    reference: str  # where it was published
    # Incremented when a change of the code changes the method's results, so that records before and
    # after are not mixed.
    revision: int = 1


def _entry(name: str, path: str, family: str, revision: int, reference: str, title: str) -> Entry:
    return Entry(name, f"kgnn.methods.{path}", family, title, reference, revision)


# fmt: off
_ENTRIES = (
    _entry("gk", "gk:GK", "kernel", 2, "Shervashidze et al., AISTATS 2009",
           "Graphlet counts with a support vector machine"),
    _entry("sp", "sp:SP", "kernel", 2, "Borgwardt & Kriegel, ICDM 2005",
           "Shortest paths between labeled nodes with a support vector machine"),
    _entry("wl", "wl:WL", "kernel", 2, "Shervashidze et al., JMLR 2011",
           "Weisfeiler-Lehman subtree features with a support vector machine"),
    _entry("dgk", "dgk:DGK", "kernel", 3, "Yanardag & Vishwanathan, KDD 2015",
           "Deep graph kernel: substructures match by their contexts"),
    _entry("sub2vec", "sub2vec:Sub2Vec", "embedding", 2, "Adhikari et al., PAKDD 2018",
           "Paragraph vectors of degrees along random walks"),
    _entry("graph2vec", "graph2vec:Graph2Vec", "embedding", 2, "Narayanan et al., 2017",
           "Paragraph vectors of Weisfeiler-Lehman colors"),
    _entry("entmin", "entmin:EntMin", "semi-supervised", 2, "Grandvalet & Bengio, NeurIPS 2004",
           "Entropy minimization on unlabeled graphs"),
    _entry("pi-model", "pi_model:PiModel", "semi-supervised", 2, "Laine & Aila, ICLR 2017",
           "Two predictions of a graph under different noise agree"),
    _entry("mean-teacher", "mean_teacher:MeanTeacher", "semi-supervised", 2,
           "Tarvainen & Valpola, NeurIPS 2017", "Predictions agree with those of averaged weights"),
    _entry("vat", "vat:VAT", "semi-supervised", 2, "Miyato et al., TPAMI 2019",
           "Virtual adversarial training: the worst small change keeps the class"),
    _entry("infograph", "infograph:InfoGraph", "semi-supervised", 3, "Sun et al., ICLR 2020",
           "A second encoder, which tells the nodes of graphs apart, guides the first"),
    _entry("asgn", "asgn:ASGN", "semi-supervised", 3, "Hao et al., KDD 2020",
           "A teacher with self-supervised tasks, and a student that starts from it"),
    _entry("graphcl", "graphcl:GraphCL", "semi-supervised", 3, "You et al., NeurIPS 2020",
           "Contrastive pre-training on views of graphs, then fine-tuning"),
    _entry("joao", "joao:JOAO", "semi-supervised", 3, "You et al., ICML 2021",
           "GraphCL that learns which views to use"),
    _entry("ldp", "ldp:LDP", "peer", 2, "Cai & Wang, 2018",
           "Degree profiles with a random forest (not in the paper)"),
    _entry("ltp", "ltp:LTP", "peer", 1, "Adamczyk & Czech, ICCS 2023",
           "Profiles of degrees and edges with a random forest (not in the paper)"),
    _entry("wl-forest", "wl_forest:WLForest", "peer", 1, "Shervashidze et al., 2011; Breiman, 2001",
           "Weisfeiler-Lehman counts with a random forest (not in the paper)"),
    _entry("label-propagation", "label_propagation:LabelPropagation", "peer", 1,
           "Zhu & Ghahramani, 2002; Zhou et al., NeurIPS 2003",
           "Labels spread between graphs that a kernel finds similar (not in the paper)"),
    _entry("wl-linear", "wl_linear:WLLinear", "peer", 1, "the baseline of this library",
           "KGNN's kernel features with a logistic regression (not in the paper)"),
    _entry("random-gin", "random_gin:RandomGIN", "peer", 1, "a baseline of this library",
           "A GIN with random weights and a kernel machine (not in the paper)"),
    _entry("simgrace", "simgrace:SimGRACE", "peer", 1, "Xia et al., WWW 2022",
           "Contrast with a copy of the encoder with noise on its weights (not in the paper)"),
    _entry("kgnn", "kgnn:KGNN", "kgnn", 10, "Ju et al., WSDM 2022",
           "A GNN and a kernel memory network that teach each other"),
    _entry("gnn-sup", "gnn_sup:GNNSup", "ablation", 2, "Xu et al., ICLR 2019; Ju et al., WSDM 2022",
           "The GNN on labeled graphs alone"),
    _entry("memnn-sup", "memnn_sup:MemNNSup", "ablation", 4, "Ju et al., WSDM 2022",
           "The memory network on labeled graphs alone"),
    _entry("gnn-self", "gnn_self:GNNSelf", "ablation", 6, "Ju et al., WSDM 2022",
           "The GNN, self-trained"),
    _entry("ensemble-self", "ensemble_self:EnsembleSelf", "ablation", 8, "Ju et al., WSDM 2022",
           "GNN and memory network as one model, self-trained"),
    _entry("kgnn-sep", "kgnn_sep:KGNNSep", "ablation", 10, "Ju et al., WSDM 2022",
           "KGNN without the check that both networks agree"),
)
# fmt: on
# Other packages add methods with an entry point of this group: name = "module:Class".
_GROUP = "kgnn.methods"


def entries() -> dict[str, Entry]:
    """Return all methods by name: kgnn's first, then those of other packages."""
    listed = {entry.name: entry for entry in _ENTRIES}
    for point in entry_points(group=_GROUP):
        if point.name in listed:
            raise KgnnError(f"two methods are named '{point.name}': {point.value} and kgnn's")
        source = point.dist.name if point.dist else point.value
        listed[point.name] = Entry(point.name, point.value, "plug-in", f"from {source}", "")
    return listed


def method_class(name: str) -> type[GraphClassifier]:
    """Return the class of a method, by its name or as ``path/to/file.py:Class``."""
    if ".py:" in name:
        return _class_from_file(name)
    known = entries()
    if name.lower() not in known:
        raise UnknownNameError.of("method", name, known)
    module, _, attribute = known[name.lower()].path.partition(":")
    cls: type[GraphClassifier] = getattr(import_module(module), attribute)
    return cls


def entry_of(name: str) -> Entry:
    """Return the entry of a method; for one from a file, with the revision of its class."""
    if ".py:" in name:
        file, _, title = name.rpartition(":")
        revision = getattr(method_class(name), "revision", 1)
        return Entry(name, name, "plug-in", f"{title} from {file}", "", revision)
    known = entries()
    if name not in known:
        raise UnknownNameError.of("method", name, known)
    return known[name]


def _class_from_file(name: str) -> type[GraphClassifier]:
    from kgnn.estimator.classifier import GraphClassifier

    path, _, attribute = name.rpartition(":")
    defined = vars(_module_from_file(Path(path)))
    classes = {
        key: value
        for key, value in defined.items()
        if isinstance(value, type) and issubclass(value, GraphClassifier)
    }
    if attribute in defined and attribute not in classes:
        raise ParameterError(
            f"{attribute} in {path} is not a method: it must be a class that inherits from "
            "kgnn.estimator.classifier.GraphClassifier."
        )
    if attribute not in classes:
        raise UnknownNameError.of(f"method in {path}", attribute, classes)
    return classes[attribute]


def _module_from_file(file: Path) -> ModuleType:
    """Import a file as a module, once; pickling needs it in ``sys.modules``."""
    if not file.is_file():
        raise ParameterError(f"There is no file {file}; pass FILE.py:Class.")
    loaded = sys.modules.get(file.stem)
    if loaded is not None and getattr(loaded, "__file__", None) == str(file.resolve()):
        return loaded
    if loaded is not None:
        raise ParameterError(
            f"{file} cannot be loaded: there is another module named '{file.stem}'. Rename it."
        )
    spec = spec_from_file_location(file.stem, file.resolve())
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[file.stem] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[file.stem]
        raise ParameterError(f"{file} cannot be loaded: {type(error).__name__}: {error}") from error
    return module


def name_of(cls: type) -> str:
    """Return the name of a method in the list, or its class name if it is not listed.

    Examples
    --------
    >>> name_of(method_class("wl"))
    'wl'
    """
    path = f"{cls.__module__}:{cls.__qualname__}"
    found = [entry.name for entry in entries().values() if entry.path == path]
    return found[0] if found else cls.__name__


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
