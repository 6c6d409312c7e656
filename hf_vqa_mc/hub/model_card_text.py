"""The paragraphs of a checkpoint's card: each from what was written down, and not there where nothing was."""

import json
import re
from collections.abc import Iterable
from pathlib import PurePath
from typing import Any

from hf_vqa_mc.dataset.card_text import PAPER
from hf_vqa_mc.decoys import VARIANTS, methods
from hf_vqa_mc.hub.markdown import block, code, link, one_line, plain, table
from hf_vqa_mc.hub.model_card_results import HELD_OUT, decoys, question_types, results
from hf_vqa_mc.hub.training_record import Record
from hf_vqa_mc.model_listing import MODELS
from hf_vqa_mc.schema import SPLITS
from hf_vqa_mc.text.word_vectors import CORPUS

TOLD_ELSEWHERE = {"dataset", "config", "model", "output", "features", "word_vectors", "init_from"}
"""Settings that are no part of the table: places on a machine, and what other paragraphs tell."""


def paragraphs(record: Record, name: str) -> dict[str, str]:
    """What the template is filled with: Markdown, "" for what there is nothing to tell of.

    Args:
        record: of ``read_record``.
        name: NAMESPACE/NAME of the repository.
    """
    measured = [(split, figures) for split, figures in _in_order(record.get("results", {})) if "accuracy" in figures]
    split, figures = measured[-1] if measured else ("", {})
    return {
        "title": plain(name.split("/")[1]),
        "repository": name,
        "what_it_is": _what_it_is(record),
        "trained_on": _trained_on(record),
        "asked": _asked(record),
        "seen_through": _sentences([_images(record), _words(record)]),
        "results": results(measured),
        "decoys": decoys(split, figures),
        "question_types": question_types(split, figures),
        "dataset": _dataset(record),
        "training": _training(record),
        "command": block(record["command"], "sh") if "command" in record else "",
        "settings": _settings(record.get("settings", {})),
        "limits": _limits(record, figures),
        "licence": _licence(record.get("source", {})),
        "citation": _citation(record.get("source", {})),
    }


def dataset_name(record: Record) -> str:
    """The dataset's name: on the Hub, or the folder's own.

    >>> dataset_name({"dataset": "ada/vqa_mc"}), dataset_name({"dataset": "ada/vqa_mc", "made_with": {}})
    ('ada/vqa_mc', 'vqa_mc')
    """
    name = one_line(record.get("dataset", ""))
    of_a_build = "made_with" in record or "source" in record  # known of folders only
    return _place(name) if of_a_build or not re.fullmatch(r"\w[\w.-]*/\w[\w.-]*", name) else name


def _place(name: str) -> str:
    """The last part of a path: where it lies on a machine is nobody else's concern."""
    return PurePath(name.replace("\\", "/")).name


def _sentences(parts: Iterable[str]) -> str:
    return " ".join(f"{part}." for part in parts if part)


def _what_it_is(record: Record) -> str:
    name = record.get("model", "")
    named = f"The model {code(name)}" if name else "A model"
    if name in MODELS:
        named = f"{plain(MODELS[name].title)}: {MODELS[name].description}"
    return (
        f"{named}. It answers multiple-choice questions about images: it gives each candidate a score of its own, and "
        "the candidate with the highest one is its answer."
    )


def _trained_on(record: Record) -> str:
    source, config, dataset = record.get("source", {}), record.get("config", ""), dataset_name(record)
    title = link(source["title"], source.get("homepage", "")) if "title" in source else ""
    on = [title, f"config {code(config)}" if config else "", f"dataset {code(dataset)}" if dataset else ""]
    by = f" with hf_vqa_mc {plain(record['version'])}" if "version" in record else ""
    variant = _variant(config)
    started = record.get("init_from", {})
    rows = [
        f"{count:,} {'held out' if split == HELD_OUT else split}"
        for split, count in _in_order(record.get("rows", {}))
        if count
    ]
    return _sentences(
        [
            f"Trained{by} on {', '.join(filter(None, on))}" if any(on) else f"Trained{by}" if by else "",
            f"Its questions have as choices the target and {VARIANTS[variant].description}" if variant else "",
            *_explained(variant),
            f"Questions: {', '.join(rows)}" if rows else "",
            f"The checkpoint was chosen on {_chosen_on(record)}" if _chosen_on(record) else "",
            f"It began with the weights of {code(_checkpoint_name(started['name']))}"
            + (f", trained on {code(started['config'])}" if "config" in started else "")
            if "name" in started
            else "",
        ]
    )


def _explained(variant: str) -> list[str]:
    """What the kinds of decoys of a variant are."""
    sets = VARIANTS[variant].sets if variant else ()
    kinds = dict.fromkeys(methods()[name][0] for name in sets)
    return [f"{kind.legend} are {kind.definition}" for kind in kinds if kind.definition]


def _checkpoint_name(name: str) -> str:
    """As it was named, but for absolute paths."""
    return _place(name) if re.match(r"[/\\~]|\w:", name) else name


def _variant(config: str) -> str:
    """Which of the variants a config ``<source>_<variant>`` is, "" for none."""
    return next((one for one in sorted(VARIANTS, key=len, reverse=True) if config.endswith(f"_{one}")), "")


def _asked(record: Record) -> str:
    image = {"image": "photo.jpg"} if "image_features" in record else {}
    return json.dumps({**image, "question": "What is on the table?", "choices": ["a cat", "a cup", "a book"]})


def _images(record: Record) -> str:
    seen = record.get("image_features", {})
    if "backbone" not in seen:
        return ""
    at = f" at revision {code(seen['revision'])}" if "revision" in seen else ""
    grid = seen.get("grid")
    size = f", {seen['dim']:,} numbers" + (" a cell" if grid else "") if "dim" in seen else ""
    precision = f", computed in {plain(seen['precision'])}" if "precision" in seen else ""
    shape = f"a grid of {grid} × {grid} cells" if grid else "one vector an image"
    return f"Images are seen through {code(seen['backbone'])}{at}: {shape}{size}{precision}"


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


def _vectors(vectors: dict[str, Any]) -> str:
    about = [
        f"{vectors['dim']:,} numbers a word" if "dim" in vectors else "",
        f"sha256 {code(vectors['sha256'])}" if "sha256" in vectors else "",
    ]
    told = ", ".join(filter(None, about))
    return plain(vectors["name"]) + (f" ({told})" if told else "")


def _dataset(record: Record) -> str:
    made = record.get("made_with", {})
    if not made:
        return ""
    vectors = made.get("word_vectors", {})
    by = f"hf_vqa_mc {plain(made['version'])}" if "version" in made else "hf_vqa_mc"
    of = [
        f"{made['triplets']:,} questions" if "triplets" in made else "",
        f"{plain(made['decoys'])} decoys" if "decoys" in made else "",
    ]
    told = _sentences(
        [
            ", ".join([f"Made by {by}", *filter(None, of)]),
            f"Similar questions were found by the word vectors {_vectors(vectors)}" if "name" in vectors else "",
        ]
    )
    return "\n\n".join(filter(None, [told, _setting_table(made.get("settings", {}))]))


def _training(record: Record) -> str:
    processes = record.get("processes", 0)
    ran = [
        f"on {plain(record['device'])}" if "device" in record else "",
        f"in {processes} process{'es' if processes > 1 else ''}" if processes else "",
        f"for {record['seconds'] / 60:,.1f} minutes" if "seconds" in record else "",
    ]
    steps = f"{record['steps']:,} steps" if "steps" in record else ""
    kept = (
        f"kept is step {record['best_step']:,}, the best on {_chosen_on(record) or 'validation'}"
        if "best_step" in record
        else ""
    )
    versions = ", ".join(f"{plain(name)} {plain(version)}" for name, version in record.get("versions", {}).items())
    ran_so = " ".join(filter(None, ["Trained", *ran]))
    return _sentences(
        [
            ran_so if any(ran) else "",
            (f"Of {steps} {kept}" if kept else f"It took {steps}") if steps else kept.capitalize(),
            f"Versions: {versions}" if versions else "",
        ]
    )


def _settings(settings: dict[str, Any]) -> str:
    return _setting_table({name: value for name, value in settings.items() if name not in TOLD_ELSEWHERE})


def _setting_table(settings: dict[str, Any]) -> str:
    rows = [
        [code(name), code(value if isinstance(value, str) else json.dumps(value))] for name, value in settings.items()
    ]
    return table(["setting", "value"], rows) if rows else ""


def _limits(record: Record, figures: dict[str, Any]) -> str:
    seed, processes = record.get("settings", {}).get("seed"), record.get("processes", 0)
    name = record.get("model", "")
    model = MODELS[name] if name in MODELS else None
    lines = [
        "It picks one of the candidates that it is given, also where none of them is right.",
        "Nothing else was measured for this card than what stands under Results: no other dataset, no other decoys."
        if figures
        else "Nothing was measured.",
        "It cannot see the image." if model and not model.sees_image else "",
        "It cannot see the question." if model and not model.sees_question else "",
        "The order of words is lost on it: texts are averages of word vectors."
        if model and "question_tokens" not in model.inputs
        else "",
        f"It is one run, of seed {plain(str(seed))}: the standard error is over questions, not over runs."
        if isinstance(seed, int) and "stderr" in figures
        else "",
        "Its run was stopped before its end." if record.get("finished") is False else "",
        f"It was chosen among others on {_chosen_on(record)}, so its accuracy there is favourable."
        if _chosen_on(record)
        else "",
        f"{record['skipped']:,} questions, of all splits together, were left out, whose images had no features."
        if record.get("skipped")
        else "",
        f"It was trained by {processes} processes, and batch normalisation saw only each one's part of a batch."
        if processes > 1
        else "",
    ]
    return "\n".join(f"- {line}" for line in lines if line)


def _licence(source: dict[str, Any]) -> str:
    title = plain(source["title"]) if "title" in source else "the data"
    about = f"Questions and answers of {title}: {plain(source['licence'])}. " if "licence" in source else ""
    return f"{about}The weights have no licence of their own stated here."


def _citation(source: dict[str, Any]) -> str:
    texts = [PAPER, *([source["citation"]] if "citation" in source else [])]
    told = "The method is that of Chao, Hu and Sha, [NAACL 2018](https://aclanthology.org/N18-1040/); please cite it"
    told += ", and the source of the questions:" if "citation" in source else ":"
    return "\n\n".join([told, *(block(text, "bibtex") for text in texts)])


def _chosen_on(record: Record) -> str:
    """What chose the checkpoint; empty where nothing tells."""
    rows = record.get("rows", {})
    if HELD_OUT in rows:
        return "training images held out by the hash of their ids"
    return "the validation split" if "validation" in rows and "test" in rows else ""


def _in_order(by_split: dict[str, Any]) -> list[tuple[str, Any]]:
    order = (SPLITS[0], HELD_OUT, *SPLITS[1:])
    return [(split, by_split[split]) for split in order if split in by_split]
