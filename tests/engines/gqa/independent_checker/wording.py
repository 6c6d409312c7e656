"""Whether a question's words say what its program says, and nothing else."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from tests.engines.gqa.independent_checker.program import Step, Unreadable, read_program
from tests.engines.gqa.independent_checker.raw_graph import RawGraph
from tests.engines.gqa.independent_checker.relations import SAME, stems
from tests.engines.gqa.independent_checker.sentence import PICTURE, Lexicon, Span, tokens
from tests.engines.gqa.independent_checker.vocabulary import CATEGORY_WORDS, NO, PERSONS

Problem = tuple[str, str]
ASKED = {
    "color": r"colou?r",
    "material": r"material|made",
    "shape": r"shape",
    "hposition": r"side|left|right",
    "vposition": r"part|top|bottom",
    "weather": r"weather|how",
    "place": r"place|where|room|location",
    "room": r"room|place|where",
    "location": r"where|indoors|place",
    "pose": r"pose|doing",
    "activity": r"doing|activity",
    "sportActivity": r"doing|sport|activity",
}
"""how a type is asked for; other types by their name or "how", see below"""
NEGATION = re.compile(r"\b(not|no|non|un\w+|isn't|aren't|doesn't|without)\b|n't|in\w+")
PRONOUNS = set(
    """
    she he it they her him them this that these those his who what one its their other
    """.split()
)


def wording_problems(record: Mapping[str, Any], lexicon: Lexicon, graph: RawGraph | None) -> list[Problem]:
    """What the words of question, answer and long answer have wrong."""
    try:
        program = read_program(record["semantic"])
    except Unreadable:
        return []
    said = _Said(record, program, lexicon, graph)
    problems = [*said.nouns(), *said.values(), *said.relations(), *said.asked(), *said.strangers()]
    return [*problems, *said.answer(), *said.long_answer(), *said.annotations()]


class _Said:
    def __init__(self, record: Mapping[str, Any], program: list[Step], lexicon: Lexicon, graph: RawGraph | None):
        self.record, self.program, self.lexicon, self.graph = record, program, lexicon, graph
        self.words = lexicon.words
        self.question, self.full, self.gold = (str(record[key]) for key in ("question", "fullAnswer", "answer"))
        self.said = tokens(self.question)
        self.last = program[-1]
        self.options = [value for step in program if step.operation == "choose" for value in step.values]

    def _about(self) -> list[str]:
        """Names of the program, and of the objects it tells."""
        names = [step.name for step in self.program if step.name not in ("", "_", "scene", "this")]
        if self.graph:
            for step in self.program:
                for key in step.ids or ():
                    if key in self.graph.objects:
                        names += self.graph.objects[key].names
        return names

    def nouns(self) -> list[Problem]:
        names = {
            step.name
            for step in self.program
            if step.name and step.name not in ("_", "scene", "this", "thing", "object")
        }
        return [("wording: a name is not said", name) for name in sorted(names) if not self._says_name(name)]

    def _says_name(self, name: str) -> bool:
        if name in PERSONS:
            return name in self.said or bool(set(self.said) & {"she", "he", "her", "him", "they", "them"})
        if (name == "person" and {"who", "whom"} & set(self.said)) or (name == "place" and "where" in self.said):
            return True
        others = set(CATEGORY_WORDS.get(self.words.lemma(name), ()))
        if any(step.name == name and step.operation in ("verify rel", "choose rel") for step in self.program):
            others |= self.words.categories(name)  # the green animal: published programs keep only the object's name
            if self._person(name) and set(self.said) & (PERSONS.keys() | {"person", "people"}):
                return True
        return any(self.lexicon.says(self.question, one) for one in (name, *others))

    def _person(self, name: str) -> bool:
        return "person" in self.words.categories(name) or name in PERSONS

    def values(self) -> list[Problem]:
        found = []
        for step in self.program:
            if step.operation in ("filter", "verify", "choose"):
                for value in step.values:
                    if not self.lexicon.says_value(self.question, value) and not self.lexicon.says(
                        self.question, value
                    ):
                        found.append(("wording: a value is not said", value))
                if step.negated and not NEGATION.search(self.question.lower()):
                    found.append(("wording: not is not said", str(step.values)))
        return found

    def relations(self) -> list[Problem]:
        spoken = {stem for word in self.said for stem in stems(word)} | set(self.said)
        return [
            ("wording: a relation is not said", relation)
            for step in self.program
            if step.side
            for relation in step.values
            if not self._says_relation(relation, spoken)
        ]

    def _says_relation(self, relation: str, spoken: set[str]) -> bool:
        if relation in ("of", "with") and ("'s" in self.said or any_have(self.said)):
            return True
        if "where" in spoken and relation in ("in", "on", "at"):
            return True
        same = [relation, *(one for group in SAME if relation in group for one in group)]
        loose = {"to", "the", "of"} if "left" in relation or "right" in relation else set()
        return any(set(stems(one)) - loose <= spoken for one in same)

    def asked(self) -> list[Problem]:
        if self.last.operation != "query" or self.last.type == "name":
            return []
        pattern = ASKED.get(self.last.type, rf"how|what|which|{re.escape(self.last.type)}")
        said = re.search(pattern, self.question.lower())
        return [] if said else [("wording: the type asked for is not said", self.last.type)]

    def strangers(self) -> list[Problem]:
        """Nouns and values that the program does not have."""
        return [
            ("wording: a noun that the program does not have", span.name)
            for span in self.lexicon.nouns(self.question)
            if not self._explained(span, self.question)
        ] + [("wording: a value that nothing has", value) for value in self._loose_values()]

    def _explained(self, span: Span, text: str) -> bool:
        if span.lemma in PICTURE or span.name in PICTURE:
            return True
        about = self._about() + self.options
        if any(self.words.names_of(span.name) & self.words.names_of(name) for name in about):
            return True
        if any(span.lemma in self.words.categories(name) for name in about) or self._is_category_word(span):
            return True
        spoken = [*self._values_told(), *(value for step in self.program if step.side for value in step.values)]
        stem = {stem for phrase in spoken for word in phrase.split() for stem in (word, *stems(word))}
        forms = {
            part for value in self._values_told() for form in self.lexicon.value_forms(value) for part in form.split()
        }
        parts = [*span.name.split(), *(one for word in span.name.split() for one in stems(word))]
        return bool(set(parts) & (stem | forms)) or self._covered(span, text) or self._modifies(span)

    def _modifies(self, span: Span) -> bool:
        """Whether it is said of what verify rel or choose rel look for: published programs lose that."""
        if self.graph is None or self.last.operation not in ("verify rel", "choose rel"):
            return False
        near = {
            key for one, _, two in self.graph.relations if {one, two} & set(self.last.ids or ()) for key in (one, two)
        }
        return any(self.words.fits(name, span.name) for key in near for name in self.graph.objects[key].names)

    def _covered(self, span: Span, text: str) -> bool:
        """Whether the words are part of a longer name of the program that is said."""
        names = [name for name in self._about() + self.options if " " in name]
        return any(span.lemma in name.split() or span.name in name.split() for name in names)

    def _is_category_word(self, span: Span) -> bool:
        asked = {self.words.lemma(step.name) for step in self.program if step.name}
        return any(
            span.name in others or span.lemma in others for name, others in CATEGORY_WORDS.items() if name in asked
        )

    def _values_told(self) -> list[str]:
        values = [v for step in self.program if step.operation in ("filter", "verify", "choose") for v in step.values]
        return values + [step.type for step in self.program if step.type]

    def _loose_values(self) -> list[str]:
        """Values said that are neither in the program nor annotated of an object it tells; only with a graph."""
        if self.graph is None:
            return []
        told = {form for value in self._values_told() for form in self.lexicon.value_forms(value)}
        noun_words = {at for span in self.lexicon.nouns(self.question) for at in range(span.first, span.end)}
        loose = [
            word
            for at, word in enumerate(self.said)
            if self.said[max(at - 1, 0)] not in ("how", "busy")
            and word not in ("busy", "used")
            and at not in noun_words
            and word in self.lexicon.values
            and word not in told | PICTURE
            and not self._in_phrase(word)
        ]
        return [value for value in loose if not self._annotated(value)]

    def _in_phrase(self, word: str, text: str = "") -> bool:
        relations = [name for _, name, _ in self.graph.relations if name in text] if self.graph else []
        forms = {form for form in self.lexicon.values if " " in form and form in text.replace("-", " ")}
        if any(word in phrase.split() for phrase in [*relations, *forms]):
            return True
        phrases = [*self._values_told(), *self._about(), *(value for step in self.program for value in step.values)]
        forms = {form for value in self._values_told() for form in self.lexicon.value_forms(value)}
        return word in ("made", "up", "on", "off", "no", "in", "over", "left", "right") or any(
            word in phrase.split() or set(stems(word)) & set(stems(phrase)) for phrase in [*phrases, *forms]
        )

    def _annotated(self, value: str) -> bool:
        ids = {key for step in self.program for key in step.ids or ()} & self.graph.objects.keys()
        return any(self.words.same_value(own, value) for key in ids for own in self.graph.objects[key].values)

    def answer(self) -> list[Problem]:
        found = []
        yes_no = self.gold in ("yes", "no")
        expects = self.last.operation in ("exist", "verify", "verify rel", "and", "or", "same", "different")
        if yes_no != expects:
            found.append(("answer: kind", f"{self.gold!r} to {self.last.operation}"))
        if self.last.operation in ("query", "common") and self._leaks():
            found.append(("wording: the answer is in the question", self.gold))
        if self.last.operation == "choose rel":
            keys = {re.sub(r"to the | of", "", one) for one in self.last.values}
            if any(not set(key.split()) <= set(self.said) for key in keys):
                found.append(("wording: an option is not offered", str(self.last.values)))
        return found

    def _leaks(self) -> bool:
        told = set(self._about_program())
        if f"how {self.gold} " in self.question.lower():
            return False  # How old is he? Old.
        if self.last.type in ("hposition", "vposition"):
            return self.gold in self._before_reference()
        said = self.lexicon.says(self.question, self.gold) if self.last.type == "name" else False
        return said or (f" {self.gold} " in f" {' '.join(self.said)} " and self.gold not in told)

    def _about_program(self) -> list[str]:
        return [step.name for step in self.program if step.name]

    def _before_reference(self) -> list[str]:
        """The words but for relations to other objects, which may say left."""
        text = re.sub(r"to the (left|right) of", "", self.question.lower())
        return tokens(text)

    def long_answer(self) -> list[Problem]:
        found = []
        starts = re.match(r"(Yes|No), ", self.full)
        if self.gold in ("yes", "no") and (not starts or starts[1].lower() != self.gold):
            found.append(("long answer: does not start with the answer", self.full))
        if self.gold not in ("yes", "no"):
            if starts:
                found.append(("long answer: starts with yes or no", self.full))
            if not self.lexicon.says(self.full, self.gold) and not self.lexicon.says_value(self.full, self.gold):
                found.append(("long answer: lacks the answer", self.full))
        return found + (self._claims() if self.graph else [])

    def _claims(self) -> list[Problem]:
        """Objects and values of the long answer must be of the program or annotated."""
        found = []
        for span in self.lexicon.nouns(self.full):
            present = any(
                self.words.fits(name, span.name) != NO for item in self.graph.objects.values() for name in item.names
            )
            if not self._explained(span, self.full) and not present and self.gold != span.name:
                if not self._of_scene() and not self._annotated_anywhere(span.name):
                    found.append(("long answer: names what is not there", span.name))
        said = f" {' '.join(tokens(self.full))} "
        told = {form for value in [*self._values_told(), self.gold] for form in self.lexicon.value_forms(value)}
        nouns = " ".join(f" {span.name} " for span in self.lexicon.nouns(self.full))
        for value in self.lexicon.values:
            if (
                f" {value} " in said
                and value not in told
                and value not in nouns
                and not self._in_phrase(value, self.full)
            ):
                if value not in PICTURE and not self._annotated_anywhere(value) and not self._of_scene():
                    found.append(("long answer: a value that nothing has", value))
        return found

    def _of_scene(self) -> bool:
        return any(step.name == "scene" for step in self.program)

    def _annotated_anywhere(self, value: str) -> bool:
        return any(self.words.alike(own, value) for item in self.graph.objects.values() for own in item.values)

    def annotations(self) -> list[Problem]:
        found = []
        texts = {"question": self.question, "answer": self.gold, "fullAnswer": self.full}
        for part, text in texts.items():
            for key, object_id in self.record["annotations"].get(part, {}).items():
                problem = self._annotation(key, str(object_id), text.split())
                if problem:
                    found.append((f"annotations: {problem}", f"{part} {key}: {object_id} in {text!r}"))
        return found

    def _annotation(self, key: str, object_id: str, said: list[str]) -> str:
        place = re.fullmatch(r"(\d+)(?::(\d+))?", key)
        if not place:
            return "no place"
        first, end = int(place[1]), int(place[2] or int(place[1]) + 1)
        if not first < end <= len(said):
            return "beyond the text"
        if self.graph is None:
            return ""
        if object_id not in self.graph.objects:
            return "no such object"
        words = [word.strip(",.?").lower().removesuffix("'s") for word in said[first:end]]
        if set(words) & PRONOUNS:
            return ""
        names = self.graph.objects[object_id].names
        asked = [step.name for step in self.program if step.name and object_id in (step.ids or ())]
        return "" if self._names(" ".join(words), [*names, *asked]) else "words that do not name the object"

    def _names(self, text: str, names: list[str]) -> bool:
        if any(self.lexicon.says(text, name) for name in names):
            return True
        categories = {category for name in names for category in self.words.categories(name)}
        others = [word for category in categories for word in (category, *CATEGORY_WORDS.get(category, ()))]
        spans = [span.lemma for span in self.lexicon.nouns(text)]
        return any(self.lexicon.says(text, word) for word in others) or any(
            self.words.fits(name, lemma) for name in names for lemma in spans
        )


def any_have(said: list[str]) -> bool:
    return bool({"has", "have", "having", "with"} & set(said))


def is_indefinite(question: str, lexicon: Lexicon) -> Callable[[str], bool]:
    """Whether a name is only spoken of with a, an, any, some or without article, never with the or this."""

    def check(name: str) -> bool:
        said = tokens(question)
        for span in lexicon.nouns(question):
            if span.lemma in lexicon.words.names_of(name):
                back = span.first - 1
                while back >= 0 and (said[back] in lexicon.values or said[back] in ("of", "'s") or "-" in said[back]):
                    back -= 1
                return back < 0 or said[back] not in ("the", "this", "that", "these", "those", "both", "all")
        return False

    return check
