"""The named datasets: what they are, whom to cite, and the fingerprint of their content."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from kgnn.errors import UnknownNameError

LICENSE_NOTE = (
    "The TUDataset collection states no license; the data belong to their authors. "
    "Cite their work and the collection (Morris et al., 2020) when you use them."
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


@dataclass(frozen=True)
class CatalogEntry:
    """One dataset of the catalog.

    Attributes
    ----------
    name : str
        Its name in the TUDataset collection.
    graphs : int
    avg_nodes, avg_edges : float
        Averages over all graphs; an edge is a distinct unordered pair, a self loop counts once.
    classes : int
    kind : str
        What the graphs are: bioinformatics, social or molecules.
    citation : str
    fingerprint : str
        Of the content, as read by this package.
    aliases : tuple of str
        Other names that resolve to it.
    in_paper : bool
        Whether Table 1 of the KGNN paper has it.
    """

    name: str
    graphs: int
    avg_nodes: float
    avg_edges: float
    classes: int
    kind: Literal["bioinformatics", "social", "molecules"]
    citation: str
    fingerprint: str
    aliases: tuple[str, ...] = ()
    in_paper: bool = False
    license: str = LICENSE_NOTE


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
