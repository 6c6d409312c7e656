"""1,000 rows of real COCO-QA made again by the literal method with NLTK's own similarity, decision by decision."""

from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from hf_vqa_mc.decoys.candidates import ACCEPTED, REASONS, reason_against
from hf_vqa_mc.decoys.settings import Settings
from hf_vqa_mc.decoys.variants import build_variants
from hf_vqa_mc.sources.source import read_triplets
from hf_vqa_mc.text.normalisation import words
from hf_vqa_mc.text.word_vectors import load_word_vectors
from tests.decoys.literal_method import LiteralMethod, objection
from tests.decoys.small_worlds import candidates_of, decoys
from tests.text.make_tables import open_wordnet

Wup = Callable[[str, str], float]
N_TRIPLETS = 4_000
ROWS = range(3, N_TRIPLETS, 4)
"""One of four is replayed; all give decoys."""


@pytest.fixture(scope="module")
def nltk_wup(nltk_wordnet: Path) -> Iterator[Wup]:
    """Eq. 3 and 4 on NLTK's wup_similarity, which keeps depths, ways up and its version (else read at each call)."""
    from nltk.corpus.reader.wordnet import Synset

    reader = open_wordnet(nltk_wordnet)

    @cache
    def synsets(word: str) -> list[Any]:
        return [*reader.synsets(word, "n"), *reader.synsets(word, "a")]

    @cache
    def of_words(word: str, other: str) -> float:
        if not synsets(word):
            return float(word == other)
        return max((s.wup_similarity(o) for s in synsets(word) for o in synsets(other)), default=0.0)

    def directed(phrase: list[str], other: list[str]) -> float:
        product = 1.0
        for word in phrase:
            product *= max(of_words(word, another) for another in other)
        return product

    @cache
    def of_texts(text: str, other: str) -> float:
        phrase, other_phrase = words(text), words(other)
        return max(directed(phrase, other_phrase), directed(other_phrase, phrase))

    with pytest.MonkeyPatch.context() as patch:
        for name in ("_shortest_hypernym_paths", "min_depth", "max_depth"):
            patch.setattr(Synset, name, lru_cache(maxsize=None)(getattr(Synset, name)))
        version = reader.get_version()
        patch.setattr(reader, "get_version", lambda: version)
        yield of_texts


@pytest.mark.exhaustive
def test_every_decision_on_a_thousand_real_rows_is_nltks(real_cocoqa: Path, real_glove: Path, nltk_wup: Wup) -> None:
    table = read_triplets("cocoqa", real_cocoqa).slice(0, N_TRIPLETS)
    word_vectors = load_word_vectors(str(real_glove))
    settings = Settings()
    names = ["iou", "qou", "iou_qou"]
    built = {v.name: decoys(v) for v in build_variants(table, names, word_vectors, settings)}

    triplets = table.to_pylist()
    vocabulary = sorted({word for t in triplets for word in words(t["question"])})
    rows, found = word_vectors.rows(vocabulary)
    vectors = {word: row for word, row, there in zip(vocabulary, rows.tolist(), found, strict=True) if there}
    literal = LiteralMethod(triplets, vectors, settings, nltk_wup)
    for slow in ("frequent_targets", "most_similar", "pool"):
        setattr(literal, slow, lru_cache(getattr(literal, slow)))

    candidates, numbers = candidates_of(literal.targets, settings.wup_threshold, True)
    key = dict(zip(literal.targets, candidates.keys[numbers], strict=True))

    def our_objection(candidate: str, target: str, taken: list[str]) -> str | None:
        keys = candidates.keys[[candidates.texts.index(text) for text in taken]] if taken else candidates.keys[:0]
        reason = reason_against(key[candidate], key[target], keys, len(taken), True, candidates.tables)
        return None if reason == ACCEPTED else REASONS[reason]

    n_decisions = 0
    for index in ROWS:
        for name in names:
            row = literal.row(name, index)
            for kind in row.sets:
                wanted = [choice for choice in row.choices if choice.kind == kind]
                made = [c for c in built[name][triplets[index]["question_id"]] if c.kind == kind]
                assert sorted(wanted) == made
        for kind, walk in row.walks.items():
            passed: list[str] = []
            for candidate in islice(literal.candidates(kind, index), walk.n_candidates):
                reason = objection(candidate, literal.targets[index], passed, settings, nltk_wup)
                assert our_objection(candidate, literal.targets[index], passed) == reason
                passed += [candidate] * (reason is None)
                n_decisions += 1
    assert n_decisions > 5_000
