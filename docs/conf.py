"""Sphinx: ``sphinx-build -W docs OUTPUT`` (in the extra ``docs``)."""

import inspect
import json
import sys
from collections import defaultdict

from sphinx.pycode import ModuleAnalyzer

from hf_vqa_mc import recipe
from hf_vqa_mc.model_listing import MODELS
from hf_vqa_mc.models.model import FittedModel
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

_NOTES = ModuleAnalyzer.for_module("hf_vqa_mc.recipe").find_attr_docs()
SHARED = {value: " ".join(_NOTES["", name]) for name, value in vars(recipe).items() if ("", name) in _NOTES}


def setup(app):
    app.connect("source-read", add_models)


def add_models(app, name, source):
    """Add to models.md what the models' declarations say: settings with defaults and meaning, and recipes."""
    if name == "models":
        by_config = defaultdict(list)
        for model in MODELS.values():
            by_config[model.config_class].append(model)
        source[0] += "\n".join(line for of in by_config.items() for line in section(*of))


def section(config, models):
    yield f"\n## {', '.join(f'`{model.name}`' for model in models)}\n"
    yield f"{inspect.cleandoc(config.__doc__)}\n"
    of_models = {model.name: model.defaults() for model in models}
    meanings = {}
    for kind in (one for one in config.__mro__ if one.__module__.startswith("hf_vqa_mc.")):
        for (owner, name), lines in ModuleAnalyzer.for_module(kind.__module__).find_attr_docs().items():
            if owner == kind.__name__:
                meanings.setdefault(name, " ".join(lines).strip())
    yield "| setting | default | |\n|---|---|---|" if any(of_models.values()) else "No settings.\n"
    for name, default in defaults(of_models):
        yield f"| `{name}` | {default} | {meanings[name]} |"
    trained = [model for model in models if not issubclass(model.model_class, FittedModel)]
    recipes = {model.name: {key: of for key, of in model.recipe._asdict().items() if of} for model in trained}
    for name, default in defaults(recipes):
        yield f"| `--{name.replace('_', '-')}` | {default} | |"
    for shared in dict.fromkeys(model.recipe for model in trained):
        if note := SHARED.get(shared, "").strip():
            names = ", ".join(f"`{model.name}`" for model in trained if model.recipe == shared)
            yield f"\nTraining of {names}: {note[0].lower()}{note[1:]}\n"
    notes = [ModuleAnalyzer.for_module(model.model_class.__module__).find_attr_docs() for model in trained]
    for model, of_module in zip(trained, notes):
        (variable,) = (key for key, one in vars(sys.modules[model.model_class.__module__]).items() if one is model)
        if note := " ".join(of_module.get(("", variable), [])).strip():
            yield f"\n`{model.name}`: {note}\n"


def defaults(of_models):
    """Each setting and its default, as ``--model-settings`` reads it, with the models unless all have the same."""
    for setting in dict.fromkeys(setting for of in of_models.values() for setting in of):
        texts = defaultdict(list)
        for name in (name for name, of in of_models.items() if setting in of):
            value = of_models[name][setting]
            texts[value if isinstance(value, str) else json.dumps(value)].append(f"`{name}`")
        is_same = [len(names) for names in texts.values()] == [len(of_models)]
        found = [f"`{text}`" + ("" if is_same else f" ({', '.join(names)})") for text, names in texts.items()]
        yield setting, ", ".join(found)
