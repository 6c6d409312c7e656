"""A normalised scene graph: what an image shows, in the words of the ontology."""

from collections.abc import Mapping
from dataclasses import dataclass, field

SCENE = "scene"
"""What programs select to ask about the image as a whole."""
HORIZONTAL, VERTICAL = "hposition", "vposition"
"""The attribute types of where in the image an object is: left, middle, right; top, middle, bottom."""
LEFT, RIGHT = "to the left of", "to the right of"


@dataclass(frozen=True, slots=True)
class SceneObject:
    """An object of an image."""

    object_id: str
    name: str
    """a name of the ontology"""
    box: tuple[int, int, int, int]
    """x, y, width, height in pixels, x and y of the upper left corner"""
    values: Mapping[str, tuple[str, ...]]
    """attribute type to values, with positions in the image where they are clear; values without a type under "" """
    relations: frozenset[tuple[str, str]]
    """(relation, object_id of the object) of which this is the subject, with inverses and clear sides put in"""


@dataclass(frozen=True)
class SceneGraph:
    """An image's objects, in the order of the file."""

    image_id: str
    width: int
    height: int
    objects: Mapping[str, SceneObject]
    scene: Mapping[str, str] = field(default_factory=dict)
    """what is known of the image as a whole: ``weather``, ``location`` (indoors, outdoors), ``place``"""
    unclear: frozenset[str] = frozenset()
    """kinds that names of objects speak of which were left out: whether there are any is not clear"""
    nameless: bool = False
    """an object was left out whose name nobody knows, so that it may be of any category"""

    def related(self, subject: str, relation: str, target: str) -> bool:
        """Whether the graph says so."""
        return (relation, target) in self.objects[subject].relations
