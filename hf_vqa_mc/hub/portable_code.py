"""Code of a model and of its processor that runs where transformers and torch are installed, but not hf_vqa_mc.

It is our own code, see `flattened`. ``auto_map`` in both config files tells transformers' Auto classes which classes
to load from it if users pass ``trust_remote_code=True``.
"""

import json
from pathlib import Path
from pprint import pformat
from textwrap import indent
from typing import TYPE_CHECKING

from hf_vqa_mc.hub import portable_parts
from hf_vqa_mc.hub.flattened import flattened
from hf_vqa_mc.io.json_stream import read_json
from hf_vqa_mc.models.checkpoint import CONFIG
from hf_vqa_mc.models.layouts import rules
from hf_vqa_mc.models.vqa_processor import PROCESSOR_CONFIG
from hf_vqa_mc.version import __version__

if TYPE_CHECKING:
    from hf_vqa_mc.models.model import Model

PACKAGE = "hf_vqa_mc"
OPTIONAL = {"PIL": 'type("Image", (), {"Image": object, "Resampling": object})'}
"""Package that only image files need, and what its module has that annotations name."""
_HEADER = '''\
"""{what} of hf_vqa_mc {version} as one file, written by ``vqa-mc push model`` from the source of the package.

It needs {needs}. Licence: Apache-2.0.
"""

'''


def portable_files(folder: Path, declared: "Model") -> dict[str, bytes]:
    """File name to content: the code of a checkpoint's model and processor, and both configs with ``auto_map``.

    Raises InputError if the source of the model's class is not in a file.
    """
    model, config, processor = declared.model_class, declared.config_class, declared.processor_class
    modeling, processing = f"modeling_{config.model_type}", f"processing_{PACKAGE}"
    of_model = {"AutoConfig": config, **dict.fromkeys(("AutoModel", declared.auto_class.__name__), model)}
    return {
        f"{modeling}.py": _module(f"Config and model, {model.__name__},", (config, model)),
        f"{processing}.py": _module(f"The processor, {processor.__name__},", (processor,)),
        CONFIG: _mapped(folder / CONFIG, {auto: f"{modeling}.{one.__name__}" for auto, one in of_model.items()}),
        PROCESSOR_CONFIG: _mapped(folder / PROCESSOR_CONFIG, {"AutoProcessor": f"{processing}.{processor.__name__}"}),
    }


def _module(what: str, roots: tuple[type, ...]) -> bytes:
    packages = {PACKAGE, *(one.__module__.partition(".")[0] for one in roots)}
    value = indent(pformat(rules(), width=110, sort_dicts=False), "    ").lstrip()  # it sorts sets
    replaced = {(rules.__module__, rules.__name__): f"@cache\ndef rules() -> _Rules:\n    return {value}"}
    imports, definitions = flattened(roots, packages, portable_parts.__name__, replaced, OPTIONAL)
    needs = "transformers, torch and numpy"
    header = _HEADER.format(what=what, version=__version__, needs=needs)
    return f"{header}{imports}\n\n\n{definitions}\n".encode()


def _mapped(path: Path, auto_map: dict[str, str]) -> bytes:
    """A JSON file with ``auto_map``."""
    return (json.dumps(read_json(path) | {"auto_map": auto_map}, indent=2) + "\n").encode()
