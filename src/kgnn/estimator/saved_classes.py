"""All classes that a saved model may be made of; nothing else is ever made from a file."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from kgnn.errors import ParameterError
from kgnn.estimator.registry import entries

# By module; the names are those in the files, so that a module may be renamed.
_PARTS = {
    "kgnn.graphs.graph": ("GraphDataset",),
    "kgnn.kernels.weisfeiler_lehman": ("WeisfeilerLehman",),
    "kgnn.kernels.optimal_assignment": ("OptimalAssignment",),
    "kgnn.kernels.shortest_paths": ("ShortestPaths",),
    "kgnn.kernels.graphlets": ("Graphlets",),
    "kgnn.kernels.projection": ("Projection",),
    "kgnn.kernels.paragraph_vectors": ("ParagraphVectors",),
    "kgnn.estimator.novelty": ("Familiar",),
    "kgnn.estimator.calibration": ("HeldOut",),
    "kgnn.methods.featurized": ("Machine", "Member", "SupportKernel"),
    "kgnn.methods.dgk": ("DeepKernel",),
    "kgnn.methods.graph2vec": ("GraphInformation", "GraphVectors"),
    "kgnn.methods.ldp": ("Forest",),
    "kgnn.methods.sub2vec": ("WalkVectors",),
    "kgnn.engine.node_features": ("NodeFeatures",),
    "kgnn.engine.gin": ("GIN", "GINLayer", "PygLayer"),
    "kgnn.engine.memory": ("MemoryNetwork", "RowEmbedding", "SparseRows"),
    "kgnn.engine.ensemble": ("EnsembleNetwork",),
    "kgnn.engine.infomax": ("Discriminator", "InfoMax"),
    "kgnn.engine.committee": ("Committee",),
    "kgnn.engine.cotraining": ("CoTraining", "Round"),
    "kgnn.engine.network": ("Fitted", "GraphNetwork"),
    "kgnn.engine.kernel_network": ("KernelNetwork",),
    "kgnn.engine.joint": ("JointNetwork",),
    "kgnn.engine.loop": ("History",),
    "kgnn.methods.semi_supervised": ("SemiSupervisedNetwork",),
    "sklearn.preprocessing": ("StandardScaler",),
    "torch.nn": ("BatchNorm1d", "Dropout", "Linear", "ModuleList", "ReLU", "Sequential"),
}


@cache
def classes() -> dict[str, type]:
    """Return the classes by the names that they have in files."""
    return {
        name: getattr(import_module(module), name)
        for module, names in _PARTS.items()
        for name in names
    }


def name_of(method: object) -> str:
    """Return the registered name of a method; only what can be found again can be saved."""
    cls = type(method)
    path = f"{cls.__module__}:{cls.__qualname__}"
    for entry in entries().values():
        if entry.path == path:
            return entry.name
    raise ParameterError(
        f"{cls.__name__} cannot be saved, for nobody could open it: it is not in the list of "
        f"methods. Add the entry point '… = \"{path}\"' of the group 'kgnn.methods'."
    )


def is_registered(method: object) -> bool:
    """Tell whether a method is in the list."""
    try:
        name_of(method)
    except ParameterError:
        return False
    return True
