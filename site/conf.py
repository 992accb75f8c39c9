"""Configuration of the documentation site, which `scripts/build_site.py` stages and builds.

Sphinx, because it is maintained, checks every link of a build, and its search needs no server; MyST, because
the pages are Markdown that other viewers show, too; Furo, because it adapts to small and to dark screens.
"""

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

project = "Whimbrel"
author = "The Whimbrel developers"
project_copyright = author
release = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["version"]
extensions = ["myst_nb"]
html_theme = "furo"
html_title = f"Whimbrel {release}"
html_static_path = [str(ROOT / "site" / "static")]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
templates_path: list[str] = []
exclude_patterns = ["**/.ipynb_checkpoints"]
# Every colour has a contrast of at least 4.5 to its background (WCAG 2.2, 1.4.3).
pygments_style = "a11y-light"
pygments_dark_style = "a11y-dark"

myst_enable_extensions = ["attrs_block", "colon_fence"]
myst_heading_anchors = 6
# Notebooks run once; later builds use the results unless the code of a cell or a dependency has changed.
nb_execution_mode = "cache"
nb_execution_timeout = 120
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_merge_streams = True
suppress_warnings = ["myst.header", "misc.highlighting_failure"]
