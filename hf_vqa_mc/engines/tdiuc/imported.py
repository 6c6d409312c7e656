"""Visual Genome's annotations with the questions about them, and human questions, imported or hand-annotated.

Kafle and Kanan 2017, "Importing Questions from Existing Datasets" and "Manual Annotation". The rules for the type of a
question are in ``data/imported_types.yaml``; they cover every type but object utility.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from hf_vqa_mc.decoys.rng import SeededRng
from hf_vqa_mc.engines.tdiuc import words
from hf_vqa_mc.engines.tdiuc.coco import TEMPLATES
from hf_vqa_mc.engines.tdiuc.questions import HAND_ANNOTATED, NO, SPLITS, YES, Origin, Outcome, QuestionCollection
from hf_vqa_mc.engines.tdiuc.words import ANSWERS, COLORS, OBJECTS, names_many, tidy_answer, tidy_question
from hf_vqa_mc.engines.visual_genome import IMAGES, PARTS, RawObject, genome_graph, genome_records, overlap, plain_name
from hf_vqa_mc.engines.vocabulary import Vocabulary, plural_of
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.json_stream import json_lines
from hf_vqa_mc.io.records import LARGEST, Records, read_records
from hf_vqa_mc.scoring.tdiuc_types import COLOR, POSITION, PRESENCE
from hf_vqa_mc.sources.files import Folder
from hf_vqa_mc.sources.table import read_annotated, text_lists
from hf_vqa_mc.sources.tdiuc import GENOME_OFFSET, annotation_columns, available_subsets
from hf_vqa_mc.sources.vqa_files import V1, V2, id_columns, question_columns
from hf_vqa_mc.text.wordnet import load_wordnet


@dataclass(frozen=True)
class Rule:
    """A type with its answers and questions."""

    type: str
    answers: str
    questions: tuple[str, ...]


_TYPES = Vocabulary("tdiuc/imported_types")
_NOT_OPEN = ANSWERS["not open"].union((YES, NO), *words.CLOSED.values())
ANSWER_LISTS = words.CLOSED | {"yes or no": frozenset((YES, NO))}
ANSWER_LISTS |= {key: ANSWERS[key] for key in ("sports", "activities", "places", "scenes")}
_BY_TYPE = _TYPES.read("rules", tuple[Rule, ...])
_RULES = [(rule.type, ANSWER_LISTS.get(rule.answers), re.compile("|".join(rule.questions))) for rule in _BY_TYPE]
"""Type, its answers (None: open ones) and questions."""
_IS_THERE = re.compile(
    r"((?P<one>is there an?|do you see an?|can you see an?)|(?P<mass>is there any)"
    r"|are there any|are there some|do you see any|can you see any) (?P<thing>[a-z]+( [a-z]+)?)"
    r"( (in|on) (the|this) (photo|picture|image|scene|background))?"
)


def type_of(question: str, answer: str) -> str | None:
    """TDIUC's type of a human question; None if no rule fits it and its (tidied) answer."""
    asked = " ".join(question.lower().rstrip(" ?.!").split())
    for kind, answers, questions in _RULES:
        if (answer not in _NOT_OPEN if answers is None else answer in answers) and questions.fullmatch(asked):
            return kind
    found = _IS_THERE.fullmatch(asked) if answer in (YES, NO) else None
    if not found or not words.objects_named(found["thing"]):
        return None
    is_mass, fits = found["thing"].split()[-1] in _TYPES["mass"], names_many(found["thing"]) == (not found["one"])
    return PRESENCE if (is_mass if found["mass"] else fits) else None  # "Is there any boys" is not English


AGREEMENT = 5  # minimum number of annotators who agree on an imported answer, "Importing Questions"
VQA_WORDS, GENOME_WORDS = 2, 1  # most words of an imported answer, "Importing Questions"


def import_vqa(folder: Folder, made: QuestionCollection) -> None:
    """Import COCO-VQA's questions (VQA v1 or v2, in its own layout) of all subsets; InputError if there are none."""
    named = [(subset, release, release.available_task(folder, subset)) for subset in SPLITS for release in (V1, V2)]
    available = [(subset, release, task) for subset, release, task in named if task is not None]
    if not available:
        folder.find(V1.questions_name(next(iter(SPLITS))))  # raises, and names the file expected
    for subset, release, task in available:
        questions, annotations = folder.find(release.questions_name(subset, task)), release.annotations_name(subset)
        rows = read_annotated(questions, folder.find(annotations), question_columns, _human_answers)
        columns = (rows[name].to_pylist() for name in ("image_id", "question", "answers"))
        for image_id, question, answers in zip(*columns, strict=True):
            made.add_image(image_id, "coco", subset, questions.location)
            (answer, most), *others = Counter(map(tidy_answer, answers)).most_common(2)
            if most < AGREEMENT:
                made.left_out[f"vqa_imported: fewer than {AGREEMENT} agree"] += 1
            elif others and others[0][1] == most:
                made.left_out["vqa_imported: as many give another answer"] += 1
            else:
                _import(image_id, question, answer, VQA_WORDS, "vqa_imported", made)


def _human_answers(records: Records) -> pa.Table:
    texts = iter(records.nested("answers").texts("answer"))
    records.checked("answers", bool, "one answer or more")
    answers = [list(islice(texts, len(given))) for given in records.lists("answers")]
    return pa.table({**id_columns(records), "answers": text_lists(answers)})


def _import(image_id: int, question: str, answer: str, longest: int, origin: Origin, made: QuestionCollection) -> None:
    if not answer or len(answer.split()) > longest:
        made.left_out[f"{origin}: an answer of more than {longest} words, or none"] += 1
    elif (question_type := type_of(question, answer)) is None:
        made.left_out[f"{origin}: no template fits"] += 1
    else:
        made.add(image_id, question_type, origin, [(tidy_question(question), answer)])


def import_annotated(path: Path, made: QuestionCollection) -> None:
    """Add the hand-annotated questions of a file; count those of other types in TDIUC's files.

    ``path``: JSON lines (.jsonl, also .gz or .xz) with image_id, question, answer and question_type; or a folder with
    TDIUC's annotation and question files. Known images keep their split.
    """
    if path.is_dir():
        folder = Folder(path)
        for subset in available_subsets(folder, {}) or SPLITS:
            _read_layout(folder, subset, made)
        return
    if not path.is_file():
        raise InputError(f"--annotated {path}: no such file")
    for number, row in json_lines(path):
        record = Records([row], partial("{}, line {}".format, path, number))
        kind = record.texts("question_type")[0]
        if kind not in HAND_ANNOTATED:
            raise record.unexpected(0, "question_type", f"one of {', '.join(HAND_ANNOTATED)}", kind)
        image_id = record.whole_numbers("image_id")[0]
        made.add_image(image_id, "genome" if image_id > GENOME_OFFSET else "uploaded", None, str(path))
        question, answer = record.filled_texts("question")[0], record.filled_texts("answer")[0]
        if not (tidy := tidy_answer(answer)):
            raise record.unexpected(0, "answer", "a word", answer)
        made.add(image_id, kind, "annotated", [(tidy_question(question), tidy)])


def _read_layout(folder: Folder, subset: str, made: QuestionCollection) -> None:
    file = folder.find(V1.annotations_name(subset))
    rows = read_annotated(folder.find(V1.questions_name(subset)), file, question_columns, annotation_columns)
    by_hand = pc.is_in(rows["question_type"], pa.array(HAND_ANNOTATED))
    others = Counter(rows["question_type"].filter(pc.invert(by_hand)).to_pylist())
    made.left_out.update({f"annotated: {kind}, which is not annotated by hand": n for kind, n in others.items()})
    columns = (rows[name].filter(by_hand).to_pylist() for name in ("image_id", "question", "answer", "question_type"))
    for image_id, question, answer, kind in zip(*columns, strict=True):
        made.add_image(image_id, "uploaded", subset if image_id <= LARGEST else None, file.location)
        made.add(image_id, kind, "annotated", [(tidy_question(question), tidy_answer(answer))])


DUPLICATE_OVERLAP = 0.5  # minimum intersection over union of two boxes that may be one object; ours
QUESTIONS = "question_answers.json"


def _image_ids(folder: Folder, made: QuestionCollection, left_out: Counter[str]) -> dict[int, int]:
    """Map Visual Genome's image ids to output ids, COCO's for COCO's images; empty without image_data.json."""
    ids, seen = dict[int, int](), set[int]()
    if not folder.has(IMAGES):
        left_out["no image_data.json: images that are COCO's are not known as such"] = 1
        return ids
    file = folder.find(IMAGES)
    for records in read_records(file):
        for image_id, coco_id in zip(records.whole_numbers("image_id"), records.column("coco_id"), strict=True):
            ids[image_id] = GENOME_OFFSET + image_id if coco_id is None else coco_id
            made.add_image(ids[image_id], "genome" if coco_id is None else "coco", None, file.location)
            left_out["images that are the same photograph of COCO as another, asked about as one"] += coco_id in seen
            seen |= {coco_id} - {None}
    return ids


def read_genome(folder: Folder, mentioned: dict[int, set[str]], made: QuestionCollection) -> None:
    """Add the questions of those of Visual Genome's files that exist; ``mentioned``: objects by output id."""
    left_out: Counter[str] = Counter()
    present = [name for name in PARTS if folder.has(name)]
    if not present and not folder.has(QUESTIONS):
        folder.find(PARTS[0])  # raises, and names the files expected
    ids = _image_ids(folder, made, left_out)
    for image_id, records in genome_records(folder, present):
        written = _written_id(image_id, ids, made, next(iter(records.values())).location(0))
        left_out.update(f"images that {name} lacks" for name in present if name not in records)
        graph = genome_graph(image_id, records, left_out, all_attributes=False)
        keys = sorted(graph.objects, key=lambda key: (len(key), key))  # by number
        objects = {key: graph.objects[key] for key in keys if graph.objects[key].name}
        left_out["objects without a name"] += len(graph.objects) - len(objects)
        for one in objects.values():
            one.name, one.other_names = plain_name(one.name), [*map(plain_name, one.other_names)]
            one.attributes = [*dict.fromkeys(map(plain_name, one.attributes))]
            mentioned.setdefault(written, set()).update(*map(words.objects_named, (one.name, *one.other_names)))
        rng = SeededRng(made.seed, "tdiuc", COLOR, str(written))
        made.add(written, COLOR, "genome_generated", _ask_colors([*objects.values()], rng))
        made.add(written, POSITION, "genome_generated", _ask_positions(objects))
    if folder.has(QUESTIONS):
        for batch in read_records(folder.find(QUESTIONS)):
            nested = batch.nested("qas")
            pairs = zip(nested.texts("question"), nested.texts("answer"), strict=True)
            for at, (image_id, rows) in enumerate(zip(batch.whole_numbers("id"), batch.lists("qas"), strict=True)):
                written = _written_id(image_id, ids, made, batch.location(at))
                for question, answer in islice(pairs, len(rows)):
                    _import(written, question, tidy_answer(answer), GENOME_WORDS, "genome_imported", made)
    made.left_out.update({f"visual genome: {reason}": count for reason, count in left_out.items()})


def _written_id(image_id: int, ids: dict[int, int], made: QuestionCollection, location: str) -> int:
    """The output id of an image of Visual Genome; InputError if image_data.json exists but does not list it."""
    if not ids:
        made.add_image(GENOME_OFFSET + image_id, "genome", None, location)
        return GENOME_OFFSET + image_id
    if image_id not in ids:
        raise InputError(f"{location}: image {image_id} is not in {IMAGES}; use files of the same release")
    return ids[image_id]


_NAMES = {name for one in words.COCO_OBJECTS.values() for name in (one.name, one.wording)}
COLORED = (_NAMES | OBJECTS["unannotated"]) - {"person"}  # what color questions ask about: COCO's 91 except people
_PLURALS = OBJECTS["plural only"] | {"eye glasses"}
_POSITIONS = {phrase: re.compile(pattern) for phrase, pattern in ANSWERS.read("positions", dict[str, str]).items()}
_NAME = re.compile(r"[a-z]+( [a-z]+){0,2}")


def _ask_colors(objects: list[RawObject], rng: SeededRng) -> Iterator[Outcome]:
    for one in objects:
        if not any(map(words.colors_in, one.attributes)):
            continue
        template, color = rng.pick(TEMPLATES["color"]), words.single_color(one.attributes)
        if color is None:
            yield "several colors or a shade"
        elif not _is_colored(one):
            yield "not among COCO's objects, or its name is not a singular noun of them"
        elif words.colors_in(one.name):
            yield "its color is in its name"
        elif any(other is not one and _same_kind(other, one) for other in objects):
            yield "not the only one of its kind"
        elif any(
            overlap(other.box, one.box) >= DUPLICATE_OVERLAP
            and not set().union(*map(words.colors_in, other.attributes)) <= {color}
            for other in objects
        ):
            yield "the same box by another name has another color"
        else:
            yield template.format(object=one.name), color


def _ask_positions(objects: Mapping[str, RawObject]) -> Iterator[Outcome]:
    answers = defaultdict[tuple[str, str], set[str]](set)
    for subject, named in objects.items():
        for text, target in named.relations:
            predicate = plain_name(text)
            phrase = next((phrase for phrase, pattern in _POSITIONS.items() if pattern.fullmatch(predicate)), None)
            if phrase is not None:
                answers[target, phrase].add(subject)
    for (thing, phrase), subjects in sorted(answers.items(), key=lambda item: (len(item[0][0]), item[0])):
        if thing not in objects:
            yield "a relationship to an object that was left out"
        elif len(subjects) > 1:
            yield "several objects there"
        else:
            one, other = objects[thing], objects[subjects.pop()]
            doubt = _doubt(other, phrase, one, objects.values())
            yield doubt or (f"What is {phrase} the {_specified(one)}?", other.name)


def _doubt(other: RawObject, phrase: str, one: RawObject, objects: Iterable[RawObject]) -> str | None:
    if one.other_names or other.other_names:
        return "an object of several names"
    if not _is_name(one.name) or not _is_name(other.name):
        return "a name that no question can use"
    if any(named is not another and _same_kind(another, named) for named in (one, other) for another in objects):
        return "not the only one of its kind"
    others = [another for another in objects if another is not one and another is not other]
    if any(overlap(another.box, other.box) >= DUPLICATE_OVERLAP for another in others):
        return "the answer's box has another name too"
    x, y, x2, y2 = (box[axis] + box[axis + 2] / 2 for box in (other.box, one.box) for axis in (0, 1))
    across, down = x - x2, y - y2
    holds = {"to the left of": across < 0, "to the right of": across > 0}
    holds |= dict.fromkeys(("above", "on top of"), down < 0) | dict.fromkeys(("below", "under"), down > 0)
    return None if holds.get(phrase, True) else "the boxes say otherwise"


def _is_colored(one: RawObject) -> bool:
    """Whether it is one of COCO's by its name, or by its synset with a name that ends in it (a "delivery truck")."""
    if one.name in COLORED:
        return one.name not in _PLURALS
    noun = one.synset.split(".")[0].replace("_", " ")
    return noun in COLORED and bool(_NAME.fullmatch(one.name)) and one.name.endswith(f" {noun}")


def _same_kind(other: RawObject, one: RawObject) -> bool:
    """Whether a question about one could mean the other: the same noun (singular or plural) or the same synset."""
    nouns, others = ({name.split()[-1] for name in (each.name, *each.other_names)} for each in (one, other))
    same_noun = nouns.union(map(plural_of, nouns)) & others.union(map(plural_of, others))
    return bool(same_noun or (one.synset and one.synset == other.synset))


def _is_name(name: str) -> bool:
    said = name.split()
    plain = _NAME.fullmatch(name) and not set(said) & (ANSWERS["no things"] | {"of", "on", "in", "with"})
    return bool(plain and not words.colors_in(name) and load_wordnet().senses(said[-1], nouns_only=True))


def _specified(one: RawObject) -> str:
    """Its name after a suitable attribute if it has one, since another object of that name may not be annotated."""
    fitting = sorted(set(one.attributes) & ANSWERS["adjectives"] - set(one.name.split()) - COLORS.keys())
    return f"{words.single_color(one.attributes) or next(iter(fitting), '')} {one.name}".strip()
