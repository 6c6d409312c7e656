"""Sphinx: ``sphinx-build -W docs OUTPUT`` (in the extra ``docs``)."""

import inspect
import json
import re
import sys
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Literal, get_args, get_origin

import typer
from sphinx.pycode import ModuleAnalyzer

import hf_vqa_mc as vm
from hf_vqa_mc import recipe
from hf_vqa_mc.cli import app
from hf_vqa_mc.model_listing import MODELS
from hf_vqa_mc.models.model import FittedModel
from hf_vqa_mc.options import inner_type, spec_of
from hf_vqa_mc.verbs import PANELS
from hf_vqa_mc.version import __version__

project = "hf_vqa_mc"
author = copyright = "the authors of hf_vqa_mc"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build", "llms.txt"]
nitpicky = False
smartquotes = False
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


def setup(sphinx):
    sphinx.connect("source-read", add_declarations)


def add_declarations(sphinx, name, source):
    """Add the declarations of models to models.md (settings, recipes), and those of the commands to cli.md."""
    if name == "models":
        by_config = defaultdict(list)
        for model in MODELS.values():
            by_config[model.config_class].append(model)
        source[0] += "\n".join(line for of in by_config.items() for line in section(*of))
    elif name == "cli":
        source[0] += "\n".join(commands())


def commands():
    """A section of each command, in the groups of ``vqa-mc -h``."""
    tree = typer.main.get_command(app)
    for panel, names in PANELS.items():
        yield f"\n## {panel}"
        for verb in names:
            first, *second = verb.split("_", 1)
            command = tree.commands[first].commands[second[0]] if second else tree.commands[first]
            yield from command_section(getattr(vm, verb).verb, command)


def command_section(verb, command):
    """The docstring of a verb, its examples, and a row for each argument and option of its command."""
    yield f"\n### vqa-mc {verb.name.replace('_', ' ')}\n"
    yield escaped(verb.summary)
    yield "\n".join(["\n```text", *verb.examples, "```\n"])
    yield "| name | value | default | |\n|---|---|---|---|"
    declared = {one.name: one for one in fields(verb.settings)}
    is_option = {param: param.opts[0].startswith("--") for param in command.params if param.name != "help"}
    for param in sorted(is_option, key=is_option.get):
        names = [*param.opts, *param.secondary_opts] if is_option[param] else [param.name.upper()]
        one = declared.get(param.name)  # none of --json and others that commands share
        value = value_of(one) if one else "flag" if param.is_flag else "text"
        default = names[0] if param.default is True else param.default
        default = " ".join(map(str, default)) if isinstance(default, list) else default
        shown = "" if default in (None, ..., "") or default is False else f"`{default}`"
        yield f"| {', '.join(f'`{name}`' for name in names)} | {value} | {shown} | {escaped(param.help)} |"


def value_of(one):
    """The values that a field takes: the names, or the type and what is checked."""
    kind, spec = inner_type(one), spec_of(one)
    if get_origin(kind) is Literal:
        return ", ".join(f"`{value}`" for value in get_args(kind))
    if get_origin(kind) in (dict, Mapping):
        return "NAME=VALUE, may be repeated"
    is_list = get_origin(kind) is tuple
    several = (", several with commas" if spec.separator else ", may be repeated") if is_list else ""
    kind = get_args(kind)[0] if is_list else kind
    return escaped(spec.check[0] if spec.check else TYPES.get(kind, "text")) + several


TYPES = {int: "integer", float: "number", bool: "flag", Path: "path"}
"""Other types are text."""


def escaped(text):
    """Text as markdown: its characters as they are, options as code."""
    return re.sub(r"(?<!\S)--[\w-]+", r"`\g<0>`", re.sub(r"([\\*<|\[\]])", r"\\\1", text))


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
