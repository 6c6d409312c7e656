"""VQA2: VQA with most questions about two similar images with different answers; no choices.

The complementary pairs, one question about two images, are an open-ended config.
"""

from collections import Counter
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.io.json_stream import list_items
from hf_vqa_mc.sources import open_ended, vqa
from hf_vqa_mc.sources.files import Files, PublishedFile, RemoteFile
from hf_vqa_mc.sources.source import Counts, OpenEnded, Source, reference
from hf_vqa_mc.sources.vqa import open_config
from hf_vqa_mc.sources.vqa_files import BASE, COCO_IMAGES, COCO_TEST_IMAGES, V2

ONE = ("question_id", "image_id", "answer", "answers", "answer_type", "image_file")
"""Columns of each of the two questions; the second's are named ``complementary_...``."""
OTHER = "complementary_"

_TYPES = {"answers": pa.list_(pa.string())}
SCHEMA = pa.schema(
    [
        ("question", pa.string()),
        ("question_type", pa.string()),
        *((prefix + name, _TYPES.get(name, pa.string())) for prefix in ("", OTHER) for name in ONE),
    ]
)
COLUMNS = {
    "question, question_type": "asked about both images",
    "question_id, image_id, image_file": "of the pair's first question, as listed",
    "answer, answers, answer_type": "most frequent answer (multiple_choice_answer), all ten, and their type",
    f"{OTHER}question_id, {OTHER}image_id, ...": "the same of the pair's second question",
}
COUNTED = ("question_type", "answer", f"{OTHER}answer")
FIRST, SECOND = 1, 2  # indices of the two answers in COUNTED


def pairs_name(subset: str) -> str:
    """The file name of a subset's pairs."""
    return f"{V2.prefix}{V2.data_type}_{subset}_complementary_pairs.json"


def read_pairs(files: Files, subset: str) -> pa.Table:
    """One row per pair, a table ``SCHEMA``, in the publisher's order."""
    file = files.find(pairs_name(subset))
    first, second = _pairs(file)
    questions = vqa.read_subset(files, subset, V2)
    location = files.find(V2.questions_name(subset)).location
    ends = []
    for ids in (first, second):
        rows = pc.index_in(pa.array(ids, pa.string()), value_set=questions["question_id"].combine_chunks())
        if rows.null_count:
            at = pc.index(pc.is_null(rows), True).as_py()
            unknown = f"question_id {ids[at]} is not among the questions of {location}"
            raise InputError(f"{file.location}, pair {at}: {unknown}")
        ends.append(questions.take(rows))
    columns = {"question": ends[0]["question"], "question_type": ends[0]["question_type"]}
    for prefix, end in zip(("", OTHER), ends, strict=True):
        columns |= {prefix + name: end["target" if name == "answer" else name] for name in ONE}
    return pa.table(columns).select(SCHEMA.names).cast(SCHEMA)


def _pairs(file: PublishedFile) -> tuple[list[str], list[str]]:
    pairs: list[tuple[str, str]] = []
    for item in chain.from_iterable(list_items(file)):
        if type(item) is not list or len(item) != 2:
            raise InputError(f"{file.location}, pair {len(pairs)}: expected two question ids, found {shown(item)}")
        pairs.append((str(item[0]), str(item[1])))
    if not pairs:
        raise InputError(f"{file.location}: expected pairs of question ids, found none")
    return [one for one, _ in pairs], [other for _, other in pairs]


def _images(table: pa.Table) -> pa.Table:
    names = ("image_id", "image_file")
    return pa.concat_tables(pa.table({name: table[prefix + name] for name in names}) for prefix in ("", OTHER))


def statistics(counts: Counts) -> dict[str, Any]:
    """Answers before and after pairing, per question type, and the pairs whose answers are the same.

    *Before* are the first questions of the pairs, *after* both: the files do not show which of the two was in VQA v1.
    Goyal et al. 2017 (section 3) report that the mean over question types, weighted by their questions, has risen.
    """
    pairs_of = counts[COUNTED]
    first, second = (open_ended.grouped(pairs_of, position) for position in (FIRST, SECOND))
    both = {name: first[name] + second[name] for name in first}
    answers = open_ended.by_value(pairs_of, FIRST) + open_ended.by_value(pairs_of, SECOND)
    equal: Counter[str] = Counter()
    for (kind, one, other), size in pairs_of.items():
        equal[kind] += size if one == other else 0
    figures = open_ended.answer_figures(answers, {"question type": both})
    for name, groups in (("before", first), ("after", both)):
        open_ended.add_means(figures, groups, "question types", f", {name}")
    figures["entropy"]["overall, before"] = open_ended.entropy(open_ended.by_value(pairs_of, FIRST).values())
    pairs = {name: answers.total() for name, answers in first.items()}
    bits = {name: [open_ended.entropy(groups[name].values()) for groups in (first, both)] for name in first}
    title = "Pairs by question type, and the entropy of answers: of the first questions (before), of all (after)"
    columns = ["question type", "pairs", "same answer", "before (bits)", "after (bits)"]
    order = sorted(pairs, key=lambda name: (-pairs[name], name))
    rows = [[name, pairs[name], equal[name], *bits[name]] for name in order]
    table = {"title": title, "columns": columns, "rows": rows}
    return {**figures, "pairs": {"all": sum(pairs.values()), "same_answer": equal.total()}, "tables": [table]}


VQA2_PAIRS = OpenEnded(
    name="vqa2_pairs",
    word="pairs",
    description="Each row is a complementary pair: one question, two similar images, and the human answers for each. "
    "The files do not show which of the two images is that of VQA v1; *first* is as listed. "
    "Goyal et al. count 9% of pairs whose answers turned out the same; these are kept.",
    schema=SCHEMA,
    columns=COLUMNS,
    splits=lambda files, _: tuple(split for name, split in V2.subsets.items() if files.has(pairs_name(name))),
    needs=pairs_name("train2014"),
    read=lambda files, split, _: iter(
        [read_pairs(files, next(subset for subset, name in V2.subsets.items() if name == split))]
    ),
    together=(COUNTED,),
    statistics=statistics,
    images=_images,
    scored_as="vqa_pairs",
)

VQA2 = Source(
    name="vqa2",
    title="VQA v2 (balanced real images)",
    description="VQA balanced: most questions are asked about two similar images and have different answers, with ten "
    "human answers each; no choices are published.",
    homepage="https://visualqa.org/download.html",
    licence="CC-BY-4.0",
    citation=reference("goyal2017making"),
    read=partial(vqa.read, release=V2),
    synthetic="",
    image_numbering="COCO",
    image_hint=f"{COCO_IMAGES} {COCO_TEST_IMAGES}",
    expected_counts={"train": 443_757, "validation": 214_354},
    downloads=(
        V2.archive("Questions_Train", "05a64b6e2582d06d7585f5429674a9a33851878be1bff9f8668cdcf792df611e", 7_239_401),
        V2.archive("Questions_Val", "e71f6c5c3e97a51d050f28243e262b28cd0c48d11a6b4632d769d30d3f93222a", 3_494_929),
        V2.archive("Questions_Test", "982e2e687a86514b78ea83af356d151976c5e3fb4168a29ca543610574082ad7"),
        V2.archive(
            "Annotations_Train", "fb101bcefe91422c543c2bb6d70af11eb3119d0ff745ae283d09acdf66250853", 21_708_861
        ),
        V2.archive("Annotations_Val", "0caae7c8d1dafd852727f5ac046bc1efca9b72026bd6ffa34fc489f3a7b3291e", 10_518_930),
        *(
            RemoteFile(
                f"{BASE}mscoco/vqa/v2_Complementary_Pairs_{part}_mscoco.zip", (pairs_name(f"{part.lower()}2014"),)
            )
            for part in ("Train", "Val")
        ),
    ),
    consensus=True,
    open_ended=(VQA2_PAIRS, open_config("vqa2_open", V2, {"train": 443_757, "validation": 214_354, "test": 447_793})),
    has_triplets=V2.has_annotated,
    scored_as_published=True,
)

VQA2_MINUS = replace(
    VQA2,
    name="vqa2_minus",
    title="VQA2⁻ (VQA v2 without yes and no)",
    description=f"{VQA2.description} Questions whose answer is yes or no are left out.",
    read=partial(vqa.read_minus, release=V2),
    image_hint=COCO_IMAGES,
    open_ended=(),  # those of VQA2
    expected_counts={"validation": 134_813},  # Chao et al. 2018, Table 10
)
