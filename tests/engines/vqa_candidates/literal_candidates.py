"""Section 3 of Antol et al. taken literally, question by question, in plain Python; for small datasets."""

from collections import Counter
from fractions import Fraction
from functools import cache

import numpy as np
import pyarrow as pa

from hf_vqa_mc.decoys.rng import below, draw, purpose_hash, text_hashes
from hf_vqa_mc.sources.table import text_lists, triplet_table
from hf_vqa_mc.text.normalisation import comparable as uncached_comparable
from hf_vqa_mc.text.normalisation import words

PLAUSIBLE, POPULAR, ALL = 3, 10, 17
DRAWS = 200

comparable = cache(uncached_comparable)


def literal_candidates(triplets, plausible=None, pool="dataset", seed=0, positions=None):
    """The wrong candidates of each question (or of some), in the order plausible, popular, random."""
    rows = triplets.to_pylist()
    if all(row["target"] == row["target"].lower() for row in rows):
        plausible = {name: [text.lower() for text in texts] for name, texts in (plausible or {}).items()}
    training = [row for row in rows if row["split"] == "train"] or rows
    popular = most_popular([row["target"] for row in training])
    return [
        candidates_of(index, rows, popular, (plausible or {}).get(row["question_id"], []), pool, seed)
        for index, row in enumerate(rows)
        if positions is None or index in positions
    ]


def most_popular(targets):
    of_key, of_text = Counter(map(comparable, targets)), Counter(targets)
    best = {}
    for text in sorted(of_text, key=lambda text: (-of_text[text], text)):
        best.setdefault(comparable(text), text)
    return [best[key] for key in sorted(of_key, key=lambda key: (-of_key[key], key))][:POPULAR]


def candidates_of(index, rows, popular, given, pool, seed):
    row = rows[index]
    others = [number for number, other in enumerate(rows) if pool == "dataset" or other["split"] == row["split"]]
    taken = []

    def offer(texts, most):
        for text in texts:
            if len(taken) >= most:
                break
            if comparable(text) not in {comparable(row["target"]), *map(comparable, taken)}:
                taken.append(text)

    offer(given, PLAUSIBLE)
    offer((rows[number]["target"] for number in most_similar(index, others, rows, seed)), PLAUSIBLE)
    offer(popular, ALL)
    hashed, chance = text_hashes([row["question_id"]])[0], purpose_hash(seed, "random candidates")
    drawn = [others[random_below(chance, hashed, number, len(others))] for number in range(DRAWS)]
    offer((rows[number]["target"] for number in drawn), ALL)
    offer(sorted({rows[number]["target"] for number in others}), ALL)  # their order is not promised
    return taken


def most_similar(index, others, rows, seed):
    """The other questions, most similar first; of those with the very same words a random one first."""
    mine = rows[index]["question"]
    if not bag_of(mine):
        return []
    of_text = {text: squared_cosine(mine, text) for text in {rows[number]["question"] for number in others}}
    ranks = {value: rank for rank, value in enumerate(sorted(set(of_text.values()), reverse=True))}
    similarity = {number: of_text[rows[number]["question"]] for number in others}
    same = [number for number in others if similarity[number] == 1]
    hashed = text_hashes([rows[index]["question_id"]])[0]
    first = random_below(purpose_hash(seed, "plausible"), hashed, 0, len(same))
    rest = [number for number in others if 0 < similarity[number] < 1]
    return same[first:] + same[:first] + sorted(rest, key=lambda number: (ranks[similarity[number]], number))


def random_below(chance, hashed, number, size):
    return below(np.uint64(draw(chance, hashed, number)), size)


@cache
def bag_of(question):
    return Counter(words(question))


@cache
def squared_length(question):
    return sum(n * n for n in bag_of(question).values())


@cache
def squared_cosine(one, other):
    """Of two questions' word counts, exactly; as all counts are positive it orders as the cosine does."""
    a, b = bag_of(one), bag_of(other)
    product = sum(a[word] * b[word] for word in a if word in b)
    if not product:
        return 0
    return Fraction(product**2, squared_length(one) * squared_length(other))


def made_triplets(records):
    """A triplet table of records (question, target), (question, target, split) or with answers as a fourth."""
    columns = {name: [] for name in ("question", "target", "split", "answers")}
    for record in records:
        question, target, *more = record
        columns["question"].append(question)
        columns["target"].append(target)
        columns["split"].append(more[0] if more else "train")
        columns["answers"].append(list(more[1]) if len(more) > 1 else [target])
    n = len(records)
    return triplet_table(
        question_id=[f"q{index}" for index in range(n)],
        image_id=[f"i{index}" for index in range(n)],
        split=columns["split"],
        question=columns["question"],
        target=columns["target"],
        answers=text_lists(columns["answers"]),
        image_file=pa.array([""] * n),
    )
