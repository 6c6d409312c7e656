"""A checkpoint that ``vqa-mc train`` wrote, as a model repository."""

from pathlib import Path

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.extraction.text_features import WORDS_FILE
from hf_vqa_mc.hub.model_card import RECORD, Record, model_card, read_record
from hf_vqa_mc.hub.shipment import Pushable, Request, Shipment, ShippedFile, check_name, other_files
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.models.checkpoint import CONFIG, WEIGHTS, load_checkpoint
from hf_vqa_mc.models.processor import PROCESSOR_CONFIG
from hf_vqa_mc.text.markdown import one_line

CARD = "README.md"
FILES = (CONFIG, WEIGHTS, PROCESSOR_CONFIG, WORDS_FILE, RECORD)
"""Files of a checkpoint other than the card; nothing else is uploaded, in particular no pickle."""
BEST = "best"
"""The folder of a run's best checkpoint."""


def model_shipment(request: Request, progress: Progress = silent) -> Shipment:
    """The files of a checkpoint of ``vqa-mc train``, and a card written from ``training.json``."""
    name, folder = check_name(request.name), request.folder
    if folder is None:
        raise InputError("no checkpoint given; add --folder RUN/best")
    _check_folder(folder)
    record = read_record(folder)
    card = model_card(record, name).encode()
    files = [ShippedFile(CARD, card), *(ShippedFile(one, folder / one) for one in FILES)]
    same_card = {CARD} if (folder / CARD).is_file() and (folder / CARD).read_bytes() == card else set()
    left_out = other_files(folder, {*FILES, *same_card})
    return Shipment("model", name, tuple(files), _message(record), request.private, left_out=left_out)


def _check_folder(folder: Path) -> None:
    if not folder.is_dir():
        raise InputError(f"{folder}: folder does not exist; give a checkpoint that vqa-mc train wrote")
    if not (folder / CONFIG).is_file() and (folder / BEST / CONFIG).is_file():
        raise InputError(f"{folder} is a run folder, not a checkpoint: did you mean {folder / BEST}?")
    load_checkpoint(folder)
    missing = [one for one in FILES if not (folder / one).is_file()]
    if missing:
        raise InputError(
            f"{folder} is not a complete checkpoint: {', '.join(missing)} missing; give a checkpoint of vqa-mc train"
        )


def _message(record: Record) -> str:
    model, config, version = (one_line(record.get(key, "")) for key in ("model", "config", "version"))
    trained = " ".join(filter(None, [model or "checkpoint", f"on {config}" if config else ""]))
    return f"{trained}, trained by hf_vqa_mc{f' {version}' if version else ''}"


MODEL = Pushable(
    "model",
    model_shipment,
    lambda sent: f'import hf_vqa_mc.models; transformers.pipeline("multiple-choice-vqa", model="{sent.name}")',
    ("folder",),
    "not part of a checkpoint",
)
