"""Questions about the image as a whole: the weather, indoors or outdoors, which place it is."""

from collections.abc import Iterator

from hf_vqa_mc.engines.gqa.executor import NO, YES
from hf_vqa_mc.engines.gqa.patterns import wordings
from hf_vqa_mc.engines.gqa.program import Question, then
from hf_vqa_mc.engines.gqa.question_types.asking import Asking, selected
from hf_vqa_mc.engines.gqa.scene_graph import SCENE
from hf_vqa_mc.engines.gqa.wording import Said, called, spelled
from hf_vqa_mc.engines.rng import Chance

WEATHER, LOCATION, PLACE = "weather", "location", "place"
LOCATIONS = ("indoors", "outdoors")

QUERY, VERIFY, CHOOSE = wordings("query global"), wordings("verify global"), wordings("choose global")
SCENES = {"indoors": "an indoor", "outdoors": "an outdoor"}


def said_of(asking: Asking, kind: str, value: str) -> tuple[str, str]:
    """A value after "it is", and with an article."""
    if kind == PLACE:
        said = called(asking.ontology, value) if value in asking.ontology.nouns else Said(spelled(value))
        return said.some, said.some
    return asking.predicate(kind, value) if kind == WEATHER else value, SCENES.get(value, value)


def query(asking: Asking, chance: Chance) -> Iterator[Question]:
    """How is the weather? Where it is, indoors or outdoors, is only chosen and verified."""
    for kind, value in sorted(asking.graph.scene.items()):
        if kind not in (WEATHER, PLACE):
            continue
        yield from asking.question(
            "query global",
            kind,
            then(selected(SCENE), "query", kind),
            value,
            QUERY[kind],
            {},
            [("It is " + said_of(asking, kind, value)[0], "")],
            (kind, f"02q-{kind}"),
            chance,
        )


def verify(asking: Asking, chance: Chance) -> Iterator[Question]:
    """Is it cloudy?"""
    for kind, value in chance.shuffled(sorted(asking.graph.scene.items())):
        asked = value if chance.happens(0.5) else other_than(asking, kind, value, chance)
        if asked is None or kind not in VERIFY:
            continue
        right = asked == value
        text, with_article = said_of(asking, kind, asked)
        yield from asking.question(
            "verify global",
            f"{kind}Verify{'' if right else 'C'}",
            then(selected(SCENE), "verify", kind, asked),
            YES if right else NO,
            VERIFY[kind],
            {"value": text, "a": with_article},
            [(f"{'Yes' if right else 'No'}, it is {said_of(asking, kind, value)[0]}", "")],
            ("", f"01-{kind}_{asked}"),
            chance,
        )


def choose(asking: Asking, chance: Chance) -> Iterator[Question]:
    """Is it sunny or cloudy?"""
    for kind, value in chance.shuffled(sorted(asking.graph.scene.items())):
        other = other_than(asking, kind, value, chance)
        if other is None or kind not in CHOOSE:
            continue
        options = chance.shuffled((value, other))
        texts = [said_of(asking, kind, option)[0] for option in options]
        yield from asking.question(
            "choose global",
            f"{kind}Choose",
            then(selected(SCENE), "choose", kind, *options),
            value,
            CHOOSE[kind],
            {"one": texts[0], "other": texts[1]},
            [("It is " + said_of(asking, kind, value)[0], "")],
            (kind, f"02c-{kind}"),
            chance,
        )


def other_than(asking: Asking, kind: str, value: str, chance: Chance) -> str | None:
    """A value that nobody would take for the right one."""
    decoy = asking.decoys.attribute(asking.graph, SCENE, kind, chance)
    if decoy is not None and kind == PLACE and decoy in asking.ontology.nouns and asking.is_there(decoy) != NO:
        return None
    if decoy is not None:
        return decoy
    if kind == LOCATION:
        return next((other for other in LOCATIONS if other != value), None)
    if kind == PLACE and value in asking.ontology.nouns:
        return asking.decoys.sibling(value, PLACE, chance, asking.graph)
    others = [other for other in asking.ontology.values.get(kind, ()) if not asking.ontology.alike(value, other)]
    return chance.pick(others) if others else None
