"""Multiple-choice visual question answering without shortcuts: rebuild, score, train, audit, remedy, evaluate.

Names are imported on first use (PEP 562): ``import hf_vqa_mc`` loads neither torch nor datasets.
"""

from typing import TYPE_CHECKING

from hf_vqa_mc.lazy import lazy_names
from hf_vqa_mc.verbs import VERBS

if TYPE_CHECKING:
    from hf_vqa_mc.data import read_benchmark as read_benchmark
    from hf_vqa_mc.data.stored_images import with_images as with_images
    from hf_vqa_mc.dataset.builder import VqaMc as VqaMc
    from hf_vqa_mc.dataset.builder import register as register
    from hf_vqa_mc.errors import InputError as InputError
    from hf_vqa_mc.errors import MissingExtra as MissingExtra
    from hf_vqa_mc.scoring.metric_folders import load_metric as load_metric
    from hf_vqa_mc.verbs.audit import audit as audit
    from hf_vqa_mc.verbs.build import build as build
    from hf_vqa_mc.verbs.compare import compare as compare
    from hf_vqa_mc.verbs.describe import describe as describe
    from hf_vqa_mc.verbs.evaluate import evaluate as evaluate
    from hf_vqa_mc.verbs.export import export as export
    from hf_vqa_mc.verbs.features import features as features
    from hf_vqa_mc.verbs.generate import generate_complementary as generate_complementary
    from hf_vqa_mc.verbs.generate import generate_gqa as generate_gqa
    from hf_vqa_mc.verbs.generate import generate_tdiuc as generate_tdiuc
    from hf_vqa_mc.verbs.judge import judge as judge
    from hf_vqa_mc.verbs.lint import lint as lint
    from hf_vqa_mc.verbs.predict import predict as predict
    from hf_vqa_mc.verbs.preview import preview as preview
    from hf_vqa_mc.verbs.push import push as push
    from hf_vqa_mc.verbs.quickstart import quickstart as quickstart
    from hf_vqa_mc.verbs.remedy import remedy as remedy
    from hf_vqa_mc.verbs.score import score as score
    from hf_vqa_mc.verbs.study import study_create as study_create
    from hf_vqa_mc.verbs.study import study_results as study_results
    from hf_vqa_mc.verbs.study import study_serve as study_serve
    from hf_vqa_mc.verbs.survey import survey as survey
    from hf_vqa_mc.verbs.train import train as train
    from hf_vqa_mc.verbs.transfer import transfer as transfer
    from hf_vqa_mc.verbs.verify import verify as verify
    from hf_vqa_mc.version import __version__ as __version__

_PUBLIC = {
    "InputError": "errors",
    "MissingExtra": "errors",
    "VqaMc": "dataset.builder",
    "__version__": "version",
    "load_metric": "scoring.metric_folders",
    "read_benchmark": "data",
    "register": "dataset.builder",
    "with_images": "data.stored_images",
    **{verb: f"verbs.{verb.partition('_')[0]}" for verb in VERBS},
}
__all__ = sorted(_PUBLIC)

__getattr__, __dir__ = lazy_names(__name__, _PUBLIC)
