"""People choose an answer with less and less to see (Chao et al. 2018), mark correct ones, or say what is required.

Required may be knowledge that is not in the image, or an age (Antol et al. 2015, Sect. 4.3).
"""

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from scipy.stats import spearmanr

from hf_vqa_mc.data.verdicts import BAD_QUESTION, CORRECT, UNSURE, WRONG, Verdict, write_verdicts
from hf_vqa_mc.studies import measures
from hf_vqa_mc.studies.items import read_choices, read_questions
from hf_vqa_mc.studies.kind import BAD, CHOICES, CHOOSE, IMAGE, MARK, QUESTION, Answered, Condition, Outcome, StudyKind
from hf_vqa_mc.studies.measures import by_condition, by_item, most_frequent, share, summary, values, vote_bars, votes

VERDICTS = "verdicts.parquet"
WORKERS = 3  # annotators per question (Chao et al. 2018, Sect. 5.2)
COMMONSENSE, AGE = "commonsense", "age"
AGES = ("toddler (3-4)", "younger child (5-8)", "older child (9-12)", "teenager (13-17)", "adult (18+)")
MEAN_AGES = (3.5, 6.5, 10.5, 15.0, 18.0)
"""Years for the mean age of a question: the middle of each group, and 18 for adults; ours, as the paper gives none."""
YES = 0  # index of yes in the options of COMMONSENSE
VOTES = (3, 6)  # votes for yes, of ten, from which on a question requires common sense (47.43% and 18.14% of VQA's)


def _outcome(answered: Sequence[Answered]) -> Outcome:
    table, items, predictions = [], list[dict[str, Any]](), {}
    for condition, found in by_condition(answered).items():
        questions = by_item(found)
        measured = share(found, lambda one: one.value == one.item.known["label"], "accuracy")
        measured["chance"] = sum(1 / len(one.item.choices) for one in found) / len(found)
        table.append(summary(condition, found, values(questions), measured))
        predictions[condition] = list(map(_prediction, questions.values()))
        for answers in questions.values():
            choices, label = answers[0].item.choices, answers[0].item.known["label"]
            row = {"condition": condition, **votes(answers, choices)}
            items.append(row | {"label": choices[label], "votes_for_label": row["votes"][label]})
    items.sort(key=lambda row: (row["votes_for_label"] / row["answers"], row["condition"], row["question_id"]))
    return measures.with_predictions(table, items, vote_bars, predictions)


def _prediction(answers: Sequence[Answered]) -> dict[str, Any]:
    """The most frequent choice and the votes for each, in the benchmark's order of choices."""
    item, order = answers[0].item, answers[0].item.known["order"]
    chosen = [order[one.value] for one in answers]
    scores = [chosen.count(index) for index in range(len(order))]
    answer = item.choices[order.index(most_frequent(chosen))]
    return {"question_id": item.question_id, "answer": answer, "scores": scores}


HIDDEN_QUESTION = "The question is hidden. Choose the answer that is most related to the image, as well as you can."
HIDDEN_IMAGE = "The image is hidden. Use your common sense to choose the most correct answer."
CONDITIONS = StudyKind(
    "conditions",
    "Multiple-choice questions",
    "people choose an answer with everything, without the question, or without the image",
    "Chao et al. 2018, Sect. 5.2 and supplement, Fig. 6 to 8",
    CHOOSE,
    (
        Condition("full", "Choose the most correct answer.", (IMAGE, QUESTION, CHOICES), WORKERS),
        Condition("no-question", HIDDEN_QUESTION, (IMAGE, CHOICES), WORKERS),
        Condition("no-image", HIDDEN_IMAGE, (QUESTION, CHOICES), WORKERS),
    ),
    results=_outcome,
    reads=read_choices,
)


def _required(answered: Sequence[Answered]) -> Outcome:
    """Also the mean age of each question, and the rank correlation of age and common sense (0.58 in the paper)."""
    table, items = [], []
    required: dict[str, dict[str, float]] = {COMMONSENSE: {}, AGE: {}}
    for condition, found in by_condition(answered).items():
        questions, options = by_item(found), REQUIREMENTS.condition(condition).options
        chosen = Counter(one.value for one in found)
        row = summary(condition, found, values(questions))
        row |= {f"share_{name}": chosen[index] / len(found) for index, name in enumerate(options)}
        if condition == COMMONSENSE:
            yes = [sum(one.value == YES for one in answers) for answers in questions.values()]
            row |= {f"questions_with_{least}_yes": sum(n >= least for n in yes) / len(yes) for least in VOTES}
        years = MEAN_AGES if condition == AGE else tuple(float(index == YES) for index in range(len(options)))
        required[condition] = {name: statistics.mean(years[one.value] for one in of) for name, of in questions.items()}
        if condition == AGE:
            row["mean_age"] = statistics.mean(required[AGE].values())
        table.append(row)
        items += [
            {"condition": condition, **votes(of, options), "mean": required[condition][name]}
            for name, of in questions.items()
        ]
    both = [name for name in required[COMMONSENSE] if name in required[AGE]]
    figures: dict[str, Any] = {"conditions": table}
    ranked = [[of[name] for name in both] for of in required.values()]
    if all(len(set(one)) > 1 for one in ranked):
        correlation = float(spearmanr(*ranked).statistic)
        figures["age_and_commonsense"] = {"questions": len(both), "rank_correlation": correlation}
    return Outcome(figures, table, items, bars=vote_bars)


KNOWLEDGE = "Does answering this question require knowledge that is not in the image?"
YOUNGEST = "What is the youngest age group that can answer this question?"
REQUIREMENTS = StudyKind(
    "requirements",
    "What do these questions require?",
    "people say whether a question requires common sense, or the age from which it can be answered",
    "Antol et al. 2015, Sect. 4.3",
    CHOOSE,
    (
        Condition(COMMONSENSE, KNOWLEDGE, (IMAGE, QUESTION), annotators=10, options=("yes", "no")),
        Condition(AGE, YOUNGEST, (IMAGE, QUESTION), annotators=10, options=AGES),
    ),
    results=_required,
    reads=read_questions,
)


def _marked(answered: Sequence[Answered]) -> Outcome:
    items = [_mark_votes(answers) for answers in by_item(answered).values()]
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
        found = [
            Verdict(one.item.question_id, choice, verdict, f"annotator {one.annotator}")
            for one in answered
            for choice, verdict in zip([""] if one.value == BAD else one.item.choices, _verdicts(one), strict=True)
        ]
        write_verdicts(folder / VERDICTS, found)

    usage = [f"vqa-mc remedy DATASET --word-vectors corpus --reject FOLDER/{VERDICTS} --output OUTPUT"]
    return Outcome({"conditions": [row], **shares}, [{**row, **shares}], items, write, _mark_bars, usage)


def _mark_bars(row: Mapping[str, Any]) -> list[tuple[str, int, bool]]:
    doubts = [(f"unsure: {text}", votes) for text, votes in zip(row["choices"], row["unsure_votes"], strict=True)]
    doubts.append(("bad question", row["bad_votes"]))
    certain = vote_bars({**row, "votes": row["correct_votes"]})
    return [*certain, *((text, votes, False) for text, votes in doubts if votes)]


def _verdicts(one: Answered) -> list[str]:
    """The verdict on each choice, or that on a bad question."""
    if one.value == BAD:
        return [BAD_QUESTION]
    marks = dict.fromkeys(one.value["correct"], CORRECT) | dict.fromkeys(one.value["unsure"], UNSURE)
    return [marks.get(index, WRONG) for index in range(len(one.item.choices))]


def _mark_votes(answers: Sequence[Answered]) -> Mapping[str, Any]:
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


ALL_CORRECT = "Mark every choice that is a correct answer: none, one or several. Mark “unsure” if it may be correct."
AMBIGUITY = StudyKind(
    "ambiguity",
    "Which answers are correct?",
    "people mark every choice that is correct; the label is not shown",
    "after the validations of Chao et al. 2018, Sect. 5.2",
    MARK,
    (Condition("full", ALL_CORRECT, (IMAGE, QUESTION, CHOICES), annotators=2),),
    results=_marked,
    reads=read_choices,
)
