"""Sphinx: ``sphinx-build -W docs OUTPUT`` (in the extra ``docs``)."""

from hf_vqa_mc.version import __version__

project = "hf_vqa_mc"
author = copyright = "the authors of hf_vqa_mc"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build", "llms.txt"]
nitpicky = False
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
html_theme = "furo"
html_extra_path = ["llms.txt"]
html_title = "hf_vqa_mc"
html_show_copyright = False
html_show_sourcelink = False
