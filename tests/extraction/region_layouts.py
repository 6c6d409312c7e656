"""Region features of made images in each published layout."""

import base64
import json
import pickle

import h5py
import lmdb
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


def hdf5(folder, records):
    """Of ban-vqa: regions of all images one after another."""
    path, scale = folder / "train.hdf5", np.array([WIDTH, HEIGHT, WIDTH, HEIGHT])
    counts = np.array([len(features) for features, _ in records.values()])
    ends = np.cumsum(counts)
    spatial = np.concatenate([np.concatenate([boxes / scale, boxes[:, :2]], 1) for _, boxes in records.values()])
    with h5py.File(path, "w") as h5:
        h5["image_features"] = np.concatenate([features for features, _ in records.values()])
        h5["spatial_features"] = spatial.astype(np.float32)
        h5["pos_boxes"] = np.stack([ends - counts, ends], 1)
    index_of = {int(image_id): index for index, image_id in enumerate(records)}
    (folder / "train_imgid2idx.pkl").write_bytes(pickle.dumps(index_of, 2))
    return path


def npz(folder, records):
    for image_id, (features, boxes) in records.items():
        x = features.T if int(image_id) % 2 and len(features) != DIM else features
        np.savez(
            folder / f"COCO_val2014_{int(image_id):012d}.npz",
            x=x, bbox=boxes, num_bbox=len(boxes), image_w=WIDTH, image_h=HEIGHT,
        )  # fmt: skip
    return folder


def mmf(folder, records):
    path = folder / "val.lmdb"
    with lmdb.open(str(path), map_size=1 << 24) as opened, opened.begin(write=True) as transaction:
        names = []
        for image_id, (features, boxes) in records.items():
            names.append(f"val2014/COCO_val2014_{int(image_id):012d}".encode())
            record = {"feature_path": names[-1].decode(), "features": features, "bbox": boxes, "objects": boxes[:, 0]}
            record |= {"num_boxes": len(boxes), "image_height": HEIGHT, "image_width": np.int64(WIDTH)}
            transaction.put(names[-1], pickle.dumps(record))
        transaction.put(b"keys", pickle.dumps(names))
    return path


LAYOUTS = {one.__name__: one for one in (tsv, gqa, hdf5, npz, mmf)}
