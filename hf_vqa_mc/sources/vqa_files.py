"""VQA's file layout: the names of a release's files, and the readers of its questions and annotations.

The multiple-choice variants, the open-ended configs, TDIUC and the engines share them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa

from hf_vqa_mc.io.records import Records, read_records
from hf_vqa_mc.sources.files import Files, RemoteFile
from hf_vqa_mc.sources.table import lists_of, read_annotated, text_lists

BASE = "https://s3.amazonaws.com/cvmlp/vqa/"
MULTIPLE_CHOICE, OPEN_ENDED = "MultipleChoice", "OpenEnded"
CHOICES = 18  # Antol et al. 2015, section 3
ANSWERS = 10
ANSWER = pa.struct([("answer", pa.string()), ("answer_id", pa.int64()), ("answer_confidence", pa.string())])
"""One annotator's answer."""
COCO_IMAGES = (
    "train2014.zip and val2014.zip from http://images.cocodataset.org/zips/train2014.zip and "
    "http://images.cocodataset.org/zips/val2014.zip, COCO_train2014_<image id, 12 digits>.jpg."
)
COCO_TEST_IMAGES = "Of the open-ended test split: http://images.cocodataset.org/zips/test2015.zip."


@dataclass(frozen=True)
class Release:
    """The files of a release of VQA."""

    data_type: str = "mscoco"  # kind of images, in file names
    prefix: str = ""  # prefix of file names, such as ``v2_``
    tasks: tuple[str, ...] = (MULTIPLE_CHOICE, OPEN_ENDED)  # tasks with question files; all ask the same questions
    subsets: Mapping[str, str] = field(default_factory=lambda: {"train2014": "train", "val2014": "validation"})
    """name of each subset with published answers, in file names, to its split"""
    tests: tuple[str, ...] = ("test2015", "test-dev2015")
    """names of the subsets without published answers; each but the first is a part of the first"""
    image_file: str = "COCO_{subset}_{image_id:012d}.jpg"  # file name of an image

    def questions_name(self, subset: str, task: str = OPEN_ENDED) -> str:
        """The file name of a subset's questions."""
        return f"{self.prefix}{task}_{self.data_type}_{subset}_questions.json"

    def annotations_name(self, subset: str) -> str:
        """The file name of a subset's annotations."""
        return f"{self.prefix}{self.data_type}_{subset}_annotations.json"

    @property
    def official_subsets(self) -> dict[str, str]:
        """Split to its name in file names, such as ``mscoco_val2014``."""
        return {split: f"{self.data_type}_{subset}" for subset, split in self.subsets.items()}

    def available_task(self, files: Files, subset: str) -> str | None:
        """A task whose questions of a subset are among the files, preferably open-ended; None if there is none."""
        found = (task for task in reversed(self.tasks) if files.has(self.questions_name(subset, task)))
        return next(found, None)

    def has_annotated(self, files: Files) -> bool:
        """Whether the files have questions of a subset with answers."""
        return any(self.available_task(files, subset) for subset in self.subsets)

    def read(self, files: Files, subset: str, task: str = OPEN_ENDED, *, choices: bool = False) -> pa.Table:
        """A subset's questions, in the file's order, with their annotations, which are empty for test subsets.

        Columns ``question_id``, ``image_id``, ``question``, ``answer`` (multiple_choice_answer), ``answers`` (lists of
        ``ANSWER``), ``question_type``, ``answer_type``, ``image_file`` and, with ``choices``, ``choices``.
        """
        questions = files.find(self.questions_name(subset, task))
        columns = partial(question_columns, choices=choices)
        if subset in self.subsets:
            annotations = files.find(self.annotations_name(subset))
            rows = read_annotated(questions, annotations, columns, _annotation_columns)
        else:
            rows = pa.concat_tables(map(columns, read_records(questions, "questions"))).combine_chunks()
            for name in ("answer", "question_type", "answer_type"):
                rows = rows.append_column(name, pa.repeat(pa.scalar("", pa.string()), len(rows)))
            rows = rows.append_column("answers", lists_of([()] * len(rows), pa.array([], ANSWER)))
        image_ids, named = rows["image_id"].to_pylist(), subset.replace("-dev", "")  # test-dev has images of test
        image_files = [self.image_file.format(subset=named, image_id=image_id) for image_id in image_ids]
        at = rows.column_names.index("image_id")
        rows = rows.set_column(at, "image_id", pa.array(map(str, image_ids), pa.string()))
        return rows.append_column("image_file", pa.array(image_files, pa.string()))

    def archive(self, name: str, sha256: str | None = None, size: int | None = None) -> RemoteFile:
        """An archive of the release, such as ``Questions_Train``: the questions of all tasks, or the annotations."""
        kind, part = name.split("_")
        subsets = [one for one in (*self.subsets, *self.tests) if one.startswith(part.lower())]
        if kind == "Questions":
            holds = tuple(self.questions_name(subset, task) for subset in subsets for task in self.tasks)
        else:
            holds = tuple(map(self.annotations_name, subsets))
        url = f"{BASE}{self.data_type}/vqa/{self.prefix}{name}_{self.data_type}.zip"
        return RemoteFile(url, holds, sha256, size)


V1 = Release()
V2 = Release(prefix="v2_", tasks=(OPEN_ENDED,))
ABSTRACT = Release(
    data_type="abstract_v002",
    subsets={"train2015": "train", "val2015": "validation"},
    tests=("test2015",),
    image_file="abstract_v002_{subset}_{image_id:012d}.png",
)


def id_columns(records: Records) -> dict[str, pa.Array]:
    """The columns that questions and annotations share."""
    image_ids = pa.array(records.whole_numbers("image_id"), pa.int64())
    return {"question_id": pa.array(records.ids("question_id"), pa.string()), "image_id": image_ids}


def answer_lists(records: Records) -> pa.ListArray:
    """The answers of each annotation, lists of ``ANSWER``; null and "" where one has no id or confidence."""
    answers = records.nested("answers")
    texts = answers.texts("answer")
    numbers = [row.get("answer_id") for row in answers.rows]
    sure = ["" if row.get("answer_confidence") is None else row["answer_confidence"] for row in answers.rows]
    columns = [pa.array(texts, pa.string()), pa.array(numbers, pa.int64()), pa.array(sure, pa.string())]
    return lists_of(records.lists("answers"), pa.StructArray.from_arrays(columns, fields=list(ANSWER)))


def question_columns(records: Records, choices: bool = False) -> pa.Table:
    """The ids, texts and, if wanted, choices of questions."""
    columns = id_columns(records) | {"question": pa.array(records.filled_texts("question"), pa.string())}
    if choices:
        columns["choices"] = text_lists(records.text_lists("multiple_choices", CHOICES))
    return pa.table(columns)


def _annotation_columns(records: Records) -> pa.Table:
    types = {name: pa.array(records.texts(name), pa.string()) for name in ("question_type", "answer_type")}
    answer = pa.array(records.filled_texts("multiple_choice_answer"), pa.string())
    records.lists("answers", ANSWERS)
    return pa.table({**id_columns(records), "answer": answer, "answers": answer_lists(records), **types})
