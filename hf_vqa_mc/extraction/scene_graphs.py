"""Scene graphs as image features: the perfect sight of Hudson and Manning 2019 (section 4.2 and figure 13).

The paper embeds nodes and edges, without details. Here each object, each relation and the scene become a region: the
vectors of an object's name and attributes, a relation's name, and the other object's name and attributes, one after
another, and 0 for what there is not. The vector of a name has fixed random signs, so a linear layer can learn any
embedding of a few hundred names.
"""

from collections.abc import Sequence
from functools import cache
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.engines.gqa.scene_graph import RawGraph

NAME_SIZE = 128
"""Dimensions of the vector of a name; a region has five: object, its attributes, relation, other object, its
attributes."""
MOST = 1000
"""Maximum number of objects and relations of an image."""
SCENE = "scene"
"""Name of the region whose attributes are weather and location."""


@cache
def name_vector(name: str) -> NDArray[np.float32]:
    """The vector of length 1 of a name, float32 (`NAME_SIZE`,)."""
    signs = np.unpackbits(np.frombuffer(sha256(name.encode()).digest(), np.uint8))[:NAME_SIZE]
    return np.asarray((2 * signs.astype(np.float32) - 1) / np.float32(NAME_SIZE**0.5))


def graph_regions(graph: RawGraph) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """The objects and relations of a scene graph; relations to objects that it lacks are left out.

    Returns:
        Features float32 (nodes and edges, 5 x `NAME_SIZE`) of objects, relations, and the scene if it has attributes;
        boxes (nodes and edges, 4): left, top, right and bottom edge in pixels, of a relation those of both objects.
    """
    limits = np.array([graph.width, graph.height])
    objects = {}
    for name, of in graph.objects.items():
        x, y, width, height = of.box
        edges = np.clip([[x, y], [x + width, y + height]], 0, limits).ravel()
        objects[name] = _embedded(of.name, of.attributes), edges.tolist()
    nothing = np.zeros(NAME_SIZE, np.float32)
    none = np.concatenate([nothing, nothing])
    features = [np.concatenate([vector, nothing, none]) for vector, _ in objects.values()]
    boxes = [box for _, box in objects.values()]
    for name, of in graph.objects.items():
        for relation, other in of.relations:
            if other in objects:
                (vector, box), (its_vector, its_box) = objects[name], objects[other]
                features.append(np.concatenate([vector, name_vector(relation), its_vector]))
                boxes.append([*np.minimum(box[:2], its_box[:2]), *np.maximum(box[2:], its_box[2:])])
    if graph.scene or not features:
        features.append(np.concatenate([_embedded(SCENE, sorted(graph.scene.values())), nothing, none]))
        boxes.append([0, 0, graph.width, graph.height])
    return np.stack(features), np.array(boxes, np.float64)


def _embedded(name: str, attributes: Sequence[str]) -> NDArray[np.float32]:
    """The vector of a name, and the sum of those of its attributes."""
    total = sum((name_vector(one) for one in attributes), np.zeros(NAME_SIZE, np.float32))
    return np.concatenate([name_vector(name), total])
