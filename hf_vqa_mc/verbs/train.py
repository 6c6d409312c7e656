"""``hf_vqa_mc.train`` and ``vqa-mc train``: a model of the papers on a dataset, validated on schedule, tested once."""

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.result import verb
from hf_vqa_mc.training.settings import TrainingSettings

if TYPE_CHECKING:
    from hf_vqa_mc.training.run_folder import TrainResult

logger = logging.getLogger(__name__)


@verb(
    TrainingSettings,
    "vqa-mc train vqa_mc cocoqa_qou --model mlp-qa --word-vectors glove.6B.100d.txt --output runs/qa",
    "accelerate launch --num_processes 2 -m hf_vqa_mc train --settings run.yaml",
    settings_file=True,
)
def train(settings: TrainingSettings, progress: Progress) -> "TrainResult":
    """The run: ``model_folder`` with the best checkpoint, the record, and ``to_pandas()`` of validations.

    Raises:
        InputError: the dataset, features, word vectors or settings cannot be used, or the loss is not finite.
        ConnectionError: the Hub cannot be reached.
        OSError: the disk is full or read-only; earlier checkpoints are kept.
    """
    from hf_vqa_mc.data.reading import training_tables

    try:
        config, rows = training_tables(settings.dataset, settings.config)
        from hf_vqa_mc.training.loop import train as train_model

        return train_model(replace(settings, config=config), progress, rows)
    except KeyboardInterrupt:
        logger.info("stopped; the same call resumes from the last validation")
        raise
