"""The inputs of a build: triplets, in memory or divided by image into parts in a work folder, variants, word vectors.

::

    WORK/state.json                                settings; hashes of inputs and code
    WORK/part-00000/triplets-00000.parquet ...     the triplets of some images
    WORK/vectors.npz                               vectors of the words of the questions
    WORK/plan.json                                 settings and sizes; the division is complete
"""

import contextlib
import hashlib
import io
import json
import logging
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hf_vqa_mc.data.stored_images import IMAGE_SUFFIXES
from hf_vqa_mc.dataset.settings import BuildSettings, DecoySettings
from hf_vqa_mc.decoys import VARIANTS
from hf_vqa_mc.decoys.rng import text_hashes
from hf_vqa_mc.decoys.settings import Settings
from hf_vqa_mc.decoys.variants import needs_word_vectors, uses_word_vectors, variants_of
from hf_vqa_mc.engines.vqa_candidates import read_plausible, vqa_candidates
from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.io.atomic import locked
from hf_vqa_mc.io.cluster import Storage, check_url, contains, is_url
from hf_vqa_mc.io.interruption import resumable
from hf_vqa_mc.io.outputs import sha256_of
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.options import subset
from hf_vqa_mc.schema import SPLITS
from hf_vqa_mc.sources.source import OpenedSource, Source, Stream
from hf_vqa_mc.sources.table import in_split_order
from hf_vqa_mc.text.many_texts import comparable_texts, numbered_words, texts_of, word_lists
from hf_vqa_mc.text.word_vectors import CORPUS, WordVectors, load_word_vectors
from hf_vqa_mc.version import code_state

STATE, PLAN, VECTORS, PRIORS = "state.json", "plan.json", "vectors.npz", "priors.parquet"
_OWN = re.compile(
    rf"({'|'.join(map(re.escape, (STATE, PLAN, VECTORS, PRIORS)))}|part-\d{{5,}})(\.[0-9a-f]{{32}}\.partial)?"
)
"""Names of the files and folders of a build in its work folder."""
BUFFER_BYTES = 10**9  # triplets, as Arrow data, that are divided at a time


def fingerprint(parts: Any) -> str:  # noqa: ANN401  any JSON
    """A short hash of JSON, 16 hexadecimal digits."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def input_state(source: Source, data_dir: Path | None, contents: bool = False) -> list[Any]:
    """Names, sizes and times of change of a source's files except images, or the files that would be downloaded.

    The change time of the inode is included, since the modification time can be set back. With ``contents``, checksums
    replace sizes and times: copying or touching files changes nothing.
    """
    if data_dir is None and source.default_folder is not None:
        data_dir = source.default_folder()
    if data_dir is None:
        return [[remote.url, remote.sha256, remote.size] for remote in source.downloads]
    found = []
    for parent, folders, names in os.walk(data_dir, followlinks=True):
        folders.sort()
        for path in (Path(parent, name) for name in sorted(names)):
            if path.suffix.lower() not in IMAGE_SUFFIXES and path.is_file():
                state = path.stat()
                about = [sha256_of(path)] if contents else [state.st_size, state.st_mtime_ns, state.st_ctime_ns]
                found.append([str(path.relative_to(data_dir)), *about])
    return found


def vectors_state(name: str) -> list[str]:
    """A vector file's name and checksum, and checksums of files with the name as prefix, as with .kv."""
    path = Path(name).expanduser()
    if not path.is_file():
        return [name]  # files of gensim-data never change; "corpus" depends on the input alone
    files = sorted(other for other in path.parent.iterdir() if other.name.startswith(path.name) and other.is_file())
    return [path.name, *map(sha256_of, files)]


VariantInputs: TypeAlias = tuple[pa.Table, tuple[str, ...], WordVectors | None, Settings]
"""The first arguments of ``variants.build_variants``: triplets, variants to build, word vectors and method."""


def gather(
    opened: OpenedSource, variants: Sequence[str] | None, settings: DecoySettings, progress: Progress
) -> tuple[VariantInputs, Mapping[str, Any] | None]:
    """The inputs of variants, None for all that the source can have; and statistics of generated orig decoys."""
    source, method = opened.source, subset(settings, Settings)
    vectors = _named_vectors(source, variants, settings, progress)
    progress("reading questions", 0, 1)
    given = read_plausible(settings.plausible) if settings.plausible else None
    triplets = opened.triplets(released_decoys=settings.decoys == "released")
    progress("reading questions", 1, 1)
    orig_made = None
    if settings.orig == "made":
        triplets, orig_made = vqa_candidates(
            triplets, plausible=given, pool=method.decoys_from, seed=method.seed, progress=progress
        )
        method = replace(method, fallback_orig=False)  # so that other variants do not change
    built = _variants_to_build(source, variants, variants_of(triplets))
    if isinstance(vectors, str):
        vectors = load_word_vectors(vectors, partial(sentences, triplets), method.seed, progress)
    return (triplets, tuple(built), vectors, method), orig_made


def _variants_to_build(source: Source, wanted: Sequence[str] | None, possible: Sequence[str]) -> Sequence[str]:
    """The wanted variants, or all that the triplets can have without closed sets."""
    taken = {config.name for config in source.open_ended}
    supported = [name for name in possible if f"{source.name}_{name}" not in taken]
    for name in wanted or ():
        if name not in supported:
            known = ", ".join(supported)
            raise InputError(f"{source.name} does not support the variant {name!r} (supported: {known})")
    return wanted or [name for name in supported if not VARIANTS[name].closed]


def _named_vectors(
    source: Source, variants: Sequence[str] | None, settings: DecoySettings, progress: Progress
) -> WordVectors | str | None:
    """The word vectors that variants need, or `CORPUS` if they are still to be trained."""
    if settings.decoys == "released":
        if source.read_released is None:
            raise InputError(f"{source.name}: the authors released no decoys for it; use --decoys generated")
        return None
    wanted = settings.word_vectors or source.default_word_vectors
    chosen = [VARIANTS[name] for name in VARIANTS if variants is None or name in variants]
    if wanted is None and needs_word_vectors(chosen):
        words = ",".join(config.word for config in source.open_ended)
        alone = f"; or build open-ended configs alone, which need none (--variants {words})" if words else ""
        raise InputError(
            f"{source.name}: QoU decoys need word vectors; give --word-vectors: a "
            "word2vec, GloVe or .kv file, a name of gensim-data (the paper's: word2vec-google-news-300), or "
            f"{CORPUS!r} to train them on the dataset's own text{alone}"
        )
    if wanted is None or not uses_word_vectors(chosen):
        return None
    if wanted == CORPUS:
        return CORPUS
    progress("reading word vectors", 0, 1)  # first, so that a wrong path is reported at once
    vectors = load_word_vectors(wanted)
    progress("reading word vectors", 1, 1)
    return vectors


def sentences(triplets: pa.Table) -> Iterator[list[str]]:
    """The dataset's own text: tokens of each question and its answer."""
    questions, targets = (word_lists(triplets[name].combine_chunks()) for name in ("question", "target"))
    return (question + target for question, target in zip(questions, targets, strict=True))


@dataclass(frozen=True)
class Plan:
    """What all parts are built with."""

    variants: list[str]
    settings: dict[str, Any]  # of `Settings`
    rows: list[int]  # triplets of each part; parts without triplets are not built
    splits: list[str]  # splits of the dataset, in order
    has_vectors: bool = False

    @property
    def parts(self) -> list[int]:
        """The numbers of the parts that hold triplets."""
        return [number for number, rows in enumerate(self.rows) if rows]

    @property
    def counted(self) -> str | None:
        """The split on which frequencies are counted; None for all rows, where there is no training split."""
        return "train" if "train" in self.splits else None


def divided(
    opened: OpenedSource, variants: Sequence[str] | None, settings: BuildSettings, work: Storage, progress: Progress
) -> Plan:
    """Divide the triplets into ``work``; what the same build did before an interruption is kept."""
    source, method = opened.source, subset(settings, Settings)
    for name in variants or ():
        if VARIANTS[name].closed:
            raise InputError(f"--largest-part cannot be used with {name}: closed sets are formed of all rows")
    if work.exists(PLAN):
        return Plan(**work.read_json(PLAN))
    vectors = _named_vectors(source, variants, settings, progress)
    stream = opened.stream(released_decoys=settings.decoys == "released")
    n_parts = -(-stream.rows // (settings.largest_part or stream.rows))
    counts, words = _divide(stream, n_parts, work, progress)
    filled = [part for part in range(n_parts) if counts[part]]
    of_parts = [variants_of(read_part(work, part)) for part in filled]
    built = _variants_to_build(source, variants, [name for name in VARIANTS if all(name in own for own in of_parts)])
    if isinstance(vectors, str):
        texts = lambda: chain.from_iterable(sentences(read_part(work, part)) for part in filled)  # noqa: E731
        vectors = load_word_vectors(vectors, texts, method.seed, progress)
    if vectors is not None:
        put_vectors(work, vectors, words)
    splits = [split for split in SPLITS if any(found[split] for found in counts)]
    plan = Plan(list(built), asdict(method), [found.total() for found in counts], splits, vectors is not None)
    work.write_json(PLAN, asdict(plan))
    return plan


def folder_of(part: int) -> str:
    """The folder of a part."""
    return f"part-{part:05d}"


def _divide(stream: Stream, n_parts: int, work: Storage, progress: Progress) -> tuple[list[Counter[str]], set[str]]:
    """Write the triplets into parts by image; returns the number of each part's triplets by split, and all words."""
    counts: list[Counter[str]] = [Counter() for _ in range(n_parts)]
    words: set[str] = set()
    hashes = [np.empty(0, np.uint64)]
    done = 0

    def buffers() -> Iterator[pa.Table]:
        nonlocal done
        waiting: list[pa.Table] = []
        for table in stream.tables:
            waiting.append(table)
            done += table.num_rows
            progress("dividing triplets", done, stream.rows)
            if sum(one.nbytes for one in waiting) > BUFFER_BYTES:
                yield pa.concat_tables(waiting).combine_chunks()
                waiting.clear()
        yield from [pa.concat_tables(waiting).combine_chunks()] if waiting else []

    progress("dividing triplets", 0, stream.rows)
    for number, table in enumerate(buffers()):
        hashes.append(text_hashes(texts_of(table["question_id"].combine_chunks())))
        questions = table["question"].combine_chunks().dictionary_encode().dictionary
        words.update(texts_of(numbered_words(*comparable_texts(questions))[2]))
        images = table["image_id"].combine_chunks().dictionary_encode()
        of_image = text_hashes(texts_of(images.dictionary)) % np.uint64(n_parts)
        part_of = of_image.astype(np.int64)[images.indices.to_numpy()]
        order = np.argsort(part_of, kind="stable")
        bounds = np.searchsorted(part_of[order], np.arange(n_parts + 1))
        for part in np.flatnonzero(np.diff(bounds)).tolist():
            own = table.take(pa.array(order[bounds[part] : bounds[part + 1]]))
            work.write(f"{folder_of(part)}/triplets-{number:05d}.parquet", parquet(own))
            counts[part].update({one["values"]: one["counts"] for one in pc.value_counts(own["split"]).to_pylist()})
    if not done:
        raise InputError("triplets: the files have no rows")
    if repeated := done - len(np.unique(np.concatenate(hashes))):
        raise InputError(f"triplets: {repeated:,} rows repeat the question_id of another row; it must be unique")
    without = sum(bool(found) and not found["train"] for found in counts)
    if without and any(found["train"] for found in counts):
        raise InputError(f"{without} of {n_parts} parts have no training rows; use larger parts (--largest-part)")
    return counts, words


def parquet(table: pa.Table) -> bytes:
    """A table as the content of a Parquet file."""
    file = io.BytesIO()
    pq.write_table(table, file, compression="ZSTD")
    return file.getvalue()


def read_part(work: Storage, part: int) -> pa.Table:
    """The triplets of a part: train, validation, test, each in the order of the dataset."""
    files = map(PurePosixPath, work.names(folder_of(part)))  # a killed command may leave triplets-....partial
    names = [str(file) for file in files if file.name.startswith("triplets-") and file.suffix == ".parquet"]
    return in_split_order([pq.read_table(io.BytesIO(work.read(f"{folder_of(part)}/{name}"))) for name in names])


def put_vectors(work: Storage, vectors: WordVectors, words: Iterable[str]) -> None:
    """Write the vectors of some words for all workers."""
    listed = sorted(words)
    rows, found = vectors.rows(listed)
    known = np.frombuffer("\n".join(word for word, has in zip(listed, found, strict=True) if has).encode(), np.uint8)
    file = io.BytesIO()
    np.savez(file, words=known, vectors=rows[found], name=vectors.name, sha256=vectors.sha256)
    work.write(VECTORS, file.getvalue())


@cache
def stored_vectors(location: str, state: bytes) -> WordVectors:
    """The word vectors of a build, read once per process; its ``state`` distinguishes builds at one location."""
    with np.load(io.BytesIO(Storage(location).read(VECTORS)), allow_pickle=False) as stored:
        text = stored["words"].tobytes().decode()  # an array of texts would give each the space of the longest
        words = text.split("\n") if text else []
        return WordVectors.of(str(stored["name"]), str(stored["sha256"]), words, stored["vectors"])


@contextlib.contextmanager
def work_folder(
    opened: OpenedSource, variants: Sequence[str] | None, settings: BuildSettings, location: str
) -> Iterator[Storage]:
    """The folder of what a build finished, also before an interruption; removed at the end."""
    work = work_location(settings, location)
    hashed = {
        "version of this package": code_state(),
        "input files": input_state(opened.source, settings.data_dir, contents=True),
        "word vectors": vectors_state(settings.word_vectors) if settings.word_vectors else None,
    }
    more = {"source": opened.source.name, "largest_part": settings.largest_part, "variants": variants}
    given = json.loads(json.dumps({**asdict(subset(settings, DecoySettings)), "plausible": None, **more}))
    del given["word_vectors"]  # a path, compared by its content
    state = {name: fingerprint(part) for name, part in hashed.items()} | given
    with _locked(work):
        before = _state_of(work)
        if before and (name := next((name for name in state if before.get(name) != state[name]), None)):
            values = f"{name} {shown(before.get(name))}, now {shown(state[name])}"
            raise InputError(
                f"{work.path()} holds an unfinished build with {f'other {name}' if name in hashed else values}; "
                "repeat that build, remove the folder, or give another one with --work"
            )
        if work.exists(PLAN):
            logging.getLogger(__name__).info("resuming the build in %s", work.path())
        else:
            _remove(work)  # nothing was finished, or a build was killed while it removed its files
        work.write_json(STATE, state)
        try:
            with resumable(work.path()):
                yield work
        except InputError:
            if not work.exists(PLAN):
                _remove(work)
            raise
        _remove(work)


@contextlib.contextmanager
def _locked(work: Storage) -> Iterator[None]:
    """Keep other builds from a folder on this machine; InputError if one is using it."""
    if is_url(work.location):
        yield
        return
    busy = f"{work.path()}: another build uses this folder; wait for it, or give another --work"
    Path(work.location).mkdir(exist_ok=True)
    try:
        with locked(Path(work.location, ".lock"), busy):
            yield
    finally:
        if not work.exists(STATE):
            work.remove_if_empty()


def _remove(work: Storage) -> None:
    """Remove a build's own files: the plan first, so that a build that is killed meanwhile can be repeated."""
    own = [name for name in dict.fromkeys(name.partition("/")[0] for name in work.names()) if _OWN.fullmatch(name)]
    for name in sorted(own, key=lambda name: (name == STATE) - (name == PLAN)):
        work.remove(name)
    work.remove_if_empty()


def work_location(settings: BuildSettings, location: str) -> Storage:
    """The work folder of a build; raises InputError if it cannot be one."""
    given = settings.work or f"{location.rstrip('/')}.work"
    check_url("--work", given)
    if contains(location, given) or contains(given, location):
        raise InputError(f"--work {given}: neither it nor the output may be in the other; give another")
    data_dir = settings.data_dir and str(settings.data_dir.expanduser())
    for option, folder in (("--output", location), ("--work", given)):
        if data_dir and contains(data_dir, folder):
            raise InputError(f"{option} {folder}: it is in --data-dir, whose files are the input; give another")
    return Storage(given if is_url(given) else str(Path(given).absolute()))  # workers may have another directory


def _state_of(work: Storage) -> dict[str, Any] | None:
    """The state of the build that a folder belongs to; None if it is new. Others' hidden files do not matter."""
    if not work.exists(STATE) and all(name.startswith((".", f"{STATE}.")) for name in work.names()):
        return None
    with contextlib.suppress(ValueError, FileNotFoundError):
        if isinstance(found := work.read_json(STATE), dict):
            return found
    raise InputError(f"{work.path()} holds other files; give a new folder with --work")
