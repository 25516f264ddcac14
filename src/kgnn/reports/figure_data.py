"""A figure: drawings that belong together, and what to say of them."""

from __future__ import annotations

from dataclasses import dataclass

from kgnn.reports.markup import Markup


@dataclass(frozen=True)
class Figure:
    """Drawings that belong together.

    Attributes
    ----------
    name : str
        For links and files.
    title : str
    caption : str
        What a reader has to know; sentences.
    panels : dict of str to Markup
        Drawings by name; without any, the records have nothing to show here.
    """

    name: str
    title: str
    caption: str
    panels: dict[str, Markup]
