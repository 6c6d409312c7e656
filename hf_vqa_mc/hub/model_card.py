"""``README.md`` of a checkpoint, all of it from ``training.json``.

``python -m hf_vqa_mc.hub.model_card FOLDER`` prints it.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.hub.markdown import one_line
from hf_vqa_mc.hub.model_card_text import dataset_name, paragraphs
from hf_vqa_mc.hub.shipment import check_name
from hf_vqa_mc.hub.training_record import Record, read_record
from hf_vqa_mc.schema import SPLITS

if TYPE_CHECKING:
    from huggingface_hub import EvalResult

TEMPLATE = Path(__file__).parent / "model_card_template.md"
TASK, TEXT_TASK = "visual-question-answering", "multiple-choice"
"""The Hub's names for tasks: of models that see the image, and of those that do not."""
USAGE = "python -m hf_vqa_mc.hub.model_card FOLDER [NAMESPACE/NAME]\n"


def model_card(record: Record, name: str) -> str:
    """The card: the metadata that the Hub reads, and the page that people read.

    Args:
        record: of ``read_record``.
        name: NAMESPACE/NAME of the repository.
    """
    from huggingface_hub import ModelCard, ModelCardData

    results = eval_results(record)
    data = ModelCardData(
        library_name="hf_vqa_mc",
        pipeline_tag=TASK if "image_features" in record else TEXT_TASK,
        tags=["hf_vqa_mc", "vqa", "multiple-choice"],
        datasets=_on_the_hub(dataset_name(record)),
        metrics=["accuracy"] if results else None,
        model_name=name.split("/")[1],
        eval_results=results or None,
    )
    return f"{ModelCard.from_template(data, template_path=str(TEMPLATE), **paragraphs(record, name))}\n"


def default_name(record: Record) -> str:
    """What a repository with the checkpoint could be called.

    >>> default_name({"model": "mlp-qa", "config": "cocoqa_iou_qou"})
    'NAMESPACE/vqa-mc-mlp-qa-cocoqa_iou_qou'
    """
    parts = (record.get("model"), record.get("config"))
    return _on_the_hub("-".join(["NAMESPACE/vqa-mc", *filter(None, parts)])) or "NAMESPACE/NAME"


def eval_results(record: Record) -> "list[EvalResult]":
    """The accuracies on splits of the dataset; that on held-out training images is on no split that others have."""
    from huggingface_hub import EvalResult

    config, dataset = one_line(record.get("config", "")), dataset_name(record)
    title = one_line(record.get("source", {}).get("title", ""))
    named = f"{title} ({config})" if title and config else title or config or dataset
    figures: dict[str, Any] = record.get("results", {})
    return [
        EvalResult(
            task_type=TASK,
            task_name="Multiple-choice visual question answering",
            dataset_type=dataset,
            dataset_name=named,
            dataset_config=config or None,
            dataset_split=split,
            metric_type="accuracy",
            metric_name="accuracy",
            metric_value=figures[split]["accuracy"],
        )
        for split in SPLITS
        if dataset and "accuracy" in figures.get(split, {})
    ]


def _on_the_hub(name: str) -> str | None:
    try:
        return check_name(name)
    except InputError:
        return None


def main(arguments: list[str]) -> int:
    """Print a checkpoint's card.

    Args:
        arguments: its folder and, optionally, the name of the repository.

    Returns:
        The exit code.
    """
    if len(arguments) not in (1, 2) or arguments[0].startswith("-"):
        sys.stderr.write(USAGE)
        return 2
    try:
        record = read_record(Path(arguments[0]))
        name = check_name(arguments[1]) if len(arguments) == 2 else default_name(record)
        sys.stdout.write(model_card(record, name))
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
