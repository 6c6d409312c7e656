"""Builds of large datasets: each part of the triplets is built like a dataset of its own.

::

    WORK/part-00000/CONFIG/train-00000-....parquet the rows of a part (`build_part`)
    WORK/part-00000/built.json                     statistics; the part is complete
    WORK/priors.parquet                            eq. 2, fitted on the training rows of all parts

Each file appears in one step, so an interrupted build resumes. Memory depends on the size of a part, time on the
number of parts. The bytes of the result do not depend on the number of workers or on interruptions.
"""

import io
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from hf_vqa_mc.dataset.build_inputs import PLAN, PRIORS, STATE, Plan, folder_of, parquet, read_part, stored_vectors
from hf_vqa_mc.dataset.folder import write_variant
from hf_vqa_mc.decoys.candidates import MISSING, starts
from hf_vqa_mc.decoys.settings import Settings
from hf_vqa_mc.decoys.statistics import NEVER_SEEN, neutrality, prior_rule, target_picked
from hf_vqa_mc.decoys.variants import build_variants
from hf_vqa_mc.io import cluster
from hf_vqa_mc.io.cluster import Storage
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.schema import SPLITS
from hf_vqa_mc.text.counted import counted
from hf_vqa_mc.text.many_texts import comparable_texts

T = TypeVar("T")
BUILT = "built.json"
BASE_BYTES, BYTES_PER_TRIPLET = 700_000_000, 1_500
"""Memory of a worker, and of each triplet of its part: more than `.ci/bench parts` measures, with 300 dimensions."""


def build_part(location: str, part: int) -> None:
    """Build the configs of a part in the folder ``location``; a finished part is left as it is."""
    work = Storage(location)
    if work.exists(f"{folder_of(part)}/{BUILT}"):
        return
    plan = Plan(**work.read_json(PLAN))
    vectors = stored_vectors(location, work.read(STATE)) if plan.has_vectors else None
    entries = {}
    with TemporaryDirectory(prefix="vqa-mc-part-") as folder:
        for variant in build_variants(read_part(work, part), plan.variants, vectors, Settings(**plan.settings)):
            entries[variant.name] = write_variant(Path(folder), variant.name, variant)
            for name in entries[variant.name]["files"]:
                work.write(f"{folder_of(part)}/{name}", Path(folder, name).read_bytes())
                Path(folder, name).unlink()
            tables = [table for name, table in variant.splits.items() if plan.counted in (None, name)]
            rows = pa.concat_tables([table.select(["choices", "label"]) for table in tables]).combine_chunks()
            keys, first = _flat_keys(rows)
            is_target = np.zeros(len(keys), np.int64)
            is_target[first[:-1] + rows["label"].to_numpy()] = 1
            counts = pa.table({"text": keys, "as_target": is_target, "as_decoy": 1 - is_target})
            work.write(f"{folder_of(part)}/{variant.name}/{PRIORS}", parquet(_summed_occurrences(counts)))
    work.write_json(f"{folder_of(part)}/{BUILT}", entries)


def _flat_keys(rows: pa.Table) -> tuple[pa.Array, NDArray[np.int64]]:
    choices = rows["choices"].combine_chunks()
    encoded = choices.flatten().dictionary_encode()
    keys = comparable_texts(encoded.dictionary)[0].take(encoded.indices)
    return keys, starts(choices.value_lengths().to_numpy())


def _summed_occurrences(table: pa.Table) -> pa.Table:
    """How often each comparable text is a target and a decoy."""
    found = table.group_by("text").aggregate([("as_target", "sum"), ("as_decoy", "sum")])
    return found.rename_columns(["text", "as_target", "as_decoy"]).sort_by("text")


def measure_part(location: str, part: int) -> dict[str, dict[str, list[float]]]:
    """Measure eq. 2 on the rows of a part that it was not fitted on; see `_measured`."""
    work = Storage(location)
    priors = _stored_priors(location, work.read(STATE))
    found: dict[str, dict[str, list[float]]] = {}
    for name, entry in work.read_json(f"{folder_of(part)}/{BUILT}").items():
        known = priors.filter(pc.equal(priors["config"], name))
        found[name] = {}
        for split in [split for split in entry["splits"] if split != "train"]:
            files = [file for file in entry["files"] if PurePosixPath(file).name.startswith(f"{split}-")]
            contents = (io.BytesIO(work.read(f"{folder_of(part)}/{file}")) for file in files)
            rows = pa.concat_tables(pq.read_table(content, columns=["choices", "label"]) for content in contents)
            found[name][split] = _measured(rows.combine_chunks(), known)
    return found


@lru_cache(maxsize=1)
def _stored_priors(location: str, state: bytes) -> pa.Table:
    """Eq. 2 of all parts, read once per process; its ``state`` distinguishes builds at one location."""
    return pq.read_table(io.BytesIO(Storage(location).read(PRIORS)))


def _measured(rows: pa.Table, known: pa.Table) -> list[float]:
    """Sums over rows: probability that eq. 2 picks the target, that a random guess does; and the number of rows."""
    keys, first = _flat_keys(rows)
    number = pc.fill_null(pc.index_in(keys, known["text"].combine_chunks().cast(keys.type)), MISSING).to_numpy()
    likelihood = np.append(known["likelihood"].to_numpy(), NEVER_SEEN)[number]  # the last one for MISSING
    sizes, labels = np.diff(first), rows["label"].to_numpy()
    width = np.arange(sizes.max())
    order = (labels[:, None] + width) % sizes[:, None]  # the target first
    valid = width < sizes[:, None]
    scores = likelihood[first[:-1, None] + order]
    picked = target_picked(scores, np.where(valid, 0, MISSING).astype(np.int32))
    return [float(picked.sum()), float((1.0 / sizes).sum()), len(sizes)]


def images_of_parts(work: Storage, plan: Plan) -> list[pa.Table]:
    """The distinct images of each part, with the columns image_id and image_file."""
    names, tables = ["image_id", "image_file"], (read_part(work, part) for part in plan.parts)
    return [table.group_by(names, use_threads=False).aggregate([]).select(names) for table in tables]


def build_parts(
    source: str, work: Storage, plan: Plan, progress: Progress, on_cluster: bool = False, workers: int | None = None
) -> tuple[dict[str, dict[str, Any]], list[tuple[str, str]]]:
    """Build all parts; returns inventory entries by variant, and each file's name in ``work`` and in the dataset."""
    memory = BASE_BYTES + BYTES_PER_TRIPLET * max(plan.rows)

    def run(call: Callable[[str, int], T], step: str) -> list[T]:
        names = [f"{work.path(folder_of(part))} ({plan.rows[part]:,} triplets)" for part in plan.parts]
        items = {name: (work.location, part) for name, part in zip(names, plan.parts, strict=True)}
        if on_cluster:
            return cluster.map(call, items, step, progress, workers=workers, memory=memory)
        results = []
        for number, arguments in enumerate(items.values()):
            progress(step, number, len(items))
            results.append(call(*arguments))
        progress(step, len(items), len(items))
        return results

    number, size = counted(len(plan.parts), "part"), f"{sum(plan.rows) // len(plan.parts):,}"
    message = "%s of about %s triplets on average, %s in the largest; each worker needs about %.1f GB of memory"
    logging.getLogger("hf_vqa_mc").info(message, number, size, f"{max(plan.rows):,}", memory / 1e9)
    run(build_part, "building parts")
    built = [work.read_json(f"{folder_of(part)}/{BUILT}") for part in plan.parts]
    merged = {name: _summed([part[name]["statistics"] for part in built]) for name in plan.variants}
    priors = []
    for name, statistics in merged.items():
        files = [f"{folder_of(part)}/{name}/{PRIORS}" for part in plan.parts]
        occurrences = _summed_occurrences(pa.concat_tables(pq.read_table(io.BytesIO(work.read(f))) for f in files))
        as_target, as_decoy = occurrences["as_target"].to_numpy(), occurrences["as_decoy"].to_numpy()
        statistics["neutrality"] = neutrality(as_target, as_decoy)
        coverage = statistics["wordnet_coverage"]
        statistics["wordnet_coverage"] = {**coverage, "share": coverage["covered"] / coverage["triplets"]}
        if plan.counted:
            sizes = statistics["choices_per_row"]["train"]  # rows by number of choices
            per_row = np.repeat(np.array([*map(int, sizes)], np.int16) - 1, [*sizes.values()])
            decoys = max(int(np.median(per_row)), 1)  # K of eq. 2, as `statistics.decoys_per_row`
            columns = {"config": pa.repeat(name, len(occurrences)), "text": occurrences["text"]}
            priors.append(pa.table({**columns, "likelihood": prior_rule(as_target, as_decoy, decoys)}))
    measured = []
    if priors:
        work.write(PRIORS, parquet(pa.concat_tables(priors)))
        measured = run(measure_part, "measuring parts")
    renamed: list[tuple[str, str]] = []
    entries = {}
    hashed = ["row_hashes"] if len(plan.parts) == 1 else []  # those of parts cannot be combined
    for name, statistics in merged.items():
        statistics["prior_rule"] = _prior_rule([part[name] for part in measured])
        parts = {folder_of(part): entry[name] for part, entry in zip(plan.parts, built, strict=True)}
        named = _new_names(parts, f"{source}_{name}")
        renamed += named
        checksums = {f"{part}/{file}": sha256 for part, one in parts.items() for file, sha256 in one["files"].items()}
        last = [split for split in SPLITS if split in statistics["rows"]][-1]
        entries[name] = {
            **{key: next(iter(parts.values()))[key] for key in ("variant", "embedded_images", *hashed)},
            "splits": _summed([one["splits"] for one in parts.values()]),
            "files": {new_name: checksums[file] for file, new_name in named},
            "file_bytes": sum(one["file_bytes"] for one in parts.values()),
            "statistics": statistics,
            "example": next(one["example"] for one in parts.values() if one["example"]["split"] == last),
        }
    return entries, renamed


def _new_names(parts: Mapping[str, Mapping[str, Any]], config: str) -> list[tuple[str, str]]:
    """The names of a config's files in the parts, and in the dataset folder: numbered through all parts."""
    files = [(folder, PurePosixPath(file)) for folder, entry in parts.items() for file in sorted(entry["files"])]
    named = list[tuple[str, str]]()
    for split in SPLITS:
        own = [f"{folder}/{file}" for folder, file in files if file.name.startswith(f"{split}-")]
        named += [(file, f"{config}/{split}-{at:05d}-of-{len(own):05d}.parquet") for at, file in enumerate(own)]
    return named


def _summed(values: Sequence[Any]) -> Any:  # noqa: ANN401  as the values
    """Sums of whole numbers in dictionaries of the same form; other values are left out."""
    if isinstance(values[0], dict):
        keys = dict.fromkeys(chain.from_iterable(values))
        summed = {key: _summed([value[key] for value in values if key in value]) for key in keys}
        return {key: value for key, value in summed.items() if value is not None}
    return sum(values) if isinstance(values[0], int) else None


def _prior_rule(measured: Sequence[Mapping[str, Sequence[float]]]) -> dict[str, dict[str, float]]:
    """Accuracy of eq. 2 and of random guesses on each split, from the sums of `measure_part`."""
    found = {}
    for split in SPLITS:
        if sums := [one[split] for one in measured if split in one]:
            picked, guessed, rows = (sum(column) for column in zip(*sums, strict=True))
            found[split] = {"accuracy": picked / rows, "chance": guessed / rows}
    return found
