"""What an image as a whole shows, where the objects leave no doubt: weather, location, place (Sect. 3.2)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hf_vqa_mc.engines.gqa.ontology import Ontology
from hf_vqa_mc.engines.gqa.scene_graph import SceneObject
from hf_vqa_mc.engines.vocabulary import vocabulary


@dataclass(frozen=True)
class Room:
    """What proves a room."""

    least: int
    kinds: frozenset[str]


@dataclass(frozen=True)
class SceneSigns:
    """The schema of ``scenes.yaml``, which describes its keys."""

    outdoors: frozenset[str]
    indoors: frozenset[str]
    rooms: dict[str, Room]
    not_of_homes: frozenset[str]
    wide_places: dict[str, float]
    pictures: frozenset[str]


SIGNS = vocabulary("gqa/scenes", SceneSigns)


def scene_of(
    objects: Sequence[SceneObject],
    told: Mapping[str, str],
    image_values: Sequence[str],
    size: tuple[int, int],
    ontology: Ontology,
) -> dict[str, str]:
    """Weather, location and place, as far as they are told or follow.

    Args:
        objects: of the image.
        told: by the file, already in the ontology's words; goes before what follows from objects.
        image_values: values that annotators gave to the image itself ("scene: sunny").
        size: of the image.
        ontology: whose values are used.
    """
    scene = dict(told)
    kinds = {ontology.nouns[thing.name].kind for thing in objects}
    for value in image_values:
        for kind in ("weather", "location"):
            if kind in ontology.attributes[value].types:
                scene.setdefault(kind, value)
    weather = {value for thing in objects if thing.name == "sky" for value in thing.values.get("weather", ())}
    if len(weather) == 1:
        scene.setdefault("weather", *weather)
    outdoors, indoors = len(kinds & SIGNS.outdoors), len(kinds & SIGNS.indoors)
    if outdoors and not indoors and kinds & {"sky", "ocean", "mountain", "beach", "road", "street", "wave"}:
        scene.setdefault("location", "outdoors")
    if indoors >= 2 and not outdoors:
        scene.setdefault("location", "indoors")
    place = _place(objects, kinds, scene.get("location"), size)
    if place and "place" in ontology.attributes[place].types:
        scene.setdefault("place", place)
    return scene


def _place(objects: Sequence[SceneObject], kinds: set[str], location: str | None, size: tuple[int, int]) -> str | None:
    if location != "outdoors":
        found = {name: len(kinds & room.kinds) for name, room in SIGNS.rooms.items() if kinds & room.kinds}
        sure = location == "indoors" and len(found) == 1 and kinds.isdisjoint(SIGNS.not_of_homes)
        return next((name for name, count in found.items() if sure and count >= SIGNS.rooms[name].least), None)
    area = size[0] * size[1]
    wide = {
        thing.name for thing in objects if thing.box[2] * thing.box[3] >= SIGNS.wide_places.get(thing.name, 2.0) * area
    }
    return next(iter(wide)) if len(wide) == 1 else None


def is_picture(name: str) -> bool:
    """Whether annotators call the image itself so."""
    return name in SIGNS.pictures
