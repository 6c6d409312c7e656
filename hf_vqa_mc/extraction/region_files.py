"""Published files of region features, read image by image.

A file in one of these layouts, or a folder with several ``.tsv`` files of one extraction:

- ``NAME.tsv`` of bottom-up-attention (Anderson et al. 2018): per line image_id, image_w, image_h, num_boxes, boxes and
  features, separated by tabs; the last two are base64 of float32 (num_boxes, 4), edges in pixels, and of
  (num_boxes, dim).
- a folder of GQA: ``gqa_objects_info.json`` (by image id: file, idx or index, width, height, objectsNum), and
  ``gqa_objects_FILE.h5`` with ``features`` (images, regions, dim) and ``bboxes`` (images, regions, 4) in pixels.
- a folder of ``IMAGE.npz`` of bottom-up-attention.pytorch: x (regions, dim) or (dim, regions), bbox (regions, 4) in
  pixels, num_bbox, image_h, image_w.
- ``NAME_sceneGraphs.json`` of GQA or ``vqa-mc generate gqa``, also .json.gz or .json.xz: the perfect sight of Hudson
  and Manning 2019 (section 4.2 and figure 13), see `graph_regions`.
"""

import base64
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.engines.gqa.scene_graph import read_gqa_graphs
from hf_vqa_mc.engines.visual_genome import RawGraph
from hf_vqa_mc.errors import InputError, MissingExtra
from hf_vqa_mc.extraction.backbones import MOST, UNKNOWN, Regions
from hf_vqa_mc.io.hub_folder import first_line
from hf_vqa_mc.io.json_stream import read_json
from hf_vqa_mc.sources.files import PublishedFile

NAME_SIZE = 128  # dimensions of the vector of a name in a scene graph
MOST_OF_GRAPH = 1000  # maximum number of objects and relations of an image
SCENE = "scene"  # name of the region whose attributes are weather and location
OUTSIDE = 0.01  # boxes may exceed the image by that fraction of its sides, due to rounding; they are cut off
_NUMBER = re.compile(r"(?:^|[^0-9A-Za-z])([0-9]+)(?:\.[a-z]+)?$")
_GQA_INFO = "gqa_objects_info.json"
_LINE_FIELDS = 6


@dataclass(frozen=True)
class StoredRegions:
    """The regions of an image in a file."""

    location: str
    load: Callable[[], tuple[Any, ...]]
    """features (regions, dim), boxes (regions, 4): left, top, right and bottom edge; width and height of the image"""
    most: int = MOST  # maximum number of regions

    def read(self) -> Regions:
        """The regions; raises InputError if they are damaged or not valid."""
        try:
            given = self.load()
            features, boxes, (width, height) = np.asarray(given[0]), np.asarray(given[1]), map(float, given[2:])
            edges = boxes / np.array([width, height, width, height], np.float64)
            is_finite = np.isfinite(features).all() and np.isfinite(edges).all()
        except InputError:
            raise
        except Exception as error:  # of many libraries
            raise InputError(f"{self.location} is damaged ({first_line(error)}); download the file again") from error
        if features.ndim != 2 or not features.shape[1] or boxes.shape != (len(features), 4) or not is_finite:
            wrong = f"has features {features.shape} and boxes {boxes.shape}, {'' if is_finite else 'not '}all finite"
            raise InputError(f"{self.location} {wrong}; expected finite numbers (regions, dim) and (regions, 4)")
        if not 1 <= len(features) <= self.most:
            raise InputError(f"{self.location} has {len(features)} regions; expected 1 to {self.most}")
        valid = (edges[:, :2] <= edges[:, 2:]).all(1) & ((edges >= -OUTSIDE) & (edges <= 1 + OUTSIDE)).all(1)
        for row in np.flatnonzero(~valid)[:1]:
            expected = f"left, top, right, bottom inside of the image of {width:g} x {height:g}"
            raise InputError(f"{self.location} has the box {boxes[row].tolist()}; expected {expected}")
        columns = np.concatenate([edges.clip(0, 1), np.full((len(edges), 2), UNKNOWN)], 1)
        return Regions(features.astype(np.float32), columns.astype(np.float32))


def stored_regions(path: Path, image_ids: Sequence[str]) -> dict[str, StoredRegions]:
    """The regions of those images that a file or folder has: the name is the image's id, or ends with its number."""
    found = _records(path)
    by_number: dict[int, list[str]] = defaultdict(list)
    for name in found:
        if number := _NUMBER.search(name):
            by_number[int(number[1])].append(name)
    names: dict[str, str] = {}
    for image_id in image_ids:
        numbered = by_number.get(int(image_id), []) if image_id.isdecimal() else []
        same = [image_id] if image_id in found else numbered
        if len(same) > 1:
            names_of = f"{same[0]} and {same[1]}"
            raise InputError(f"{path} has {len(same)} records of image_id {image_id!r}: {names_of}; use one of them")
        names |= dict.fromkeys(same, image_id)
    return {names[name]: record for name, record in found.items() if name in names}


def _records(path: Path) -> dict[str, StoredRegions]:
    """All records of a file or folder by image name."""
    if not path.exists():
        raise InputError(f"--regions {path}: no such file or folder")
    if (path / _GQA_INFO).is_file():
        return _gqa(path)
    if path.is_dir() and (files := sorted(path.rglob("*.npz"))):
        names = [str(file.relative_to(path).with_suffix("")) for file in files]
        return {name: StoredRegions(str(file), partial(_npz, file)) for name, file in zip(names, files, strict=True)}
    found: dict[str, StoredRegions] = {}
    for file in sorted(path.iterdir()) if path.is_dir() else [path]:
        layout = (file.with_suffix("") if file.suffix in (".gz", ".xz") else file).suffix
        records = _tsv(file) if layout == ".tsv" else {}
        if layout == ".json" and (file == path or "sceneGraphs" in file.name):  # GQA has other JSON files
            records = _scene_graphs(file)
        for name in records.keys() & found.keys():
            raise InputError(f"{file}: image {name!r} is also in {found[name].location}; use one of them")
        found |= records
    if not found:
        layouts = f".tsv, a folder with {_GQA_INFO}, a folder of .npz, or scene graphs (.json)"
        raise InputError(f"--regions {path}: expected region features, found none: {layouts}")
    return found


def _tsv(path: Path) -> dict[str, StoredRegions]:
    """Finds the lines, whose contents are read later: such files have tens of gigabytes."""
    found: dict[str, StoredRegions] = {}
    with path.open("rb") as file:
        start = number = 0
        while line := file.readline():
            number += 1
            name, *others = line.split(b"\t")
            location = f"{path}, line {number}"
            if len(others) != _LINE_FIELDS - 1:
                names = "image_id, image_w, image_h, num_boxes, boxes, features, separated by tabs"
                raise InputError(f"{location} has {len(others) + 1} fields, expected {_LINE_FIELDS}: {names}")
            image = name.decode("utf-8", "replace")
            if image in found:
                raise InputError(f"{location}: image {image!r} is also in {found[image].location}")
            found[image] = StoredRegions(location, partial(_line, path, start))
            start += len(line)
    return found


def _line(path: Path, start: int) -> tuple[Any, ...]:
    with path.open("rb") as file:
        file.seek(start)
        _, width, height, count, *encoded = file.readline().split(b"\t")
    boxes, features = (np.frombuffer(base64.b64decode(part.strip(), validate=True), "<f4") for part in encoded)
    return features.reshape(int(count), -1), boxes.reshape(int(count), -1), width, height


def _gqa(path: Path) -> dict[str, StoredRegions]:
    try:
        info = read_json(path / _GQA_INFO)
        keys = {name: "idx" if "idx" in of else "index" for name, of in info.items()}
        records = [(int(of["file"]), int(of[keys[name]]), name, of) for name, of in info.items()]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        expected = "expected file, idx, width, height and objectsNum by image id"
        raise InputError(f"{path / _GQA_INFO} is not valid; {expected}") from error
    found, opened = {}, {}
    for file, index, name, of in sorted(records, key=lambda one: one[:2]):
        if file not in opened:
            h5 = path / f"gqa_objects_{file}.h5"
            opened[file] = (h5, *_datasets(h5, "features", "bboxes"))
        h5, features, boxes = opened[file]
        location = f"{h5}, image {name!r}"
        if not 0 <= index < min(len(features), len(boxes)):
            raise InputError(f"{location}: {_GQA_INFO} says index {index}; the file has {len(features)} images")
        found[name] = StoredRegions(location, partial(_gqa_image, features, boxes, index, of))
    return found


def _gqa_image(features: Any, boxes: Any, index: int, of: Mapping[str, Any]) -> tuple[Any, ...]:  # noqa: ANN401  of h5py
    count = int(of["objectsNum"])
    return features[index, :count], boxes[index, :count], of["width"], of["height"]


def _datasets(path: Path, *wanted: str) -> list[Any]:
    """The named datasets of an HDF5 file, with 3 axes; raises InputError unless the file holds them itself."""
    try:
        import h5py
    except ImportError:
        raise MissingExtra("h5py", "regions") from None
    try:
        file = h5py.File(path, "r")
    except OSError as error:
        raise InputError(f"{path} is missing or damaged ({first_line(error)}); download it again") from error
    found = []
    for name in wanted:
        link = file.get(name, getlink=True) if name in file else None
        of = file[name] if isinstance(link, h5py.HardLink) else None
        if not isinstance(of, h5py.Dataset) or of.is_virtual or of.external or of.ndim != 3:
            raise InputError(f"{path}: expected a dataset {name!r} with 3 axes, stored in the file itself")
        found.append(of)
    return found


def _npz(path: Path) -> tuple[Any, ...]:
    with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
        features, boxes, count = file["x"], file["bbox"], int(file["num_bbox"])
        if len(features) != count and features.shape[-1] == count:
            features = features.T
        return features[:count], boxes[:count], file["image_w"], file["image_h"]


def _scene_graphs(path: Path) -> dict[str, StoredRegions]:
    found = {}
    for graph in read_gqa_graphs(PublishedFile(path.name, path)):
        location = f"{path}, image {graph.image_id!r}"
        found[graph.image_id] = StoredRegions(location, partial(graph_regions, graph), MOST_OF_GRAPH)
    return found


@cache
def name_vector(name: str) -> NDArray[np.float32]:
    """The vector of length 1 of a name, float32 (`NAME_SIZE`,): random signs that are always the same."""
    signs = np.unpackbits(np.frombuffer(sha256(name.encode()).digest(), np.uint8))[:NAME_SIZE]
    return np.asarray((2 * signs.astype(np.float32) - 1) / np.float32(NAME_SIZE**0.5))


def graph_regions(graph: RawGraph) -> tuple[Any, ...]:
    """Features float32 (regions, 5 x `NAME_SIZE`) of objects, relations, and the scene; boxes; width and height.

    A region has the vectors of an object's name and attributes, a relation's name, and the other object's name and
    attributes, 0 for what there is not. Relations to objects that the graph lacks are left out. Boxes (regions, 4) are
    left, top, right and bottom edge in pixels, of a relation those of both objects.
    """
    objects = {}
    for name, of in graph.objects.items():
        x, y, width, height = of.box
        edges = np.clip([[x, y], [x + width, y + height]], 0, [graph.width, graph.height]).ravel()
        objects[name] = _embedded(of.name, of.attributes), edges.tolist()
    nothing = np.zeros(3 * NAME_SIZE, np.float32)  # of a relation and its other object
    features = [np.concatenate([vector, nothing]) for vector, _ in objects.values()]
    boxes = [box for _, box in objects.values()]
    for name, of in graph.objects.items():
        for relation, other in of.relations:
            if other in objects:
                (vector, box), (its_vector, its_box) = objects[name], objects[other]
                features.append(np.concatenate([vector, name_vector(relation), its_vector]))
                boxes.append([*np.minimum(box[:2], its_box[:2]), *np.maximum(box[2:], its_box[2:])])
    if graph.scene or not features:
        features.append(np.concatenate([_embedded(SCENE, sorted(graph.scene.values())), nothing]))
        boxes.append([0, 0, graph.width, graph.height])
    return np.stack(features), np.array(boxes, np.float64), graph.width, graph.height


def _embedded(name: str, attributes: Sequence[str]) -> NDArray[np.float32]:
    """The vector of a name, and the sum of those of its attributes."""
    total = sum((name_vector(one) for one in attributes), np.zeros(NAME_SIZE, np.float32))
    return np.concatenate([name_vector(name), total])
