"""Kinds of things that might be called by one another's names, by our own lists.

Generous on purpose: what is listed together is never used against one another ("Is there a sofa?" "no", with a couch).
"""

from collections.abc import Iterable, Mapping

from hf_vqa_mc.engines.gqa.ontology import Noun

VAGUE = frozenset(
    "thing object item stuff part piece side edge area spot place top bottom back front end corner section middle "
    "something set group pair bunch row pile stack line design color background foreground scene structure material "
    "surface portion view image".split()
)
"""Names that say nothing of what it is, so that nothing is asked about them."""

_ALIKE = (
    "couch sofa loveseat armchair chair seat ottoman recliner bench futon stool bar_stool beach_chair folding_chair "
    "office_chair cushion",
    "cup mug glass coffee_cup coffee_mug wine_glass beer_mug water_glass drink beverage saucer",
    "bowl dish plate platter tray saucer serving_dish pan pot ramekin",
    "pot pan wok skillet frying_pan cooking_pot kettle tea_pot tea_kettle coffee_pot baking_pan teapot "
    "flower_pot planter vase",
    "pitcher jug bottle vase",
    "bottle jar can container canister pitcher jug vase water_bottle wine_bottle beer_bottle soda_bottle thermos",
    "box crate carton container case basket bin bucket package drawer suitcase trunk packet",
    "bag purse handbag backpack pouch sack suitcase luggage briefcase tote duffel_bag shopping_bag trash_bag satchel "
    "wallet",
    "knife fork spoon silverware utensil butter_knife cutlery spatula",
    "car van suv minivan jeep taxi sedan truck vehicle pickup ambulance automobile police_car train_car",
    "truck trailer van bus fire_truck food_truck tractor",
    "bus van train trolley tram streetcar shuttle school_bus",
    "train locomotive train_car subway tram trolley engine",
    "bike bicycle motorcycle scooter moped motorbike tricycle dirt_bike",
    "cart wagon carriage stroller trolley shopping_cart luggage_cart food_truck",
    "airplane jet plane aircraft helicopter glider",
    "boat ship sailboat canoe kayak raft yacht ferry watercraft surfboard",
    "street road highway roadway path pavement lane alley driveway intersection crosswalk runway city",
    "sidewalk walkway path pavement curb street floor ground",
    "ground floor dirt grass field lawn sand pavement road yard gravel mud soil land dirt_road street snow",
    "grass field lawn weeds weed hay pasture meadow plant yard straw",
    "field pasture meadow plain yard lawn park farm",
    "sand beach shore desert ground",
    "ocean sea water lake river pond wave harbor bay stream pool beach",
    "hill mountain hillside slope cliff hilltop mountain_side mountain_peak",
    "tree bush plant shrub hedge forest palm_tree pine_tree branch leaf trunk tree_trunk log",
    "flower plant blossom rose daisy lily bouquet wildflower petal sunflower tulip orchid leaf",
    "plant leaf bush vine herb weed houseplant flower_pot ivy",
    "branch twig stick log tree_branch trunk stem",
    "rock stone boulder pebble gravel brick",
    "cloud sky fog smoke steam mist",
    "building house tower skyscraper apartment apartment_building home hotel store church barn cabin shed castle "
    "garage hut shop restaurant school temple cathedral palace factory warehouse structure",
    "house cottage cabin hut shed barn home mansion villa bungalow",
    "tower clock_tower bell_tower lighthouse steeple chimney skyscraper dome",
    "fence gate railing barrier wall rail post net hedge",
    "pole post street_light lamp_post sign_post telephone_pole light_pole column pillar fence_post stick flagpole",
    "sign street_sign stop_sign traffic_sign parking_sign billboard banner poster label placard logo",
    "light lamp street_light light_fixture traffic_light chandelier headlight ceiling_light light_bulb desk_lamp "
    "floor_lamp table_lamp lantern candle christmas_light",
    "picture painting photo photograph poster artwork frame picture_frame drawing portrait print image mirror",
    "cabinet cupboard drawer dresser closet shelf wardrobe pantry medicine_cabinet bookcase bookshelf nightstand "
    "chest sideboard",
    "shelf rack bookshelf bookcase stand counter ledge mantle",
    "table desk counter coffee_table end_table side_table dining_table nightstand countertop picnic_table stand "
    "tv_stand computer_desk bar island workbench",
    "bed mattress couch bunk_bed crib",
    "blanket comforter bedspread quilt sheet bedding towel cloth duvet tablecloth throw rug",
    "pillow cushion pillowcase",
    "towel napkin cloth paper_towel rag dish_towel hand_towel bath_towel washcloth tissue",
    "rug carpet mat floor doormat",
    "curtain drape blind shade shower_curtain shutter blinds",
    "paper tissue napkin paper_towel toilet_paper note newspaper magazine book document poster card envelope "
    "letter menu receipt notebook notepad page sticky_notes",
    "book notebook magazine binder novel cookbook textbook newspaper",
    "pen pencil marker crayon",
    "tv television monitor screen computer_monitor computer display",
    "computer cpu computer_tower laptop monitor desktop_computer tablet screen keyboard computer_monitor",
    "phone cell_phone telephone smartphone tablet ipod remote_control device controller",
    "controller remote_control game_controller wii_controller joystick remote",
    "refrigerator fridge freezer cooler",
    "oven stove microwave grill toaster_oven burner range",
    "sink basin faucet bathtub tub",
    "toilet urinal toilet_seat toilet_bowl",
    "trash_can garbage_can waste_basket dumpster bin recycling_bin bucket can container trash garbage",
    "shirt t-shirt blouse sweater top tank_top sweatshirt dress_shirt polo_shirt jersey jacket undershirt vest dress "
    "uniform hoodie coat",
    "jacket coat sweater blazer suit vest sweatshirt hoodie raincoat parka robe cardigan life_jacket safety_jacket",
    "pants jeans trousers leggings slacks shorts snow_pants sweatpants trunks overalls pajamas tights",
    "dress skirt gown robe kimono costume",
    "shorts trunks swimsuit bikini underwear swim_trunks skirt",
    "suit uniform outfit costume jumpsuit wetsuit snowsuit clothes clothing garment",
    "clothes clothing garment outfit cloth cloths",
    "shoe sneaker boot sandal flip_flop heel slipper cleat athletic_shoe footwear ski_boot sock",
    "hat cap helmet beanie visor hood cowboy_hat crown headband bandana",
    "glasses sunglasses eyeglasses eye_glasses goggles",
    "glass glasses window cup mirror",
    "glasses cup mug wine_glass tableware",
    "scarf tie bandana shawl necktie",
    "watch wristwatch bracelet wristband band clock pocket_watch",
    "necklace chain jewelry pendant beads ring earring bracelet",
    "glove mitten mitt baseball_mitt",
    "umbrella parasol beach_umbrella canopy tent awning",
    "dog puppy wolf poodle",
    "cat kitten feline tiger lion leopard cheetah",
    "cow calf bull ox cattle bison buffalo",
    "horse pony donkey mule foal zebra",
    "sheep lamb goat ram",
    "bird duck goose seagull pigeon swan chicken parrot eagle crow dove owl",
    "bear polar_bear panda teddy_bear stuffed_bear stuffed_animal toy doll",
    "toy doll figurine stuffed_animal teddy_bear action_figure figure statue lego puppet mannequin toy_car",
    "statue sculpture figurine bust figure mannequin",
    "ball baseball football soccer_ball tennis_ball basketball",
    "bat baseball_bat stick racket",
    "skateboard snowboard surfboard board ski scooter",
    "food meal dish snack dinner lunch breakfast",
    "bread bun roll loaf toast bagel sandwich biscuit baguette",
    "sandwich burger hamburger cheeseburger hot_dog wrap burrito sub taco",
    "cake pie pastry cupcake dessert muffin brownie cheesecake tart",
    "donut bagel pastry cookie",
    "meat beef chicken pork steak ham bacon sausage turkey fish hot_dog pepperoni",
    "soup stew broth sauce chili",
    "sauce dressing ketchup gravy mustard salsa syrup dip mayonnaise tomato_sauce",
    "salad lettuce vegetable cabbage spinach coleslaw kale greens",
    "vegetable carrot pea bean herb produce",
    "orange tangerine grapefruit clementine citrus fruit lemon peach",
    "lemon lime",
    "apple pear peach tomato",
    "fruit berry produce",
    "squash zucchini cucumber pumpkin gourd eggplant",
    "onion garlic onion_ring",
    "ring onion_ring onion",
    "cheese butter cream mozzarella",
    "icing frosting glaze cream whipped_cream",
    "drink juice soda tea coffee water beer wine milk liquid lemonade smoothie beverage",
    "candle candle_holder lamp lantern",
    "vase flower_pot pot jar planter urn bottle",
    "window door glass windshield",
    "door doorway gate entrance garage_door cabinet_door window",
    "wall fence tile brick building partition backsplash",
    "roof rooftop ceiling awning canopy",
    "step stairs staircase stair ladder stairway",
    "wire cable cord power_line rope string line hose chain",
    "train_track track rail railroad train_tracks tracks",
    "letter number word writing text character symbol words numbers letters logo label sign",
    "arm hand elbow wrist finger shoulder",
    "leg foot knee thigh ankle",
    "hand finger thumb paw glove fist",
    "head face hair neck ear nose mouth eye chin cheek",
    "hair beard mustache mane fur wig feathers",
    "mouth lip teeth tooth tongue",
    "horn antler tusk",
    "trunk trunks",
    "wing feather feathers",
    "tire wheel rim",
    "trunk tree_trunk log box nose",
    "store shop market supermarket mall kiosk shopping_center",
    "bathroom restroom toilet",
    "room bedroom living_room kitchen dining_room office bathroom hotel_room lounge lobby hallway",
    "airport runway terminal hangar",
    "dock pier harbor marina deck platform",
    "porch patio balcony deck terrace yard",
    "bug insect fly bee butterfly beetle dragonfly ladybug spider",
    "fish salmon tuna seafood shark",
    "pepper chili peppers bell_pepper",
    "outlet socket plug light_switch",
    "tent canopy umbrella awning shelter",
    "cone traffic_cone ice_cream_cone",
    "flag banner kite",
    "pizza pizza_pie pizza_slice flatbread",
    "egg omelette egg_yolk",
    "chicken hen rooster turkey",
)
_WILD = {
    "food": "meal dish plate snack chicken turkey lamb fish",
    "tool": "hammer knife scissors",
    "device": "computer phone camera machine radio appliance mouse",
    "clothes": "shirt pants jacket coat dress shorts hat sock shoe jeans skirt sweater suit swimsuit t-shirt tank_top "
    "attire blouse vest uniform jersey scarf",
    "player": "pitcher",
    "appliance": "device machine fan heater television coffee_pot lamp radiator air_conditioner",
    "container": "bottle box bowl cup can jar basket bag vase pot bucket",
    "furniture": "seat stand counter bench shelf drawer cabinet stool bookcase bookshelf cushion crib mattress "
    "ottoman",
    "tableware": "silverware utensil fork knife spoon chopstick tea_pot teapot pitcher jug tray napkin pot pan "
    "dish bowl container",
    "decoration": "garland ornament ribbon balloon flower vase statue christmas_light",
    "clothing": "cloth cloths apron hat cap helmet shoe boot sandal sneaker tie scarf glove belt sock outfit uniform "
    "costume trunk trunks jersey vest mitten bow_tie life_jacket wetsuit swimsuit",
    "footwear": "shoe boot sandal sneaker sock cleat flip_flop slipper ski_boot skate heel",
    "vehicle": "cart wagon bike bicycle motorcycle boat airplane carriage scooter",
    "animal": "bat chicken fish turkey lamb mouse shrimp lobster crab toy herd flock",
    "bird": "chicken turkey",
    "toy": "ball kite balloon robot lego game",
    "drink": "bottle can cup glass mug water_bottle beer_bottle wine_bottle soda_bottle beer_can soda_can coffee_cup",
    "utensil": "chopstick silverware tongs spoon",
    "plant": "tree flower bush grass vegetable hedge",
    "fruit": "tomato pumpkin pepper olive avocado cucumber lemon lime squash coconut",
    "vegetable": "tomato corn pepper pumpkin avocado olive mushroom potato beans",
    "meat": "burger hot_dog chicken fish turkey shrimp",
    "place": "street road room park",
    "person": "statue mannequin doll figure people crowd",
    "machine": "appliance device computer printer",
    "sports equipment": "bat stick helmet glove mitt goal net",
    "baked good": "donut cake cookie pie brownie cupcake dessert pizza sandwich crust",
    "dessert": "muffin pastry croissant waffle pancake donut bagel bread fruit cream",
    "accessory": "hat glasses jewelry umbrella bag",
    "herd": "cow sheep elephant horse goat zebra",
}


def _table() -> dict[str, frozenset[str]]:
    near: dict[str, set[str]] = {}
    for line in _ALIKE:
        first, *others = (word.replace("_", " ") for word in line.split())
        for one in others:
            near.setdefault(first, set()).add(one)
            near.setdefault(one, set()).add(first)
    for line in _ALIKE:  # throughout a line, but for long lines, which gather kinds around their first
        names = [word.replace("_", " ") for word in line.split()]
        if names[0] not in _AROUND_FIRST:
            for one in names:
                near[one] |= set(names) - {one}
    for name, line in _WILD.items():
        for other in (word.replace("_", " ") for word in line.split()):
            near.setdefault(name, set()).add(other)
            near.setdefault(other, set()).add(name)
    return {name: frozenset(others) for name, others in near.items()}


_AROUND_FIRST = frozenset(
    "building tree ground bird vegetable fruit paper light food bread meat drink head wall plant flower bear shirt "
    "clothes bug street ocean computer car pizza glass".split()
)
KINDS_ALIKE: Mapping[str, frozenset[str]] = _table()
"""Kind to those that might be meant by the same thing; both ways."""
AMBIGUOUS = frozenset(
    {"mouse", "chicken", "turkey", "lamb", "fish", "pitcher", "sidewalk", "pavement", "walkway", "glasses", "ring"}
)
"""Kinds of which it is open what they are: an animal, a device, food on a plate; a player or a jug; a road; what one
drinks from or wears; jewelry or onions."""
_OTHER_HEADS = frozenset({"hot dog", "hot dogs"})


def heads_alike(nouns: Mapping[str, Noun], aliases: Mapping[str, str]) -> dict[str, frozenset[str]]:
    """For kinds of several words, by whatever name, the kind that the last word is: a street lamp may be a lamp."""
    near: dict[str, set[str]] = {}
    for name, meant in [*((noun.name, noun.name) for noun in nouns.values()), *aliases.items()]:
        head = nouns.get(name.split()[-1]) if " " in name and name not in _OTHER_HEADS else None
        one = nouns[meant].kind if meant in nouns else ""
        if head is not None and one and head.kind != one and not head.vague:
            near.setdefault(one, set()).add(head.kind)
            near.setdefault(head.kind, set()).add(one)
    return {kind: frozenset(others) for kind, others in near.items()}


MALE = frozenset(
    "man boy gentleman guy father dad son brother husband groom waiter businessman policeman cowboy".split()
)
FEMALE = frozenset("woman girl lady mother mom daughter sister wife bride waitress businesswoman".split())
_GROWN = frozenset("man woman gentleman lady father mother parent businessman policeman waiter waitress".split())
_SMALL = frozenset("baby toddler infant".split())
_SPORTS = (
    frozenset({"skier", "snowboarder"}),
    frozenset({"surfer", "swimmer"}),
    frozenset({"skateboarder", "skater"}),
    frozenset({"batter", "catcher", "pitcher", "umpire"}),
    frozenset({"cyclist", "biker", "motorcyclist", "bicyclist", "jockey"}),
)
_GROUPS = frozenset("people crowd audience fans couple family team group spectator person".split())


def people_alike(nouns: Iterable[Noun]) -> dict[str, frozenset[str]]:
    """For each kind of person those that the same person might be called: a skier may be a man, a man no woman."""
    kinds = {noun.kind for noun in nouns if "person" in noun.parents or noun.kind in _GROUPS}
    return {
        kind: frozenset(other for other in kinds if other != kind and not _two_people(kind, other))
        for kind in sorted(kinds)
    }


def _two_people(one: str, other: str) -> bool:
    """Whether nobody is called both."""
    if {one, other} & _GROUPS:
        return False
    if (one in MALE and other in FEMALE) or (one in FEMALE and other in MALE):
        return True
    if (one in _GROWN and other in _SMALL) or (one in _SMALL and other in _GROWN):
        return True
    if (one in _SMALL and any(other in sport for sport in _SPORTS)) or (
        other in _SMALL and any(one in sport for sport in _SPORTS)
    ):
        return True
    of_one = [sport for sport in _SPORTS if one in sport]
    of_other = [sport for sport in _SPORTS if other in sport]
    return bool(of_one and of_other and of_one != of_other)
