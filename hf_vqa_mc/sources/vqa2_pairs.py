"""VQA2's complementary pairs: one question about two similar images that call for different answers."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.io.json_stream import list_items
from hf_vqa_mc.io.records import LARGEST
from hf_vqa_mc.sources import answer_counts, vqa
from hf_vqa_mc.sources.files import Files, PublishedFile
from hf_vqa_mc.sources.source import Counts, OpenEnded

PREFIX = "v2_"
ROWS = 10_000
"""In a piece."""
ONE = ("question_id", "image_id", "answer", "answers", "answer_type", "image_file")
"""What each of the two has of its own; the second's are called ``complementary_...``."""
OTHER = "complementary_"

_TYPES = {"answers": pa.list_(pa.string())}
SCHEMA = pa.schema(
    [
        ("question", pa.string()),
        ("question_type", pa.string()),
        *((name, _TYPES.get(name, pa.string())) for name in ONE),
        *((OTHER + name, _TYPES.get(name, pa.string())) for name in ONE),
    ]
)
COLUMNS = {
    "question, question_type": "asked of both images",
    "question_id, image_id, image_file": "of the pair's first question, as listed",
    "answer, answers, answer_type": "what most people said (multiple_choice_answer), all ten answers, and their type",
    f"{OTHER}question_id, {OTHER}image_id, ...": "the same of the pair's second question",
}
COUNTED = ("question_type", "answer", f"{OTHER}answer")
FIRST, SECOND = 1, 2
"""The places of the two answers among these."""


def pairs_name(subset: str) -> str:
    """The name of a subset's list of pairs."""
    return f"{PREFIX}mscoco_{subset}_complementary_pairs.json"


def _splits(files: Files, not_read: dict[str, str]) -> tuple[str, ...]:
    return tuple(split for subset, split in vqa.SUBSETS.items() if files.has(pairs_name(subset)))


def read_pairs(files: Files, subset: str) -> pa.Table:
    """A row a pair, a table ``SCHEMA``, in the order of the publisher's list.

    Raises:
        InputError: a file is missing or malformed, a pair names a question that is not there, is listed twice, or is
            of two different questions or of one image.
    """
    file = files.find(pairs_name(subset))
    first, second = _pairs(file)
    questions = files.find(f"{PREFIX}OpenEnded_mscoco_{subset}_questions.json")
    annotations = files.find(f"{PREFIX}mscoco_{subset}_annotations.json")
    asked = vqa.read_subset(questions, annotations, subset, vqa.SUBSETS[subset], choices=False)
    ends = [_found(asked, ids, file.place, questions.place) for ids in (first, second)]
    for name, expected in (("question", True), ("question_type", True), ("image_id", False)):
        texts = [pc.utf8_trim_whitespace(end[name]) for end in ends]
        wrong = np.flatnonzero(pc.equal(*texts).to_numpy() != expected)
        if len(wrong):
            place = int(wrong[0])
            words = "the same" if expected else "different ones"
            raise InputError(
                f"{file.place}, pair {place} ({first[place]}, {second[place]}): expected {words} as {name} of both, "
                f"found {shown(texts[0][place].as_py())} and {shown(texts[1][place].as_py())}"
            )
    columns = {"question": ends[0]["question"], "question_type": ends[0]["question_type"]}
    for prefix, end in zip(("", OTHER), ends, strict=True):
        columns |= {prefix + name: end["target" if name == "answer" else name] for name in ONE}
    return pa.Table.from_arrays([columns[name] for name in SCHEMA.names], schema=SCHEMA)


def _pairs(file: PublishedFile) -> tuple[list[str], list[str]]:
    first: list[str] = []
    second: list[str] = []
    seen: dict[frozenset[str], int] = {}
    for items in list_items(file):
        for item in items:
            location = f"{file.place}, pair {len(first)}"
            if type(item) is not list or len(item) != 2 or not all(_is_id(one) for one in item):
                raise InputError(
                    f"{location}: expected two question ids (text, or whole numbers up to {LARGEST:,}), found "
                    f"{shown(item)}"
                )
            one, other = map(str, item)
            before = seen.setdefault(frozenset((one, other)), len(first))
            if one == other or before != len(first):
                problem = "of one question" if one == other else f"listed already as pair {before}"
                raise InputError(f"{location} ({one}, {other}) is {problem}; expected each pair of questions once")
            first.append(one)
            second.append(other)
    if not first:
        raise InputError(f"{file.place}: expected pairs of question ids, found none")
    return first, second


def _is_id(value: object) -> bool:
    return (type(value) is int and 0 <= value <= LARGEST) or (type(value) is str and value.isprintable())


def _found(asked: pa.Table, ids: list[str], place: str, questions_place: str) -> pa.Table:
    rows = pc.index_in(pa.array(ids, pa.string()), value_set=asked["question_id"].combine_chunks())
    if rows.null_count:
        at = pc.index(pc.is_null(rows), True).as_py()
        raise InputError(f"{place}, pair {at}: question_id {ids[at]} is not among the questions of {questions_place}")
    return asked.take(rows)


def _read(files: Files, split: str, left_out: Counter[str]) -> Iterator[pa.Table]:
    table = read_pairs(files, next(subset for subset, name in vqa.SUBSETS.items() if name == split))
    for start in range(0, table.num_rows, ROWS):
        yield table.slice(start, ROWS)


def _images(table: pa.Table) -> pa.Table:
    names = ("image_id", "image_file")
    both = [pa.table({name: table[prefix + name] for name in names}) for prefix in ("", OTHER)]
    return pa.concat_tables(both)


def statistics(counts: Counts) -> dict[str, Any]:
    """Answers before and after pairing, per question type, and the pairs whose answers are the same.

    *Before* are the first questions of the pairs, *after* both: the files do not tell which of the two was in VQA v1.
    The mean over question types by their questions is what Goyal et al. 2017 (section 3) say has risen.
    """
    pairs_of = counts[COUNTED]
    first, second = (answer_counts.grouped(pairs_of, place) for place in (FIRST, SECOND))
    both = {name: first[name] + second[name] for name in first}
    answers = answer_counts.by_value(pairs_of, FIRST) + answer_counts.by_value(pairs_of, SECOND)
    equal: Counter[str] = Counter()
    for (kind, one, other), size in pairs_of.items():
        equal[kind] += size if one == other else 0
    figures = answer_counts.answer_figures(answers, {"question type": both})
    for name, groups in (("before", first), ("after", both)):
        plain, weighted = answer_counts.mean_entropy(groups)
        figures["entropy"] |= {
            f"mean of question types, {name}": plain,
            f"mean of question types, by questions, {name}": weighted,
        }
    figures["entropy"]["overall, before"] = answer_counts.entropy(answer_counts.by_value(pairs_of, FIRST).values())
    pairs = {name: sum(groups.values()) for name, groups in first.items()}
    return {
        **figures,
        "pairs": {"all": sum(pairs.values()), "same_answer": sum(equal.values())},
        "tables": [
            answer_counts.table(
                "Pairs by question type, and the entropy of answers: of the first questions (before), of all (after)",
                ["question type", "pairs", "same answer", "before (bits)", "after (bits)"],
                [
                    [
                        name,
                        pairs[name],
                        equal[name],
                        answer_counts.entropy(first[name].values()),
                        answer_counts.entropy(both[name].values()),
                    ]
                    for name in sorted(pairs, key=lambda name: (-pairs[name], name))
                ],
            )
        ],
    }


VQA2_PAIRS = OpenEnded(
    name="vqa2_pairs",
    word="pairs",
    description="A row a complementary pair: one question, two similar images, and what people answered of each. The "
    "files do not tell which of the two images the question was first asked of (in VQA v1); *first* is as listed. "
    "Goyal et al. count 9% of pairs whose answers turned out the same; these are kept.",
    schema=SCHEMA,
    columns=COLUMNS,
    splits=_splits,
    needs=pairs_name("train2014"),
    read=_read,
    counted=lambda table: table.select(COUNTED),
    together=(COUNTED,),
    statistics=statistics,
    images=_images,
    unique=None,
)
