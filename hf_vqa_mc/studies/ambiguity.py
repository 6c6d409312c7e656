"""Review of ambiguous questions: people mark every choice that is correct, without being shown the label."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hf_vqa_mc.data.verdicts import BAD_QUESTION, CORRECT, UNSURE, WRONG, Verdict, write_verdicts
from hf_vqa_mc.studies.items import read_choices
from hf_vqa_mc.studies.kind import BAD, CHOICES, IMAGE, MARK, QUESTION, Answered, Condition, Outcome, StudyKind
from hf_vqa_mc.studies.measures import by_item, share, summary, vote_bars

VERDICTS = "verdicts.parquet"


def _outcome(answered: Sequence[Answered]) -> Outcome:
    items = [_votes(answers) for answers in by_item(answered).values()]
    items.sort(key=lambda row: (-row["doubt"], row["question_id"]))
    usable = [one for one in answered if one.value != BAD]
    ratings: dict[tuple[str, int], list[str]] = {}
    for one in usable:
        for index, verdict in enumerate(_verdicts(one)):
            if verdict != UNSURE:
                ratings.setdefault((one.item.question_id, index), []).append(verdict)
    row = summary("full", answered, list(ratings.values()))
    if usable:
        row |= share(usable, lambda one: one.item.known["label"] in one.value["correct"], "label_correct")
    names = ("label_rejected", "ambiguous", "bad_question")
    shares = {name: sum(bool(item[name]) for item in items) / len(items) for name in names}

    def write(folder: Path) -> None:
        found = []
        for one in answered:
            pairs = zip([""] if one.value == BAD else one.item.choices, _verdicts(one), strict=True)
            judge = f"annotator {one.annotator}"
            found += [Verdict(one.item.question_id, choice, verdict, judge) for choice, verdict in pairs]
        write_verdicts(folder / VERDICTS, found)

    usage = [f"vqa-mc remedy DATASET --word-vectors corpus --reject FOLDER/{VERDICTS} --output OUTPUT"]
    return Outcome({"conditions": [row], **shares}, [{**row, **shares}], items, write, _bars, usage)


def _bars(row: Mapping[str, Any]) -> list[tuple[str, int, bool]]:
    doubts = [(f"unsure: {text}", votes) for text, votes in zip(row["choices"], row["unsure_votes"], strict=True)]
    doubts.append(("bad question", row["bad_votes"]))
    certain = vote_bars({**row, "votes": row["correct_votes"]})
    return [*certain, *((text, votes, False) for text, votes in doubts if votes)]


def _verdicts(one: Answered) -> list[str]:
    """The verdict on each choice, or that on a bad question."""
    if one.value == BAD:
        return [BAD_QUESTION]
    verdicts = [WRONG] * len(one.item.choices)
    for name, verdict in (("correct", CORRECT), ("unsure", UNSURE)):
        for index in one.value[name]:
            verdicts[index] = verdict
    return verdicts


def _votes(answers: Sequence[Answered]) -> Mapping[str, Any]:
    """The verdicts on a question; rejected is what at least half of the annotators reject, unsure ones left out."""
    item, label = answers[0].item, answers[0].item.known["label"]
    usable = [_verdicts(one) for one in answers if one.value != BAD]
    votes = [Counter(verdicts[index] for verdicts in usable) for index in range(len(item.choices))]
    decoys = {index: count for index, count in enumerate(votes) if index != label}
    also = [item.choices[at] for at, count in decoys.items() if count[CORRECT] >= max(count[WRONG], 1)]
    bad = len(answers) - len(usable)
    return {
        "question_id": item.question_id,
        "question": item.question,
        "choices": item.choices,
        "label": item.choices[label],
        "correct_votes": [count[CORRECT] for count in votes],
        "unsure_votes": [count[UNSURE] for count in votes],
        "bad_votes": bad,
        "answers": len(answers),
        "also_correct": also,
        "ambiguous": bool(also),
        "label_rejected": votes[label][WRONG] > votes[label][CORRECT],
        "bad_question": 2 * bad >= len(answers),
        "doubt": max(bad, votes[label][WRONG], *(count[CORRECT] for count in decoys.values())) / len(answers),
    }


AMBIGUITY = StudyKind(
    "ambiguity",
    "Which answers are correct?",
    "people mark every choice that is correct; the label is not shown",
    "after the validations of Chao et al. 2018, Sect. 5.2",
    MARK,
    (
        Condition(
            "full",
            "Mark every choice that is a correct answer: none, one or several. Mark “unsure” if it may be correct.",
            frozenset((IMAGE, QUESTION, CHOICES)),
            annotators=2,
        ),
    ),
    results=_outcome,
    reads=read_choices,
)
