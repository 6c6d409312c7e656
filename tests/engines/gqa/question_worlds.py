"""A small ontology, an image, decoys and random images for tests of references and questions."""

from collections.abc import Mapping

from hypothesis import strategies as st

from hf_vqa_mc.decoys.rng import SeededRng
from hf_vqa_mc.engines.gqa.ontology import Attribute, Noun, Ontology, RelationName
from hf_vqa_mc.engines.gqa.scene_graph import HORIZONTAL, LEFT, RIGHT, VERTICAL, SceneGraph, SceneObject


def _noun(name: str, *parents: str, kind: str = "", plural_form: str = "", **more: bool) -> Noun:
    plural = bool(kind)
    singular = "" if more.get("mass") else kind or name
    form = name if plural else plural_form or (f"{name}s" if singular else "")
    return Noun(name, kind or name, plural=plural, parents=parents, singular=singular, plural_form=form, **more)


NOUNS = [
    _noun("apple", "fruit", "food"),
    _noun("apples", "fruit", "food", kind="apple"),
    _noun("orange", "fruit", "food"),
    _noun("banana", "fruit", "food"),
    _noun("fruit", "food"),
    _noun("man", "person", plural_form="men"),
    _noun("boy", "person"),
    _noun("woman", "person", plural_form="women"),
    _noun("person", plural_form="people"),
    _noun("people", kind="person"),
    _noun("dog", "animal"),
    _noun("cat", "animal"),
    _noun("animal"),
    _noun("table", "furniture"),
    _noun("chair", "furniture"),
    _noun("couch", "furniture"),
    _noun("sofa", "furniture"),
    _noun("hat", "clothing"),
    _noun("coat", "clothing"),
    Noun("pants", "pants", plural=True, parents=("clothing",), plural_form="pants"),
    _noun("umbrella"),
    _noun("phone", "device"),
    _noun("grass", "plant", mass=True),
    Noun("sky", "sky", singular="sky"),
    _noun("ear", "body part"),
    _noun("thing", vague=True),
    _noun("kitchen", "place"),
    _noun("beach", "place", plural_form="beaches"),
]
ATTRIBUTES = [
    *(Attribute(value, ("color",), value) for value in ("red", "green", "brown", "black", "white")),
    Attribute("crimson", ("color",), "crimson", frozenset({"red"})),
    Attribute("orange", ("color",), "orange", frozenset({"red"})),
    Attribute("wood", ("material",), "wooden"),
    Attribute("metal", ("material",), "metal"),
    Attribute("large", ("size",), "large"),
    Attribute("small", ("size",), "small"),
    Attribute("tall", ("height",), "tall"),
    Attribute("short", ("height",), "short"),
    Attribute("young", ("age",), "young"),
    Attribute("old", ("age",), "old"),
    Attribute("standing", ("pose",), "standing", verb=True),
    Attribute("sitting", ("pose",), "sitting", verb=True),
    Attribute("sunny", ("weather",), "sunny"),
    Attribute("rainy", ("weather",), "rainy"),
    Attribute("cloudy", ("weather",), "cloudy", frozenset({"overcast"})),
    Attribute("overcast", ("weather",), "overcast"),
    Attribute("male", ("gender",), "male"),
    Attribute("female", ("gender",), "female"),
    Attribute("shiny", (), "shiny"),
]
RELATIONS = [
    RelationName(LEFT, RIGHT, frozenset({RIGHT}), many=True),
    RelationName(RIGHT, LEFT, frozenset({LEFT}), many=True),
    RelationName("on", "", frozenset({"under"}), many=True),
    RelationName("under", "", frozenset({"on"}), many=True),
    RelationName("wearing", one_subject=True),
    RelationName("holding", excludes=frozenset({"riding"})),
    RelationName("riding", excludes=frozenset({"holding"})),
    RelationName("of"),
]
ONTOLOGY = Ontology(
    {noun.name: noun for noun in NOUNS},
    {attribute.value: attribute for attribute in ATTRIBUTES},
    {relation.name: relation for relation in RELATIONS},
    frozenset({"color", "size", "height", "age", "pose", "weather", "gender", "place", "location", "material"})
    | {HORIZONTAL, VERTICAL},
    similar_kinds={"couch": frozenset({"sofa"}), "sofa": frozenset({"couch"})},
)


def thing(
    key: str, name: str, box: tuple[int, int, int, int], values: str = "", relations: Mapping[str, str] | None = None
) -> SceneObject:
    """An object; ``values`` as the ontology has them, places by the box in an image of 600 by 400."""
    found: dict[str, list[str]] = {}
    for value in values.split():
        kind = (ONTOLOGY.attributes[value].types or ("",))[0]
        found.setdefault(kind, []).append(value)
    x, y, width, height = box
    if x + width <= 300 or x >= 300:
        found[HORIZONTAL] = ["left" if x < 300 else "right"]
    if y + height <= 200 or y >= 200:
        found[VERTICAL] = ["top" if y < 200 else "bottom"]
    edges = frozenset((relation, target) for target, relation in (relations or {}).items())
    return SceneObject(key, name, box, {kind: tuple(several) for kind, several in found.items()}, edges)


def graph_of(*things: SceneObject, image_id: str = "1", **scene: str) -> SceneGraph:
    """An image of 600 by 400 pixels; who is left of whom follows from the boxes."""
    objects = {}
    for one in things:
        sides = set()
        for other in things:
            if one.box[0] + one.box[2] <= other.box[0]:
                sides.add((LEFT, other.object_id))
            elif other.box[0] + other.box[2] <= one.box[0]:
                sides.add((RIGHT, other.object_id))
        objects[one.object_id] = SceneObject(
            one.object_id, one.name, one.box, one.values, frozenset(one.relations | sides)
        )
    return SceneGraph(image_id, 600, 400, objects, scene)


KITCHEN = graph_of(
    thing("1", "man", (10, 20, 90, 300), "old tall standing male", {"2": "wearing", "3": "holding"}),
    thing("2", "hat", (30, 10, 40, 30), "black"),
    thing("3", "umbrella", (110, 30, 40, 100), "red large"),
    thing("4", "boy", (200, 100, 60, 200), "young short sitting male", {"5": "wearing", "6": "holding"}),
    thing("5", "hat", (210, 90, 30, 20), "red"),
    thing("6", "apple", (270, 220, 20, 20), "green small shiny"),
    thing("7", "table", (310, 250, 120, 140), "brown wood large"),
    thing("8", "orange", (330, 230, 20, 20), "orange small", {"7": "on"}),
    thing("9", "dog", (450, 230, 60, 60), "brown small"),
    thing("10", "chair", (520, 230, 70, 160), "brown metal"),
    thing("11", "pants", (215, 220, 40, 80), "black"),
    thing("12", "ear", (470, 230, 8, 8), "brown"),
    thing("13", "phone", (560, 20, 20, 30), "black"),
    weather="sunny",
    location="indoors",
    place="kitchen",
)


class HandmadeDecoys:
    """Decoys as ``Distractors`` gives them: other values of a type, names that nothing in the image could have."""

    def attribute(self, graph: SceneGraph, object_id: str, kind: str, rng: SeededRng) -> str | None:
        if object_id == "scene":
            return None
        own = graph.objects[object_id].values.get(kind, ())
        others = [
            value for value in ONTOLOGY.values.get(kind, ()) if not any(ONTOLOGY.alike(value, one) for one in own)
        ]
        return rng.pick(others) if own and others else None

    def absent(self, graph: SceneGraph, near: str, rng: SeededRng) -> str | None:
        names = [
            name
            for name, noun in ONTOLOGY.nouns.items()
            if not noun.vague and not any(ONTOLOGY.mixed_up(name, one.name) for one in graph.objects.values())
        ]
        return rng.pick(names) if names else None

    def related(self, graph: SceneGraph, object_id: str, relation: str, side: str, rng: SeededRng) -> str | None:
        return self.absent(graph, object_id, rng)

    def sibling(self, name: str, category: str, rng: SeededRng, graph: SceneGraph) -> str | None:
        names = [
            other
            for other, noun in ONTOLOGY.nouns.items()
            if category in noun.parents
            and not ONTOLOGY.mixed_up(name, other)
            and noun.plural == ONTOLOGY.nouns[name].plural
        ]
        return rng.pick(names) if names else None

    def relation(self, graph: SceneGraph, subject: str, relation: str, target: str, rng: SeededRng) -> str | None:
        excluded = sorted(ONTOLOGY.relations[relation].excludes)
        return rng.pick(excluded) if excluded else None


class LyingDecoys(HandmadeDecoys):
    """Decoys that are correct answers."""

    def attribute(self, graph: SceneGraph, object_id: str, kind: str, rng: SeededRng) -> str | None:
        """A value that the object has."""
        own = () if object_id == "scene" else graph.objects[object_id].values.get(kind, ())
        return own[0] if own else None

    def absent(self, graph: SceneGraph, near: str, rng: SeededRng) -> str | None:
        """A name of something that is there."""
        return next(iter(graph.objects.values())).name

    def sibling(self, name: str, category: str, rng: SeededRng, graph: SceneGraph) -> str | None:
        """The name itself."""
        return name

    def relation(self, graph: SceneGraph, subject: str, relation: str, target: str, rng: SeededRng) -> str | None:
        """The relation itself."""
        return relation


@st.composite
def graphs(draw: st.DrawFn) -> SceneGraph:
    """Images with up to eight objects, of any names, values and relations."""
    keys = [str(number) for number in range(draw(st.integers(1, 8)))]
    things = []
    for key in keys:
        box = (
            draw(st.integers(0, 500)),
            draw(st.integers(0, 300)),
            draw(st.integers(1, 100)),
            draw(st.integers(1, 100)),
        )
        values = " ".join(draw(st.sets(st.sampled_from(sorted(ONTOLOGY.attributes)), max_size=4)))
        names = draw(st.lists(st.sampled_from(("on", "under", "wearing", "holding", "riding", "of")), max_size=2))
        edges = {draw(st.sampled_from(keys)): name for name in names}
        edges.pop(key, None)
        things.append(thing(key, draw(st.sampled_from(sorted(ONTOLOGY.nouns))), box, values, edges))
    scene = draw(st.fixed_dictionaries({}, optional={"weather": st.sampled_from(("sunny", "rainy"))}))
    return graph_of(*things, **scene)
