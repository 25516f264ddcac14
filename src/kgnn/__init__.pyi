from . import plot as plot
from .bars import progress_bars as progress_bars
from .errors import KgnnError as KgnnError
from .errors import KgnnWarning as KgnnWarning
from .estimator.registry import make as make
from .estimator.saving import open_model as open_model
from .evaluation.comparing import compare as compare
from .graphs.graph import Graph as Graph
from .graphs.graph import GraphDataset as GraphDataset
from .graphs.interop import from_networkx as from_networkx
from .graphs.interop import to_networkx as to_networkx
from .graphs.loading import load as load
from .graphs.molecules import from_smiles as from_smiles
from .graphs.pyg_data import from_pyg as from_pyg
from .graphs.pyg_data import to_pyg as to_pyg
from .kernels.graphlets import Graphlets as Graphlets
from .kernels.optimal_assignment import OptimalAssignment as OptimalAssignment
from .kernels.shortest_paths import ShortestPaths as ShortestPaths
from .kernels.similarity import most_similar as most_similar
from .kernels.weisfeiler_lehman import WeisfeilerLehman as WeisfeilerLehman
from .methods.gnn_sup import GNNSup as GNNSup
from .methods.kgnn import KGNN as KGNN
from .methods.wl import WL as WL
from .reports.results import Results as Results

__version__: str
__all__: list[str]
