"""The nouns and adjectives of WordNet 3.0 from tables in the package, with the same lookup as NLTK's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

Endings = Mapping[str, Sequence[tuple[str, str]]]

# The suffix substitutions of NLTK's morphy in its order, by the form's last letter.
_ES = ("s", ""), ("ses", "s"), ("ves", "f"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"), ("ies", "y")
_NOUN_ENDINGS: Endings = {"s": _ES, "n": (("men", "man"),)}
_ADJECTIVE_ENDINGS: Endings = {"r": (("er", ""), ("er", "e")), "t": (("est", ""), ("est", "e"))}


@dataclass(frozen=True, eq=False)
class Lexicon:
    """The lemmas of one part of speech, in lower case and with underscores between words."""

    lemmas: dict[str, int]  # lemma -> its index n; its synsets are synsets[starts[n]:starts[n + 1]]
    starts: list[int]
    synsets: list[int]
    exceptions: dict[str, list[str]]
    """Irregular form -> its base forms ("mice" -> "mouse"); endings are not tried on it."""
    endings: Endings

    def base_forms(self, form: str) -> list[str]:
        """The lemmas of a lower-case form, itself first, as NLTK's morphy finds them."""
        bases = self.exceptions.get(form)
        if bases is None:
            endings = self.endings.get(form[-1:])
            if endings is None:
                return [form] if form in self.lemmas else []
            bases = [form[: -len(old)] + new for old, new in endings if form.endswith(old)]
        return [base for base in dict.fromkeys([form, *bases]) if base in self.lemmas]

    def senses(self, form: str) -> list[int]:
        """The synsets of a lower-case form, most frequent sense first; two base forms may give the same one."""
        senses: list[int] = []
        for base in self.base_forms(form):
            index = self.lemmas[base]
            senses += self.synsets[self.starts[index] : self.starts[index + 1]]
        return senses


@dataclass(frozen=True, eq=False)
class WordNet:
    """Synsets are numbered: nouns from the deepest to the root, equally deep ones by name, then adjectives.

    A synset's ancestors (including itself) are ancestors[ancestor_starts[s]:ancestor_starts[s + 1]], ascending, so
    the first that two synsets share is their least common subsumer, as NLTK chooses it. An adjective has only itself.
    """

    nouns: Lexicon
    adjectives: Lexicon
    depths: NDArray[np.uint8]  # (synsets,): nodes on the longest path to the root, including both ends
    min_depths: NDArray[np.uint8]  # (synsets,): links on the shortest path to the root
    reaches: NDArray[np.uint8]  # (synsets,): links to the farthest ancestor
    ancestor_starts: NDArray[np.int32]  # (synsets + 1,)
    ancestors: NDArray[np.int32]  # (all rows, concatenated)
    distances: NDArray[np.uint8]  # links on the shortest path to the ancestor, over any common ancestor
    similar_starts: NDArray[np.int32]  # (synsets + 1,)
    similar: NDArray[np.int32]  # the adjectives of a synset's cluster: of a head all, of the others the head

    def senses(self, word: str, *, nouns_only: bool = False) -> list[int]:
        """The numbers of NLTK's synsets: wn.synsets(word, "n") and, unless `nouns_only`, wn.synsets(word, "a").

        >>> wordnet = load_wordnet()
        >>> set(wordnet.senses("mouse")) <= set(wordnet.senses("Mice"))
        True
        """
        form = word.lower()
        nouns = self.nouns.senses(form)
        return nouns if nouns_only else nouns + self.adjectives.senses(form)


def wordnet_covers(words: Sequence[str]) -> bool:
    """Whether WordNet covers a phrase: any of its words is a noun or adjective in it.

    By this Chao et al. 2018, Supplement B.1, count targets that can be scored (Visual7W 98%, VQA 97%, qaVG 99%).

    >>> wordnet_covers(["on", "the", "table"]), wordnet_covers(["with", "them"])
    (True, False)
    """
    wordnet = load_wordnet()
    forms = [word.lower() for word in words]
    return any(wordnet.nouns.base_forms(form) or wordnet.adjectives.base_forms(form) for form in forms)


@lru_cache(maxsize=1)
def load_wordnet() -> WordNet:
    """WordNet 3.0's nouns and adjectives; read once (0.2 s), then cached."""
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
            similar_starts=starts_of(tables["similar_counts"]),
            similar=tables["similar"],
        )


def starts_of(counts: NDArray[np.integer] | Sequence[int]) -> NDArray[np.int32]:
    """The start of each of some concatenated rows, and the end: int32 (rows + 1,)."""
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
