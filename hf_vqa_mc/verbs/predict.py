"""``hf_vqa_mc.predict`` and ``vqa-mc predict``: a trained model's answers, for ``vqa-mc score``."""

from pathlib import Path
from typing import TYPE_CHECKING

from hf_vqa_mc.io.hub_folder import file_name
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.options import FOLDER, VECTORS, option, overwrite_option, settings
from hf_vqa_mc.result import verb

if TYPE_CHECKING:
    from hf_vqa_mc.training.predicting import PredictResult


@settings
class PredictSettings:
    """Answer the questions of a dataset with a trained model.

    With several processes (torchrun or accelerate launch, -m hf_vqa_mc predict ...), each scores a share.
    """

    checkpoint: str = option("Folder written by vqa-mc train, or name on the Hub.", kw_only=False)
    dataset: str = option(
        "Folder written by vqa-mc build or remedy, dataset on the Hub, or any benchmark that vqa-mc audit reads.",
        kw_only=False,
    )
    config: str = option("Config of a dataset with several, such as cocoqa_iou_qou.", default="", kw_only=False)
    split: str | None = option("Split to answer; by default test, else validation, else the only one.", default=None)
    features: Path | None = option(
        "Folder of image features of the same kind as in training.", default=None, check=FOLDER
    )
    word_vectors: str | None = option(
        "File of the model's word vectors, for words that were not in training.", default=None, check=VECTORS
    )
    captions: Path | None = option("COCO captions file, for models that read captions.", default=None)
    candidates: Path | None = option(
        "File of vqa-mc generate complementary (.jsonl), for models that rank images as counter-examples.",
        default=None,
    )
    output: Path | None = option(
        "File to write the predictions to; by default CONFIG-predictions.json for the command.",
        default=None,
        cli_default=lambda given: Path(
            f"{file_name(given.get('config') or Path(given['dataset']).stem)}-predictions.json"
        ),
    )
    attentions: Path | None = option(
        "File to write an open-ended model's attention to, as maps or boxes, for vqa-mc score --inputs attentions.",
        default=None,
    )
    counterexamples: Path | None = option(
        "File to write the candidates as ranked by the counter-example model to, the best first.", default=None
    )
    overwrite: bool = overwrite_option()
    skip_missing: bool = option("Skip and count questions whose images have no features.", default=False)


@verb(PredictSettings, "vqa-mc predict runs/qa/best vqa_mc cocoqa_iou --word-vectors glove.6B.100d.txt")
def predict(settings: PredictSettings, progress: Progress) -> "PredictResult":
    """The answers with their probabilities; written to ``output`` if given.

    Raises:
        InputError: the checkpoint, dataset, features or word vectors cannot be used, or do not fit each other.
        ConnectionError: the Hub cannot be reached.
    """
    from hf_vqa_mc.data.reading import training_tables
    from hf_vqa_mc.model_listing import checkpoint_folder

    checkpoint_folder(settings.checkpoint)
    config, rows = training_tables(settings.dataset, settings.config)
    from hf_vqa_mc.training.predicting import predict as predict_split

    return predict_split(**{**vars(settings), "config": config}, progress=progress, rows=rows)
