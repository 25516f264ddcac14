from .datasets.catalog import CatalogEntry as CatalogEntry
from .datasets.catalog import find as find
from .datasets.python_functions import from_source as from_source
from .graph import Graph as Graph
from .graph import GraphDataset as GraphDataset
from .interop import as_dataset as as_dataset
from .interop import from_networkx as from_networkx
from .interop import to_networkx as to_networkx
from .loading import dataset_names as dataset_names
from .loading import load as load
from .molecules import from_smiles as from_smiles
from .packing import concatenate as concatenate
from .packing import pack as pack
from .pyg_data import from_pyg as from_pyg
from .pyg_data import to_pyg as to_pyg

__all__: list[str]
