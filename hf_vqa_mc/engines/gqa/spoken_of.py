"""Which things people mention, and by which names: what references and questions leave alone."""

from dataclasses import dataclass

from hf_vqa_mc.engines.vocabulary import vocabulary


@dataclass(frozen=True)
class Mentions:
    """The schema of ``mentions.yaml``, which describes its keys."""

    too_wide: frozenset[str]
    several_each: frozenset[str]
    background: frozenset[str]
    on_others: frozenset[str]
    scenery: frozenset[str]
    nearby: frozenset[str]
    under: frozenset[str]
    own_name_only: frozenset[str]
    types_of_people: frozenset[str]
    types_of_things: frozenset[str]
    types_of_surfaces: frozenset[str]
    whole_places: frozenset[str]
    worn_categories: frozenset[str]
    young: frozenset[str]
    pictures: frozenset[str]
    within: frozenset[str]


MENTIONS = vocabulary("gqa/mentions", Mentions)
PEOPLE = "person"
LIVING = (PEOPLE, "animal", "bird")
DOING = ("activity", "sportActivity", "pose")
"""Types of values that only people and animals have."""
BODY_PART = "body part"
