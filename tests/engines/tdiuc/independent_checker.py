"""Judges a written TDIUC folder by the raw annotation files alone: shares no code and no table with the generator.

It parses each question's text and decides what is true by its own reading of the annotation. ``faults`` returns one
sentence for each thing that is wrong.
"""

import gzip
import json
import lzma
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import yaml

NUMBERS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen".split()
)
TYPES = set(
    "absurd activity_recognition attribute color counting object_presence object_recognition positional_reasoning "
    "scene_recognition sentiment_understanding sport_recognition utility_affordance".split()
)
SUBSETS = ("train2014", "val2014")
GENOME = 10_000_000_000

WORDS = yaml.safe_load((Path(__file__).parent / "checker_words.yaml").read_text("utf-8"))
OTHER_WORDS, NO_SINGULAR, UNCOUNTED, SAYS = (WORDS[key] for key in ("other words", "no singular", "uncounted", "says"))


def read_json(path: Path) -> Any:
    """A json file, packed or plain."""
    opener = {".xz": lzma.open, ".gz": gzip.open}.get(path.suffix, open)
    with opener(path, "rt", encoding="utf-8") as file:
        return json.load(file)


def plural(word: str) -> str:
    """The plural of one of COCO's names."""
    return WORDS["irregular"].get(word, word + "s")


class Coco:
    """All instance files, by image."""

    def __init__(self, paths: list[Path]) -> None:
        self.supercategory: dict[str, str] = {}
        self.objects: dict[int, dict[int, dict[str, Any]]] = defaultdict(dict)
        self.size: dict[int, tuple[int, int]] = {}
        self.subset: dict[int, str] = {}
        for path in paths:
            content = read_json(path)
            names = {one["id"]: one["name"] for one in content["categories"]}
            self.supercategory |= {one["name"]: one["supercategory"] for one in content["categories"]}
            for one in content["images"]:
                self.size[one["id"]] = (one["width"], one["height"])
                for subset in SUBSETS:
                    if subset in one["file_name"] or subset in path.name:
                        self.subset[one["id"]] = subset
            for one in content["annotations"]:
                self.objects[one["image_id"]][one["id"]] = {**one, "name": names[one["category_id"]]}
        self.singular: dict[str, str] = {}
        self.plural: dict[str, str] = {}
        for name in self.supercategory:
            for word in [name, *OTHER_WORDS.get(name, [])]:
                if name in NO_SINGULAR:
                    self.plural[word] = self.plural[NO_SINGULAR[name]] = name
                elif name in UNCOUNTED:
                    self.plural[UNCOUNTED[name]] = name
                else:
                    self.singular[word] = name
                    self.plural[plural(word)] = name

    def named(self, image_id: int, name: str) -> list[dict[str, Any]]:
        """The image's objects of that name."""
        return [one for one in self.objects[image_id].values() if one["name"] == name]

    def present(self, image_id: int) -> set[str]:
        """The names on the image."""
        return {one["name"] for one in self.objects[image_id].values()}


class Genome:
    """Visual Genome's files, by the id that is written."""

    def __init__(self, folder: Path) -> None:
        def read(name: str) -> list[Any]:
            found = sorted(folder.glob(f"{name}.json*"))
            return read_json(found[0]) if found else []

        self.ids = {one["image_id"]: one["coco_id"] or GENOME + one["image_id"] for one in read("image_data")}
        self.objects: dict[int, dict[int, dict[str, Any]]] = defaultdict(dict)
        self.relations: dict[int, list[Any]] = defaultdict(list)
        self.pairs: dict[int, list[Any]] = {}
        named = [
            (image["image_id"], one)
            for kind in ("objects", "attributes")
            for image in read(kind)
            for one in image[kind]
        ]
        for image in read("relationships"):
            for one in image["relationships"]:
                named += [(image["image_id"], one["subject"]), (image["image_id"], one["object"])]
                self.relations[self.ids[image["image_id"]]].append(one)
        for image_id, one in named:
            self._add(image_id, one)
        merged = {gone for _, one in named for gone in one.get("merged_object_ids", [])}
        for objects in self.objects.values():
            for gone in merged & objects.keys():
                del objects[gone]
        for image in read("question_answers"):
            self.pairs[self.ids[image["id"]]] = [(one["question"], one["answer"]) for one in image["qas"]]

    def _add(self, image_id: int, one: dict[str, Any]) -> None:
        known = self.objects[self.ids[image_id]].setdefault(one["object_id"], {"name": name_of(one), "attributes": []})
        known["attributes"] += [text.strip().lower() for text in one.get("attributes", [])]


def name_of(one: dict[str, Any]) -> str:
    """What Visual Genome calls an object."""
    return " ".join((one["names"][0] if "names" in one else one["name"]).lower().split())


def same_text(text: str) -> str:
    """A question or answer for comparison: letters and digits only, small numbers as words."""
    words = re.findall(r"[a-z0-9']+", text.lower())
    words = [NUMBERS[int(word)] if word.isdigit() and int(word) < len(NUMBERS) else word for word in words]
    return "".join(words).replace("'", "")  # people put spaces where they like


def faults(
    folder: Path, coco: list[Path], visual_genome: Path | None = None, vqa: Path | None = None, min_area: float = 2000
) -> list[str]:
    """All that is wrong with a written folder."""
    rows, found = _rows(folder)
    annotated = Coco(coco)
    genome = Genome(visual_genome) if visual_genome else None
    answers_of = _answers_of(vqa) if vqa else {}
    found += _whole(rows, annotated)
    for row in rows:
        question, answer, source = row["question"], row["answer"], row["source"]
        if source in ("coco_generated", "genome_generated") and row["type"] != "absurd":
            found += [f"{problem}: {row}" for problem in _grammar(question, annotated)]
        if source == "coco_generated":
            judge = JUDGES.get(row["type"])
            problem = judge(row, annotated, min_area) if judge else "a type that COCO cannot give"
        elif source == "genome_generated":
            judge_genome = {"color": _genome_color, "positional_reasoning": _genome_position}[row["type"]]
            problem = judge_genome(row, genome)
        elif source == "genome_imported":
            pairs = [(same_text(one), same_text(other)) for one, other in genome.pairs.get(row["image_id"], [])]
            problem = None if _same_color((same_text(question), same_text(answer)), pairs) else "nobody asked this so"
        elif source == "vqa_imported":
            counts = answers_of.get((row["image_id"], same_text(question)), [])
            problem = None if any(one[same_text(answer)] >= 5 for one in counts) else "fewer than five said so"
        else:
            problem = None if source == "annotated" else "an unknown origin"
        if problem:
            found.append(f"{problem}: {row}")
    return found


def _same_color(pair: tuple[str, str], pairs: list[tuple[str, str]]) -> bool:
    return pair in pairs or (pair[1] == "gray" and (pair[0], "grey") in pairs)


def _rows(folder: Path) -> tuple[list[dict[str, Any]], list[str]]:
    rows, found = [], []
    for subset in SUBSETS:
        questions = read_json(folder / f"OpenEnded_mscoco_{subset}_questions.json")["questions"]
        annotations = read_json(folder / f"mscoco_{subset}_annotations.json")["annotations"]
        by_id = {one["question_id"]: one for one in questions}
        if len(by_id) != len(questions) or [one["question_id"] for one in annotations] != list(by_id):
            found.append(f"{subset}: the question ids of the two files differ")
        for one in annotations:
            question = by_id[one["question_id"]]
            if (
                question["image_id"] != one["image_id"]
                or len(one["answers"]) != 1
                or set(question) != {"question_id", "image_id", "question"}
            ):
                found.append(f"not TDIUC's layout: {one}")
            rows.append(
                {
                    "question": question["question"],
                    "answer": one["answers"][0]["answer"],
                    "image_id": one["image_id"],
                    "type": one["question_type"],
                    "source": one["ans_source"],
                    "subset": subset,
                    "id": one["question_id"],
                }
            )
    return rows, found


def _whole(rows: list[dict[str, Any]], coco: Coco) -> list[str]:
    """What must hold of all questions together."""
    found = []
    if len({row["id"] for row in rows}) < len(rows):
        found.append("a question_id twice")
    presence = Counter((row["subset"], row["answer"]) for row in rows if row["type"] == "object_presence")
    for subset in SUBSETS:
        if presence[subset, "yes"] != presence[subset, "no"]:
            found.append(f"{subset}: object presence is not half yes: {presence}")
    answers = Counter(row["answer"] for row in rows)
    found += [f"the answer {answer!r} occurs once" for answer, count in answers.items() if count < 2]
    twice = Counter((row["image_id"], row["question"].lower()) for row in rows)
    found += [f"asked twice: {one}" for one, count in twice.items() if count > 1]
    subsets = defaultdict(set)
    absurd = Counter()
    for row in rows:
        subsets[row["image_id"]].add(row["subset"])
        absurd[row["image_id"]] += row["type"] == "absurd"
        if row["type"] not in TYPES:
            found.append(f"an unknown type: {row}")
        if row["answer"] != row["answer"].lower().strip(" .,!?;:") or row["answer"].isdigit():
            found.append(f"an answer that is not tidy: {row}")
        if coco.subset.get(row["image_id"], row["subset"]) != row["subset"]:
            found.append(f"in the wrong split: {row}")
    found += [f"image {one} is in both splits" for one, names in subsets.items() if len(names) > 1]
    found += [f"image {one} has {count} absurd questions" for one, count in absurd.items() if count > 3]
    return found


def _grammar(question: str, coco: Coco) -> list[str]:
    """What a generated question gets wrong in English."""
    found = []
    if not re.fullmatch(r"[A-Z][a-z]+( [A-Za-z]+)+\?", question):
        found.append("no capital, stray spaces or no question mark")
    for article, following in re.findall(r"\b(an?) ([a-z])", question):
        if (article == "an") != (following in "aeiou"):
            found.append("a or an")
    singulars, plurals = set(coco.singular) - set(coco.plural), set(coco.plural) - set(coco.singular)
    if (one := re.match(r"Are there any (.+?)( in |\?)", question)) and one[1] in singulars:
        found.append("a singular after 'are there any'")
    if (one := re.match(r"Is there an? (.+?)( in |\?)", question)) and one[1] in plurals:
        found.append("a plural after 'is there a'")
    if (one := re.match(r"How many (.+?) (are|can)\b", question)) and one[1] in singulars:
        found.append("a singular after 'how many'")
    return found


def _presence(row: dict[str, Any], coco: Coco, min_area: float) -> str | None:
    parsed = re.fullmatch(
        r"(Is there an?|Are there any|Is there any) (.+?)( in (the|this) (picture|photo|image))?\?", row["question"]
    )
    if not parsed:
        return "cannot be parsed"
    noun = parsed[2]
    table = coco.plural if parsed[1] == "Are there any" else coco.singular
    name = "broccoli" if noun == "broccoli" and parsed[1] == "Is there any" else table.get(noun)
    if name is None:
        return "asks of no object of COCO's"
    there = coco.named(row["image_id"], name)
    if row["answer"] == "yes":
        return None if any(one["area"] >= min_area for one in there) else "there is none so large"
    return "there is one" if there or row["answer"] != "no" else None


def _counting(row: dict[str, Any], coco: Coco, min_area: float) -> str | None:
    parsed = re.fullmatch(
        r"(How many|What is the number of) (.+?) (are there|are in|can be|are visible|are shown|can you|in the)\b.*",
        row["question"],
    )
    name = coco.plural.get(parsed[2]) if parsed else None
    if name is None:
        return "cannot be parsed"
    there = coco.named(row["image_id"], name)
    if any(one["area"] < min_area or one["iscrowd"] for one in there):
        return "ambiguous"
    return None if NUMBERS[len(there)] == row["answer"] else f"there are {len(there)}"


def _kind(row: dict[str, Any], coco: Coco, min_area: float) -> str | None:
    words = {
        "furniture": "furniture",
        "food": "food",
        "electronic device": "electronic",
        "kitchen appliance": "appliance",
        "animal": "animal",
        "vehicle": "vehicle",
    }
    parsed = re.match(rf"What (?:kind of |type of |piece of )?({'|'.join(words)})\b", row["question"])
    if not parsed:
        return "cannot be parsed"
    group = words[parsed[1]]
    there = {name for name in coco.present(row["image_id"]) if coco.supercategory[name] == group}
    if there != {row["answer"]}:
        return f"there are {there}"
    large = any(one["area"] >= min_area for one in coco.named(row["image_id"], row["answer"]))
    return None if large else "it is too small"


def _sport(row: dict[str, Any], coco: Coco, _: float) -> str | None:
    tools = {
        "tennis racket": "tennis",
        "baseball bat": "baseball",
        "baseball glove": "baseball",
        "skis": "skiing",
        "snowboard": "snowboarding",
        "skateboard": "skateboarding",
        "surfboard": "surfing",
        "frisbee": "frisbee",
        "kite": "kite flying",
    }
    if not re.match(r"(What|Which) sport (is|can) ", row["question"]):
        return "cannot be parsed"
    there = {tools[name] for name in coco.present(row["image_id"]) if name in tools}
    return None if there == {row["answer"]} else f"the equipment is of {there}"


def _scene(row: dict[str, Any], coco: Coco, _: float) -> str | None:
    there = coco.present(row["image_id"])
    groups = {coco.supercategory[name] for name in there}
    outside = bool(there & {"traffic light", "fire hydrant", "stop sign", "parking meter"})
    inside = bool(there & {"toilet", "oven", "microwave", "refrigerator", "toaster", "hair drier", "toothbrush"})
    inside |= len(there & {"book", "vase", "scissors", "clock", "sink", "bed", "couch", "tv", "keyboard", "mouse"}) > 1
    if "vehicle" in groups - {"bicycle"} and there & {
        "car",
        "bus",
        "truck",
        "train",
        "airplane",
        "boat",
        "motorcycle",
    }:
        inside = False
    if outside == inside or (outside and groups & {"appliance", "indoor"}):
        return "indoors or outdoors is in doubt"
    truth = "indoors" if inside else "outdoors"
    if " indoors or outdoors?" in row["question"]:
        return None if row["answer"] == truth else f"it is {truth}"
    if parsed := re.fullmatch(r"(Is|Was) .* (indoors|outdoors)\?", row["question"]):
        return None if row["answer"] == ("yes" if parsed[2] == truth else "no") else f"it is {truth}"
    if not re.match(r"(What|Which) room ", row["question"]):
        return "cannot be parsed"
    signs = {"bathroom": {"toilet"}, "kitchen": {"oven", "refrigerator"}, "bedroom": {"bed"}, "living room": {"couch"}}
    rooms = {room for room, some in signs.items() if there & some}
    return None if rooms == {row["answer"]} and truth == "indoors" else f"it is {rooms}"


def _position(row: dict[str, Any], coco: Coco, min_area: float) -> str | None:
    parsed = re.fullmatch(
        r"What (?:is|can be seen|can you see) (?:to|on) the (left|right)(?: side)? of the (.+)\?", row["question"]
    )
    tables = (coco.singular, coco.plural, {word: word for word in UNCOUNTED})
    name = next((table[parsed[2]] for table in tables if parsed and parsed[2] in table), None)
    if name is None:
        return "cannot be parsed"
    ones = coco.named(row["image_id"], name)
    if len(ones) != 1 or ones[0]["iscrowd"] or ones[0]["area"] < min_area:
        return "it is not the only one, or too small"
    width, height = coco.size[row["image_id"]]
    left, top, wide, high = ones[0]["bbox"]

    def beside(box: list[float], loosely: float) -> bool:
        x, y, w, h = box
        if parsed[1] == "right":  # seen in a mirror, right is left
            start, other_start = width - x - w, width - left - wide
        else:
            start, other_start = x, left
        gap = other_start - (start + w)
        level = abs((y + h / 2) - (top + high / 2)) <= 0.1 * height * loosely
        return (
            level
            and -gap <= min(w, wide) / 2
            and gap <= 0.15 * width * loosely
            and start < other_start
            and (start + w < other_start + wide)
        )

    others = [one for one in coco.objects[row["image_id"]].values() if one is not ones[0]]
    loosely = [one for one in others if beside(one["bbox"], 2)]
    if len(loosely) != 1:
        return f"{len(loosely)} things are there"
    one = loosely[0]
    clear = beside(one["bbox"], 1) and one["area"] >= min_area and not one["iscrowd"]
    return None if clear and one["name"] == row["answer"] else f"{one['name']} is there, clearly: {clear}"


def _absurd(row: dict[str, Any], coco: Coco, _: float) -> str | None:
    if row["answer"] != "doesnotapply":
        return "another answer"
    if row["image_id"] not in coco.size:
        return "nothing proves that anything is absent"
    text = f" {' '.join(re.findall('[a-z]+', row['question'].lower()))} "
    if re.match(r" (is|are|was|were|do|does|did|can|how many) ", text):
        return "yes or no, or counting"
    text = re.sub(" computer (mouse|mice) ", r" \1 ", text)  # which is no computer
    named = set()
    for name in coco.supercategory:
        forms = [name, plural(name), *OTHER_WORDS.get(name, []), *SAYS.get(name, "").split()]
        forms += [f"{form}s" for form in SAYS.get(name, "").split()]
        forms += [plural(form) for form in OTHER_WORDS.get(name, [])]
        if any(f" {form} " in text for form in forms):
            named.add(name)
    if not named:
        return "names nothing that COCO annotates"
    there = named & coco.present(row["image_id"])
    return f"{there} is there" if there else None


JUDGES = {
    "object_presence": _presence,
    "counting": _counting,
    "object_recognition": _kind,
    "sport_recognition": _sport,
    "scene_recognition": _scene,
    "positional_reasoning": _position,
    "absurd": _absurd,
}

_COLORS = "white black red blue brown green yellow gray grey orange silver pink purple tan beige gold".split()


def _genome_color(row: dict[str, Any], genome: Genome) -> str | None:
    parsed = re.fullmatch(r"What (?:color is|is the color of) the (.+?)(?: in the picture)?\?", row["question"])
    if not parsed:
        return "cannot be parsed"
    objects = genome.objects[row["image_id"]].values()
    ones = [one for one in objects if parsed[1].split()[-1] in (one["name"].split() or [""])[-1:]]
    if len(ones) != 1 or ones[0]["name"] != parsed[1]:
        return f"there are {len(ones)} of it"
    if set(parsed[1].split()) & set(_COLORS):
        return "its color is in its name"
    colors = {"gray" if one == "grey" else one for one in ones[0]["attributes"] if set(one.split()) & set(_COLORS)}
    return None if colors == {row["answer"]} else f"it is {colors}"


def _genome_position(row: dict[str, Any], genome: Genome) -> str | None:
    parsed = re.fullmatch(
        r"What is (to the left of|to the right of|behind|in front of|above|below|under|on top of) the (.+)\?",
        row["question"],
    )
    if not parsed:
        return "cannot be parsed"
    says = {"below": ("below", "beneath", "underneath"), "to the left of": ("left",), "to the right of": ("right",)}
    words = says.get(parsed[1], (parsed[1],))
    subjects = set()
    for one in genome.relations[row["image_id"]]:
        name = name_of(one["object"])
        whole = parsed[2] == name or (parsed[2].endswith(f" {name}") and _has(one, parsed[2], genome, row))
        if whole and any(re.search(rf"\b{word}\b", one["predicate"].lower()) for word in words):
            subjects.add(name_of(one["subject"]))
    if row["answer"] not in subjects:
        return f"the relationships say {subjects}"
    named = [one for one in genome.objects[row["image_id"]].values() if one["name"] == row["answer"]]
    return None if len(named) == 1 else f"{len(named)} are called {row['answer']}"


def _has(relation: dict[str, Any], phrase: str, genome: Genome, row: dict[str, Any]) -> bool:
    """Whether what stands before the name is an attribute of the object."""
    name = name_of(relation["object"])
    attribute = phrase.removesuffix(name).strip()
    objects = genome.objects[row["image_id"]].values()
    attributes = [text for one in objects if one["name"] == name for text in one["attributes"]]
    return attribute in attributes or (attribute == "gray" and "grey" in attributes)


def _answers_of(folder: Path) -> dict[tuple[int, str], list[Counter[str]]]:
    """How often each answer was given to each question of COCO-VQA."""
    answers_of: dict[tuple[int, str], list[Counter[str]]] = defaultdict(list)
    for path in sorted(folder.glob("*OpenEnded_mscoco_*_questions.json*")):
        answers_path = next(folder.glob(path.name.replace("OpenEnded_", "").replace("_questions", "_annotations")))
        texts = {one["question_id"]: one["question"] for one in read_json(path)["questions"]}
        for one in read_json(answers_path)["annotations"]:
            answers = [same_text(answer["answer"]) for answer in one["answers"]]
            answers += ["gray" for answer in answers if answer == "grey"]
            answers_of[one["image_id"], same_text(texts[one["question_id"]])].append(Counter(answers))
    return answers_of
