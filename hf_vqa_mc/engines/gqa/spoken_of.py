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
ON_OTHERS = {
    "beard", "crumb", "dust", "feathers", "fog", "fur", "hair", "icing", "mane", "moon", "mustache", "reflection",
    "shadow", "skin", "smoke", "steam", "sun", "sunlight", "wrinkle", "writing",
}  # fmt: skip
"""Kinds that lie on other things, of which neither is said."""
NEARBY = {"near", "next to", "beside", "by", "close to", "along", "alongside", "across from"}
"""Relations that nobody tells of what goes on behind: the car is near the street, never the street near the car."""
SCENERY = BACKGROUND | {
    "building", "bush", "crowd", "fence", "forest", "hedge", "house", "mountain", "plant", "tower",
    "train track", "tree",
}  # fmt: skip
"""Kinds of which neither is told beside somebody: the man is near the trees, never the trees near the man."""
UNDER = {"under", "underneath", "beneath", "below"}
"""Relations that nobody asks of the ground that something stands on, or of a thing's own parts."""
OWN_NAME_ONLY = {
    "asphalt", "attire", "clothes", "dirt road", "grass", "hay", "ice", "lawn", "moss", "outfit", "pavement", "salt",
    "snow", "water",
}  # fmt: skip
"""What nobody calls by its category in an image: grass a plant, water a drink."""
OF_PEOPLE = {"gender", "race", "fatness", "face expression"}
"""Types of values that only people have, though annotators may give them to their parts."""
OF_THINGS = {"color", "tone", "brightness"}
"""Types that people do not have for anybody who asks, though annotators say them of hair, clothes or skin."""
OF_SURFACES = {"color", "tone", "brightness", "material", "shape", "pattern"}
"""Types that a room or a town does not have, for it has many things of many colors."""
WHOLE_PLACES = {
    "airport", "city", "town", "village", "market", "mall", "station", "train station", "store", "shop", "restaurant",
    "zoo", "farm", "harbor", "stadium", "museum", "downtown", "kitchen", "bathroom", "bedroom", "living room",
    "dining room", "office", "classroom", "hotel room", "library", "gym", "lobby",
}  # fmt: skip
"""Kinds of places of which the same is so."""
WORN_CATEGORIES = {"clothing", "footwear", "accessory"}
"""Categories of which people have more on than anybody tells, so that none of it is "the piece of clothing"."""
YOUNG = {"baby", "boy", "child", "girl", "kid", "toddler", "infant", "puppy", "kitten", "calf", "foal", "lamb"}
"""Kinds whose names tell their age, which is no type of dog or cow."""
PICTURES = {"picture", "photo", "photograph", "scene"}
"""Kinds beside which "in the picture" may be read in two ways."""
WITHIN = {"in", "inside", "within"}
"""Relations to a picture that nobody can tell from being in the image."""
LIVING = (PEOPLE, "animal", "bird")
DOING = ("activity", "sportActivity", "pose")
"""Types of values that only people and animals have."""
BODY_PART = "body part"
