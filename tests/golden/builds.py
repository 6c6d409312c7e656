"""Datasets whose rows, files and audits must stay the same: made-up triplets, easy-VQA, COCO-QA and a generated GQA.

The sha256 of files holds for the versions of pyarrow and datasets in ``.ci/constraints.txt`` alone, as both write
metadata of their own into parquet files; that of the rows holds for all versions.
"""

import hashlib
import json
import lzma
import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from datasets import get_dataset_config_names, load_dataset

import hf_vqa_mc as vm
from tests.golden import public

SCENE_GRAPHS = Path(__file__).parents[1] / "engines" / "gqa" / "example_sceneGraphs.json"
TRAIN, TEST = 600, 200
"""Questions of the part of easy-VQA."""
PLAIN = ("iou", "qou", "iou_qou", "random_uniform", "random_frequency")
PUBLISHED = ("orig", "all", "orig_random_uniform", "orig_random_frequency")
CLOSED = ("sets", "sets_same_question", "sets_same_image", "sets_similar_question", "sets_grid", "sets_latin")
OTHER_OPTIONS = {"wup_boundary": "accept", "decoys_from": "split", "combine": "paper", "seed": 1}


def word_vectors(folder: Path, *sources: Path) -> str:
    """A file of made-up vectors for all words of some files, which do not depend on the processor."""
    words = sorted({word for path in sources for word in re.findall(r"[a-z]+", path.read_text().lower())})
    lines = []
    for word in words:
        numbers = (byte % 19 - 9 for byte in hashlib.sha256(word.encode()).digest()[:8])
        lines.append(" ".join([word, *map(str, numbers)]))
    (folder / "vectors.txt").write_text("\n".join(lines) + "\n")
    return str(folder / "vectors.txt")


def easyvqa_files() -> Path:
    """The data folder of the package easy-vqa."""
    import easy_vqa

    return Path(easy_vqa.__file__).parent / "data"


def made_up(folder: Path) -> Path:
    """Triplets of 72 images with four things each, published decoys and human answers, and vectors of their words."""
    rng, colours = Random(0), ["red", "blue", "green", "white", "black", "dark red", "two", "2", "grey cat"]
    rows = []
    for image in range(72):
        for side in ("left", "right", "upper", "lower"):
            target = rng.choice(colours)
            others = rng.sample([colour for colour in colours if colour != target], 3)
            rows.append({
                "question_id": f"q{len(rows)}", "image_id": f"i{image}",
                "split": "test" if image % 3 == 2 else "train",
                "question": f"What colour is the thing on the {side} side?", "target": target,
                "answers": [target] * rng.randint(3, 9) + [rng.choice(colours)], "orig_decoys": others,
                "question_type": "what", "answer_type": "number" if target in ("two", "2") else "other",
                "image_file": "",
            })  # fmt: skip
    (folder / "triplets").mkdir()
    pq.write_table(pa.Table.from_pylist(rows), folder / "triplets" / "rows.parquet")
    words = folder / "words.txt"
    words.write_text(" ".join(f"{row['question']} {row['target']}" for row in rows))
    word_vectors(folder, words)
    return folder / "triplets"


def triplets(folder: Path, real: Path | None) -> Path:
    """All variants of made-up triplets but Latin squares, for which it has too few rows."""
    output = folder / "vqa_mc"
    vm.build("triplets", data_dir=made_up(folder), output=str(output), word_vectors=str(folder / "vectors.txt"),
             variants=(*PLAIN, *PUBLISHED, *CLOSED[:5]))  # fmt: skip
    return output


def triplets_other_options(folder: Path, real: Path | None) -> Path:
    """The same by other options of the method."""
    output = folder / "options"
    vm.build("triplets", data_dir=folder / "triplets", output=str(output), word_vectors=str(folder / "vectors.txt"),
             variants=("iou_qou", "all", "random_frequency", "sets", "sets_latin"), set_size=2,
             **OTHER_OPTIONS)  # fmt: skip
    return output


def triplets_plausible(folder: Path, real: Path | None) -> Path:
    """The same with the preset plausible."""
    output = folder / "plausible"
    vm.build("triplets", data_dir=folder / "triplets", output=str(output), word_vectors=str(folder / "vectors.txt"),
             variants=("iou_qou", "random_frequency"), preset="plausible")  # fmt: skip
    return output


def easyvqa_part(folder: Path, real: Path | None) -> Path:
    """The first questions of easy-VQA, with a config of their images."""
    files, output = folder / "easyvqa", folder / "vqa_mc"
    for split, count in (("train", TRAIN), ("test", TEST)):
        (files / split).mkdir(parents=True)
        questions = json.loads((easyvqa_files() / split / "questions.json").read_text())[:count]
        (files / split / "questions.json").write_text(json.dumps(questions))
    vectors = word_vectors(folder, *sorted(files.glob("*/questions.json")))
    vm.build("easyvqa", data_dir=files, images=easyvqa_files(), output=str(output), word_vectors=vectors,
             variants=("iou_qou", "random_frequency", "sets_same_question"))  # fmt: skip
    return output


def easyvqa_embedded(folder: Path, real: Path | None) -> Path:
    """The same with images in the rows."""
    output = folder / "embedded"
    vm.build("easyvqa", data_dir=folder / "easyvqa", images=easyvqa_files(), output=str(output), embed_images=True,
             variants=("iou",))  # fmt: skip
    return output


def easyvqa(folder: Path, real: Path | None) -> Path:
    """The whole easy-VQA, without QoU decoys, which take a minute."""
    output = folder / "vqa_mc"
    variants = ("iou", "random_uniform", "random_frequency", "sets_same_image")
    vm.build("easyvqa", output=str(output), variants=variants)
    return output


def gqa(folder: Path, real: Path | None) -> Path:
    """Questions generated from scene graphs, and all variants of them."""
    generated, output = folder / "gqa", folder / "vqa_mc"
    vm.generate_gqa((SCENE_GRAPHS,), output=generated)
    vectors = word_vectors(folder, generated / "train_all_questions.json")
    vm.build("gqa", data_dir=generated, output=str(output), word_vectors=vectors,
             variants=(*PLAIN, *CLOSED[:3], "balanced", "all"))  # fmt: skip
    return output


def gqa_corpus(folder: Path, real: Path | None) -> Path:
    """The same by word vectors trained on its own text."""
    output = folder / "corpus"
    vm.build("gqa", data_dir=folder / "gqa", output=str(output), word_vectors="corpus", variants=("qou", "iou_qou"))
    return output


def cocoqa(folder: Path, real: Path | None) -> Path:
    """The real COCO-QA by GloVe vectors."""
    assert real is not None
    with zipfile.ZipFile(real / "cocoqa" / "cocoqa-2015-05-17.zip") as archive:
        archive.extractall(folder / "files")
    vectors = folder / "glove.6B.100d.subset.txt"
    vectors.write_bytes(lzma.decompress((real / "word_vectors" / f"{vectors.name}.xz").read_bytes()))
    data_dir = next((folder / "files").rglob("train")).parent
    vm.build("cocoqa", data_dir=data_dir, output=str(folder / "vqa_mc"), word_vectors=str(vectors))
    return folder / "vqa_mc"


GROUPS: dict[str, tuple[Callable[[Path, Path | None], Path], ...]] = {
    "triplets": (triplets, triplets_other_options, triplets_plausible),
    "easyvqa_part": (easyvqa_part, easyvqa_embedded),
    "easyvqa": (easyvqa,),
    "gqa": (gqa, gqa_corpus),
    "cocoqa": (cocoqa,),
}
"""Builds that share a folder, in order, by the name of the group."""
AUDITED = {"triplets": ("triplets_all", "triplets_sets_grid")}
"""Configs whose audit.json is in the golden file, by build."""
TRAINED = ("_sets", "_sets_similar_question")
"""Ends of the names of configs with sets of similar questions."""
OF_RUN = ("version", "dataset", "certificate", "written")
"""Keys of audit.json that depend on the version, time or folder."""


def sha256(content: bytes) -> str:
    """As hex text."""
    return hashlib.sha256(content).hexdigest()


def rows_hash(path: Path) -> str:
    """The sha256 of the decoded rows of a parquet file, with the names of columns and any bytes."""
    found = hashlib.sha256()
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches():
            for row in batch.to_pylist():
                found.update(json.dumps(row, default=bytes.hex).encode())
    return found.hexdigest()


def hashes(output: Path) -> dict[str, list[Any]]:
    """Of each parquet file of a dataset folder: the number of rows, the sha256 of the rows and that of the file.

    Of sets that a trained model forms only the number of rows, as its sums depend on the processor's instructions.
    """
    found: dict[str, list[Any]] = {}
    for path in sorted(output.rglob("*.parquet")):
        of_bytes = [] if path.parent.name.endswith(TRAINED) else [rows_hash(path), sha256(path.read_bytes())]
        found[str(path.relative_to(output))] = [pq.read_metadata(path).num_rows, *of_bytes]
    return found


def loaded(output: Path, cache: Path) -> dict[str, list[Any]]:
    """Of each config, as ``load_dataset`` reads it: the columns, and the number of rows of each split."""
    found: dict[str, list[Any]] = {}
    for config in sorted(get_dataset_config_names(str(output))):
        splits = load_dataset(str(output), config, cache_dir=str(cache))
        columns = next(iter(splits.values())).column_names
        found[config] = [columns, {str(name): rows.num_rows for name, rows in splits.items()}]
    return found


def group(name: str, folder: Path, real: Path | None) -> Iterator[tuple[str, dict[str, Any]]]:
    """What is golden of each build of a group."""
    for build in GROUPS[name]:
        output = build(folder, real)
        golden: dict[str, Any] = {"files": hashes(output), "loaded": loaded(output, folder / "cache")}
        for config in AUDITED.get(build.__name__, ()):
            figures = public.audit_figures(output, config, folder / f"audit_{config}")
            golden[f"audit {config}"] = {key: value for key, value in figures.items() if key not in OF_RUN}
        yield build.__name__, golden
    if name == "gqa":
        generated = sorted((folder / "gqa").glob("*_questions.json")) + sorted((folder / "gqa").glob("*_choices.json"))
        yield "generated", {path.name: sha256(path.read_bytes()) for path in generated}
