"""A checkpoint that ``vqa-mc train`` wrote, as a model repository."""

from pathlib import Path

from transformers import AutoConfig

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.extraction.text_features import WORDS_FILE
from hf_vqa_mc.hub.model_card import RECORD, model_card, read_record
from hf_vqa_mc.hub.shipment import Pushable, Request, Shipment, ShippedFile, check_name, other_files
from hf_vqa_mc.io.json_stream import read_json
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.models.checkpoint import CONFIG, WEIGHTS, load_checkpoint
from hf_vqa_mc.models.model import model_of
from hf_vqa_mc.models.processor import PROCESSOR_CONFIG
from hf_vqa_mc.text.markdown import one_line

CARD = "README.md"
FILES = (CONFIG, WEIGHTS, PROCESSOR_CONFIG, WORDS_FILE, RECORD)
"""Files of a checkpoint other than the card (word vectors only of models that read them); no code and no pickle."""
BEST = "best"  # the folder of a run's best checkpoint


def model_shipment(request: Request, progress: Progress = silent) -> Shipment:
    """The files of a checkpoint of ``vqa-mc train``, and a card written from ``training.json``."""
    name, folder = check_name(request.name), request.folder
    if folder is None:
        raise InputError("no checkpoint given; add --folder RUN/best")
    names = _checked_files(folder)
    record = read_record(folder)
    card = model_card(record, name).encode()
    files = (ShippedFile(CARD, card), *(ShippedFile(one, folder / one) for one in names))
    same_card = (folder / CARD).is_file() and (folder / CARD).read_bytes() == card
    left_out = other_files(folder, {*names, *([CARD] if same_card else [])})
    model, config, version = (one_line(record.get(key, "")) for key in ("model", "config", "version"))
    trained = " ".join(filter(None, [model or "checkpoint", f"on {config}" if config else ""]))
    message = f"{trained}, trained by hf_vqa_mc{f' {version}' if version else ''}"
    return Shipment("model", name, files, message, request.private, left_out=left_out)


def _checked_files(folder: Path) -> tuple[str, ...]:
    """The files of a checkpoint; raises InputError unless it is complete."""
    if not (folder / CONFIG).is_file() and (folder / BEST / CONFIG).is_file():
        raise InputError(f"{folder} is a run folder, not a checkpoint: did you mean {folder / BEST}?")
    _, processor = load_checkpoint(folder)
    names = tuple(one for one in FILES if processor.texts.vectors is not None or one != WORDS_FILE)
    missing = [one for one in names if not (folder / one).is_file()]
    if missing:
        raise InputError(
            f"{folder} is not a complete checkpoint: {', '.join(missing)} missing; give a checkpoint of vqa-mc train"
        )
    return names


def _usage(sent: Shipment) -> str:
    config = next(one.content for one in sent.files if one.path == CONFIG)
    task = model_of(AutoConfig.for_model(**read_json(Path(str(config))))).task
    return f'import hf_vqa_mc.models; transformers.pipeline("{task}", model="{sent.name}")'


MODEL = Pushable("model", model_shipment, _usage, ("folder",), "not part of a checkpoint")
