"""Visual7W (telling): questions with three human decoys, and the decoys released by Chao et al."""

import pyarrow as pa

from hf_vqa_mc.io.records import read_records
from hf_vqa_mc.schema import RELEASED_DECOYS
from hf_vqa_mc.sources.files import Files, RemoteFile
from hf_vqa_mc.sources.source import Source, reference
from hf_vqa_mc.sources.table import in_split_order, matching_rows, text_lists, triplet_table

TELLING = "dataset_v7w_telling.json"
DECOYS = {split: f"v7w_{split}_decoys.json" for split in ("train", "val", "test")}
SPLIT_NAMES = {"train": "train", "val": "validation", "test": "test"}
DECOYS_PER_QUESTION = 3  # written by humans: Chao et al. 2018, Table 2; as many IoU and as many QoU were released

TELLING_ZIP = RemoteFile("https://ai.stanford.edu/~yukez/papers/resources/dataset_v7w_telling.zip", (TELLING,))
DECOYS_ZIP = RemoteFile(
    # The authors' page is http://www.teds.usc.edu/website_vqa/; their other decoys are published under this address.
    url="http://hexianghu.com/vqa-negative-decoys/Visual7W_decoys.zip",
    holds=tuple(DECOYS.values()),
    sha256="fbcfb983a0ab88bdc135233e2bea69379caef6fd43439bb9df5730bdae4cdeb5",
)


def read(files: Files) -> pa.Table:
    """The triplets of dataset_v7w_telling.json, with the three decoys of each."""
    parts = []
    for images in read_records(files.find(TELLING), "images"):
        pairs = images.nested("qa_pairs")
        parts.append(
            triplet_table(
                question_id=pairs.ids("qa_id"),
                image_id=images.for_each("qa_pairs", images.ids("image_id")),
                split=images.for_each("qa_pairs", images.named("split", SPLIT_NAMES)),
                question=pairs.filled_texts("question"),
                target=pairs.filled_texts("answer"),
                orig_decoys=text_lists(pairs.text_lists("multiple_choices", DECOYS_PER_QUESTION)),
                question_type=pairs.texts("type"),
                image_file=images.for_each("qa_pairs", images.texts("filename")),
            )
        )
    return in_split_order(parts)


def read_image_splits(files: Files) -> dict[str, str]:
    """The split of each image: from the questions or, if they are missing, from the released decoys."""
    splits: dict[str, str] = {}
    if not files.has(TELLING) and all(files.has(name) for name in DECOYS.values()):
        for split, name in DECOYS.items():
            for records in read_records(files.find(name)):
                splits.update(dict.fromkeys(records.ids(_key(records.rows[0], "image_id", "Img_id")), split))
    else:
        for images in read_records(files.find(TELLING), "images"):
            named = images.named("split", {split: split for split in SPLIT_NAMES})
            splits.update(zip(images.ids("image_id"), named, strict=True))
    return {image_id: SPLIT_NAMES[split] for image_id, split in splits.items()}


def add_released_decoys(files: Files, triplets: pa.Table) -> pa.Table:
    """The triplets with the IoU and QoU decoys that the authors released, joined by qa_id."""
    kinds = (("iou_decoys", "IoU_decoys"), ("qou_decoys", "QoU_decoys"))
    decoys = pa.concat_tables(
        pa.table(
            {
                "qa_id": pa.array(records.ids(_key(records.rows[0], "qa_id", "QA_id")), pa.string()),
                **{name: text_lists(records.text_lists(field, DECOYS_PER_QUESTION)) for name, field in kinds},
            }
        )
        for name in DECOYS.values()
        for records in read_records(files.find(name))
    )
    location = " and ".join(dict.fromkeys(str(files.find(name).path) for name in DECOYS.values()))
    ids = triplets["question_id"], decoys["qa_id"]
    rows = matching_rows(*ids, "qa_id", (TELLING, location), ("questions", "released decoys"))
    decoys = decoys.take(rows)
    for name in RELEASED_DECOYS.names:
        triplets = triplets.append_column(RELEASED_DECOYS.field(name), decoys[name])
    return triplets.combine_chunks()


def _key(record: object, today: str, first_release: str) -> str:
    return first_release if isinstance(record, dict) and first_release in record else today


VISUAL7W = Source(
    name="visual7w",
    title="Visual7W (telling)",
    description="Questions that begin with what, where, when, who, why or how on images of Visual Genome, each with a "
    "correct answer and three wrong ones that humans wrote without seeing the image.",
    homepage="https://ai.stanford.edu/~yukez/visual7w/",
    licence="not stated by the publisher for questions and answers; images from Flickr by way of COCO",
    citation=reference("zhu2016visual7w"),
    read=read,
    read_released=add_released_decoys,
    synthetic="",
    image_numbering="Visual Genome",
    image_hint="visual7w_images.zip from http://vision.stanford.edu/yukezhu/visual7w_images.zip, v7w_<image id>.jpg.",
    expected_counts={"train": 69_817, "validation": 28_020, "test": 42_031},
    downloads=(TELLING_ZIP, DECOYS_ZIP),
    has_orig_decoys=True,
)
