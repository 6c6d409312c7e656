"""Model card (``README.md``) of a checkpoint, written from ``training.json`` alone."""

import json
import re
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.data.inventory import WRITTEN_BY
from hf_vqa_mc.decoys import CHOICE_KINDS, TARGET, VARIANTS, methods
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.hub.shipment import check_name
from hf_vqa_mc.io.json_stream import read_json
from hf_vqa_mc.model_listing import MODELS
from hf_vqa_mc.schema import SPLITS
from hf_vqa_mc.sources.source import reference
from hf_vqa_mc.text.markdown import environment, one_line
from hf_vqa_mc.text.word_changes import WordChanges
from hf_vqa_mc.training.settings import RECIPE_SETTINGS, UNUSED

if TYPE_CHECKING:
    from huggingface_hub import EvalResult
    from jinja2 import Template

TASK, TEXT_TASK, ANSWER_TASK = "visual-question-answering", "multiple-choice", "question-answering"
"""Task names of the Hub: for models that see the image, and for those that do not, with choices and without."""
RECORD = "training.json"
HELD_OUT = "held_out"
"""Key of the results on held-out training images, which choose the checkpoint if there is no validation split."""
NOT_IN_TABLE = {"dataset", "config", "model", "output", "features", "word_vectors", "init_from"}
"""Settings that are left out of the table: local paths, and what other paragraphs give."""
_EXAMPLES = {"programs": "select: table->relate: apple,on,s [0]->query: color [1]"}
"""Form of questions to an example, if it is not text."""

Record = dict[str, Any]  # content of ``training.json`` without its nulls


CURVE_ROWS = 10  # maximum number of validations in a card's learning curve


def read_record(folder: Path) -> Record:
    """Read a checkpoint's ``training.json``; raises InputError unless ``vqa-mc train`` wrote it."""
    path = folder / RECORD
    try:
        found = read_json(path)
    except FileNotFoundError:
        raise InputError(f"{folder}: {RECORD} is missing; give a checkpoint that vqa-mc train wrote") from None
    if not isinstance(found, dict) or found.get("written_by") != WRITTEN_BY:
        raise InputError(f"{path}: vqa-mc train did not write this file; give a checkpoint that it wrote")
    record: Record = _without_nulls(found)
    return record


def _without_nulls(value: Any) -> Any:  # noqa: ANN401  any JSON value
    if not isinstance(value, dict):
        return value
    return {key: _without_nulls(one) for key, one in value.items() if one is not None}


def model_card(record: Record, name: str) -> str:
    """The model card of a repository, NAMESPACE/NAME: metadata for the Hub, and a page in Markdown."""
    from huggingface_hub import ModelCardData

    results = eval_results(record)
    without_image = ANSWER_TASK if "answers" in record else TEXT_TASK
    data = ModelCardData(
        library_name="hf_vqa_mc",
        pipeline_tag=TASK if "image_features" in record else without_image,
        tags=["hf_vqa_mc", "vqa", "open-ended" if "answers" in record else "multiple-choice"],
        datasets=_on_the_hub(dataset_name(record)),
        metrics=["accuracy"] if results else None,
        model_name=name.split("/")[1],
        eval_results=results or None,
    )
    page = re.sub(r"\n{3,}", "\n\n", _template().render(_figures(record, name)))
    return f"---\n{data.to_yaml()}\n---\n\n{page}\n"


def _template() -> "Template":
    from jinja2 import ChainableUndefined
    from markupsafe import Markup

    made = environment(Path(__file__).parent, undefined=ChainableUndefined)
    made.filters |= {
        "json": json.dumps,
        "paragraph": lambda text: Markup(f"{one_line(text)}\n"),
        "percent": lambda share: f"{100 * share:.1f}%",
        "thousands": "{:,}".format,
        "kind_label": lambda kind: CHOICE_KINDS[kind].label if kind in CHOICE_KINDS and kind != TARGET.name else kind,
    }
    return made.get_template("model_card_template.md")


def _figures(record: Record, name: str) -> dict[str, Any]:
    """The variables of the template."""
    from hf_vqa_mc.extraction.backbones import IMPORTED

    measured = [(split, figures) for split, figures in _in_order(record.get("results", {})) if "accuracy" in figures]
    split, figures = measured[-1] if measured else ("", {})
    wrong = [(kind, n) for kind, n in figures.get("chosen_kinds", {}).items() if kind != TARGET.name and n > 0]
    total = sum(share for _, share in wrong)
    config = record.get("config", "")
    variant = next((one for one in sorted(VARIANTS, key=len, reverse=True) if config.endswith(f"_{one}")), "")
    started, rows = record.get("init_from", {}).get("name"), record.get("rows", {})
    if started and re.match(r"[/\\~]|\w:", started):
        started = _last_part(started)
    chosen_on = "the validation split" if "validation" in rows and "test" in rows else ""
    chosen_on = "training images held out by the hash of their ids" if HELD_OUT in rows else chosen_on
    image = {"image": "photo.jpg"} if "image_features" in record else {}
    choices = {} if "answers" in record else {"choices": ["a cat", "a cup", "a book"]}
    not_in_table = NOT_IN_TABLE | UNUSED["answers" in record]
    if record.get("steps") == 0:
        not_in_table |= RECIPE_SETTINGS - {"seed"}
    question = _EXAMPLES.get(record.get("settings", {}).get("questions"), "What is on the table?")
    example = {**image, "question": question, **choices}
    model = MODELS[record["model"]] if record.get("model") in MODELS else None
    # At most `CURVE_ROWS` validations at equal distances, the last one included; none if there is no other.
    curve = record.get("curve", [])
    step = -(-len(curve) // CURVE_ROWS)
    return {
        "record": record,
        "source": record.get("source", {}),
        "settings": {
            key: value
            for key, value in record.get("settings", {}).items()
            if key not in not_in_table and value not in ([], {})
        },
        "title": name.split("/")[1],
        "repository": name,
        "dataset": dataset_name(record),
        "model": model,
        "variant": VARIANTS.get(variant),
        "kinds": dict.fromkeys(methods()[one][0] for one in (VARIANTS[variant].sets if variant else ())),
        "rows": [(split, count) for split, count in _in_order(rows) if count],
        "chosen_on": "" if record.get("steps") == 0 else chosen_on,
        **({} if started is None else {"initialised_from": started}),
        "example": json.dumps(example),
        "reads_files": record.get("image_features", {}).get("revision") == IMPORTED,
        "held_out": HELD_OUT,
        "measured": measured[::-1],
        "word_changes": WordChanges.of(record.get("settings", {})),
        "split": split,
        "figures": figures,
        "wrong": sorted(((kind, share / total) for kind, share in wrong), key=lambda item: -item[1]),
        "curve": (curve[::-1][::step][::-1] if len(curve) > 1 else []),
        "paper": reference("chao2018being"),
    }


def dataset_name(record: Record) -> str:
    """The dataset's name: on the Hub, or the folder's own.

    >>> dataset_name({"dataset": "ada/vqa_mc"}), dataset_name({"dataset": "ada/vqa_mc", "made_with": {}})
    ('ada/vqa_mc', 'vqa_mc')
    """
    name = one_line(record.get("dataset", ""))
    is_folder = "made_with" in record or "source" in record  # known of folders only
    return _last_part(name) if is_folder or not re.fullmatch(r"\w[\w.-]*/\w[\w.-]*", name) else name


def _last_part(path: str) -> str:
    """The last part of a local path; the folders above are private."""
    return PurePath(path.replace("\\", "/")).name


def _in_order(by_split: Mapping[str, Any]) -> list[tuple[str, Any]]:
    order = (SPLITS[0], HELD_OUT, *SPLITS[1:])
    return [(split, by_split[split]) for split in order if split in by_split]


def eval_results(record: Record) -> "list[EvalResult]":
    """The accuracies on published splits, without the one on held-out training images."""
    from huggingface_hub import EvalResult

    config, dataset = one_line(record.get("config", "")), dataset_name(record)
    title = one_line(record.get("source", {}).get("title", ""))
    results = record.get("results", {})
    return [
        EvalResult(
            task_type=TASK,
            task_name=f"{'Open-ended' if 'answers' in record else 'Multiple-choice'} visual question answering",
            dataset_type=dataset,
            dataset_name=f"{title} ({config})" if title and config else title or config or dataset,
            dataset_config=config or None,
            dataset_split=split,
            metric_type="accuracy",
            metric_name=results[split].get("metric", "accuracy"),
            metric_value=results[split]["accuracy"],
        )
        for split in SPLITS
        if dataset and "accuracy" in results.get(split, {})
    ]


def _on_the_hub(name: str) -> str | None:
    try:
        return check_name(name)
    except InputError:
        return None
