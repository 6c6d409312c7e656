"""The paragraphs of a checkpoint's card: each from its record, and left out where the record does not say."""

import json
import re
import string
from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Any

from hf_vqa_mc.dataset.card_text import PAPER
from hf_vqa_mc.decoys import CHOICE_KINDS, TARGET, VARIANTS, methods
from hf_vqa_mc.hub.markdown import block, code, link, one_line, plain, table
from hf_vqa_mc.model_listing import MODELS
from hf_vqa_mc.schema import SPLITS
from hf_vqa_mc.text.word_vectors import CORPUS

Record = dict[str, Any]
"""The content of a checkpoint's ``training.json`` without its nulls: what is not known is missing."""
HELD_OUT = "held_out"
"""Names the training images on which the checkpoint was chosen where no split does."""
NOT_IN_TABLE = {"dataset", "config", "model", "output", "features", "word_vectors", "init_from"}
"""Settings that are paths on a machine, or in other paragraphs."""


def paragraphs(record: Record, name: str) -> dict[str, str]:
    """What the template is filled with: Markdown, "" where the record does not say.

    Args:
        record: of ``read_record``.
        name: NAMESPACE/NAME of the repository.
    """
    measured = [(split, figures) for split, figures in _in_order(record.get("results", {})) if "accuracy" in figures]
    split, figures = measured[-1] if measured else ("", {})
    settings, source = record.get("settings", {}), record.get("source", {})
    image = {"image": "photo.jpg"} if "image_features" in record else {}
    example = {**image, "question": "What is on the table?", "choices": ["a cat", "a cup", "a book"]}
    return {
        "title": plain(name.split("/")[1]),
        "repository": name,
        "what_it_is": _what_it_is(record),
        "trained_on": _trained_on(record),
        "example": json.dumps(example),
        "seen_through": _sentences([_images(record), _words(record)]),
        "results": _results(measured),
        "decoys": _decoys(split, figures),
        "question_types": table(
            ["type", f"accuracy on {split}"],
            [[plain(kind), _percent(share)] for kind, share in figures.get("per_question_type", {}).items()],
        ),
        "dataset": _dataset(record),
        "training": _training(record),
        "command": block(record["command"], "sh") if "command" in record else "",
        "settings": _settings({name: value for name, value in settings.items() if name not in NOT_IN_TABLE}),
        "limits": _limits(record, figures),
        "licence": _if("Questions and answers of {:plain}: {licence:plain}. ", source, source.get("title", "the data"))
        + "The weights have no licence of their own stated here.",
        "citation": _citation(source),
    }


def dataset_name(record: Record) -> str:
    """The dataset's name: on the Hub, or the folder's own.

    >>> dataset_name({"dataset": "ada/vqa_mc"}), dataset_name({"dataset": "ada/vqa_mc", "made_with": {}})
    ('ada/vqa_mc', 'vqa_mc')
    """
    name = one_line(record.get("dataset", ""))
    of_a_build = "made_with" in record or "source" in record  # known of folders only
    return _last_part(name) if of_a_build or not re.fullmatch(r"\w[\w.-]*/\w[\w.-]*", name) else name


class _Formatter(string.Formatter):
    """Format specs ``plain`` and ``code`` escape Markdown."""

    def format_field(self, value: Any, format_spec: str) -> str:  # noqa: ANN401  any value
        escape = {"plain": plain, "code": code}.get(format_spec)
        return escape(str(value)) if escape else format(value, format_spec)


def _if(text: str, values: Mapping[str, Any], *more: object) -> str:
    """The text filled with values; "" if one of them is missing."""
    try:
        return _Formatter().vformat(text, more, values)
    except KeyError:
        return ""


def _sentences(parts: Iterable[str]) -> str:
    return " ".join(f"{part}." for part in parts if part)


def _listed(parts: Iterable[str], separator: str = ", ") -> str:
    return separator.join(filter(None, parts))


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"


def _last_part(path: str) -> str:
    """The last part of a path: folders on a machine are private."""
    return PurePath(path.replace("\\", "/")).name


def _what_it_is(record: Record) -> str:
    name, named = record.get("model", ""), _if("The model {model:code}", record) or "A model"
    if name in MODELS:
        named = f"{plain(MODELS[name].title)}: {MODELS[name].description}"
    return (
        f"{named}. It answers multiple-choice questions about images: it gives each candidate a score of its own, and "
        "the candidate with the highest one is its answer."
    )


def _trained_on(record: Record) -> str:
    source, config, dataset = record.get("source", {}), record.get("config", ""), dataset_name(record)
    title = link(source["title"], source.get("homepage", "")) if "title" in source else ""
    on = _listed([title, f"config {code(config)}" if config else "", f"dataset {code(dataset)}" if dataset else ""])
    by = _if(" with hf_vqa_mc {version:plain}", record)
    variant = next((one for one in sorted(VARIANTS, key=len, reverse=True) if config.endswith(f"_{one}")), "")
    kinds = dict.fromkeys(methods()[name][0] for name in (VARIANTS[variant].sets if variant else ()))
    started = dict(record.get("init_from", {}))
    if re.match(r"[/\\~]|\w:", started.get("name", "")):
        started["name"] = _last_part(started["name"])
    counts = [f"{n:,} {split.replace('_', ' ')}" for split, n in _in_order(record.get("rows", {})) if n]
    return _sentences(
        [
            f"Trained{by} on {on}" if on else f"Trained{by}" if by else "",
            f"Its questions have as choices the target and {VARIANTS[variant].description}" if variant else "",
            *(f"{kind.legend} are {kind.definition}" for kind in kinds if kind.definition),
            f"Questions: {', '.join(counts)}" if counts else "",
            f"The checkpoint was chosen on {_chosen_on(record)}" if _chosen_on(record) else "",
            _if("It began with the weights of {name:code}", started)
            + (_if(", trained on {config:code}", started) if "name" in started else ""),
        ]
    )


def _images(record: Record) -> str:
    seen = record.get("image_features", {})
    grid = seen.get("grid")
    parts = [
        _if("Images are seen through {backbone:code}", seen),
        _if(" at revision {revision:code}", seen),
        f": a grid of {grid} × {grid} cells" if grid else ": one vector an image",
        _if(", {dim:,} numbers", seen) + (" a cell" if grid and "dim" in seen else ""),
        _if(", computed in {precision:plain}", seen),
    ]
    return "".join(parts) if "backbone" in seen else ""


def _words(record: Record) -> str:
    vectors = record.get("word_vectors", {})
    if "name" not in vectors:
        return ""
    centred = ", less their mean over the training words" if vectors.get("centred") else ""
    file = "" if vectors["name"] == CORPUS else 'need the file itself (`word_vectors="FILE"`) or '
    return (
        f"Words are seen through the word vectors {_vectors(vectors)}{centred}: the checkpoint holds those of the "
        f'training words, and other words {file}are left out (`new_words="skip"`)'
    )


def _vectors(vectors: Mapping[str, Any]) -> str:
    about = _listed([_if("{dim:,} numbers a word", vectors), _if("sha256 {sha256:code}", vectors)])
    return plain(vectors["name"]) + (f" ({about})" if about else "")


def _results(measured: list[tuple[str, Any]]) -> str:
    rows = [
        [
            "training images held out" if split == HELD_OUT else plain(split),
            _percent(figures["accuracy"]),
            f"± {100 * figures['stderr']:.2f}%" if "stderr" in figures else "",
            _percent(figures["chance"]) if "chance" in figures else "",
            _if("{questions:,}", figures),
        ]
        for split, figures in reversed(measured)
    ]
    return table(["split", "accuracy", "standard error", "chance", "questions"], rows)


def _decoys(split: str, figures: Mapping[str, Any]) -> str:
    """What is picked of each kind, and of which kinds the wrong answers are."""
    chosen, offered = figures.get("chosen_kinds", {}), figures.get("offered_kinds", {})
    if not chosen:
        return ""
    rows = [
        [_kind(kind), _percent(share), _percent(offered[kind]) if kind in offered else ""]
        for kind, share in chosen.items()
    ]
    wrong = {kind: share for kind, share in chosen.items() if kind != TARGET.name and share > 0}
    shares = ", ".join(
        f"{_percent(share / sum(wrong.values()))} are {_kind(kind)} decoys"
        for kind, share in sorted(wrong.items(), key=lambda item: -item[1])
    )
    sentence = f"On {split}, of its wrong answers {shares}." if shares else f"On {split}, none."
    return f"{sentence}\n\n{table(['kind of choice', 'picked', 'picked at random'], rows)}"


def _kind(name: str) -> str:
    """The adjective of a kind of choices; its name where it is not one of ours."""
    return plain(CHOICE_KINDS[name].label if name in CHOICE_KINDS and name != TARGET.name else name)


def _dataset(record: Record) -> str:
    made = record.get("made_with", {})
    if not made:
        return ""
    vectors = made.get("word_vectors", {})
    by = f"Made by hf_vqa_mc{_if(' {version:plain}', made)}"
    sentences = _sentences(
        [
            _listed([by, _if("{triplets:,} questions", made), _if("{decoys:plain} decoys", made)]),
            f"Similar questions were found by the word vectors {_vectors(vectors)}" if "name" in vectors else "",
        ]
    )
    return _listed([sentences, _settings(made.get("settings", {}))], "\n\n")


def _training(record: Record) -> str:
    processes = record.get("processes", 0)
    ran = [
        _if("on {device:plain}", record),
        f"in {processes} process{'es' if processes > 1 else ''}" if processes else "",
        f"for {record['seconds'] / 60:,.1f} minutes" if "seconds" in record else "",
    ]
    steps = _if("{steps:,} steps", record)
    kept = _if("kept is step {best_step:,}, the best on {}", record, _chosen_on(record) or "validation")
    versions = [_if("{:plain} {:plain}", {}, *item) for item in record.get("versions", {}).items()]
    return _sentences(
        [
            _listed(["Trained", *ran], " ") if any(ran) else "",
            (f"Of {steps} {kept}" if kept else f"It took {steps}") if steps else kept.capitalize(),
            f"Versions: {', '.join(versions)}" if versions else "",
        ]
    )


def _settings(settings: Mapping[str, Any]) -> str:
    values = {name: value if isinstance(value, str) else json.dumps(value) for name, value in settings.items()}
    return table(["setting", "value"], [[code(name), code(value)] for name, value in values.items()])


def _limits(record: Record, figures: Mapping[str, Any]) -> str:
    name, processes = record.get("model", ""), record.get("processes", 0)
    model, seed = MODELS[name] if name in MODELS else None, record.get("settings", {}).get("seed")
    averages = model and "question_tokens" not in model.inputs
    chosen_on, one_run = _chosen_on(record), isinstance(seed, int) and "stderr" in figures
    lines = {
        "It picks one of the candidates that it is given, also where none of them is right.": True,
        "Nothing else was measured for this card than what stands under Results: no other dataset, no other "
        "decoys.": figures,
        "Nothing was measured.": not figures,
        "It cannot see the image.": model and not model.sees_image,
        "It cannot see the question.": model and not model.sees_question,
        "The order of words is lost on it: texts are averages of word vectors.": averages,
        f"It is one run, of seed {plain(str(seed))}: the standard error is over questions, not over runs.": one_run,
        "Its run was stopped before its end.": record.get("finished") is False,
        f"It was chosen among others on {chosen_on}, so its accuracy there is favourable.": chosen_on,
        f"{record.get('skipped', 0):,} questions, of all splits together, were left out, whose images had no "
        "features.": record.get("skipped"),
        f"It was trained by {processes} processes, and batch normalisation saw only each one's part of a "
        "batch.": processes > 1,
    }
    return "\n".join(f"- {line}" for line, holds in lines.items() if holds)


def _citation(source: Mapping[str, Any]) -> str:
    texts = [PAPER, *([source["citation"]] if "citation" in source else [])]
    start = "The method is that of Chao, Hu and Sha, [NAACL 2018](https://aclanthology.org/N18-1040/); please cite it"
    start += ", and the source of the questions:" if "citation" in source else ":"
    return "\n\n".join([start, *(block(text, "bibtex") for text in texts)])


def _chosen_on(record: Record) -> str:
    """What the checkpoint was chosen on; empty where the record does not say."""
    rows = record.get("rows", {})
    if HELD_OUT in rows:
        return "training images held out by the hash of their ids"
    return "the validation split" if "validation" in rows and "test" in rows else ""


def _in_order(by_split: Mapping[str, Any]) -> list[tuple[str, Any]]:
    order = (SPLITS[0], HELD_OUT, *SPLITS[1:])
    return [(split, by_split[split]) for split in order if split in by_split]
