"""People write answers: ten with their confidence (Antol et al. 2015), or five whose majority counts (GQA)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from hf_vqa_mc.scoring.consensus import vqa_accuracy
from hf_vqa_mc.scoring.vqa_normalisation import normalised
from hf_vqa_mc.studies import kind
from hf_vqa_mc.studies.items import read_questions
from hf_vqa_mc.studies.kind import Answered, Condition, Outcome, StudyKind
from hf_vqa_mc.studies.measures import by_condition, by_item, most_frequent, share, summary, with_predictions

CONSENSUS = 3  # known answers of a question from which on an answer is scored by their consensus, else by equality
MANY, SOME = 7, 3  # equal answers that are many, or some (Antol et al. 2015, Fig. 6)


def score(text: str, known: Sequence[str]) -> float:
    """The accuracy of an answer in [0, 1]: VQA's consensus, or equality with one of fewer than `CONSENSUS` answers."""
    if len(known) < CONSENSUS:
        return float(normalised(text) in {normalised(one) for one in known})
    return float(vqa_accuracy([text], [list(known)])["accuracy"])


def texts_of(answers: Sequence[Answered]) -> list[str]:
    """Normalised texts of answers, as VQA's official program compares them."""
    return [normalised(one.value["text"]) for one in answers]


def _outcome(answered: Sequence[Answered], majority: bool = False) -> Outcome:
    table, items, predictions = list[dict[str, Any]](), list[dict[str, Any]](), {}
    for condition, found in by_condition(answered).items():
        questions = by_item(found).values()
        rows, one_each = [_question(answers, condition) for answers in questions], list(map(rows_first, questions))
        scored = [replace(one, annotator=number) for number, one in enumerate(one_each)] if majority else found
        measured = {}
        if all(one.item.known.get("answers") for one in scored):
            measured = share(scored, lambda one: score(one.value["text"], one.item.known["answers"]), "accuracy")
        table.append(summary(condition, found, list(map(texts_of, questions)), measured) | _confidence(found, rows))
        items += rows
        predictions[condition] = [{name: row[name] for name in ("question_id", "answer")} for row in rows]
    items.sort(key=lambda row: (row["same"] / row["answers"], row["condition"], row["question_id"]))
    return with_predictions(table, items, _bars, predictions)


def _bars(row: Mapping[str, Any]) -> list[tuple[str, int, bool]]:
    found = Counter(normalised(text) for text in row["written"])
    known = {normalised(text) for text in row["known"]}
    return [(text, votes, text in known) for text, votes in found.most_common()]


def rows_first(answers: Sequence[Answered]) -> Answered:
    """The first of the answers with the most frequent text."""
    texts = texts_of(answers)
    return answers[texts.index(most_frequent(texts))]


def _question(answers: Sequence[Answered], condition: str) -> dict[str, Any]:
    item, texts = answers[0].item, texts_of(answers)
    return {
        "condition": condition,
        "question_id": item.question_id,
        "question": item.question,
        "answer": rows_first(answers).value["text"],
        "same": Counter(texts).most_common(1)[0][1],
        "answers": len(answers),
        "written": [one.value["text"] for one in answers],
        "confidences": [one.value["confidence"] for one in answers],
        "known": list(item.known.get("answers", [])),
    }


def _confidence(answered: Sequence[Answered], rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The shares of confidences, and of questions by number of equal answers (Antol et al. 2015, Fig. 6)."""
    given = Counter(one.value["confidence"] for one in answered)
    if "" in given:
        return {}
    same = [row["same"] for row in rows]
    shares = {f"confidence_{name}": given[name] / len(answered) for name in kind.CONFIDENCES}
    return shares | {
        "same_7_or_more": sum(number >= MANY for number in same) / len(same),
        "same_3_to_6": sum(SOME <= number < MANY for number in same) / len(same),
    }


BRIEF = "Answer with a word or a brief phrase, not a sentence; state facts, not opinions."
ANSWERS = StudyKind(
    "answers",
    "Answer questions",
    "people write answers, with their confidence: with the image, without it, or with only a caption",
    "Antol et al. 2015, Sect. 3 (ten answers), 4.3 and 4.4 (three without the image)",
    kind.WRITE_WITH_CONFIDENCE,
    (
        Condition("image", BRIEF, (kind.IMAGE, kind.QUESTION), annotators=10),
        Condition("question", f"The image is hidden: guess. {BRIEF}", (kind.QUESTION,), annotators=3),
        Condition("caption", f"The image is hidden: use its caption. {BRIEF}", (kind.QUESTION, kind.CAPTION), 3),
    ),
    results=_outcome,
    reads=read_questions,
)
MAJORITY = StudyKind(
    "majority",
    "Answer questions",
    "people write answers, and the majority of five counts",
    "Hudson and Manning 2019 (GQA), Sect. 4.1",
    kind.WRITE,
    (Condition("full", BRIEF, (kind.IMAGE, kind.QUESTION), annotators=5),),
    results=partial(_outcome, majority=True),
    reads=read_questions,
)
