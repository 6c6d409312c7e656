"""Region features of made images in each published layout."""

import base64
import json

import h5py
import numpy as np

DIM, WIDTH, HEIGHT = 6, 40, 20


def made(image_ids, seed=0):
    """Image id to features (regions, DIM) and boxes (regions, 4) in pixels."""
    rng, found = np.random.default_rng(seed), {}
    for image_id in image_ids:
        count = int(rng.integers(1, 8))
        first = rng.uniform(0, 0.5, (count, 2))
        edges = np.concatenate([first, first + rng.uniform(0.05, 0.5, (count, 2))], 1)
        boxes = (edges * [WIDTH, HEIGHT, WIDTH, HEIGHT]).astype(np.float32)
        found[image_id] = rng.normal(size=(count, DIM)).astype(np.float32), boxes
    return found


def tsv(folder, records):
    path = folder / "some.tsv"
    lines = []
    for image_id, (features, boxes) in records.items():
        encoded = [base64.b64encode(np.ascontiguousarray(part).tobytes()).decode() for part in (boxes, features)]
        lines.append("\t".join([str(int(image_id)), str(WIDTH), str(HEIGHT), str(len(boxes)), *encoded]) + "\n")
    path.write_text("".join(lines))
    return path


def gqa(folder, records):
    info = {}
    for file in (0, 1):
        mine = [one for at, one in enumerate(records.items()) if at % 2 == file]
        with h5py.File(folder / f"gqa_objects_{file}.h5", "w") as h5:
            features = h5.create_dataset("features", (len(mine), 10, DIM), "f4")
            boxes = h5.create_dataset("bboxes", (len(mine), 10, 4), "f4")
            for index, (image_id, (of, edges)) in enumerate(mine):
                features[index, : len(of)], boxes[index, : len(of)] = of, edges
                sizes = {"width": WIDTH, "height": HEIGHT, "objectsNum": len(of)}
                info[image_id] = {"file": file, "idx": index, **sizes}
    (folder / "gqa_objects_info.json").write_text(json.dumps(info))
    return folder


def npz(folder, records):
    for image_id, (features, boxes) in records.items():
        x = features.T if int(image_id) % 2 and len(features) != DIM else features
        np.savez(
            folder / f"COCO_val2014_{int(image_id):012d}.npz",
            x=x, bbox=boxes, num_bbox=len(boxes), image_w=WIDTH, image_h=HEIGHT,
        )  # fmt: skip
    return folder


LAYOUTS = {one.__name__: one for one in (tsv, gqa, npz)}
