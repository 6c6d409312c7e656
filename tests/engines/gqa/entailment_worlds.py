"""Small random worlds, questions about them, and changed images, for tests of entailments."""

from itertools import combinations, permutations
from random import Random

from hf_vqa_mc.engines.gqa.executor import COMPARATIVES, Executor, GroundedText, Program, Question, Step, joined, then
from hf_vqa_mc.engines.gqa.ontology import Attribute, Noun, Ontology, RelationName
from hf_vqa_mc.engines.gqa.scene_graph import SceneGraph, SceneObject

NOUNS = [
    Noun("apple", "apple", parents=("fruit", "food")),
    Noun("apples", "apple", plural=True, parents=("fruit", "food")),
    Noun("banana", "banana", parents=("fruit", "food")),
    Noun("fruit", "fruit", parents=("food",)),
    Noun("bread", "bread", parents=("food",)),
    Noun("table", "table", parents=("furniture",)),
    Noun("man", "man", parents=("person",)),
    Noun("person", "person"),
]
ATTRIBUTES = [
    Attribute("red", ("color",), "red", frozenset({"crimson"})),
    Attribute("crimson", ("color",), "crimson", frozenset({"red"})),
    Attribute("green", ("color",), "green"),
    Attribute("large", ("size",), "large"),
    Attribute("small", ("size",), "small"),
    Attribute("shiny", ("surface",), "shiny"),
    Attribute("sunny", ("weather",), "sunny"),
    Attribute("rainy", ("weather",), "rainy"),
]
LEFT, RIGHT = "to the left of", "to the right of"
RELATIONS = [
    RelationName(LEFT, RIGHT, frozenset({RIGHT})),
    RelationName(RIGHT, LEFT, frozenset({LEFT})),
    RelationName("on", "", frozenset({"under"}), many=True),
    RelationName("under", "", frozenset({"on"}), many=True),
    RelationName("holding", "held by", one_subject=True),
    RelationName("held by", "holding"),
]
ONTOLOGY = Ontology(
    {noun.name: noun for noun in NOUNS},
    {attribute.value: attribute for attribute in ATTRIBUTES},
    {relation.name: relation for relation in RELATIONS},
    frozenset({"color", "size"}),
    similar_kinds={"bread": frozenset({"banana"}), "banana": frozenset({"bread"})},
)
VALUES = {"color": ("red", "crimson", "green"), "size": ("large", "small"), "surface": ("shiny",)}
NAMES = ("apple", "apples", "banana", "fruit", "bread", "table", "man", "person")
Facts = dict[tuple[str, ...], object]


def random_facts(random: Random, objects: int) -> Facts:
    """A world as facts that can be changed one by one."""
    keys = [str(number) for number in range(objects)]
    facts: Facts = {("name", key): random.choice(NAMES) for key in keys}
    for key in keys:
        for kind in VALUES:
            facts["value", key, kind] = _values(random, kind)
    for one, other in combinations(keys, 2):
        facts["side", one, other] = random.choice([None, LEFT, RIGHT])
    for one, other in permutations(keys, 2):
        facts["place", one, other] = random.choice([None, None, "on", "under"])
        facts["holding", one, other] = random.random() < 0.2
    facts["weather",] = random.choice([None, "sunny", "rainy"])
    return facts


def _values(random: Random, kind: str) -> tuple[str, ...]:
    values = VALUES[kind]
    return tuple(random.sample(values, min(len(values), random.choice([0, 1, 1, 1, 2]))))


def changed(facts: Facts, random: Random, changes: int) -> Facts:
    """The same objects with some facts changed."""
    fresh = random_facts(random, sum(fact[0] == "name" for fact in facts))
    return facts | {fact: fresh[fact] for fact in random.sample(sorted(facts), changes)}


def grown(facts: Facts, random: Random, more: int) -> Facts:
    """The same world with more objects."""
    objects = sum(fact[0] == "name" for fact in facts)
    return random_facts(random, objects + more) | facts


def graph_of(facts: Facts) -> SceneGraph:
    """The scene graph, with inverses, and of each thing one that holds it at most."""
    keys = [fact[1] for fact in facts if fact[0] == "name"]
    relations: dict[str, set[tuple[str, str]]] = {key: set() for key in keys}
    held = set()
    for fact, value in facts.items():
        if fact[0] == "holding" and value and fact[2] not in held:
            held.add(fact[2])
            relations[fact[1]].add(("holding", fact[2]))
            relations[fact[2]].add(("held by", fact[1]))
        elif fact[0] in ("side", "place") and isinstance(value, str):
            relations[fact[1]].add((value, fact[2]))
            if fact[0] == "side":
                relations[fact[2]].add((RIGHT if value == LEFT else LEFT, fact[1]))
    objects = {}
    for key in keys:
        known = {kind: facts["value", key, kind] for kind in VALUES}
        values = {kind: tuple(some) for kind, some in known.items() if isinstance(some, tuple) and some}
        objects[key] = SceneObject(key, str(facts["name", key]), (0, 0, 1, 1), values, frozenset(relations[key]))
    weather = facts["weather",]
    return SceneGraph("1", 9, 9, objects, {"weather": weather} if isinstance(weather, str) else {})


def programs(graph: SceneGraph, random: Random) -> list[Program]:
    """Many programs, among them all of some forms."""
    categories = ("apple", "banana", "fruit", "food", "bread", "table", "man", "person", "furniture", "_")
    plain: list[Program] = [(Step("select", (name,)),) for name in categories]
    filters = [
        ("filter", kind, value, negated)
        for kind, values in VALUES.items()
        for value in values
        for negated in ("", "not")
    ]
    described = plain + [then(program, *random.choice(filters)) for program in plain * 4]
    described += [then(then(program, *random.choice(filters)), *random.choice(filters)) for program in plain]
    clear = [program for program in described if len(Executor(graph, ONTOLOGY).run(program).found[-1]) == 1]
    related = [
        then(program, "relate", random.choice(categories), relation.name, side)
        for program in clear
        for relation in RELATIONS
        for side in "so"
    ]
    described += related + [
        then(program, *random.choice(filters)) for program in random.sample(related, len(related) // 3)
    ]
    clear = [program for program in described if len(Executor(graph, ONTOLOGY).run(program).found[-1]) == 1]
    exists = [then(program, "exist") for program in described]
    found = list(exists)
    for program in random.sample(clear, min(len(clear), 30)):
        found += [then(program, "query", kind) for kind in (*VALUES, "name")]
        found += [then(program, "verify", kind, random.choice(values)) for kind, values in VALUES.items()]
        found += [then(program, "choose", kind, *random.sample(VALUES[kind], 2)) for kind in ("color", "size")]
        found.append(then(program, "choose", "name", *random.sample(categories[:-1], 2)))
        for relation in RELATIONS:
            found.append(then(program, "verify rel", random.choice(categories), relation.name, random.choice("so")))
        for one, other in ((LEFT, RIGHT), ("on", "under")):
            found.append(then(program, "choose rel", random.choice(categories), one, other, random.choice("so")))
        both = then(program, "verify", "color", "green")
        index = len(program)
        for operation in ("and", "or"):
            more = (*both, Step("verify", ("size", "large"), (index - 1,)))
            found.append((*more, Step(operation, (), (index, index + 1))))
        other_one = random.choice(clear)
        for ending in (
            ("same", "color"),
            ("different", "color"),
            ("common",),
            ("compare", "larger"),
            ("compare", "smaller"),
        ):
            found.append(joined(program, other_one, *ending))
    found += [joined(random.choice(exists), random.choice(exists), operation) for operation in ("and", "or") * 10]
    found += [then(program, ending, "color") for program in plain for ending in ("same", "different")]
    scene: Program = (Step("select", ("scene",)),)
    found += [then(scene, "query", "weather"), then(scene, "choose", "weather", "sunny", "rainy")]
    found += [then(scene, "verify", "weather", value) for value in ("sunny", "rainy")]
    return list(dict.fromkeys(found))


def questions_about(graph: SceneGraph, random: Random, most: int = 200) -> list[Question]:
    """Questions that the graph settles and whose references are clear, without words."""
    found = []
    executor = Executor(graph, ONTOLOGY)
    for program in programs(graph, random):
        answer, ids = executor.run(program)
        if answer is not None:
            nothing = GroundedText("", {})
            found.append(Question("", "", program, ids, nothing, answer, nothing, "", ""))
    found = [question for question in found if says(question, executor) is not None]
    return random.sample(found, min(most, len(found)))


REFERRING = {"query", "verify", "choose", "verify rel", "choose rel", "relate", "common", "compare"}
OF_TWO = {"same", "different"}


def says(question: Question, executor: Executor) -> tuple[object, ...] | None:
    """The answer to a question in another world, whatever it speaks of there; None if that is not clear.

    Comparisons are answered by a name, which stands for the first or the second.
    """
    answer, found = executor.run(question.program)
    if answer is None or not all(_is_one(question.program, index, executor) for index in _spoken_of(question)):
        return None
    last = question.program[-1]
    if last.operation != "compare":
        return (answer,)
    kind, more, _ = COMPARATIVES[last.argument[0]]
    return answer, *(executor.graph.objects[key].values[kind] == (more,) for key in found[-1])


def agrees(said: tuple[object, ...] | None, expected: tuple[object, ...] | None) -> bool:
    """Whether an answer is the expected one, if there is one; of what is compared "apple" or "apples" is the same."""
    if said is None or expected is None:
        return said is None
    kinds = {ONTOLOGY.nouns[str(one[0])].kind for one in (said, expected) if said[1:] == expected[1:] != ()}
    return said == expected or len(kinds) == 1


def _spoken_of(question: Question) -> set[int]:
    """The steps that find one object of which the question speaks."""
    return {
        index
        for step in question.program
        if step.operation in REFERRING or (step.operation in OF_TWO and len(step.inputs) > 1)
        for index in step.inputs
        if question.program[index].argument != ("scene",)
    }


def _is_one(program: Program, index: int, executor: Executor) -> bool:
    found = executor.find(program[: index + 1])
    return found is not None and found.only is not None


OF_OBJECTS = {"query", "verify", "choose", "common", "compare"}


def about_objects(question: Question) -> bool:
    """Whether a question asks what certain objects are like, so that other objects do not matter."""
    last = question.program[-1]
    return last.operation in OF_OBJECTS or (last.operation in OF_TWO and len(last.inputs) > 1)
