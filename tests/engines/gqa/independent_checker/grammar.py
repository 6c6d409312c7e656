"""English of questions and long answers: signs, articles, number."""

import re
from collections.abc import Iterator

from tests.engines.gqa.independent_checker.sentence import Lexicon, tokens

Problem = tuple[str, str]
UNFILLED = re.compile(r"[<>|\[\]{}_#@\\*]|\bnone\b|\bnull\b|\bnan\b", re.IGNORECASE)
ODD = re.compile(
    r"\b(?:are it|is (?:they|these|those)|are (?:this|that)\b(?! \w+ and)|a different \w+s"
    r"|there (?:is|are) (?:an? )?no an?"
    r"|(?:a|an) (?:the|a|an|some|any)|the (?:a|an|some|any|this|that|these|those)"
    r"|this (?:some|any|this|that|these|those)"
    r"|of of|is are|do does|not not"
    r"|any an?|both the both|the (?:it|she|he|him|her|they)|an? (?:it|she|he)|made of (?:wooden|metallic))\b"
    r"|^(?:What|Which|How|Who) (?:the|a|an)\b|^(?:Does|Do|Is|Are) (?:is|are|do|does)\b",
    re.IGNORECASE,
)
"""what no question says, whatever it asks"""
VOWEL = re.compile(
    r"(?!eu|ew|uni(?!n|m)|use|usu|utensil|ukulel|one\b|once|ur(?:i|a)n)[aeiou]|hour|honest|heir|(?:suv|x-|mp)",
    re.IGNORECASE,
)
SINGULAR_VERBS, PLURAL_VERBS = {"is", "does", "was", "has"}, {"are", "do", "were", "have"}
UNKNOWN_PLURAL = re.compile(r"(?!is|was|has|does|this|his|its|looks|wears|holds|seems|appears|stands|sits)[a-z]{4,}s")
ASKING = {"what", "which", "where", "how", "who"}
ARTICLES = set(
    """
    the this that these those a an any some no his her their its both
    """.split()
)
BOTH_NUMBERS = set(
    """
    sheep deer fish aircraft watercraft series moose bison elk squid shrimp glass fruit food cloth clothing hair
    chopsticks headquarters salmon cattle
    """.split()
)
MASS_LIKE = set(
    """
    clothing furniture footwear grass water sand snow bread rice broccoli luggage
    """.split()
)


def grammar_problems(question: str, full_answer: str, lexicon: Lexicon) -> list[Problem]:
    """What is wrong with the English of a question and its long answer."""
    found = [(f"grammar: question {kind}", text) for kind, text in _signs(question, "?")]
    found += [(f"grammar: long answer {kind}", text) for kind, text in _signs(full_answer, ".")]
    for text in (question, full_answer):
        phrases = list(_phrases(text, lexicon))
        checks = (_articles(text), _numbers(phrases), _question_verbs(text, phrases), _statement_verbs(text, phrases))
        found += [(f"grammar: {kind}", f"{words!r} in {text!r}") for check in checks for kind, words in check]
    return found


def _signs(text: str, end: str) -> Iterator[Problem]:
    if text != " ".join(text.split()) or re.search(r" [,.?!;]|\( | \)", text):
        yield "spaces", repr(text)
    if not text[:1].isupper() and not text[:1].isdigit():
        yield "no capital", text
    if not text.endswith(end) or text.count("?") != (end == "?") or re.search(r"[.?!,]{2}|[.!] *\?|,\?", text):
        yield "end", text
    if UNFILLED.search(text):
        yield "unfilled", text
    double = re.search(r"\b(\w+) \1\b", text, re.IGNORECASE)
    odd = ODD.search(text)
    if odd:
        yield "phrase", f"{odd[0]!r} in {text!r}"
    if double and double[1].lower() not in ("that", "had"):
        yield "double word", text


def _articles(text: str) -> Iterator[Problem]:
    for article, word in re.findall(r"\b(an?) ([\w'-]+)", text, re.IGNORECASE):
        vowel = bool(VOWEL.match(word))
        if vowel != (article.lower() == "an"):
            yield "a or an", f"{article} {word}"


class Phrase:
    """An article, what stands before the noun, and the noun."""

    def __init__(self, said: list[str], start: int, end: int, name: str, numbers: str):
        self.start, self.end, self.name, self.numbers = start, end, name, numbers
        self.article = said[start]
        self.words = " ".join(said[start:end])


def _phrases(text: str, lexicon: Lexicon) -> Iterator[Phrase]:
    said = tokens(text)
    spans = {span.first: span for span in lexicon.nouns(text)}
    for start, word in enumerate(said):
        if word not in ARTICLES:
            continue
        place, last = start + 1, None
        while place < len(said):
            value = _value_at(said, place, lexicon)
            if place in spans and value <= spans[place].end - place:
                last = spans[place]
                place = last.end
            elif last is None and value:
                place += value
            else:
                break
        if last is not None and place < len(said) and UNKNOWN_PLURAL.fullmatch(said[place]):
            continue  # wall units: the noun goes on with a word that is not known
        if last is not None and last.name not in lexicon.values:
            yield Phrase(said, start, last.end, last.name, _numbers_of(last.name, lexicon))


def _value_at(said: list[str], place: int, lexicon: Lexicon) -> int:
    for length in (3, 2, 1):
        if " ".join(said[place : place + length]) in lexicon.values:
            return length
    return 0


def _numbers_of(name: str, lexicon: Lexicon) -> str:
    """Which numbers a noun can be of: "S", "P", "M", or several of these."""
    last = name.rpartition(" ")[2]
    if last in BOTH_NUMBERS:
        return "SPM"
    number = lexicon.words.number(name)
    if last in MASS_LIKE:
        return "SM"
    if not number and lexicon.words.lemma(name) == name:
        return "SM"
    return {"S": "SM", "M": "SM", "P": "P"}.get(number, "SPM")


def _numbers(phrases: list[Phrase]) -> Iterator[Problem]:
    for phrase in phrases:
        if phrase.article in ("a", "an", "this") and phrase.numbers == "P":
            yield "number of the article", phrase.words
        if phrase.article in ("these", "those") and "P" not in phrase.numbers:
            yield "number of the article", phrase.words


def _question_verbs(text: str, phrases: list[Phrase]) -> Iterator[Problem]:
    said = tokens(text)
    joined = bool({"and", "or", "both"} & set(said))
    for phrase in phrases:
        before = phrase.start - 1
        if before < 0 or phrase.article == "that":
            continue
        verb = said[before]
        if before and verb == "there":
            verb = said[before - 1]
        if not _starts_clause(said, before, verb):
            continue
        if verb in SINGULAR_VERBS - {"has"} and phrase.numbers == "P" and not (joined and said[before] == "there"):
            yield "number of the verb", f"{verb} {phrase.words}"
        if verb in PLURAL_VERBS - {"have"} and "P" not in phrase.numbers and not joined:
            yield "number of the verb", f"{verb} {phrase.words}"


def _starts_clause(said: list[str], place: int, verb: str) -> bool:
    """Whether a verb stands before its subject: first, after a question word, or before there."""
    first = place if said[place] == verb else place - 1
    if first == 0:
        return True
    if said[0] in ("yes", "no"):
        return said[place] == "there"
    return verb in ("does", "do") or said[first - 1] in ASKING or (first == 2 and said[0] in ASKING)


def _statement_verbs(text: str, phrases: list[Phrase]) -> Iterator[Problem]:
    """The long answer's subject and its verb; a relative clause's too."""
    said = tokens(text)
    for phrase in phrases:
        if phrase.end >= len(said):
            continue
        after, verb = phrase.end, said[phrase.end]
        if verb in ("that", "who") and after + 1 < len(said):
            verb = said[after + 1]
        elif not _is_subject(said, phrase):
            continue
        if verb in SINGULAR_VERBS and phrase.numbers == "P":
            yield "number of the verb", f"{phrase.words} {verb}"
        if (
            verb in PLURAL_VERBS - {"do"}
            and "P" not in phrase.numbers
            and "and" not in said[: phrase.end]
            and "both" not in said
        ):
            yield "number of the verb", f"{phrase.words} {verb}"


def _is_subject(said: list[str], phrase: Phrase) -> bool:
    return phrase.start == 0 or (phrase.start in (1, 2) and said[0] in ("yes", "no"))
