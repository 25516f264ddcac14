"""The named datasets: description, citation, and fingerprint of the content."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from kgnn.errors import UnknownNameError

LICENSE_NOTE = (
    "The TUDataset collection states no license; the data belong to their authors. "
    "Cite their work and the collection (Morris et al., 2020) when you use them."
)

TABLE_LICENSE_NOTE = (
    "No license is stated for this table; the data belong to their authors. Cite their work and "
    "MoleculeNet when you use them."
)
CHEMBL_LICENSE_NOTE = (
    "From ChEMBL, whose data are under the license CC BY-SA 3.0. Cite ChEMBL and the work that "
    "selected the molecules."
)

_BORGWARDT = (
    "Borgwardt, Ong, Schönauer, Vishwanathan, Smola & Kriegel (2005). "
    "Protein function prediction via graph kernels. Bioinformatics 21."
)
_DOBSON = (
    "Dobson & Doig (2003). Distinguishing enzyme structures from non-enzymes without alignments. "
    "Journal of Molecular Biology 330."
)
_YANARDAG = "Yanardag & Vishwanathan (2015). Deep graph kernels. KDD."
_DEBNATH = (
    "Debnath, Lopez de Compadre, Debnath, Shusterman & Hansch (1991). Structure-activity "
    "relationship of mutagenic aromatic and heteroaromatic nitro compounds. "
    "Journal of Medicinal Chemistry 34."
)
_HELMA = (
    "Helma, King, Kramer & Srinivasan (2001). The Predictive Toxicology Challenge 2000–2001. "
    "Bioinformatics 17."
)
_WALE = (
    "Wale, Watson & Karypis (2008). Comparison of descriptor spaces for chemical compound "
    "retrieval and classification. Knowledge and Information Systems 14."
)
_SUTHERLAND = (
    "Sutherland, O'Brien & Weaver (2003). Spline-fitting with a genetic algorithm: a method for "
    "developing classification structure–activity relationships. Journal of Chemical Information "
    "and Computer Sciences 43."
)
_RIESEN = (
    "Riesen & Bunke (2008). IAM graph database repository for graph based pattern recognition and "
    "machine learning. SSPR."
)
_NEUMANN = (
    "Neumann, Garnett, Bauckhage & Kersting (2016). Propagation kernels: efficient graph kernels "
    "from propagated information. Machine Learning 102."
)
_WU = (
    "Wu, Ramsundar, Feinberg, Gomes, Geniesse, Pappu, Leswing & Pande (2018). MoleculeNet: a "
    "benchmark for molecular machine learning. Chemical Science 9."
)
_LI = (
    "Li, Xu & Yu (2021). CRNNTL: convolutional recurrent neural network and transfer learning for "
    "QSAR modeling in organic drug and material discovery. Molecules 26. Data of ChEMBL."
)


@dataclass(frozen=True)
class CatalogEntry:
    """One dataset of the catalog.

    Attributes
    ----------
    name : str
        Its name in the TUDataset collection, or that of a table of molecules.
    graphs : int
    avg_nodes, avg_edges : float
        Averages over all graphs; an edge is a distinct unordered pair, a self loop counts once.
    classes : int
    kind : str
        What the graphs are: bioinformatics, social, molecules or images.
    citation : str
    fingerprint : str
        Of the content, as read by this package.
    aliases : tuple of str
        Other names that resolve to it.
    in_paper : bool
        Whether Table 1 of the KGNN paper has it.
    license : str
    suffix : {".zip", ".csv"}
        Of its file: a dataset of the collection, or a table with the columns ``id``, ``smiles`` and
        ``label``, which is on no server and must be on this machine.
    """

    name: str
    graphs: int
    avg_nodes: float
    avg_edges: float
    classes: int
    kind: Literal["bioinformatics", "social", "molecules", "images"]
    citation: str
    fingerprint: str
    aliases: tuple[str, ...] = ()
    in_paper: bool = False
    license: str = LICENSE_NOTE
    suffix: Literal[".zip", ".csv"] = ".zip"

    @property
    def places(self) -> tuple[str, ...]:
        """Where the dataset may be in a folder of datasets."""
        file = f"{self.name}{self.suffix}"
        if self.suffix == ".csv":
            return file, f"molecules/{file}"
        return file, f"{self.name}/raw", self.name  # as PyG stores it, or unpacked


def _table(
    name: str, graphs: int, nodes: float, edges: float, citation: str, fingerprint: str
) -> CatalogEntry:
    """Describe a table of molecules of two classes, without those that RDKit cannot read."""
    note = CHEMBL_LICENSE_NOTE if citation is _LI else TABLE_LICENSE_NOTE
    return CatalogEntry(
        name, graphs, nodes, edges, 2, "molecules", citation, fingerprint,
        license=note, suffix=".csv",
    )  # fmt: skip


# fmt: off
ENTRIES = (
    CatalogEntry("PROTEINS", 1113, 39.06, 72.82, 2, "bioinformatics", _BORGWARDT,
                 "182875e790cb3e98ea01b4b504475962", in_paper=True),
    CatalogEntry("DD", 1178, 284.32, 715.66, 2, "bioinformatics", _DOBSON,
                 "c8709639d620d49f761bfb469a392de7", aliases=("D&D",), in_paper=True),
    CatalogEntry("IMDB-BINARY", 1000, 19.77, 96.53, 2, "social", _YANARDAG,
                 "0ed2d37658dbfdbb8ccf0d476ac86a86", aliases=("IMDB-B",), in_paper=True),
    CatalogEntry("IMDB-MULTI", 1500, 13.00, 65.94, 3, "social", _YANARDAG,
                 "b427c8ae27503af2b70c16c7d1760819", aliases=("IMDB-M",), in_paper=True),
    CatalogEntry("REDDIT-BINARY", 2000, 429.63, 497.75, 2, "social", _YANARDAG,
                 "6d3941017a8fa6419f90fc38cbde0563", aliases=("REDDIT-B",), in_paper=True),
    CatalogEntry("REDDIT-MULTI-5K", 4999, 508.52, 594.87, 5, "social", _YANARDAG,
                 "cff288876551e46f129ccd9c5569627c",
                 aliases=("REDDIT-M-5k", "REDDIT-M5", "REDDIT-M"), in_paper=True),
    CatalogEntry("COLLAB", 5000, 74.49, 2457.78, 3, "social", _YANARDAG,
                 "01fbeabf47e8c38a2622f7fddcc6e00f", in_paper=True),
    CatalogEntry("MUTAG", 188, 17.93, 19.79, 2, "molecules", _DEBNATH,
                 "127c3b7a11021d8bf84fed02bdbd1135"),
    CatalogEntry("PTC_MR", 344, 14.29, 14.69, 2, "molecules", _HELMA,
                 "f61143db108ca138b4cbb70aa56d068f", aliases=("PTC",)),
    CatalogEntry("ENZYMES", 600, 32.63, 62.14, 6, "bioinformatics", _BORGWARDT,
                 "eb7f1b775b084f0e18af687a9f48a205"),
    CatalogEntry("NCI1", 4110, 29.87, 32.30, 2, "molecules", _WALE,
                 "41fe67bc130b7f9d710b777a6d2f3330"),
    CatalogEntry("PTC_FM", 349, 14.11, 14.48, 2, "molecules", _HELMA,
                 "01782722df646fe6909108acff471421"),
    CatalogEntry("BZR", 405, 35.75, 38.36, 2, "molecules", _SUTHERLAND,
                 "23519cd6a2262f7010ab8fa29fa57e6f"),
    CatalogEntry("DHFR", 756, 42.43, 44.54, 2, "molecules", _SUTHERLAND,
                 "4eaaead397bfab5a522abad20b549ac2"),
    CatalogEntry("Letter-med", 2250, 4.67, 3.21, 15, "images", _RIESEN,
                 "4c16a56b2d7a888992521ae2f003461e"),
    CatalogEntry("Fingerprint", 2800, 5.42, 4.42, 15, "images", _RIESEN,
                 "7da1950f98b47aff7f575e388c4755f5"),
    CatalogEntry("COIL-RAG", 3900, 3.01, 3.02, 100, "images", _RIESEN,
                 "7f10c2193a49116eb71067cff1272312"),
    CatalogEntry("MSRC_9", 221, 40.58, 97.94, 8, "images", _NEUMANN,
                 "394a4a5cfffff106f7f3395fd5fa2b8e"),
    _table("tox21-ahr", 6542, 18.06, 18.70, _WU, "86fa1ca7488ea9823efe875688ccb6e9"),
    _table("tox21-mmp", 5804, 17.59, 18.16, _WU, "b3279de481df5ae4690cd6b3b3a3c556"),
    _table("tox21-are", 5825, 16.43, 16.89, _WU, "fcc964f01fe2d31c0515124c8a98265b"),
    _table("clintox", 1478, 26.16, 27.88, _WU, "20a44e50f8b6b71437dd4ed8f10eb383"),
    _table("fgfr1", 4177, 28.71, 31.73, _LI, "37155c359f6f97404e4696e1b2679da3"),
    _table("qm8-e1", 21786, 7.77, 8.09, _WU, "c16daed7fe573249ff975ce79669b24e"),
)
# fmt: on


def _normalized(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _entry_of(name: str) -> CatalogEntry | None:
    wanted = _normalized(name)
    for entry in ENTRIES:
        if wanted in map(_normalized, (entry.name, *entry.aliases)):
            return entry
    return None


def is_known(name: str) -> bool:
    """Tell whether `find` would find the name."""
    return _entry_of(name) is not None


def is_in_paper(name: str) -> bool:
    """Tell whether the paper has a dataset of this name.

    Examples
    --------
    >>> is_in_paper("imdb-b"), is_in_paper("MUTAG"), is_in_paper("my/graphs.jsonl")
    (True, False, False)
    """
    entry = _entry_of(name)
    return entry is not None and entry.in_paper


def find(name: str) -> CatalogEntry:
    """Return the entry of a name or alias, whatever its case and punctuation.

    Examples
    --------
    >>> find("imdb-b").name, find("D&D").name
    ('IMDB-BINARY', 'DD')
    """
    if (entry := _entry_of(name)) is None:
        raise UnknownNameError.of("dataset", name, [entry.name for entry in ENTRIES])
    return entry
