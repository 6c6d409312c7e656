"""Multiple-choice visual question answering that is harder to game.

The public names are imported when they are asked for: ``import hf_vqa_mc`` loads neither torch nor datasets.
"""

from typing import TYPE_CHECKING

from hf_vqa_mc.lazy import lazy_names

if TYPE_CHECKING:
    from hf_vqa_mc.builder import VqaMc as VqaMc
    from hf_vqa_mc.builder import register as register
    from hf_vqa_mc.builder import with_images as with_images
    from hf_vqa_mc.errors import InputError as InputError
    from hf_vqa_mc.errors import MissingExtra as MissingExtra
    from hf_vqa_mc.metrics import load_metric as load_metric
    from hf_vqa_mc.version import __version__ as __version__

__all__ = ["InputError", "MissingExtra", "VqaMc", "__version__", "load_metric", "register", "with_images"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "InputError": "errors",
        "MissingExtra": "errors",
        "VqaMc": "builder",
        "__version__": "version",
        "load_metric": "metrics",
        "register": "builder",
        "with_images": "builder",
    },
)
