"""The site: `make docs` builds it into build/docs/html. Nothing here needs the network."""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # for site_parts

project = "hlograph"
author = "The hlograph developers"
copyright = "The hlograph developers"
package = Path(__file__).resolve().parent.parent / "hlograph/__init__.py"
release = version = re.search(r'__version__ = "(.*)"', package.read_text())[1]

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "site_parts",
]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4  # links such as page.md#a-heading, as they work in a checkout
nb_execution_mode = "cache"
nb_execution_cache_path = str(Path(__file__).resolve().parent.parent / "build/docs/cache")
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_merge_streams = True

html_theme = "sphinx_book_theme"
html_title = "hlograph"
html_theme_options = {
    "repository_url": "https://github.com/hlograph/hlograph",
    "path_to_docs": "docs",
    "use_repository_button": True,
    "use_edit_page_button": True,
    "show_toc_level": 2,
    "home_page_in_toc": True,
    "navbar_persistent": [],  # the search field of the sidebar is enough
}
html_static_path = ["static"]
html_css_files = ["site.css"]
exclude_patterns = ["images/**/*.md"]
autodoc_typehints = "description"
autodoc_member_order = "bysource"
napoleon_google_docstring = True
highlight_language = "text"
