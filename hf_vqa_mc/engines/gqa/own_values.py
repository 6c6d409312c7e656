"""Our own tables of values: which types there are, which values are alike, how they are spelled."""

from collections.abc import Mapping

TYPES: Mapping[str, str] = {
    "color": "white black green blue red brown gray yellow silver orange pink tan purple beige gold maroon teal "
    "khaki turquoise navy cream blond brunette light_blue dark_blue light_green dark_green light_brown "
    "dark_brown light_gray dark_gray cream_colored",
    "material": "wood metal plastic glass brick stone concrete leather paper cardboard rubber cloth cotton denim "
    "wool silk wicker straw ceramic porcelain marble granite steel stainless_steel iron aluminum chrome brass "
    "copper bronze tin bamboo hardwood rock asphalt cobblestone clay styrofoam nylon vinyl velvet crystal lace "
    "mesh",
    "size": "small tiny large huge giant",
    "shape": "round circular oval square rectangular triangular octagonal",
    "age": "young old",
    "newness": "new old",
    "height": "tall short",
    "length": "long short",
    "weight": "heavy light",
    "thickness": "thick thin",
    "width": "narrow wide",
    "fatness": "fat skinny thin",
    "tone": "dark light",
    "brightness": "bright dim",
    "pose": "standing sitting walking running jumping crouching squatting kneeling lying resting bending leaning",
    "activity": "sleeping eating drinking reading talking cooking waiting posing playing driving laughing working "
    "grazing",
    "sportActivity": "swimming surfing skiing skateboarding snowboarding skating riding",
    "weather": "clear sunny cloudless cloudy overcast partly_cloudy foggy rainy stormy",
    "pattern": "striped checkered plaid dotted floral",
    "openness": "open closed shut",
    "fullness": "full empty",
    "wetness": "wet dry",
    "cleanliness": "clean dirty",
    "hardness": "hard soft",
    "power": "on off",
    "lighting": "lit unlit",
    "realism": "real fake",
    "cooking": "raw uncooked cooked fried grilled baked roasted toasted steamed boiled",
    "ripeness": "ripe unripe",
    "freshness": "fresh rotten",
    "peeling": "peeled unpeeled",
    "curliness": "curly straight",
    "straightness": "curved straight",
    "leaves": "leafy leafless bare",
    "ground cover": "grassy rocky sandy snowy",
    "paving": "paved unpaved",
    "sleeves": "short_sleeved long_sleeved sleeveless",
    "gender": "male female",
    "face expression": "happy sad angry",
    "orientation": "vertical horizontal",
    "state": "calm still choppy rough wavy",
    "depth": "deep shallow",
    "altitude": "high low",
    "style": "modern antique vintage old_fashioned",
    "surface": "smooth rough",
    "texture": "coarse fine",
    "opaqueness": "opaque transparent clear translucent",
    "sport": "tennis baseball soccer football basketball golf ski",
    "room": "kitchen bathroom office",
    "liquid": "water wine beer soda coffee",
    "flavor": "chocolate vanilla strawberry cheese",
    "": "shiny parked hanging smiling painted stuffed rusty broken furry fluffy fuzzy sliced chopped cut tiled framed "
    "decorative decorated stacked flat bent reflective floral patterned electric electronic digital pointy sharp bald "
    "wrinkled rolled folded messy neat cluttered busy crowded faded worn burnt frozen melted glazed frosted wrapped "
    "tied mounted raised arched tilted angled slanted colorful multicolored blurry muddy dusty hairy bushy lush dense "
    "sparse blank plain fancy ornate pretty beautiful delicious healthy tasty wooded evergreen overhead upright "
    "upside_down floating flying splashing glowing shining illuminated barefoot shirtless balding bearded elderly "
    "adult baby locked plugged_in unplugged portable wireless inflated woven knit quilted padded cushioned "
    "upholstered carpeted polished chipped cracked torn crumpled scattered piled grouped attached crossed spread "
    "outstretched swinging spinning moving docked perched waving crashing foamy snow_covered overgrown trimmed "
    "manicured fallen cloth_covered american double_decker chain_link flat_screen industrial public toy tennis_ball "
    "covered puffy lined pale speckled potted drawn printed filled designed plush weathered displayed assorted tight "
    "damaged rimmed juicy artificial shaved shredded grated scrambled crouched stained unused used "
    "street traffic safety computer desk wall floor ceiling table window door fruit garden palm pine",
}
"""Type to values, the most common first; underscores for spaces; "" for values of which nothing can be asked."""

ADJECTIVES = {"wood": "wooden", "metal": "metallic"}
"""Values whose form before a noun and after "is" is another one."""

SPELLED: Mapping[str, str] = {
    "grey": "gray",
    "wooden": "wood",
    "metallic": "metal",
    "golden": "gold",
    "blonde": "blond",
    "big": "large",
    "little": "small",
    "enormous": "huge",
    "massive": "huge",
    "cement": "concrete",
    "fabric": "cloth",
    "multi-colored": "multicolored",
    "multi colored": "multicolored",
    "checked": "checkered",
    "spotted": "dotted",
    "polka dot": "dotted",
    "laying": "lying",
    "laying down": "lying",
    "lying down": "lying",
    "sitting down": "sitting",
    "seated": "sitting",
    "standing up": "standing",
    "turned on": "on",
    "switched on": "on",
    "turned off": "off",
    "switched off": "off",
    "indoor": "indoors",
    "inside": "indoors",
    "outdoor": "outdoors",
    "outside": "outdoors",
    "aged": "old",
    "slim": "skinny",
    "slender": "skinny",
    "lengthy": "long",
    "navy blue": "navy",
    "dark grey": "dark gray",
    "light grey": "light gray",
    "baby blue": "light blue",
    "sky blue": "light blue",
    "royal blue": "blue",
    "aqua": "turquoise",
    "aquamarine": "turquoise",
    "cyan": "turquoise",
    "burgundy": "maroon",
    "dark red": "maroon",
    "crimson": "red",
    "scarlet": "red",
    "bright red": "red",
    "hot pink": "pink",
    "magenta": "pink",
    "violet": "purple",
    "lilac": "purple",
    "mauve": "purple",
    "indigo": "purple",
    "off-white": "cream",
    "off white": "cream",
    "mustard yellow": "yellow",
    "olive green": "dark green",
    "forest green": "dark green",
    "lime green": "light green",
    "charcoal": "dark gray",
    "creme": "cream",
    "cream-colored": "cream colored",
    "pointed": "pointy",
    "snow covered": "snow-covered",
    "rusted": "rusty",
    "blurred": "blurry",
    "upside-down": "upside down",
    "electrical": "electric",
    "circle": "circular",
    "rectangle": "rectangular",
    "triangle": "triangular",
    "oval shaped": "oval",
    "barren": "bare",
}
"""Other spellings, by those whose value an ontology has."""

EXCLUSIVE = frozenset(
    "color material size shape age newness height length weight thickness width fatness tone openness fullness "
    "wetness cleanliness hardness power lighting realism ripeness freshness peeling paving sleeves gender orientation "
    "depth altitude state sportActivity pose weather location place hposition vposition room liquid flavor curliness "
    "straightness surface texture cooking".split()
)
"""Types of which a thing has one value as a rule. Not so: activity, pattern, style, face expression, sport."""

PLACES: Mapping[str, str] = {
    # groups of places that may be one another, or be seen together
    "kitchen": "home",
    "dining room": "home",
    "living room": "home",
    "bedroom": "home2",
    "bathroom": "home3",
    "office": "work",
    "classroom": "work",
    "restaurant": "shop",
    "store": "shop",
    "street": "town",
    "road": "town",
    "city": "town",
    "parking lot": "town",
    "sidewalk": "town",
    "beach": "water",
    "ocean": "water",
    "lake": "water",
    "river": "water",
    "harbor": "water",
    "field": "land",
    "park": "land",
    "yard": "land",
    "garden": "land",
    "pasture": "land",
    "farm": "land",
    "forest": "land",
    "zoo": "land",
    "desert": "dry land",
    "mountain": "snow",
    "ski slope": "snow",
    "airport": "airport",
    "train station": "station",
    "stadium": "sport",
    "tennis court": "court",
    "skate park": "skate park",
}
"""The places that an image as a whole may be of, with what they might be mixed up with."""


DASHED = {"chain_link": "chain-link", "snow_covered": "snow-covered"}
AFTER_ONLY = frozenset({"on", "off", "up", "down", "indoors", "outdoors", "plugged in", "upside down"})
NOUNS = frozenset(
    "tennis baseball soccer football basketball golf ski kitchen bathroom office water wine beer soda coffee "
    "chocolate vanilla strawberry cheese street traffic safety computer desk wall floor ceiling table window "
    "door fruit garden palm pine toy".split()
) | {"tennis ball"}
NO_VERBS = frozenset(
    "ceiling wedding stuffing painting building sliding folding balding decorating railing king ring string "
    "outstanding shining glowing hanging peeling winding rippling melting burning blooming overhanging padding "
    "interesting".split()
) - {"hanging"}
PLACES_NEAR = {
    "kitchen": "dining room,living room,restaurant",
    "living room": "dining room,kitchen,bedroom,office",
    "bedroom": "living room",
    "restaurant": "kitchen,dining room,store",
    "office": "living room,classroom,store",
    "mountain": "field,forest,desert,park",
    "field": "beach,desert,mountain,stadium,farm",
    "park": "street,city,skate park,beach,zoo",
    "forest": "mountain,park",
    "stadium": "field,tennis court,park",
    "harbor": "city,street,ocean",
    "airport": "city,road,field,street",
    "train station": "city,street,road",
    "store": "street,city",
    "beach": "desert,park",
    "skate park": "street,sidewalk,parking lot,city",
    "tennis court": "park,stadium,field",
    "yard": "street,sidewalk,road",
    "farm": "road",
}
