"""The options of the strategies of a remedy."""

from pathlib import Path
from typing import Any, Literal

from hf_vqa_mc.decoys import VARIANTS
from hf_vqa_mc.decoys.settings import Preset, SetSettings, preset_option
from hf_vqa_mc.options import ADVANCED, AT_LEAST_ONE, SEED, VECTORS, option, settings


@settings
class StrategySettings(SetSettings):
    """Options of the strategies; `strategies.STRATEGIES` names those that each one uses."""

    budget: float = option(
        "Of repair: maximum fraction of the decoys that are changed.",
        default=0.2,
        check=("a number above 0, at most 1", lambda value: 0 < value <= 1),
    )
    variant: str | None = option(
        "Of iou_qou: iou_qou (default), iou, qou, all (also the published decoys); of closed: "
        f"{', '.join(one.name for one in VARIANTS.values() if one.closed)}.",
        default=None,
    )
    guarantee: Literal["choices", "question", "image"] | None = option(
        "Of closed: choices (default), question or image. The rows of a closed answer set share their choices, so "
        "every rule that sees the choices alone is at chance, also with the question, or also with the image. Other "
        "rows are left out.",
        default=None,
    )
    preset: Preset = preset_option("plausible")
    decoys_per_set: int | None = option(
        "Of iou_qou: number of IoU decoys, and of QoU decoys, per row; by default as many choices as published (with "
        "--preset paper or --variant all: 3).",
        default=None,
        check=AT_LEAST_ONE,
        panel=ADVANCED,
    )
    word_vectors: str | None = option(
        "For similar questions and texts: a word2vec, GloVe or .kv file, a gensim-data name, or corpus. Needed for "
        "QoU decoys.",
        default=None,
        check=VECTORS,
    )
    seed: int = option("Random seed.", default=0, check=SEED)
    pool: str | None = option(
        "Another dataset, on the same or other images, whose answers may become decoys: multiple-choice or open-ended "
        "questions, or an annotation file of VQA next to its questions file.",
        default=None,
    )
    captions: str | None = option(
        "Of repair: captions whose objects may become decoys: a COCO captions file, or a table with image_id and "
        "caption.",
        default=None,
    )
    scene_graphs: Path | None = option(
        "Of repair: scene graphs whose objects and attributes may become decoys: a file of GQA, or a folder of Visual "
        "Genome.",
        default=None,
    )
    candidates: Path | None = option(
        "Of repair: table of texts that may become decoys of one question: question_id, text, source.", default=None
    )
    candidates_from: Any = option(
        "Of repair: language model that writes wrong answers to each question of the evaluated split, named as in "
        "vqa-mc judge; its replies are stored next to the output, and the same command does not ask again.",
        default=None,
    )
    base_url: str | None = option(
        "Of --candidates-from: address of an OpenAI-compatible server, such as http://localhost:8000/v1.", default=None
    )
    reject: Path | None = option(
        "Table of verdicts, from people or vqa-mc judge: choices that are correct, too, do not become decoys of their "
        "question, and rows with a bad question are left out.",
        default=None,
    )
    prune: float | None = option(
        "Of prune: remove rows until no blind probe gains more than this fraction over random guessing (0.05), or "
        "half of the rows are removed. Slow: the probes are trained in each of up to 11 rounds.",
        default=None,
        check=("a number from 0 to less than 1, such as 0.05", lambda value: 0 <= value < 1),
    )
