"""Fixed arguments of every metric: seeded made-up rows with all options, and odd ones by hand."""

from random import Random
from typing import Any

ROWS = 200
WORDS = ["yes", "no", "2", "two", "red", "dark red", "cat", "dog", "kitten", "table", "on the table", "a man", "men",
         "U.S.", "don't", "dont", "1,000", "Red", "hot dog", "left"]  # fmt: skip
TYPES = ["what is", "how many", "is the", "none of the above"]

ODD_ANSWERS = [
    ("The couch", ["couch"] * 7 + ["sofa"] * 2 + ["a  loveseat."]),
    ("loveseat", ["couch"] * 7 + ["sofa"] * 2 + ["a  loveseat."]),
    ("", [""] * 10),
    ("", ["yes"] * 10),
    ("Two.", ["2"] * 5 + ["two"] * 5),
    ("2", ["two"] * 10),
    ("don't know", ["dont know"] * 4 + ["Don't know"] * 6),
    ("1,000", ["1000"] * 3 + ["1,000"] * 7),
    ("1.5", ["1.5"] * 3 + ["15"] * 7),
    ("a.b/c-d", ["ab c d"] * 5 + ["a.b/c-d"] * 5),
    ("Dark-red!", ["red"] * 2 + ["dark red"] * 8),
    ("ca\nt\t", ["cat"] * 9 + ["ca t"]),
    ("an apple", ["apple"] * 3),
    ("apple", ["apple"]),
    ("none", ["0"] * 10),
    ("🐈", ["🐈"] * 10),
    ("  red  ", ["red"] * 10),
    ("RED", ["red"] * 9 + ["blue"]),
    ("yes", ["yes", "no"] * 6),
]


def annotators(rng: Random) -> list[str]:
    """Ten answers, several of them equal."""
    known = rng.sample(WORDS, 3)
    return [rng.choice(known) for _ in range(10)]


def vqa_accuracy() -> dict[str, dict[str, Any]]:
    """Text and records, choices, both protocols, an uneven number of annotators."""
    rng = Random(1)
    references = [annotators(rng) for _ in range(ROWS)]
    predictions = [rng.choice([*answers, *WORDS]) for answers in references]
    columns = {
        "question_types": [rng.choice(TYPES) for _ in range(ROWS)],
        "answer_types": [rng.choice(["yes/no", "number", "other"]) for _ in range(ROWS)],
        "image_ids": [rng.randrange(60) for _ in range(ROWS)],
        "question_ids": list(range(1000, 1000 + ROWS)),
        "per_question": True,
    }
    records = [
        [{"answer": text, "answer_id": number, "answer_confidence": "yes"} for number, text in enumerate(answers)]
        for answers in references
    ]
    alike = [[{"answer": text, "answer_confidence": "yes"} for text in answers] for answers in references]
    choices = [sorted({answer, *rng.sample(WORDS, 6)}) for answer in predictions]
    text = {"predictions": predictions, "references": references}
    odd = {"predictions": [one for one, _ in ODD_ANSWERS], "references": [one for _, one in ODD_ANSWERS]}
    return {
        "all columns": {**text, **columns},
        "all columns, 2017": {**text, **columns, "protocol": "2017"},
        "no columns": text,
        "records": {"predictions": predictions, "references": records, "per_question": True},
        "records without ids": {"predictions": predictions, "references": alike, "per_question": True},
        "choices": {**text, "choices": choices, "image_ids": columns["image_ids"]},
        "odd": {**odd, "per_question": True},
        "odd, 2017": {**odd, "per_question": True, "protocol": "2017"},
        "refused: not among the choices": {
            "predictions": ["red"], "references": [["red"] * 10], "choices": [["blue", "Red"]]},
        "refused: a number": {"predictions": [2], "references": [["2"] * 10]},
        "refused: another protocol": {"predictions": ["2"], "references": [["2"] * 10], "protocol": "2018"},
    }  # fmt: skip


def vqa_pair_accuracy() -> dict[str, dict[str, Any]]:
    """Pairs, one question in several, one in none."""
    rng = Random(2)
    references = [annotators(rng) for _ in range(ROWS)]
    predictions = [rng.choice([answers[0]] * 5 + WORDS) for answers in references]
    ids = list(range(1, ROWS + 1))
    arguments = {
        "predictions": predictions, "references": references, "question_ids": ids,
        "pairs": [[one, one + 1] for one in range(1, ROWS - 20, 2)] + [[3, 7], [7, 11]],
    }  # fmt: skip
    columns = {
        "questions": [rng.choice(["How many cats?", "how many dogs?", "What is it?"]) for _ in ids],
        "answer_types": [rng.choice(["yes/no", "number", "other"]) for _ in ids],
    }
    odd = {"predictions": [one for one, _ in ODD_ANSWERS], "references": [one for _, one in ODD_ANSWERS]}
    odd |= {"question_ids": list(map(str, range(len(ODD_ANSWERS))))}
    return {
        "all columns": {**arguments, **columns},
        "all columns, 2017": {**arguments, **columns, "protocol": "2017"},
        "no columns": arguments,
        "odd": {**odd, "pairs": [["0", "1"], [4, 5], ["9", "10"], ["15", "16"]]},
        "refused: unknown id": {**arguments, "pairs": [[1, 999]]},
    }


def mc_accuracy() -> dict[str, dict[str, Any]]:
    """Indices and texts, none picked, kinds by name and number, unequal numbers of choices."""
    rng = Random(3)
    choices = [rng.sample(WORDS[:6] + WORDS[8:16], rng.choice([2, 4, 7])) for _ in range(ROWS)]
    references = [rng.randrange(len(texts)) for texts in choices]
    indices = [
        rng.choice([label, rng.randrange(len(texts))]) for label, texts in zip(references, choices, strict=True)
    ]
    texts = [rng.choice([row[index], row[index].upper(), ""]) for row, index in zip(choices, indices, strict=True)]
    names = ["orig", "iou", "qou", "random", "set"]
    kinds = [
        ["target" if index == label else rng.choice(names) for index in range(len(row))]
        for row, label in zip(choices, references, strict=True)
    ]
    numbers = [[["target", *names].index(kind) for kind in row] for row in kinds]
    columns = {
        "question_types": [rng.choice(TYPES) for _ in range(ROWS)],
        "image_ids": [f"i{rng.randrange(70)}" for _ in range(ROWS)],
        "question_ids": [f"q{row}" for row in range(ROWS)],
        "per_question": True,
    }
    by_index = {"predictions": indices, "references": references}
    return {
        "indices, all columns": {**by_index, **columns, "choices": choices, "choice_kinds": kinds},
        "indices alone": by_index,
        "texts, kinds by number": {
            "predictions": texts, "references": references, "choices": choices, "choice_kinds": numbers, **columns},
        "odd": {
            "predictions": ["A", "ß", "", "two"], "references": [0, 1, 0, 1],
            "choices": [["a", "b"], ["c", "ß"], ["x", "y"], ["one", "Two", "three"]], "per_question": True},
        "refused: out of range": {"predictions": [2], "references": [0], "choices": [["a", "b"]]},
        "refused: no such choice": {"predictions": ["c"], "references": [0], "choices": [["a", "b"]]},
        "refused: texts without choices": {"predictions": ["c"], "references": [0]},
    }  # fmt: skip


def wups() -> dict[str, dict[str, Any]]:
    """Single items and lists, several thresholds."""
    rng = Random(4)
    nouns = ["cat", "dog", "kitten", "table", "chair", "sofa", "red", "two", "hot dog", "man", "woman", "zzz", "car",
             "truck", "bicycle", "pizza"]  # fmt: skip
    draw = [", ".join(rng.sample(nouns, rng.choice([1, 1, 1, 2, 3]))) for _ in range(2 * ROWS)]
    text = {"predictions": draw[:ROWS], "references": draw[ROWS:]}
    images = [rng.randrange(60) for _ in range(ROWS)]
    odd = [("cat", "cat"), ("Cat", "cat"), ("", ""), ("", "cat"), ("cat,", "cat"), ("cat,cat", "cat"),
           ("a, b", "b,a"), ("ice cream", "ice_cream"), ("dogs", "dog"), (" red ", "red"), ("men", "man")]  # fmt: skip
    columns = {"image_ids": images, "question_ids": list(range(ROWS))}
    by_hand = {"predictions": [one for one, _ in odd], "references": [one for _, one in odd], "per_question": True}
    return {
        "defaults": {**text, **columns, "per_question": True},
        "thresholds": {**text, "thresholds": [0, 0.5, 0.9, 1], **columns},
        "odd": by_hand,
        "refused: a threshold of -1": {**text, "thresholds": [-1]},
    }


def tdiuc_mpt() -> dict[str, dict[str, Any]]:
    """Types, a vocabulary, both ways of unknown answers, absurd questions."""
    rng = Random(5)
    types = ["absurd", "color", "counting", "object_presence", "sport_recognition", "utility_affordance"]
    answers = ["yes", "no", "red", "Red", "blue", "1", "2", "tennis", "doesnotapply", "rare one", "rare two"]
    references = [rng.choice(answers) for _ in range(ROWS)]
    predictions = [rng.choice([one, rng.choice(answers[:9])]) for one in references]
    text = {"predictions": predictions, "references": references}
    text["question_types"] = [rng.choice(types) for _ in range(ROWS)]
    columns = {
        "absurd_questions": [kind != "absurd" and rng.random() < 0.3 for kind in text["question_types"]],
        "image_ids": [rng.randrange(60) for _ in range(ROWS)],
        "question_ids": list(range(ROWS)),
        "per_question": True,
    }
    known = {**text, "predictions": [one if one in answers[:9] else "yes" for one in predictions]}
    return {
        "all columns": {**text, **columns},
        "any letter case": {**text, "ignore_case": True},
        "vocabulary, merge": {**known, "answer_vocabulary": answers[:9]},
        "vocabulary, keep": {**known, "answer_vocabulary": answers[:9], "unknown_gold": "keep"},
        "vocabulary, any letter case": {**known, "answer_vocabulary": answers[:9], "ignore_case": True},
        "odd": {
            "predictions": ["a", "b", "c"], "references": ["a", "x", "y"], "question_types": ["one", "two", "two"],
            "per_question": True},
        "refused: outside of the vocabulary": {**text, "answer_vocabulary": ["yes"]},
        "refused: an unknown way": {**known, "answer_vocabulary": answers[:9], "unknown_gold": "drop"},
    }  # fmt: skip


def gqa_score() -> dict[str, dict[str, Any]]:
    """Entailment, choices, attention, unbalanced questions, letter case."""
    rng = Random(6)
    ids = [f"{number:03}" for number in range(ROWS)]
    references, answers, choices, attentions = [], [], {}, []
    words = ["red", "blue", "cat", "dog", "left", "Right"]
    structural = ["query", "verify", "logical", "choose", "compare"]
    for number, name in enumerate(ids):
        kind = rng.choice(structural)
        gold = rng.choice(["yes", "no"] if kind in ("verify", "logical") else words)
        detailed = f"{kind}{rng.choice(['Attr', 'Rel', 'Obj'])}"
        operations = (("select", "cat (1)"), ("relate", "_,left of,s (2)"), ("exist", "?"), ("query", "name"))
        steps = [{"operation": operation, "argument": argument} for operation, argument in operations]
        references.append({
            "question_id": name, "imageId": f"n{number % 40}", "isBalanced": rng.random() < 0.8,
            "question": "What is " + " ".join(rng.choices(words, k=rng.randint(1, 8))) + "?", "answer": gold,
            "entailed": rng.sample(ids[:60], rng.choice([0, 0, 1, 3])),
            "types": {"structural": kind, "semantic": rng.choice(["obj", "attr", "cat", "rel", "global"]),
                      "detailed": detailed},
            "groups": {"global": rng.choice([None, "color", "animal"]), "local": "x"},
            "semantic": steps[: rng.randint(1, 4)],
            "annotations": {"question": {"1": str(number % 3)}, "answer": {"0": "9"},
                            "fullAnswer": {"0": "1"} if number % 4 else {}},
        })  # fmt: skip
        prediction = rng.choice([gold, gold.lower(), rng.choice(words), "yes"])
        answers.append({"question_id": name, "prediction": prediction})
        choices[name] = {"valid": [*rng.sample(words, 3), "yes"], "plausible": rng.sample(words, 2)}
        size = rng.choice([1, 3, 7])
        attentions.append(
            {"question_id": name, "attention": [[rng.random() for _ in range(size)] for _ in range(size)]}
        )
    boxes = {"0": (0, 0, 50, 40), "1": (10, 5, 33, 27), "2": (80, 30, 60, 60), "9": (0, 0, 1, 1)}
    objects = {name: dict(zip("xywh", box, strict=True)) for name, box in boxes.items()}
    graphs = {f"n{number}": {"width": 100 + number, "height": 80, "objects": objects} for number in range(40)}
    text = {"predictions": answers, "references": references}
    partial = {"predictions": [*answers[70:], {"questionId": "x", "prediction": "yes"}, answers[70]],
               "references": references[70:]}  # fmt: skip
    return {
        "all inputs": {**text, "choices": choices, "attentions": attentions, "scene_graphs": graphs,
                       "per_question": True},
        "any letter case": {**text, "ignore_case": True, "choices": choices},
        "no inputs": text,
        "consistency required": {**text, "consistency": True},
        "no consistency": {**text, "consistency": False},
        "some entailed questions are missing": partial,
        "refused: some entailed questions are missing": {**partial, "consistency": True},
        "refused: attention without scene graphs": {**text, "attentions": attentions},
        "refused: a prediction is missing": {**text, "predictions": answers[:10]},
    }  # fmt: skip


def set_accuracy() -> dict[str, dict[str, Any]]:  # noqa: C901  loops over kinds of sets
    """Sets of all kinds and sizes, grids, Latin squares, rows in no set."""
    rng = Random(7)
    columns: dict[str, list[Any]] = {name: [] for name in (
        "references", "choices", "set_ids", "set_kinds", "questions", "image_ids")}  # fmt: skip

    def add(name: str, kind: str, texts: list[str], target: str, question: str, image: str) -> None:
        choices = rng.sample(texts, len(texts))
        row = (choices.index(target), choices, name, kind, question, image)
        for column, value in zip(columns.values(), row, strict=True):
            column.append(value)

    for number in range(25):
        kind, size = rng.choice(["same_question", "same_image", "similar_question"]), rng.choice([2, 3, 4])
        texts = rng.sample(WORDS[:12], size)
        for index, target in enumerate(texts):
            add(f"s{number}", kind, texts, target, f"What {number}?", f"i{number}-{index}")
    for number in range(10):
        texts = rng.sample(WORDS[:12], 4)
        for index, target in enumerate(texts):
            add(f"g{number}", "grid", texts, target, f"q{number}-{index // 2}", f"g{number}-{index % 2}")
    for number in range(6):
        size = 2 + number % 2
        texts = rng.sample(WORDS[:12], size)
        for row in range(size):
            for index in range(size):
                add(f"l{number}", "latin", texts, texts[(row + index) % size], f"q{row}", f"l{number}-{index}")
    for number in range(8):
        add("", "", ["yes", "no"], rng.choice(["yes", "no"]), "Is it?", f"n{number}")
    count = len(columns["references"])
    order = rng.sample(range(count), count)
    columns = {name: [column[index] for index in order] for name, column in columns.items()}
    picks = [rng.choice([label, label, rng.randrange(len(row))])
             for label, row in zip(columns["references"], columns["choices"], strict=True)]  # fmt: skip
    scores = [[round(rng.gauss(float(index == label), 1), 1) for index in range(len(row))]
              for label, row in zip(columns["references"], columns["choices"], strict=True)]  # fmt: skip
    needed = {name: columns[name] for name in ("references", "choices", "set_ids")}
    plain = [f"{name}" if kind not in ("grid", "latin") else ""
             for name, kind in zip(columns["set_ids"], columns["set_kinds"], strict=True)]  # fmt: skip
    texts = [row[pick] for row, pick in zip(columns["choices"], picks, strict=True)]
    return {
        "all columns": {"predictions": picks, **columns, "scores": scores, "question_ids": list(range(count)),
                        "per_question": True},
        "texts, without scores": {"predictions": texts, **columns},
        "sets without kinds": {"predictions": picks, **needed, "set_ids": plain, "per_question": True},
        "ties": {"predictions": [0, 0], "references": [0, 1], "choices": [["a", "b"]] * 2, "set_ids": ["s"] * 2,
                 "scores": [[1.0, 1.0], [1.0, 1.0]], "per_question": True},
        "refused: other choices in one set": {
            "predictions": [0, 0], "references": [0, 1], "choices": [["a", "b"], ["a", "c"]], "set_ids": ["s"] * 2},
        "refused: a grid without questions": {
            "predictions": picks, **needed, "set_kinds": columns["set_kinds"]},
    }  # fmt: skip


def counterexample_recall() -> dict[str, dict[str, Any]]:
    """Ties, several k, distances."""
    rng = Random(8)
    sizes = [rng.choice([5, 12, 24]) for _ in range(ROWS)]
    predictions = [[round(rng.random(), 1) for _ in range(size)] for size in sizes]
    references = [rng.randrange(size) for size in sizes]
    text = {"predictions": predictions, "references": references}
    columns = {
        "distances": [[round(rng.random(), 2) for _ in range(size)] for size in sizes],
        "image_ids": [rng.randrange(60) for _ in range(ROWS)],
        "question_ids": list(range(ROWS)),
        "per_question": True,
    }
    return {
        "all columns": {**text, **columns},
        "other k": {**text, "ks": [1, 2, 3]},
        "one image": {**text, "image_ids": ["x"] * ROWS},
        "refused: k above the number of candidates": {**text, "ks": [6]},
        "refused: infinite": {"predictions": [[0.1, None]], "references": [0], "ks": [1]},
    }


METRICS = (vqa_accuracy, vqa_pair_accuracy, mc_accuracy, wups, tdiuc_mpt, gqa_score, set_accuracy,
           counterexample_recall)  # fmt: skip
