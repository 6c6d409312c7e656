"""Questions about the image as a whole: weather, location (indoors or outdoors), place."""

from collections.abc import Iterator

from hf_vqa_mc.decoys.rng import SeededRng
from hf_vqa_mc.engines.gqa.executor import NO
from hf_vqa_mc.engines.gqa.program import Part, then
from hf_vqa_mc.engines.gqa.question_types.context import Draft, ImageContext, selected, yes_no
from hf_vqa_mc.engines.gqa.scene_graph import SCENE
from hf_vqa_mc.engines.gqa.wording import NounPhrase, called, spelled, wordings

WEATHER, LOCATION, PLACE = "weather", "location", "place"
LOCATIONS = ("indoors", "outdoors")

QUERY, VERIFY, CHOOSE = wordings("query global"), wordings("verify global"), wordings("choose global")
SCENES = {"indoors": "an indoor", "outdoors": "an outdoor"}


def value_forms(image: ImageContext, kind: str, value: str) -> tuple[str, str]:
    """A value after "it is", and with an article."""
    if kind == PLACE:
        phrase = called(image.ontology, value) if value in image.ontology.nouns else NounPhrase(spelled(value))
        return phrase.some, phrase.some
    return image.predicate(kind, value) if kind == WEATHER else value, SCENES.get(value, value)


def _full(image: ImageContext, kind: str, value: str) -> list[Part]:
    return [(f"it is {value_forms(image, kind, value)[0]}", "")]


def query(image: ImageContext, rng: SeededRng) -> Iterator[Draft]:
    """Drafts such as "How is the weather?"; the location is only verified and chosen."""
    for kind, value in sorted(image.graph.scene.items()):
        if kind in (WEATHER, PLACE):
            program, full = then(selected(SCENE), "query", kind), _full(image, kind, value)
            yield Draft(kind, program, value, QUERY[kind], {}, full, f"02q-{kind}", kind)


def verify(image: ImageContext, rng: SeededRng) -> Iterator[Draft]:
    """Drafts such as "Is it cloudy?"."""
    for kind, value in rng.shuffled(sorted(image.graph.scene.items())):
        asked = value if rng.happens(0.5) else _other_than(image, kind, value, rng)
        if asked is None or kind not in VERIFY:
            continue
        text, with_article = value_forms(image, kind, asked)
        program, slots = then(selected(SCENE), "verify", kind, asked), {"value": text, "a": with_article}
        full, local = _full(image, kind, value), f"01-{kind}_{asked}"
        yield yes_no(f"{kind}Verify", program, asked == value, VERIFY[kind], slots, full, local)


def choose(image: ImageContext, rng: SeededRng) -> Iterator[Draft]:
    """Drafts such as "Is it sunny or cloudy?"."""
    for kind, value in rng.shuffled(sorted(image.graph.scene.items())):
        other = _other_than(image, kind, value, rng)
        if other is None or kind not in CHOOSE:
            continue
        options = rng.shuffled((value, other))
        one, two = (value_forms(image, kind, option)[0] for option in options)
        program = then(selected(SCENE), "choose", kind, *options)
        slots, full = {"one": one, "other": two}, _full(image, kind, value)
        yield Draft(f"{kind}Choose", program, value, CHOOSE[kind], slots, full, f"02c-{kind}", kind)


def _other_than(image: ImageContext, kind: str, value: str, rng: SeededRng) -> str | None:
    """A value that cannot be mistaken for the correct one."""
    nouns = image.ontology.nouns
    decoy = image.decoys.attribute(image.graph, SCENE, kind, rng)
    if decoy is not None:
        possible = kind == PLACE and decoy in nouns and image.exists(decoy) != NO
        return None if possible else decoy
    if kind == LOCATION:
        return next((other for other in LOCATIONS if other != value), None)
    if kind == PLACE and value in nouns:
        return image.decoys.sibling(value, PLACE, rng, image.graph)
    others = [other for other in image.ontology.values.get(kind, ()) if not image.ontology.alike(value, other)]
    return rng.pick(others) if others else None
