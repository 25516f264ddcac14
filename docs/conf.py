"""How Sphinx makes the site: ``make docs``. Pages are Markdown, and read as well where they are."""

from __future__ import annotations

from kgnn import __version__
from kgnn.graphs.datasets.catalog import find
from kgnn.graphs.datasets.sources import local_path

project = "kgnn"
author = "The kgnn developers"
project_copyright = author
version = release = __version__

extensions = ["myst_nb", "sphinx_copybutton"]
# The source folder is the root of the repository, so that links work there as they do in the site.
root_doc = "docs/index"
include_patterns = [
    "docs/*.md",
    "examples/notebooks/*.ipynb",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CODE_OF_CONDUCT.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
]
nitpicky = True
myst_heading_anchors = 4

# Notebooks are stored without output and run here; one that fails stops the build.
nb_execution_mode = "cache"
nb_execution_cache_path = "build/notebooks"
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_merge_streams = True
# A page must not need a download: without its dataset, a notebook is shown as it is stored.
_DATASETS = {"examples/notebooks/table-2.ipynb": ("PROTEINS", "IMDB-BINARY")}
nb_execution_excludepatterns = [
    page
    for page, needed in _DATASETS.items()
    if any(local_path(find(each)) is None for each in needed)
]

html_theme = "furo"
html_title = f"kgnn {version}"
html_favicon = "../src/kgnn/web/static/icon.svg"
html_extra_path = ["site"]  # index.html, which leads to docs/index.html
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
