import sys
from importlib.metadata import version as installed_version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

project = "noneg"
author = "noneg developers"
copyright = f"2026, {author}"  # noqa: A001
version = release = installed_version("noneg")

extensions = [
    "mathml",
    "myst_parser",
    "numpydoc",
    "paper_tables",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.doctest",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "_templates"]
default_role = "code"
nitpicky = True

myst_enable_extensions = ["amsmath", "deflist", "dollarmath"]
myst_heading_anchors = 3

autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
numpydoc_class_members_toctree = False
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

doctest_test_doctest_blocks = ""

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "ignore_repr_types": r"matplotlib\.|noneg\.plots\.",
    "within_subsection_order": "example_order.place",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "write_computation_times": False,
}

html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
html_css_files = ["noneg.css"]
# Pages without subpages do not need a list of them.
html_sidebars = {page: [] for page in ("index", "start", "theory", "papers")}
html_title = "noneg"
html_show_sourcelink = False
html_theme_options = {
    "header_links_before_dropdown": 8,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "show_toc_level": 2,
    "show_prev_next": False,
    "footer_start": ["copyright"],
    "footer_end": [],
}


# Constants have no docstring of their own.
CONSTANTS = {
    "noneg.metrics.METRICS": "Every metric by its name.",
    "noneg.performance.CRITERIA": "Every criterion of model selection by its name.",
    "noneg.prior.DEFAULT": "Name of the estimator that is taken where none is named.",
    "noneg.prior.ESTIMATORS": "Every estimator of the prior by its name.",
    "noneg.prior.FROM_FEATURES": "Those estimators that need features, by name.",
    "noneg.prior.FROM_SCORES": "Those estimators that need scores only, by name.",
    "noneg.recalibration.METHODS": "Every calibrator by its name in files and on the command line.",
    "noneg.sklearn.SCORERS": "Every metric that can be a scorer: the function, and its direction.",
    "noneg.learning.ALGORITHMS": "Every algorithm for networks by its name.",
    "noneg.lab.bench.PLANS": "Every data set of the benchmark by its name.",
}


def setup(app):
    app.connect("autodoc-skip-member", skip_routing)
    app.connect("autodoc-process-docstring", describe_constant)


def describe_constant(app, what, name, obj, options, lines):
    """Describe a constant instead of its type."""
    del app, options
    if what == "data":
        names = ", ".join(f"``{key}``" for key in obj) if isinstance(obj, dict) else ""
        lines[:] = [CONSTANTS[name], "", names, ""]


def skip_routing(app, what, name, obj, skip, options):
    """Omit the routing methods that scikit-learn adds to every estimator."""
    del app, what, obj, options
    return True if name.startswith("set_") and name.endswith("_request") else skip
