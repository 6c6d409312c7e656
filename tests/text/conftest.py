"""NLTK's WordNet as the reference, plain and with what it computes again and again kept."""

import gc
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from tests.text.make_tables import open_wordnet, ranked_synsets

Wup = Callable[[str, str], float]


@pytest.fixture(scope="session")
def reader(nltk_wordnet: Path) -> Any:
    """NLTK's WordNetCorpusReader."""
    return open_wordnet(nltk_wordnet)


@pytest.fixture(scope="session")
def ranked(reader: Any) -> list[Any]:
    """NLTK's synsets by our ids."""
    gc.disable()  # halves the time it takes to read them
    synsets = ranked_synsets(reader)
    gc.enable()
    return synsets


@pytest.fixture(scope="session")
def nltk_wup(reader: Any) -> Wup:
    """Eq. 3 as printed, on NLTK's wup_similarity."""
    synsets = lru_cache(maxsize=None)(lambda word: reader.synsets(word, "n") + reader.synsets(word, "a"))

    def wup(word: str, other: str) -> float:
        pairs = [(s, o) for s in synsets(word) for o in synsets(other)]
        if not synsets(word):
            return float(word == other)
        return max((s.wup_similarity(o) for s, o in pairs), default=0.0)

    return wup


@pytest.fixture
def keeping(reader: Any) -> Iterator[None]:
    """Lets NLTK keep depths, ways up and version (it reads a file at each wup_similarity); about 8 times as fast."""
    from nltk.corpus.reader.wordnet import Synset

    with pytest.MonkeyPatch.context() as patch:
        for name in ("_shortest_hypernym_paths", "min_depth", "max_depth"):
            patch.setattr(Synset, name, lru_cache(maxsize=None)(getattr(Synset, name)))
        version = reader.get_version()
        patch.setattr(reader, "get_version", lambda: version)
        yield
