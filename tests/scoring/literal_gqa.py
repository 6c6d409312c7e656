"""GQA's scores written down as they are defined: one question after the other, nothing clever."""

from collections import defaultdict


def literal_gqa(predictions, questions, choices=None, attentions=None, scene_graphs=None):
    """All scores of records by id and predictions in a list, with consistency; None where there is nothing to mean."""
    answers = {}
    for row in predictions:
        answers[row["questionId"]] = row["prediction"]
    balanced = {number: question for number, question in questions.items() if question["isBalanced"]}
    right = {number: answers[number] == question["answer"] for number, question in balanced.items()}

    def accuracy(wanted):
        return mean([1.0 if right[number] else 0.0 for number, question in balanced.items() if wanted(question)])

    def by(group):
        groups = {group(question) for question in balanced.values()}
        return {name: accuracy(lambda question, name=name: group(question) == name) for name in groups}

    def may_answer(number, question, name):
        if choices is None:
            return False
        listed = choices[number][name]
        if "Common" in question["types"]["detailed"]:
            listed = ["color", "material", "shape"]
        return answers[number] in listed

    grounding = None
    if attentions is not None:
        grounding = 100 * mean(
            [attended(question, scene_graphs, attentions[number]) for number, question in balanced.items()]
        )
    return {
        "accuracy": accuracy(lambda question: True),
        "binary": accuracy(lambda question: question["types"]["structural"] != "query"),
        "open": accuracy(lambda question: question["types"]["structural"] == "query"),
        "per_structural_type": by(lambda question: question["types"]["structural"]),
        "per_semantic_type": by(lambda question: question["types"]["semantic"]),
        "per_detailed_type": by(lambda question: question["types"]["detailed"]),
        "per_steps": by(steps),
        "per_length": by(lambda question: len(question["question"].split())),
        "consistency": consistency(balanced, right, questions, answers),
        "validity": mean([float(may_answer(number, question, "valid")) for number, question in balanced.items()]),
        "plausibility": mean(
            [float(may_answer(number, question, "plausible")) for number, question in balanced.items()]
        ),
        "distribution": distribution(balanced, answers),
        "grounding": grounding,
    }


def mean(values):
    return sum(values) / len(values) if values else None


def steps(question):
    count = 0
    for operation in question["semantic"]:
        text = operation["operation"] + ": " + operation["argument"]
        if "exist" not in text and "query: name" not in text and "choose name" not in text:
            count += 1
    return count


def consistency(balanced, right, questions, answers):
    of_questions = []
    for number, question in balanced.items():
        others = [other for other in question["entailed"] if other != number]
        if right[number] and others:
            of_questions.append(mean([float(answers[other] == questions[other]["answer"]) for other in others]))
    return mean(of_questions)


def distribution(balanced, answers):
    golds, guesses = defaultdict(list), defaultdict(list)
    for number, question in balanced.items():
        if question["groups"]["global"] is not None:
            golds[question["groups"]["global"]].append(question["answer"])
            guesses[question["groups"]["global"]].append(answers[number])
    total, weights = 0.0, 0
    for group, of_group in golds.items():
        distance = 0.0
        for answer in set(of_group):
            expected = of_group.count(answer)
            distance += (guesses[group].count(answer) - expected) ** 2 / expected
        total += len(of_group) * distance
        weights += len(of_group)
    return total / weights / 100


def attended(question, scene_graphs, attention):
    graph = scene_graphs[question["imageId"]]
    pointed = [*question["annotations"]["question"].values(), *question["annotations"]["fullAnswer"].values()]
    total = 0.0
    regions = []
    for number in pointed:
        box = graph["objects"][number]
        left, right = box["x"] / graph["width"], (box["x"] + box["w"]) / graph["width"]
        top, bottom = box["y"] / graph["height"], (box["y"] + box["h"]) / graph["height"]
        regions.append((left, top, right, bottom))
    if any("scene" in operation for operation in question["semantic"]):
        regions.append((0, 0, 1, 1))
    for left, top, right, bottom in regions:
        n = len(attention)
        for i in range(n):
            for j in range(n):
                width = max(0.0, min(right, (i + 1) / n) - max(left, i / n))
                height = max(0.0, min(bottom, (j + 1) / n) - max(top, j / n))
                total += attention[i][j] * (width * height) / (1 / n / n)
    return total
