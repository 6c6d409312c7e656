"""Our own list of common things in pictures, by category; WordNet adds the rarer ones."""

from collections.abc import Mapping

CATEGORIES: Mapping[str, str] = {
    "animal": "bear cat cow dog elephant giraffe horse sheep zebra goat pig monkey rabbit squirrel mouse:. lion "
    "tiger deer fox wolf camel donkey kangaroo rhino hippo leopard cheetah panda turtle snake lizard frog fish:. "
    "shark whale dolphin seal crab lobster octopus snail spider bug bee butterfly dragonfly ant fly ladybug "
    "beetle puppy:dog kitten:cat calf:cow bull:cow lamb:. pony:horse polar_bear:bear gorilla:monkey buffalo "
    "moose antelope crocodile alligator raccoon otter walrus bison llama ox mule foal:horse",
    "bird": "duck goose chicken:. rooster seagull pigeon swan parrot owl eagle penguin flamingo ostrich peacock "
    "crow dove hawk pelican turkey:. hen sparrow heron",
    "fruit": "apple banana orange grape strawberry blueberry raspberry cherry pear peach pineapple mango kiwi "
    "lemon lime watermelon melon plum coconut grapefruit tangerine avocado papaya pomegranate berry raisin fig "
    "apricot cantaloupe",
    "vegetable": "carrot +broccoli +cauliflower potato tomato onion +lettuce cabbage +corn cucumber pepper "
    "+celery +spinach mushroom pea bean zucchini eggplant +garlic pumpkin squash olive pickle radish beet +kale "
    "+asparagus sweet_potato:potato artichoke leek +parsley +basil bell_pepper:pepper",
    "meat": "+bacon +ham sausage steak +beef +pork +pepperoni meatball",
    "baked good": "+bread bun bagel pastry pie muffin croissant biscuit pretzel loaf waffle pancake +toast",
    "dessert": "cake cookie donut cupcake brownie +ice_cream +pudding +candy +chocolate pie",
    "food": "pizza sandwich hot_dog hamburger:sandwich burger:sandwich +salad +soup +rice +pasta egg +cheese "
    "+cereal +fries burrito taco +sushi +sauce +butter +ketchup +mustard +mayonnaise +yogurt +meal snack +cream "
    "+honey +syrup noodle nut almond peanut omelette dumpling +tofu +popcorn cracker +gravy +dressing +sugar "
    "+salt +frosting +icing +flour +dough +cinnamon +jam pizza_slice:pizza crust topping +fruit_salad potato_chip "
    "+breakfast +lunch +dinner +seafood +shrimp",
    "drink": "+coffee +tea +juice +milk +beer +wine +soda +water +lemonade smoothie +champagne cocktail "
    "milkshake +cola",
    "furniture": "chair couch sofa table desk bed bench stool shelf bookshelf:shelf bookcase cabinet dresser drawer "
    "cupboard nightstand armchair:chair ottoman recliner:chair coffee_table:table dining_table:table end_table:table "
    "side_table:table picnic_table:table tv_stand wardrobe office_chair:chair crib loveseat:couch bunk_bed:bed "
    "bar_stool:stool kitchen_table:table computer_desk:desk",
    "vehicle": "car bus truck train van motorcycle bicycle:. bike:. airplane boat taxi:car suv tractor ambulance "
    "scooter:. helicopter trailer wagon minivan:van jeep:. fire_truck:truck locomotive tram trolley jet:airplane "
    "plane:airplane ship:boat sailboat:boat canoe:boat kayak:boat raft:boat yacht:boat ferry:boat school_bus:bus "
    "police_car:car pickup_truck:truck moped carriage cart golf_cart train_car sedan:car motorbike:motorcycle",
    "clothing": "shirt pants^ jeans^:pants shorts^ dress skirt jacket coat sweater hat cap:hat sock shoe boot:. "
    "sneaker:shoe sandal:. suit vest uniform glove scarf apron t-shirt:shirt blouse:shirt hoodie sweatshirt "
    "wetsuit robe gown:dress bikini swimsuit tank_top +attire leggings^ pajamas^ jersey blazer:jacket belt tie "
    "flip_flop:. slipper:. high_heel:shoe costume +underwear trunks^ trousers^:pants overalls^ outfit "
    "raincoat:coat mitten helmet:. tuxedo:suit cowboy_hat:hat baseball_cap:cap polo_shirt:shirt "
    "dress_shirt:shirt beanie:hat clothes^ ski_boot:boot cleat:shoe",
    "accessory": "glasses^:. sunglasses^:glasses goggles^ watch bracelet necklace earring ring:. headband bandana "
    "wristband +jewelry umbrella:. purse:. handbag:. backpack:. wallet:. mask wristwatch:watch "
    "eyeglasses^:glasses bow_tie:tie crown",
    "bag": "+luggage backpack purse handbag:purse suitcase briefcase sack pouch tote_bag shopping_bag duffel_bag "
    "trash_bag plastic_bag",
    "person": "man woman boy girl child baby guy:man lady:woman kid:child toddler:child gentleman:man player "
    "skier surfer skateboarder snowboarder batter:player catcher:player pitcher:. umpire driver rider "
    "passenger pedestrian cyclist biker motorcyclist policeman police_officer officer soldier fireman chef "
    "waiter waitress worker student teacher tourist photographer spectator athlete baseball_player:player "
    "tennis_player:player soccer_player:player skater swimmer farmer customer vendor bride:woman groom:man "
    "mother:woman father:man daughter:girl son:boy clown pilot nurse doctor coach referee fisherman cowboy "
    "jockey businessman:man shopper infant:baby bicyclist:cyclist",
    "building": "house church skyscraper barn cabin tower:. shed apartment_building hotel castle temple "
    "cathedral factory garage lighthouse:tower clock_tower:tower hut palace warehouse school hospital stadium",
    "appliance": "refrigerator oven stove microwave toaster dishwasher blender coffee_maker washing_machine "
    "dryer vacuum heater mixer toaster_oven:oven microwave_oven:microwave hair_dryer air_conditioner radiator "
    "freezer coffee_machine rice_cooker",
    "device": "computer laptop:computer television monitor keyboard computer_mouse phone cell_phone:phone camera "
    "remote_control printer radio speaker tablet microphone calculator screen router projector headphones^ ipod "
    "telephone:phone desktop_computer:computer computer_monitor:monitor controller game_controller:controller "
    "charger dvd_player video_camera:camera fax_machine scanner modem hard_drive smartphone:phone clock:. "
    "alarm_clock:clock cpu webcam:camera stereo joystick",
    "utensil": "fork knife spoon chopstick spatula ladle tongs^ whisk +silverware butter_knife:knife grater "
    "rolling_pin can_opener +cutlery",
    "tableware": "plate cup mug glass:. bowl saucer wine_glass:glass coffee_cup:cup coffee_mug:mug tray platter "
    "dish napkin:. teacup:cup goblet",
    "container": "bottle jar box basket bucket can crate bin trash_can barrel vase pot water_bottle:bottle "
    "wine_bottle:bottle beer_bottle:bottle cardboard_box:box jug carton tub tank cooler pizza_box:box garbage_can "
    "flower_pot:pot planter recycling_bin:bin canister lunch_box:box tissue_box:box kettle:. teapot:. pan:. "
    "frying_pan:pan wok:pan coffee_pot:pot",
    "toy": "doll teddy_bear stuffed_animal balloon kite:. toy_car toy_train robot lego puppet frisbee:. stuffed_bear "
    "action_figure rubber_duck",
    "sports equipment": "ball baseball:ball football:ball basketball:ball tennis_ball:ball soccer_ball:ball "
    "baseball_bat racket tennis_racket:racket skateboard surfboard snowboard ski frisbee ski_pole golf_club "
    "baseball_glove knee_pad elbow_pad paddle oar hockey_stick tennis_net",
    "musical instrument": "guitar piano drum violin trumpet flute saxophone harp accordion cello",
    "tool": "hammer scissors^ screwdriver wrench saw drill shovel rake broom ladder axe pliers^ mop hose",
    "plant": "tree flower bush:. +grass:. shrub:bush palm_tree:tree pine_tree:tree rose:flower tulip:flower "
    "daisy:flower lily:flower sunflower:flower cactus vine fern hedge:. weed +ivy houseplant orchid:flower +moss "
    "+seaweed evergreen_tree:tree oak_tree:tree wildflower:flower christmas_tree:tree",
    "place": "street road beach park field forest mountain hill river lake ocean sea yard garden sidewalk:. "
    "restaurant store shop:store market airport train_station:station station parking_lot city town village farm "
    "zoo desert harbor highway:road runway:. bridge:. island playground backyard:yard driveway patio porch "
    "balcony courtyard dock pier skate_park tennis_court baseball_field:field intersection crosswalk:. path:. "
    "walkway:. alley canyon valley pond:. waterfall:. ski_slope pasture:field meadow:field cemetery plaza "
    "hillside:hill office_building:building",
    "room": "kitchen bathroom bedroom living_room dining_room office classroom hallway lobby attic basement closet "
    "restroom:bathroom hotel_room library gym pantry",
    "body part": "head face arm leg hand foot ear eye nose mouth neck tail +hair finger thumb knee elbow "
    "shoulder toe wing paw beak horn +fur +skin beard mustache tooth tongue lip chin cheek forehead wrist waist "
    "ankle hoof mane feather tusk antler claw snout whisker chest stomach back eyebrow thigh",
    "vehicle part": "wheel tire windshield headlight bumper license_plate steering_wheel tail_light propeller engine "
    "handlebar side_mirror rearview_mirror wing mast sail hubcap fender cockpit landing_gear rim seat_belt",
    "sign": "street_sign stop_sign traffic_sign billboard banner road_sign parking_sign",
    "textile": "curtain blanket towel pillow:. sheet tablecloth cloth rug:. carpet:. comforter quilt "
    "shower_curtain:curtain bedspread drape:curtain paper_towel:. napkin washcloth cushion:. mattress:. +bedding "
    "pillowcase",
    "office supplies": "pen pencil marker stapler notebook binder envelope eraser paper_clip sticky_note folder",
    "": "person animal vehicle building food fruit:food vegetable:food plant drink +furniture +clothing container "
    "bag toy device appliance utensil tool room place sign +meat:food dessert:food bird:animal sky= ground= "
    "floor wall ceiling= window door roof +snow +sand +water +dirt +mud +ice +rain +fog +smoke +fire +steam "
    "cloud leaf branch rock stone boulder stick log twig stump cliff wave sun= moon= star shadow reflection "
    "pole post fence gate railing street_light traffic_light fire_hydrant parking_meter bench lamp light "
    "lamp_shade light_fixture light_bulb chandelier candle clock mirror picture painting photo poster frame "
    "picture_frame drawing map calendar book magazine newspaper paper card letter number word label sticker "
    "logo arrow flag banner tent canopy awning sink toilet faucet bathtub shower counter countertop fireplace "
    "outlet light_switch fan air_vent vent tile brick step stairs^ staircase column pillar chimney arch dome "
    "statue sculpture fountain bridge platform stage train_track railroad_track cable wire rope chain cord "
    "power_line pipe net cage umbrella kite helmet soap_dispenser +soap toothbrush +toothpaste +toilet_paper "
    "tissue napkin hairbrush comb sponge mailbox dumpster trash_can traffic_cone cone barrier manhole_cover "
    "curb +pavement +gravel +asphalt hook knob handle lock key hinge button lid cap cork straw ribbon bow "
    "ornament decoration garland wreath pocket collar sleeve button zipper buckle strap shoelace hood "
    "stuffed_animal vase pot coin +money ticket menu receipt tag cigarette gift bouquet nest egg shell feather "
    "bone seed petal stem thorn root bark keypad mouse_pad dvd cd disc antenna satellite_dish battery plug "
    "socket board cutting_board chalkboard whiteboard bulletin_board scoreboard doorway window_frame "
    "window_sill door_frame headboard +trash +garbage +graffiti +paint +wood saddle bridle leash harness "
    "collar crane elevator escalator turbine windmill tunnel swing slide wheelchair stroller shopping_cart "
    "cart crutch cane seat stand +tape dial blade +liquid entrance dispenser flame tree_trunk:trunk trunk "
    "tree_branch:branch telephone_pole:pole paint_brush:brush brush roll skillet mat shelter puddle lawn shore "
    "buoy sprinkles^ +produce +air display heart figurine bubble railroad roadway:road blinds^ light_bulb "
    "ladder +beverage foam stripe border tube holder mound pad computer_tower stove_top tissue_holder "
    "towel_rack rack sticker poster knob bell robe_hook towel_bar shower_head gun rifle sword shield mannequin "
    "machine game figure salt_shaker pepper_shaker burner deck cross magnet symbol character placemat drain "
    "package packet +foil +oil pump +shampoo lipstick +salmon +tuna swimming_pool museum mall bat urinal spear "
    "+armor entertainment_center console grill lounge grinder feeder bird_feeder:feeder bottle_cap hub_cap wig "
    "wrapper buffet floor_lamp:lamp table_lamp:lamp desk_lamp:lamp file_cabinet:cabinet filing_cabinet:cabinet "
    "+artwork aquarium parachute apartment home pedestal fire_extinguisher american_flag:flag hand_towel:towel "
    "dish_towel:towel life_jacket:jacket banana_peel egg_yolk ice_cube soda_can:can beer_can:can "
    "soda_bottle:bottle people^=person +equipment home_plate mound base net goal hay+ herd flock crowd group "
    "family couple team",
}
"""Category to names; "" for none. +mass, plural^, only=, name:the kind above it; name:. may be of the category."""

ABOVE: Mapping[str, tuple[str, ...]] = {
    "bird": ("animal",),
    "fruit": ("food",),
    "vegetable": ("food",),
    "meat": ("food",),
    "baked good": ("food",),
    "dessert": ("food",),
    "bag": (),
    "room": ("place",),
    "body part": (),
    "vehicle part": (),
}
"""What the categories are kinds of."""

SPELLED: Mapping[str, str] = {
    "tv": "television",
    "tv set": "television",
    "switch": "light switch",
    "table top": "tabletop",
    "taillight": "tail light",
    "fridge": "refrigerator",
    "cellphone": "cell phone",
    "mobile phone": "cell phone",
    "remote": "remote control",
    "doughnut": "donut",
    "tee shirt": "t-shirt",
    "tshirt": "t-shirt",
    "t shirt": "t-shirt",
    "bath tub": "bathtub",
    "tub": "bathtub",
    "sea gull": "seagull",
    "streetlight": "street light",
    "lamp post": "street light",
    "street lamp": "street light",
    "stoplight": "traffic light",
    "traffic signal": "traffic light",
    "hydrant": "fire hydrant",
    "garbage bin": "trash can",
    "trash bin": "trash can",
    "trashcan": "trash can",
    "wineglass": "wine glass",
    "photograph": "photo",
    "snow board": "snowboard",
    "surf board": "surfboard",
    "skate board": "skateboard",
    "motor bike": "motorcycle",
    "light post": "street light",
    "light pole": "street light",
    "lampshade": "lamp shade",
    "mousepad": "mouse pad",
    "dish washer": "dishwasher",
    "trouser": "trousers",
    "ice-cream": "ice cream",
    "racquet": "racket",
    "tennis racquet": "tennis racket",
    "taxi cab": "taxi",
    "cab": "taxi",
    "aeroplane": "airplane",
    "plane": "airplane",
    "sun glasses": "sunglasses",
    "eye glasses": "eyeglasses",
    "electrical outlet": "outlet",
    "power outlet": "outlet",
    "side walk": "sidewalk",
    "counter top": "countertop",
    "table cloth": "tablecloth",
    "back pack": "backpack",
    "suit case": "suitcase",
    "hand bag": "handbag",
    "pony tail": "ponytail",
    "wrist watch": "wristwatch",
    "cop": "police officer",
    "laptop computer": "laptop",
    "numbers sign": "sign",
    "train tracks": "train tracks",
    "tracks": "train tracks",
    "railroad tracks": "railroad tracks",
    "rhinoceros": "rhino",
    "hippopotamus": "hippo",
    "male": "man",
    "female": "woman",
    "persons": "people",
    "humans": "people",
    "human": "person",
    "adult": "person",
}
"""Other spellings and words."""
