"""Functions of lmms-eval for the questions in the folder of this file.

Written by ``vqa-mc export lmms-eval``; the same in every export. The folder may be moved.
"""

import json
import re
import string
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
LETTERS = string.ascii_uppercase
FORMATS = ("BMP", "GIF", "JPEG", "PNG", "TIFF", "WEBP")  # formats of the exported images; no other is opened

_THOUGHTS = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_LETTER = re.compile(r"\W*([A-Za-z])\W*")
_FIRST = re.compile(r"\W*(?:\(([A-Z])\)|([A-Z])[.):]|\*\*([A-Z])\*\*)")
_STATED = re.compile(r"\b(?:answer|choice|option|letter)\b(?:\s+is)?\s*:?\s*[*(\"']*([A-Z])\b(?!['’]|\s+[a-z])", re.I)


def image(doc: dict[str, Any]) -> list[Any]:
    """The row's images, as a list of PIL images; empty where it has none."""
    from PIL import Image

    return [Image.open(FOLDER / name, formats=FORMATS).convert("RGB") for name in doc["image_files"]]


def no_image(doc: dict[str, Any]) -> list[Any]:
    """No image, for the task without images."""
    return []


def prompt(doc: dict[str, Any], lmms_eval_specific_kwargs: dict[str, Any] | None = None) -> str:
    """The question and its choices, each after its letter, between the yaml file's pre_prompt and post_prompt.

    A context precedes the question.
    """
    around = lmms_eval_specific_kwargs or {}
    context = f"Context: {doc['context']}\n" if doc.get("context") else ""
    lines = [f"{letter}. {choice}" for letter, choice in zip(LETTERS, doc["choices"], strict=False)]
    text = "\n".join([f"{context}{doc['question']}", *lines])
    return f"{around.get('pre_prompt', '')}{text}{around.get('post_prompt', '')}"


def target(doc: dict[str, Any]) -> str:
    """The letter of the correct choice; "" if answers are hidden."""
    return LETTERS[doc["label"]] if "label" in doc else ""


def picked(response: str, choices: list[str]) -> int | None:
    """The index of the choice in a response, None if there is none.

    Tried in this order: a letter alone; a letter with a bracket, dot or colon at the beginning; the last letter
    stated as the answer; the text of exactly one choice.

    >>> choices = ["a dog", "a cat"]
    >>> picked("B", choices), picked("(b)", choices), picked("A. a dog", choices), picked("The answer is B.", choices)
    (1, 1, 0, 1)
    >>> picked("A cat.", choices), picked("I cannot see it", choices)
    (1, None)
    """
    text = _THOUGHTS.sub("", response).strip()
    found = None
    if alone := _LETTER.fullmatch(text):
        found = alone[1]
    elif first := _FIRST.match(text):
        found = first[1] or first[2] or first[3]
    elif stated := _STATED.findall(text):
        found = stated[-1]
    if found:
        index = LETTERS.index(found.upper())
        return index if index < len(choices) else None
    same = [index for index, choice in enumerate(choices) if _plain(choice) == _plain(text)]
    return same[0] if len(same) == 1 else None


def accuracy(doc: dict[str, Any], results: list[str]) -> dict[str, dict[str, Any]]:
    """1.0 if the response picks the correct choice, else 0.0; and the image, to cluster standard errors.

    The question's id and the answer, as in `prediction`, are for ``vqa-mc score``, which reads the logged samples.
    """
    score = float(picked(results[0], doc["choices"]) == doc["label"])
    return {
        "accuracy": {
            "score": score,
            "image": " ".join(doc["image_files"]) or doc["question_id"],
            **_answer(doc, results),
        }
    }


def mean(results: list[dict[str, Any]]) -> float:
    """The accuracy over all questions."""
    return float(sum(result["score"] for result in results) / len(results))


def prediction(doc: dict[str, Any], results: list[str]) -> dict[str, Any]:
    """The submitted answer if answers are hidden: the text of the choice, else the response."""
    return {"submission": _answer(doc, results)}


def _answer(doc: dict[str, Any], results: list[str]) -> dict[str, str]:
    index = picked(results[0], doc["choices"])
    return {"question_id": doc["question_id"], "answer": results[0] if index is None else doc["choices"][index]}


def submission(results: list[dict[str, str]], args: Any = None) -> None:  # noqa: ANN401  lmms-eval's own
    """Write the predictions to OUTPUT_PATH/submissions/, as ``vqa-mc score`` reads them."""
    output = getattr(args, "output_path", None)
    folder = Path(output or ".") / "submissions"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{FOLDER.name}.json").write_text(json.dumps(results, indent=1) + "\n", "utf-8")


def _plain(text: str) -> str:
    return text.strip().strip(".!\"'`*").strip().casefold()
