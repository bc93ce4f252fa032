"""Sphinx configuration of the documentation: `make docs` builds it into site/."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from docutils.nodes import reference
from generators.objective_pages import write_objective_pages
from generators.placeholders import fill_placeholders

import luce

project = "Luce"
author = "The Luce authors"
copyright = author
release = version = luce.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
exclude_patterns = ["generators", "_static"]
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(?!luce\.).*")]  # types of other packages are not resolved

myst_enable_extensions = ["deflist", "attrs_block"]
myst_heading_anchors = 3
myst_links_external_new_tab = False
highlight_language = "text"
smartquotes = False  # options such as --read keep their two dashes
default_role = "code"
toc_object_entries = False

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

napoleon_numpy_docstring = True
napoleon_google_docstring = False
napoleon_use_ivar = True

autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_class_signature = "mixed"
python_maximum_signature_line_length = 90

html_theme = "furo"
html_title = "Luce"
html_static_path = ["_static"]
html_css_files = ["luce.css"]
html_copy_source = False
html_show_sphinx = False
html_show_search_summary = False  # summaries are fetched, which a page read from disk may not do
pygments_style = "friendly"
pygments_dark_style = "github-dark"
html_theme_options = {
    "navigation_with_keys": True,
    "light_css_variables": {"color-brand-primary": "#0b5cad", "color-brand-content": "#0b5cad"},
    "dark_css_variables": {"color-brand-primary": "#7fb8f0", "color-brand-content": "#7fb8f0"},
}


def unlink_metrics(app, doctree):
    """Undo the links that docutils makes of metrics such as ndcg@10, which it takes for addresses."""
    for link in list(doctree.findall(reference)):
        if link.get("refuri", "").startswith("mailto:"):
            link.replace_self(link.children)


def setup(app):
    """Write the pages of objectives, and replace the placeholders of the others as they are read."""
    app.connect("builder-inited", lambda app: write_objective_pages(Path(app.srcdir) / "objectives"))
    app.connect("source-read", lambda app, name, source: source.__setitem__(0, fill_placeholders(source[0])))
    app.connect("doctree-read", unlink_metrics)
