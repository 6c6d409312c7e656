"""Figures of questions: size, beginnings, first words, lengths, parts of speech.

Rules find parts of speech, by words of closed classes and frequent verbs (``data/parts_of_speech.yaml``), WordNet's
nouns and adjectives, and for a word of several classes by the words next to it.
"""

from collections import Counter
from functools import lru_cache
from importlib import resources
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hf_vqa_mc.audits.figures.figure import Data, Found, Number, Share, distribution, figure, share, table
from hf_vqa_mc.audits.rows import Column, Tree, Words
from hf_vqa_mc.decoys.candidates import MISSING
from hf_vqa_mc.text.wordnet import load_wordnet

DEPTH = 4  # words of the sunburst (Antol et al. 2015, Figure 3)
SMALLEST_ARC = 0.002  # smallest share of an arc; the description of `first_words` has it, too
RANKS = ("first word", "second word", "third word", "fourth word")
USUAL = 4, 10  # most questions have so many words (Antol et al. 2015, section 4.1)
LEAST = 0.01  # smallest share of the questions that makes a beginning a type of its own
LONGEST = 5  # maximum number of words of a counted beginning
UNLISTED = "none of the above"  # as VQA calls questions with no listed beginning
CLASSES = ("noun", "verb", "adjective", "preposition")
COMPARED = 3  # nouns, verbs and adjectives are compared (Antol et al. 2015, section 4.4)
SHOWN = 10  # most frequent words of a class in the table
OTHER, NOUN, VERB, ADJECTIVE, PREPOSITION, DETERMINER = range(6)  # auxiliaries are verbs, determiners no class


@figure("Size", "Antol et al. 2015, section 4; Hudson and Manning 2019, section 4.1")
def size(data: Data) -> Found:
    """Rows, images and distinct texts; words are in lower case, without punctuation."""
    questions = data.questions.words
    used = np.unique(questions.numbers[(data.questions.counts > 0)[questions.texts]])
    numbers: dict[str, Any] = {
        "questions": len(data),
        "images": data.images.different,
        "different questions": data.questions.different,
        "different answers": data.targets.different,
        "different words in questions": len(used),
    }
    if data.images.different:
        numbers["questions per image"] = float(data.images.valid.sum() / data.images.different)
    rows: list[list[Any]] = []
    for number, name in enumerate(data.splits.texts):
        of_split = data.splits.codes == number
        images = np.unique(data.images.codes[of_split & data.images.valid])
        rows.append([name, int(of_split.sum()), len(images), int(data.targets.valid[of_split].sum())])
    return Found(numbers, table(["split", "questions", "images", "with an answer"], rows))


@figure("Questions by their beginning", "Antol et al. 2015, Table 3", ("bars", "beginning", "share"), ("questions",))
def beginnings(data: Data) -> Found:
    """Each question counts once, under the longest beginning that fits.

    Beginnings are all runs of up to five first words with which at least 1% of the questions begin.
    """
    types = by_beginning(data)
    order = [index for index in types.most_frequent(len(types.texts)) if types.texts[index] != UNLISTED]
    rest = [index for index, text in enumerate(types.texts) if text == UNLISTED and types.counts[index]]
    names = [types.texts[index] for index in [*order, *rest]]
    return Found({"types": len(order)}, distribution("beginning", names, types.counts[[*order, *rest]]))


@figure("First four words of the questions", "Antol et al. 2015, Figure 3; Hudson and Manning 2019, Figure 8",
        ("sunburst", RANKS, "share"), ("questions",))  # fmt: skip
def first_words(data: Data) -> Found:
    """The first word is in the middle; an arc is as long as its share of the questions.

    Shares below 0.2% are left out, as in the paper.
    """
    vocabulary = data.questions.words.vocabulary
    tree = Tree(data.questions.words, DEPTH)
    counts = tree.counts(data.questions.counts)
    children: dict[int, list[int]] = {}
    frequent = np.flatnonzero(counts >= max(SMALLEST_ARC * len(data), 1))
    for node in sorted(frequent.tolist(), key=lambda node: (-counts[node], vocabulary[tree.words[node]])):
        children.setdefault(int(tree.parents[node]), []).append(node)
    rows: list[list[Any]] = []
    waiting = children.get(-1, [])[::-1]
    while waiting:
        node = waiting.pop()
        path = tree.path(node, vocabulary)
        rows.append([*path, *[None] * (DEPTH - len(path)), int(counts[node]), share(counts[node], len(data))])
        waiting += children.get(node, [])[::-1]
    first = np.unique(data.questions.words.at(0)[data.questions.counts > 0])
    return Found({"different first words": int((first >= 0).sum())}, table([*RANKS, "questions", "share"], rows))


def lengths(values: NDArray[np.int64], counts: NDArray[np.int64], what: str) -> Found:
    """The distribution of numbers of words, with mean and standard deviation."""
    kept = counts > 0
    distinct, inverse = np.unique(values[kept], return_inverse=True)
    rows = np.bincount(inverse, counts[kept], len(distinct))
    total = rows.sum()
    mean = float((distinct * rows).sum() / total)
    deviation = float(np.sqrt((rows * (distinct - mean) ** 2).sum() / total))
    return Found({"mean": mean, "standard deviation": deviation}, distribution("words", distinct.tolist(), rows, what))


@figure("Words per question", "Antol et al. 2015, Figure 4; Hudson and Manning 2019, Table 1 and Figure 7",
        ("lines", "words", "share", "words per question"), ("questions",))  # fmt: skip
def question_lengths(data: Data) -> Found:
    """Share of the questions by their number of words."""
    found = lengths(data.questions.words.lengths, data.questions.counts, "questions")
    usual = sum(part for words, part in zip(found.table["words"], found.table["share"], strict=True)
                if USUAL[0] <= words <= USUAL[1])  # fmt: skip
    return Found({**found.numbers, "four to ten words": Share(usual)}, found.table)


def by_beginning(data: Data) -> Column:
    """The type of each row's question: its longest beginning that at least LEAST of the questions have."""
    counts, words = data.questions.counts, data.questions.words
    tree = Tree(words, LONGEST)
    frequent = np.append(tree.counts(counts) >= max(LEAST * counts.sum(), 2), False)
    types = np.full(len(counts), MISSING, np.int64)
    for column in tree.nodes.T:
        types = np.where(frequent[column], column, types)
    used = np.unique(types[types != MISSING])
    names = [" ".join(tree.path(int(node), words.vocabulary)) for node in used]
    numbers = np.append(np.where(types == MISSING, len(names), np.searchsorted(used, types)), len(names))
    codes = numbers[data.questions.codes].astype(np.int32)
    return Column(pa.array([*names, UNLISTED], pa.large_string()), codes)


@figure("Parts of speech of questions", "Hudson and Manning 2019, Table 1", ("bars", "words", "mean"), ("questions",))
def parts_of_speech(data: Data) -> Found:
    """Mean number per question, by rules with lists of words and WordNet."""
    words, counts = data.questions.words, data.questions.counts
    classes, texts = word_classes(words), words.texts
    every = range(1, len(CLASSES) + 1)
    per_text = np.stack([np.bincount(texts[classes == one], minlength=len(counts)) for one in every], axis=1)
    means = counts @ per_text / counts.sum()  # of integers: the same for any order of the rows
    deviations = np.sqrt(np.maximum(counts @ per_text**2 / counts.sum() - means**2, 0))
    names = [f"{name}s" for name in CLASSES]
    of_classes = {"words": names, "mean": means.tolist(), "standard deviation": deviations.tolist()}
    return Found(dict(zip(names, means.tolist(), strict=True)), of_classes)


@figure("Words of captions, questions and answers", "Antol et al. 2015, section 4.4", ("bars", "word", "captions"),
        ("captions",))  # fmt: skip
def captions(data: Data) -> Found:
    """Kolmogorov-Smirnov tests of nouns, verbs and adjectives (by rules), and the most frequent ones.

    Words are numbered by their frequency in both together; the distance is the largest one of the two cumulative
    distributions.
    """
    from scipy import stats

    sides = {"captions": data.captions, "questions and answers": (data.questions, data.all_answers)}
    counted = [_word_counts(columns) for columns in sides.values()]
    numbers: dict[str, Number] = {"captions": sum(int(one.valid.sum()) for one in data.captions)}
    rows: list[list[Any]] = []
    for number, kind in enumerate(CLASSES[:COMPARED], 1):
        both = counted[0][number] + counted[1][number]
        ranked = sorted(both, key=lambda word: (-both[word], word))
        counts = np.array([[one[number][word] for word in ranked] for one in counted], float)
        totals = counts.sum(axis=1)
        if not totals.all():
            continue
        shares = counts / totals[:, None]
        distance = float(np.abs(np.diff(np.cumsum(shares, axis=1), axis=0)).max())
        numbers[f"distance of {kind}s"] = distance
        numbers[f"p of {kind}s"] = float(stats.kstwobign.sf(np.sqrt(totals.prod() / totals.sum()) * distance))
        for word, parts in zip(ranked, shares.T[:SHOWN].tolist(), strict=False):
            rows.append([f"{kind}s", word, *map(Share, parts)])
    return Found(numbers, table(["class", "word", *sides], rows))


def _word_counts(columns: tuple[Column, ...]) -> list[Counter[str]]:
    """The number of occurrences of the words of each class, by number."""
    found = [Counter[str]() for _ in range(COMPARED + 1)]
    for column in columns:
        words = column.words
        classes, weights = word_classes(words), column.counts[words.texts]
        for number, into in enumerate(found):
            of_class = classes == number
            counts = np.bincount(words.numbers[of_class], weights[of_class], len(words.vocabulary)).astype(np.int64)
            into.update({words.vocabulary[word]: int(counts[word]) for word in np.flatnonzero(counts).tolist()})
    return found


def of_images(images: Column, found: list[tuple[str, str]]) -> Column:
    """The captions of the images of a dataset; COCO's ids count as equal without leading zeros."""
    known = {name.lstrip("0") for name in images.texts}
    return Column.of(pa.array([text for image, text in found if image.lstrip("0") in known], pa.string()))


def word_classes(words: Words) -> NDArray[np.int64]:
    """(all words,): the class of each word, by `CLASSES` from 1, 0 for others."""
    table = np.array([_possible(word) for word in words.vocabulary], bool).reshape(-1, 6)
    possible = table[words.numbers]
    alone = possible.sum(axis=1) == 1
    found = np.where(alone, possible.argmax(axis=1), OTHER)
    same = np.append(np.diff(words.texts) == 0, False)  # whether the next word is of the same text
    same_before, same_after = np.roll(same, 1), same
    before = np.where(same_before, np.roll(found, 1), OTHER)
    noun_after = same_after & np.roll(possible[:, NOUN], -1)
    noun_before = same_before & np.roll(possible[:, NOUN], 1)
    after_determiner = np.isin(before, (DETERMINER, ADJECTIVE, PREPOSITION))
    is_adjective = ~alone & possible[:, ADJECTIVE] & (noun_after | ~(after_determiner | possible[:, VERB]))
    is_verb = ~alone & possible[:, VERB] & ~after_determiner & ~is_adjective
    is_verb &= noun_before | (before == VERB) | ~possible[:, NOUN]
    rest = ~alone & ~is_adjective & ~is_verb
    found[is_adjective], found[is_verb] = ADJECTIVE, VERB
    found[rest] = np.where(possible[rest, NOUN], NOUN, possible[rest].argmax(axis=1))
    found[found == DETERMINER] = OTHER
    return found.astype(np.int64)


def _possible(word: str) -> list[bool]:
    closed, verbs = _lists()
    wordnet = load_wordnet()
    if not word[0].isalpha():  # a number
        possible = {OTHER}
    elif word in closed:
        possible = {closed[word]}
    else:
        of_nouns, of_adjectives = (bool(one.base_forms(word)) for one in (wordnet.nouns, wordnet.adjectives))
        given = {NOUN: of_nouns, ADJECTIVE: of_adjectives, VERB: word in verbs}
        possible = {number for number, is_one in given.items() if is_one}
    by_ending = {"ly": OTHER, "ed": VERB}.get(word[-2:], VERB if word.endswith("ing") else NOUN)
    return [number in (possible or {by_ending}) for number in range(6)]


@lru_cache(maxsize=1)
def _lists() -> tuple[dict[str, int], frozenset[str]]:
    """The words of closed classes, and all forms of the verbs."""
    import yaml

    file = resources.files("hf_vqa_mc.audits") / "data" / "parts_of_speech.yaml"
    lists = {name: words.split() for name, words in yaml.safe_load(file.read_text("utf-8")).items()}
    classes = {"determiners": DETERMINER, "auxiliaries": VERB, "prepositions": PREPOSITION,
               "adjectives": ADJECTIVE, "others": OTHER}  # fmt: skip
    closed = {word: number for name, number in reversed(classes.items()) for word in lists[name]}  # the first counts
    forms = {form for verb in lists["verbs"] for form in verb_forms(verb)}
    return closed, frozenset(forms | set(lists["irregular"]))


def verb_forms(verb: str) -> list[str]:
    """The regular forms of a verb, also those with a doubled last letter.

    >>> verb_forms("carry"), verb_forms("bake")
    (['carry', 'carries', 'carried', 'carrying'], ['bake', 'bakes', 'baked', 'baking'])
    """
    if verb.endswith("e"):
        return [verb, f"{verb}s", f"{verb}d", *([f"{verb[:-2]}ying"] if verb.endswith("ie") else [f"{verb[:-1]}ing"])]
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return [verb, f"{verb[:-1]}ies", f"{verb[:-1]}ied", f"{verb}ing"]
    doubled = (
        [f"{verb}{verb[-1]}ed", f"{verb}{verb[-1]}ing"] if verb[-2] in "aeiou" and verb[-3:-2] not in "aeiou" else []
    )
    plural = f"{verb}es" if verb.endswith(("s", "x", "ch", "sh", "o", "ss")) else f"{verb}s"
    return [verb, plural, f"{verb}ed", f"{verb}ing", *doubled]


QUESTIONS = (size, first_words, beginnings, question_lengths, parts_of_speech, captions)
