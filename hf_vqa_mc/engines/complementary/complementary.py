"""Candidates for complementary images: near images, ranked by how likely the answer differs.

Goyal et al. 2017, Sect. 3: workers saw a question's 24 nearest images and picked one that the question makes sense
for and whose answer differs. Here every candidate has an estimated probability instead; candidates that lack an object
that the question presupposes come last.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hf_vqa_mc.decoys.candidates import starts
from hf_vqa_mc.engines.complementary.likelihood import answer_differs
from hf_vqa_mc.engines.complementary.nearest import Nearest, check_features, nearest_images
from hf_vqa_mc.engines.complementary.premise import FAILS, PREMISES, Known, Premises
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.io.records import read_lists
from hf_vqa_mc.schema import check_triplets

N_CANDIDATES = 24
"""Nearest images shown to a worker (Goyal et al. 2017, Sect. 3)."""

COMPLEMENTARY = pa.schema(
    [
        ("question_id", pa.string()),
        ("image_id", pa.string()),
        ("split", pa.string()),
        ("question", pa.string()),
        ("answer", pa.string()),
        ("candidates", pa.list_(pa.string())),  # image ids, best first; premise "fails" last
        ("distances", pa.list_(pa.float64())),  # Euclidean, between the features
        ("differs", pa.list_(pa.float64())),  # probability in [0, 1] that the answer differs
        ("evidence", pa.list_(pa.float64())),  # of the estimate, see `likelihood`
        ("premise", pa.list_(pa.string())),  # whether the question's premise holds: one of PREMISES
    ]
)
"""One row per question."""


def complementary(
    features: NDArray[np.float32],
    image_ids: Sequence[str],
    triplets: pa.Table,
    *,
    k: int = N_CANDIDATES,
    known: Known | None = None,
    progress: Progress = silent,
) -> tuple[pa.Table, dict[str, Any]]:
    """Rank the images nearest to each question's image by how likely the question's answer differs there.

    Candidates whose premise is known to fail come last, whatever the estimate; ties are in the order of nearness.
    ``premise`` is one of PREMISES: the objects that the question presupposes are all known to be in the candidate
    image (holds), one is known to be absent (fails), neither is known (unknown), or the question presupposes nothing,
    like "is there a dog?" (none).

    Args:
        features: float32 (images, dim), finite; may be memory-mapped.
        image_ids: unique ids of the features' images, which are all candidates.
        triplets: a table ``schema.TRIPLETS``; questions about images without features are left out and counted.
        k: candidates per question; limited by the number of other images.
        known: captions and annotated instances of the images.
        progress: called with (step, done, total).

    Returns:
        A table ``COMPLEMENTARY``, in the order of the triplets; and statistics for JSON.

    Raises:
        InputError: features and ids do not match or are not finite, or no question is about an image with features.

    Source: Goyal et al. 2017, Sect. 3; the estimate is ours, see `likelihood`.
    """
    check_features(features, image_ids)
    table, images = _with_features(check_triplets(triplets, "triplets"), image_ids)
    questions, answers = table["question"].to_pylist(), table["target"].to_pylist()
    near = nearest_images(features, k, lambda done: progress("nearest images", done, len(image_ids)))
    candidates = near.images[images]
    differs, evidence = answer_differs(questions, answers, images, candidates, near)
    premises = Premises(image_ids, zip(questions, answers, images.tolist(), strict=True), known or Known())
    judged = np.zeros(candidates.shape, np.int8)
    for row, (question, row_images) in enumerate(zip(questions, candidates.tolist(), strict=True)):
        judged[row] = premises.judge(question, row_images)
        if not row % 4096:
            progress("premises", row, len(questions))
    progress("premises", len(questions), len(questions))
    order = np.lexsort((np.broadcast_to(np.arange(candidates.shape[1]), candidates.shape), -differs, judged == FAILS))
    ranked = [np.take_along_axis(part, order, axis=1) for part in (candidates, differs, evidence, judged)]
    distances = np.take_along_axis(near.distances[images], order, axis=1)
    found = _as_table(table, image_ids, ranked, distances)
    left_out = triplets.num_rows - table.num_rows
    return found, _summary(found, ranked, order, near, left_out, k)


def _with_features(triplets: pa.Table, image_ids: Sequence[str]) -> tuple[pa.Table, NDArray[np.int32]]:
    """The questions about images with features, and the indices of their images."""
    index = {image_id: number for number, image_id in enumerate(image_ids)}
    images = np.array([index.get(image_id, -1) for image_id in triplets["image_id"].to_pylist()], np.int32)
    if not (images >= 0).any():
        mine, others = triplets["image_id"][0].as_py(), f", such as {image_ids[0]!r}" if image_ids else ""
        raise InputError(
            f"no question is about an image with features: questions have image ids such as {mine!r}, and there are "
            f"features of {len(image_ids):,} images{others}; extract features from this dataset's images"
        )
    return triplets.filter(pa.array(images >= 0)).combine_chunks(), images[images >= 0]


def _as_table(
    table: pa.Table, image_ids: Sequence[str], ranked: list[NDArray[Any]], distances: NDArray[np.float64]
) -> pa.Table:
    candidates, differs, evidence, premises = ranked
    names = pa.array(image_ids, pa.string()).take(pa.array(candidates.ravel()))
    lists = [names, distances.ravel(), differs.ravel(), evidence.ravel()]
    offsets = pa.array(starts([candidates.shape[1]] * len(candidates)).astype(np.int32))
    premise_names = pa.array(PREMISES, pa.string()).take(pa.array(premises.ravel()))
    columns = [table[name] for name in ("question_id", "image_id", "split", "question", "target")]
    columns += [pa.ListArray.from_arrays(offsets, pa.array(values)) for values in (*lists, premise_names)]
    return pa.Table.from_arrays(columns, schema=COMPLEMENTARY)


def _summary(
    found: pa.Table,
    ranked: list[NDArray[Any]],
    order: NDArray[np.int64],
    near: Nearest,
    left_out: int,
    k: int,
) -> dict[str, Any]:
    _, differs, evidence, premises = ranked
    width = differs.shape[1]
    return {
        "questions": found.num_rows,
        "left_out": {"no features of the image": left_out},
        "images": len(near.images),
        "candidates_per_question": width,
        "candidates_missing": (k - width) * found.num_rows,
        "premise": {name: int((premises == number).sum()) for number, name in enumerate(PREMISES)},
        "estimates": {
            "by questions on or near the candidate": int((evidence > 0).sum()),
            "by the question alone": int((evidence == 0).sum()),
        },
        "first_candidate": {
            "is_the_nearest": int((order[:, 0] == 0).sum()) if width else 0,
            "mean_probability": float(differs[:, 0].mean()) if width else None,
        },
    }


def read_captions(paths: Sequence[Path]) -> dict[str, list[str]]:
    """Read the captions of each image, by image_id, from COCO's ``captions_*.json``.

    Raises:
        InputError: a file is not of that form; names file, record and field.
    """
    captions: dict[str, list[str]] = {}
    for path in paths:
        for _, records in read_lists(path, ("annotations",)):
            for image_id, caption in zip(records.ids("image_id"), records.texts("caption"), strict=True):
                captions.setdefault(image_id, []).append(caption)
    return captions


def read_instances(paths: Sequence[Path]) -> tuple[dict[str, set[str]], frozenset[str]]:
    """Read the categories of the objects in each image, by image_id, from COCO's ``instances_*.json``.

    Images without objects have an empty set. All files must have the same categories and list the images of all their
    annotations, since objects that are missing from a truncated file would count as absent.

    Returns:
        The categories of each image, and all categories.

    Raises:
        InputError: a file is not of that form, is truncated, or has other categories; names file, record and field.
    """
    objects: dict[str, set[str]] = {}
    known: frozenset[str] | None = None
    for path in paths:
        names: dict[str, str] = {}
        listed: set[str] = set()
        annotated: list[tuple[str, str]] = []
        for field, records in read_lists(path, ("categories", "images", "annotations")):
            if field == "categories":
                names |= zip(records.ids("id"), records.texts("name"), strict=True)
            elif field == "images":
                listed.update(records.ids("id"))
            else:
                annotated += zip(records.ids("image_id"), records.ids("category_id"), strict=True)
        categories = frozenset(names.values())
        if known is not None and categories != known:
            raise InputError(
                f"{path}: its {len(categories)} categories are not the {len(known)} of {paths[0]}; use files "
                "of the same release"
            )
        known = categories
        objects |= {image_id: set() for image_id in sorted(listed - objects.keys())}
        if unlisted := {image_id for image_id, _ in annotated} - listed:
            raise InputError(
                f"{path}: image {min(unlisted)} is annotated, but not in the list 'images': the file is truncated; "
                "use the whole file"
            )
        for image_id, category in annotated:
            objects[image_id].add(names[category])
    return objects, known or frozenset()
