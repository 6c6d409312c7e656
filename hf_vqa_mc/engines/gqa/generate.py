"""The whole engine: graphs, questions, entailments, balancing, files (Hudson and Manning 2019, Sect. 3)."""

import json
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from itertools import product
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hf_vqa_mc.decoys.rng import SeededRng
from hf_vqa_mc.engines.gqa.distractors import Distractors
from hf_vqa_mc.engines.gqa.entailment import Entailments, entailments
from hf_vqa_mc.engines.gqa.executor import NO, OPPOSITE, SHORT, YES, Question, published, semantic_text
from hf_vqa_mc.engines.gqa.normalising import normalise
from hf_vqa_mc.engines.gqa.ontology import Ontology, own_ontology
from hf_vqa_mc.engines.gqa.question_types import QUESTION_TYPES, questions_about
from hf_vqa_mc.engines.gqa.scene_graph import HORIZONTAL, VERTICAL, SceneGraph, read_graphs
from hf_vqa_mc.engines.gqa.selection import ROW, AnswerCells, Bools, QuestionTable, SelectionResult, select_balanced
from hf_vqa_mc.engines.settings import DEPTH, FOLDERS, SHARES, SPLITS
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.atomic import new_folder, write_json
from hf_vqa_mc.io.outputs import check_output, check_outside
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.sources.source import STATISTICS
from hf_vqa_mc.text.normalisation import YES_NO
from hf_vqa_mc.version import __version__

ENGINE = "gqa"


def generate(
    scene_graphs: Sequence[Path],
    output: Path,
    *,
    ontology: Ontology | None = None,
    splits: Mapping[str, float] = SPLITS,
    keep_splits: bool = False,
    shares: Mapping[str, float] = SHARES,
    seed: int = 0,
    overwrite: bool = False,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Generate a GQA-style dataset from scene graphs; returns the content of its ``statistics.json``.

    The graphs are read twice, first to count what occurs together, then to generate questions; one graph at a time is
    in memory, and 40 bytes per question. The same files, ontology, settings and version give the same bytes.
    ``scene_graphs``: files in GQA's layout, or folders with Visual Genome's files.
    """
    check_output(output, FOLDERS[ENGINE], overwrite)
    check_outside(output, "output", scene_graphs)
    words, paths = ontology or own_ontology(), ", ".join(map(os.fspath, scene_graphs))
    problems, rejected, images = Counter[str](), Counter[str](), dict[str, str]()
    progress("reading scene graphs", 0, 1)

    def counted() -> Iterator[SceneGraph]:
        """The graphs; puts each image's split into ``images``."""
        for path, graph in _read_graphs(scene_graphs, words, problems):
            if graph.image_id in images:
                raise InputError(f"{path}: image {graph.image_id!r} occurs more than once; keep one of them")
            split = path.name.partition("_")[0] if keep_splits else split_of(graph.image_id, seed, splits)
            if split not in SPLITS:
                begin = ", ".join(f"{one}_" for one in SPLITS)
                raise InputError(f"{path}: no split in its name; with --keep-splits it must begin with one of {begin}")
            images[graph.image_id] = split
            yield graph

    distractors = Distractors(counted(), words)
    progress("reading scene graphs", 1, 1)
    if not images:
        reasons = ", ".join(f"{reason}: {count:,}" for reason, count in (+problems).most_common(5))
        raise InputError(f"no image of {paths} has an object to ask about ({reasons or 'no images'})")
    with new_folder(output, FOLDERS[ENGINE], overwrite) as new, TemporaryFile("w+", dir=new.tree) as file:
        store = QuestionStore(file)
        for done, (_, graph) in enumerate(_read_graphs(scene_graphs, words, Counter())):
            progress("generating questions", done, len(images))
            questions = list(questions_about(graph, words, distractors, DEPTH, seed, left_out=rejected))
            store.add(graph, questions, entailments(questions, graph, words))
        progress("generating questions", len(images), len(images))
        table = store.table()
        if not len(table.rows):
            raise InputError(f"no question can be generated from {paths}; use an ontology that contains its words")
        selected = select_balanced(table, shares, seed, progress)
        of_images = list(images.values())
        write_dataset(new.tree, store, table, selected.kept, of_images, progress)
        problems.update({f"question: {reason}": count for reason, count in rejected.items()})
        source = {"engine": ENGINE, "version": __version__, "ontology": words.name, "seed": seed}
        statistics = {**source, **dataset_statistics(table, selected, of_images, problems)}
        write_json(new.tree / STATISTICS, statistics, indent=1)
        new.publish()
    return statistics


def _read_graphs(paths: Sequence[Path], words: Ontology, problems: Counter[str]) -> Iterator[tuple[Path, SceneGraph]]:
    for path in paths:
        for raw in read_graphs(path, problems):
            if (graph := normalise(raw, words, problems)) is not None:
                yield path, graph


def split_of(image_id: str, seed: int, splits: Mapping[str, float] = SPLITS) -> str:
    """The random split of an image, by the seed and its id alone, in these proportions (Sect. 3.5)."""
    left = SeededRng(seed, image_id, "split").bits() * 2.0**-64
    for name, share in splits.items():
        left -= share
        if left < 0:
            return name
    return list(splits)[-1]


PAPER = {
    "entropy_increase": 0.72,  # Sect. 3.5
    "vocabulary": 3097,  # Sect. 4.1
    "answers": 1878,  # Sect. 4.1
    "questions": 22_669_678,  # Sect. 4.1
    "balanced_questions": 1_700_000,  # Appendix B
}
"""The paper's numbers, for comparison."""
TYPES = ("structural", "semantic", "detailed")


def dataset_statistics(
    table: QuestionTable, selected: SelectionResult, splits: Sequence[str], problems: Mapping[str, int]
) -> dict[str, Any]:
    """The content of ``statistics.json``: counts, means in words and steps, entropies in bits, problems by reason."""
    rows, answers, kept = table.rows, table.rows["answer"], selected.kept
    yes_no = np.isin(table.names["answer"], YES_NO)[answers]
    return {
        "paper": PAPER,
        "images": dict(Counter(splits)),
        "all": _part(table, np.ones(len(rows), np.bool_), splits),
        "balanced": _part(table, kept, splits),
        "selection": {
            "removed": dict(selected.removed),
            "restored_to_keep_order": selected.restored,
            "groups_beyond_their_bound": dict(selected.beyond),
        },
        "entropy": {
            "answers": _change(answers * 0, answers, kept),
            "answers_but_yes_no": _change(np.where(yes_no, -1, 0), answers, kept),
            "global_groups": _change(rows["global_group"], answers, kept),
            "local_groups": _change(rows["local_group"], answers, kept),
        },
        "problems": {reason: count for reason, count in sorted(problems.items()) if count},
    }


def _part(table: QuestionTable, chosen: Bools, splits: Sequence[str]) -> dict[str, Any]:
    rows = table.rows[chosen]
    spreads = {}
    for one in ("words", "steps", "entailed"):
        mean, counts = round(float(rows[one].mean()), 3) if len(rows) else 0.0, np.bincount(rows[one].clip(0))
        spreads[one] = {"mean": mean, "questions": {str(at): int(counts[at]) for at in np.flatnonzero(counts)}}
    names = [name for name in SPLITS if name in splits]
    split = np.array([names.index(name) for name in splits], np.int64)[rows["image"]]
    return {
        "questions": len(rows),
        "per_split": _named(split, names),
        **{f"per_{one}_type": _named(rows[one], table.names[one]) for one in TYPES},
        "answers": len(np.unique(rows["answer"])),
        "yes_no": round(float(np.isin(table.names["answer"], YES_NO)[rows["answer"]].mean()), 4) if len(rows) else 0.0,
        **spreads,
        "vocabulary": table.vocabulary,
    }


def _change(groups: NDArray[np.integer], answers: NDArray[np.integer], kept: Bools) -> dict[str, float]:
    """Mean entropy of the answers of a group before and after, over remaining groups with several answers."""
    cells = AnswerCells(groups, answers, np.arange(len(groups)))
    left = cells.kept_counts(kept)
    before, after = cells.entropies(cells.counts), cells.entropies(left)
    compared = (before > 0) & (cells.totals(left) > 0)
    mean_before, mean_after = (float(part[compared].mean()) if compared.any() else 0.0 for part in (before, after))
    return {
        "groups": len(cells.groups),
        "compared": int(compared.sum()),
        "before": round(mean_before, 4),
        "after": round(mean_after, 4),
        "increase": round(mean_after / mean_before - 1, 4) if mean_before else 0.0,
        "higher": int((after[compared] > before[compared] + 1e-12).sum()),
        "lower": int((after[compared] < before[compared] - 1e-12).sum()),
    }


def _named(codes: NDArray[np.integer], names: Sequence[str]) -> dict[str, int]:
    counts = np.bincount(codes, minlength=len(names)).tolist()
    return dict(sorted(zip(names, counts, strict=True), key=lambda pair: (-pair[1], pair[0])))


ALL, BALANCED, GRAPHS, CHOICES = "all_questions", "balanced_questions", "sceneGraphs", "choices"
Record: TypeAlias = dict[str, Any]
NAMED = ("image", *TYPES, "global_group", "local_group", "answer")


def question_record(question: Question, image_id: str, entailed: Sequence[str], equivalent: Sequence[str]) -> Record:
    """A question as a record of GQA's files, not yet balanced, with the ids of entailed and equivalent questions."""
    steps = published(question.program, question.found)
    marked = {"question": question.question.objects, "fullAnswer": question.full_answer.objects}
    kind, last, named = QUESTION_TYPES[question.row], question.program[-1], {}
    if last.operation in ("query", "choose") and last.argument[:1] == ("name",):
        words, found = len(question.answer.split()), question.found[last.inputs[0]]
        named = {"0" if words == 1 else f"0:{words}": object_id for object_id in found if len(found) == 1}
    return {
        "semantic": steps,
        "entailed": entailed,
        "equivalent": equivalent,
        "question": question.question.text,
        "imageId": image_id,
        "isBalanced": False,
        "groups": {"global": question.global_group or None, "local": question.local_group or None},
        "answer": question.answer,
        "semanticStr": semantic_text(steps),
        "annotations": {"answer": named, **marked},
        "types": {"detailed": question.detailed, "semantic": kind.semantic, "structural": kind.structural},
        "fullAnswer": question.full_answer.text,
    }


def graph_record(graph: SceneGraph) -> Record:
    """A normalised scene graph as a record of GQA's files, without positions in the image."""
    objects = {}
    for key, thing in graph.objects.items():
        values = (value for kind, some in thing.values.items() if kind not in (HORIZONTAL, VERTICAL) for value in some)
        objects[key] = {
            "name": thing.name,
            **dict(zip("xywh", thing.box, strict=True)),
            "attributes": list(dict.fromkeys(values)),
            "relations": [{"name": name, "object": other} for name, other in sorted(thing.relations)],
        }
    return {"width": graph.width, "height": graph.height, **graph.scene, "objects": objects}


class QuestionStore:
    """All questions before balancing: records in a file, columns of integers in memory."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._sizes: dict[str, int] = {}  # image to its questions
        self._rows = [np.empty(0, ROW)]
        self._codes: dict[str, dict[str, int]] = defaultdict(dict)  # column to name to code
        self._vocabulary: set[str] = set()

    def add(self, graph: SceneGraph, questions: Sequence[Question], follow: Entailments) -> None:
        """Append an image's graph and the questions about it."""
        image = graph.image_id
        self._sizes[image] = len(questions)
        self._code("image", image)
        self._file.write(json.dumps(graph_record(graph)) + "\n")
        rows, ids = [], [f"{image}{number:04}" for number in range(len(questions))]
        for number, question in enumerate(questions):
            linked = ([ids[other] for other in of[number]] for of in (follow.entailed, follow.equivalent))
            record = question_record(question, image, *linked)
            self._file.write(json.dumps([ids[number], record, _options(question, graph)]) + "\n")
            words = question.question.text.rstrip("?.!").lower().split()
            self._vocabulary.update(word.strip(",") for word in words)
            self._vocabulary.update(question.answer.lower().split())
            types = (self._code(name, record["types"][name]) for name in TYPES)
            named = (self._code(name, getattr(question, name)) for name in ("global_group", "local_group", "answer"))
            numbers = (follow.content[number], len(words), len(question.program), len(follow.entailed[number]))
            rows.append((self._code("image", image), number, *types, *named, *numbers))
        self._rows.append(np.array(rows, ROW))

    def _code(self, column: str, name: str) -> int:
        """A name's index, -1 for no name."""
        names = self._codes[column]
        return names.setdefault(name, len(names)) if name else -1

    def table(self) -> QuestionTable:
        """The columns of all questions, in order."""
        names = {name: list(self._codes[name]) for name in NAMED}
        return QuestionTable(np.concatenate(self._rows), names, len(self._vocabulary))

    def images(self) -> Iterator[tuple[str, Record, list[tuple[str, Record, list[str]]]]]:
        """Each image's id, its graph's record, and its questions' ids, records and options, in order."""
        self._file.seek(0)
        for image, size in self._sizes.items():
            graph = json.loads(self._file.readline())
            yield image, graph, [json.loads(self._file.readline()) for _ in range(size)]


def write_dataset(
    folder: Path, store: QuestionStore, table: QuestionTable, kept: Bools, splits: Sequence[str], progress: Progress
) -> None:
    """Write each split's files: all and balanced questions, scene graphs, choices of the balanced (``kept``) ones."""
    choices = _choices(table)
    balanced = kept.tolist()
    index = 0
    with ExitStack() as stack:
        names = list(product(dict.fromkeys(splits), (ALL, BALANCED, GRAPHS, CHOICES)))
        paths = {(split, name): folder / f"{split}_{name}.json" for split, name in names}
        files = {key: stack.enter_context(path.open("w", encoding="utf-8")) for key, path in paths.items()}
        before = dict.fromkeys(names, "{")  # what comes before a file's next line

        def add(split: str, name: str, key: str, value: str) -> None:
            files[split, name].write(f"{before[split, name]}\n{json.dumps(key)}: {value}")
            before[split, name] = ","

        for number, (split, (image, graph, questions)) in enumerate(zip(splits, store.images(), strict=True)):
            add(split, GRAPHS, image, json.dumps(graph))
            for question, record, options in questions:
                record["isBalanced"] = balanced[index]
                text = json.dumps(record)
                add(split, ALL, question, text)
                if balanced[index]:
                    add(split, BALANCED, question, text)
                    add(split, CHOICES, question, choices(index, record["answer"], options))
                index += 1
            if number % 64 == 0:
                progress("writing", number, len(splits))
        for key, file in files.items():
            file.write("\n}\n" if before[key] == "," else "{}\n")
        progress("writing", len(splits), len(splits))


def _choices(table: QuestionTable) -> Callable[[int, str, list[str]], str]:
    """The valid and plausible answers to a question, by index, answer and options, as json (Sect. 4.4).

    Valid: all answers of the question's global group or else detailed type; yes and no; the options of a choice or
    comparison. Plausible: valid ones that are answers in its local group, that of its subject; yes and no.
    """
    rows = table.rows
    scopes = np.where(rows["global_group"] >= 0, rows["global_group"], -2 - rows["detailed"].astype(np.int64))
    answers = pd.Series(np.array(table.names["answer"], object)[rows["answer"]])
    groups = [answers.groupby(of).unique().items() for of in (scopes, rows["local_group"])]
    valid, seen = ({group: sorted(of_group) for group, of_group in level} for level in groups)

    @cache
    def in_groups(scope: int, local: int) -> str:
        return json.dumps({"valid": valid[scope], "plausible": sorted({*seen[local]} & {*valid[scope]})})

    def line(index: int, answer: str, options: list[str]) -> str:
        scope, local = int(scopes[index]), int(rows["local_group"][index])
        if answer in OPPOSITE:
            return json.dumps({"valid": [YES, NO], "plausible": [YES, NO]})
        if answer in options:
            likely = [one for one in options if one == answer or one in seen.get(local, ())]
            return json.dumps({"valid": options, "plausible": likely})
        return in_groups(scope, local) if local >= 0 else json.dumps({"valid": valid[scope], "plausible": [answer]})

    return line


def _options(question: Question, graph: SceneGraph) -> list[str]:
    match question.program[-1]:
        case "choose", (_, *options), _:
            return options
        case "choose rel", (_, *relations, _), _:
            return [SHORT.get(relation, relation) for relation in relations]
        case "compare", _, _:
            return [graph.objects[key].name for key in dict.fromkeys(question.full_answer.objects.values())]
    return []
