"""A checkpoint that ``vqa-mc train`` wrote, as a model repository."""

import json
from pathlib import Path

from transformers import AutoConfig

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.extraction.text_features import WORDS_FILE
from hf_vqa_mc.hub.model_card import RECORD, Record, model_card, read_record
from hf_vqa_mc.hub.portable_code import portable_files
from hf_vqa_mc.hub.shipment import Pushable, Request, Shipment, ShippedFile, check_name, other_files
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.models.checkpoint import CONFIG, WEIGHTS, load_checkpoint
from hf_vqa_mc.models.model import Model, model_of
from hf_vqa_mc.models.vqa_processor import PROCESSOR_CONFIG
from hf_vqa_mc.text.markdown import one_line

CARD = "README.md"
FILES = (CONFIG, WEIGHTS, PROCESSOR_CONFIG, WORDS_FILE, RECORD)
"""Files of a checkpoint other than the card (word vectors only of models that read them). With these only our own code
is uploaded, in particular no pickle."""
BEST = "best"
"""The folder of a run's best checkpoint."""


def model_shipment(request: Request, progress: Progress = silent) -> Shipment:
    """The files of a checkpoint of ``vqa-mc train``, a card written from ``training.json``, and portable code."""
    name, folder = check_name(request.name), request.folder
    if folder is None:
        raise InputError("no checkpoint given; add --folder RUN/best")
    names, model = _checked_files(folder)
    record = read_record(folder)
    card = model_card(record, name).encode()
    written = {CARD: card, **portable_files(folder, model)}
    contents = {CARD: card, **{one: folder / one for one in names}, **written}
    files = tuple(ShippedFile(path, content) for path, content in contents.items())
    same = {path for path in written if (folder / path).is_file() and (folder / path).read_bytes() == written[path]}
    left_out = other_files(folder, {*names, *same})
    return Shipment("model", name, files, _message(record), request.private, left_out=left_out)


def _checked_files(folder: Path) -> tuple[tuple[str, ...], Model]:
    """The files of a checkpoint, and its model; raises InputError unless it is complete."""
    if not folder.is_dir():
        raise InputError(f"{folder}: folder does not exist; give a checkpoint that vqa-mc train wrote")
    if not (folder / CONFIG).is_file() and (folder / BEST / CONFIG).is_file():
        raise InputError(f"{folder} is a run folder, not a checkpoint: did you mean {folder / BEST}?")
    loaded, processor = load_checkpoint(folder)
    names = tuple(one for one in FILES if processor.has_word_vectors or one != WORDS_FILE)
    missing = [one for one in names if not (folder / one).is_file()]
    if missing:
        raise InputError(
            f"{folder} is not a complete checkpoint: {', '.join(missing)} missing; give a checkpoint of vqa-mc train"
        )
    return names, model_of(loaded.config)


def _message(record: Record) -> str:
    model, config, version = (one_line(record.get(key, "")) for key in ("model", "config", "version"))
    trained = " ".join(filter(None, [model or "checkpoint", f"on {config}" if config else ""]))
    return f"{trained}, trained by hf_vqa_mc{f' {version}' if version else ''}"


def _usage(sent: Shipment) -> str:
    config = next(one.content for one in sent.files if one.path == CONFIG and isinstance(one.content, bytes))
    task = model_of(AutoConfig.for_model(**json.loads(config))).task
    return f'import hf_vqa_mc.models; transformers.pipeline("{task}", model="{sent.name}")'


MODEL = Pushable(
    "model",
    model_shipment,
    _usage,
    ("folder",),
    "not part of a checkpoint",
)
