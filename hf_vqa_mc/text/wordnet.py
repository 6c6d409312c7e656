"""The nouns and adjectives of WordNet 3.0, found as NLTK finds them, from tables that the package ships."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

Endings = Mapping[str, Sequence[tuple[str, str]]]

# What NLTK's morphy takes off a form and puts there instead, in its order; here by the form's last letter.
_ES = ("s", ""), ("ses", "s"), ("ves", "f"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"), ("ies", "y")
_NOUN_ENDINGS: Endings = {"s": _ES, "n": (("men", "man"),)}
_ADJECTIVE_ENDINGS: Endings = {"r": (("er", ""), ("er", "e")), "t": (("est", ""), ("est", "e"))}


@dataclass(frozen=True, eq=False)
class Lexicon:
    """The lemmas of one part of speech; a lemma is lower case, its words joined by underscores."""

    lemmas: dict[str, int]
    """Lemma -> its place n; its synsets are synsets[starts[n]:starts[n + 1]]."""
    starts: list[int]
    synsets: list[int]
    exceptions: dict[str, list[str]]
    """Irregular form -> its base forms ("mice" -> "mouse"); such a form is not tried for endings."""
    endings: Endings

    def base_forms(self, form: str) -> list[str]:
        """The lemmas that a lower-case form may stand for, itself first, as NLTK's morphy finds them."""
        bases = self.exceptions.get(form)
        if bases is None:
            endings = self.endings.get(form[-1:])
            if endings is None:
                return [form] if form in self.lemmas else []
            bases = [form[: -len(old)] + new for old, new in endings if form.endswith(old)]
        return [base for base in dict.fromkeys([form, *bases]) if base in self.lemmas]

    def senses(self, form: str) -> list[int]:
        """The synsets of a lower-case form, most frequent sense first; one may come twice, through two bases."""
        senses: list[int] = []
        for base in self.base_forms(form):
            place = self.lemmas[base]
            senses += self.synsets[self.starts[place] : self.starts[place + 1]]
        return senses


@dataclass(frozen=True, eq=False)
class WordNet:
    """Synsets are numbered: nouns from the deepest to the root, equally deep ones by name, then adjectives.

    A synset's ancestors (itself included) and their distances are
    ancestors[ancestor_starts[s]:ancestor_starts[s + 1]], ascending: what comes first in two synsets' rows is their
    least common subsumer, as NLTK chooses it. An adjective has no ancestors but itself.
    """

    nouns: Lexicon
    adjectives: Lexicon
    depths: NDArray[np.uint8]  # (synsets,): nodes on the longest way up to the root, both ends included
    min_depths: NDArray[np.uint8]  # (synsets,): links on the shortest way up to the root
    reaches: NDArray[np.uint8]  # (synsets,): links to the ancestor that is farthest away
    ancestor_starts: NDArray[np.int32]  # (synsets + 1,)
    ancestors: NDArray[np.int32]  # (all rows, one after the other)
    distances: NDArray[np.uint8]  # links on the shortest path to the ancestor, over any common ancestor

    def senses(self, word: str, *, nouns_only: bool = False) -> list[int]:
        """The ids of the synsets NLTK gives: wn.synsets(word, "n") and, unless `nouns_only`, wn.synsets(word, "a").

        >>> wordnet = load_wordnet()
        >>> set(wordnet.senses("mouse")) <= set(wordnet.senses("Mice"))
        True
        """
        form = word.lower()
        nouns = self.nouns.senses(form)
        return nouns if nouns_only else nouns + self.adjectives.senses(form)


def wordnet_covers(words: Sequence[str]) -> bool:
    """Whether a phrase has a place in WordNet: any of its words is a noun or adjective there.

    Chao et al. 2018, Supplement B.1, count so the targets that can be scored (Visual7W 98%, VQA 97%, qaVG 99%).

    >>> wordnet_covers(["on", "the", "table"]), wordnet_covers(["with", "them"])
    (True, False)
    """
    wordnet = load_wordnet()
    forms = [word.lower() for word in words]
    return any(wordnet.nouns.base_forms(form) or wordnet.adjectives.base_forms(form) for form in forms)


@lru_cache(maxsize=1)
def load_wordnet() -> WordNet:
    """WordNet 3.0's nouns and adjectives; read once (0.2 s), then kept."""
    file = resources.files("hf_vqa_mc.text") / "data" / "wordnet30.npz"
    with file.open("rb") as opened, np.load(opened, allow_pickle=False) as tables:
        return WordNet(
            nouns=_lexicon(tables, "noun", _NOUN_ENDINGS),
            adjectives=_lexicon(tables, "adjective", _ADJECTIVE_ENDINGS),
            depths=tables["depths"],
            min_depths=tables["min_depths"],
            reaches=tables["reaches"],
            ancestor_starts=starts_of(tables["ancestor_counts"]),
            ancestors=tables["ancestors"],
            distances=tables["distances"],
        )


def starts_of(counts: NDArray[np.integer] | Sequence[int]) -> NDArray[np.int32]:
    """Where each of many rows starts when they lie one after the other, and the end: int32 (rows + 1,)."""
    starts = np.zeros(len(counts) + 1, np.int32)
    np.cumsum(counts, out=starts[1:])
    return starts


def _lexicon(tables: Mapping[str, NDArray[np.integer]], part: str, endings: Endings) -> Lexicon:
    lemmas = _lines(tables[f"{part}_lemmas"])
    exceptions = (line.split(" ") for line in _lines(tables[f"{part}_exceptions"]))
    return Lexicon(
        lemmas=dict(zip(lemmas, range(len(lemmas)), strict=True)),
        starts=starts_of(tables[f"{part}_synset_counts"]).tolist(),
        synsets=tables[f"{part}_synsets"].tolist(),
        exceptions={form: bases for form, *bases in exceptions},
        endings=endings,
    )


def _lines(text: NDArray[np.integer]) -> list[str]:
    return text.tobytes().decode().split("\n")
