"""Which things people speak of, and by which names: what references and questions leave alone."""

TOO_WIDE = {
    "animal part", "body part", "building part", "entity", "environment", "item", "nature environment", "object",
    "office supplies", "part", "place", "room", "symbol", "textile", "thing", "urban environment",
    "vehicle part", "ingredient", "food part",
}  # fmt: skip
"""Categories that nobody calls an object by."""

SEVERAL_EACH = {
    "ankle", "arm", "button", "ear", "elbow", "eye", "eyebrow", "feather", "finger", "fingernail", "foot", "hand",
    "hoof", "horn", "knee", "leaf", "leg", "letter", "lip", "nail", "nostril", "paw", "petal", "shoulder", "sleeve",
    "spot", "stripe", "thumb", "tire", "toe", "tooth", "tusk", "wheel", "wing", "wrist",
}  # fmt: skip
"""Kinds of which one rarely comes alone, though one may be annotated: nobody asks about "the ear" of an elephant."""

PEOPLE = "person"
BACKGROUND = {
    "air", "background", "beach", "ceiling", "cement", "city", "court", "dirt", "field", "floor", "forest", "grass",
    "ground", "hill", "lake", "land", "lawn", "mud", "ocean", "park", "pavement", "path", "river", "road", "room",
    "runway", "sand", "scene", "sea", "shore", "sidewalk", "sky", "snow", "street", "tile", "wall", "water", "yard",
    "carpet", "concrete", "countryside", "gravel", "hallway", "hillside", "parking lot", "pasture", "roadway",
}  # fmt: skip
"""Kinds that go on behind other things, so that nobody says on which side they are."""
OWN_NAME_ONLY = {"water", "ice", "snow", "salt"}
"""What may be a drink or an ingredient by its name, but mostly is not in images."""
OF_PEOPLE = {"gender", "race", "fatness", "face expression"}
"""Types of values that only people have, though annotators may give them to their parts."""
LIVING = (PEOPLE, "animal", "bird")
DOING = ("activity", "sportActivity", "pose")
"""Types of values that only people and animals have."""
BODY_PART = "body part"
