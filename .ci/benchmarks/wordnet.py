"""How fast and how exact Wu-Palmer similarity is, beside NLTK in the same run: `python .ci/benchmarks/wordnet.py`.

NLTK's corpus comes from $NLTK_DATA or from wordnet/wordnet.zip of the real data; without it nothing is measured.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from random import Random
from statistics import median
from typing import TYPE_CHECKING, Any, TypeVar
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.compiled import njit

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from hf_vqa_mc.errors import InputError  # noqa: E402
from hf_vqa_mc.text.normalisation import words  # noqa: E402
from hf_vqa_mc.text.wordnet import load_wordnet  # noqa: E402
from hf_vqa_mc.text.wu_palmer import WordScores, phrase_score, word_scores  # noqa: E402
from tests.text.make_tables import open_wordnet  # noqa: E402

if TYPE_CHECKING:
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

T = TypeVar("T")
Phrase = tuple[str, ...]
Row = tuple[str, float, str, str]
"""What was measured, its value, the unit, what is required ("" where nothing is)."""

REAL_DATA = Path(os.environ.get("VQA_MC_REAL_DATA") or ROOT.parent / "shared" / "data")
THRESHOLD = 0.9
RUNS = 5
N_NLTK_PAIRS = 60  # a run; plain NLTK does about 45 a second
N_EXACT_PAIRS = 100_000
N_DECISIONS = 5_000_000
N_WORD_PAIRS = 200_000

FIRST_CALLS = """
import time
start = time.perf_counter()
import numpy as np
from hf_vqa_mc.text.wu_palmer import phrase_score, word_scores
tokens = np.array([0, 1], np.int32)
scores = word_scores(["cat", "dog"], 0.9)
phrase_score(tokens, 0, 1, 1, 2, scores)
print(time.perf_counter() - start)
"""


def rows() -> list[Row]:
    """The figures; none without NLTK's corpus."""
    with tempfile.TemporaryDirectory() as scratch:
        reader = nltk_reader(Path(scratch))
        if reader is None:
            print(f"wordnet: skipped, no WordNet 3.0 in $NLTK_DATA or {REAL_DATA / 'wordnet'}")
            return []
        return [*speed_rows(reader), *preparation_rows(), difference_row(reader)]


def nltk_reader(scratch: Path) -> "WordNetCorpusReader | None":
    """NLTK's reader, or None where its corpus is nowhere to be had."""
    archive = REAL_DATA / "wordnet" / "wordnet.zip"
    if archive.is_file():
        with zipfile.ZipFile(archive) as opened:
            opened.extractall(scratch / "corpora")
    for folder in [*filter(None, os.environ.get("NLTK_DATA", "").split(os.pathsep)), scratch]:
        try:
            return open_wordnet(Path(folder))
        except InputError:
            continue
    return None


def answers() -> list[Phrase]:
    """The words of real answers: Visual7W's released decoys and COCO-QA's answers; without them WordNet's lemmas."""
    decoys, cocoqa = REAL_DATA / "chao_decoys" / "Visual7W_decoys.zip", next(REAL_DATA.glob("cocoqa/*.zip"), None)
    if not decoys.is_file() or cocoqa is None:
        return [(lemma,) for lemma in single_words()]
    with zipfile.ZipFile(decoys) as archive:
        name = next(name for name in archive.namelist() if name.endswith("v7w_val_decoys.json"))
        texts = {text for row in json.loads(archive.read(name)) for text in row["IoU_decoys"]}
    with zipfile.ZipFile(cocoqa) as archive:
        for name in archive.namelist():
            if name.endswith("answers.txt"):
                texts |= set(archive.read(name).decode().splitlines())
    return sorted({tuple(words(text)) for text in texts} - {()})


def single_words() -> list[str]:
    """The 70,093 lemmas that are one word of letters."""
    wordnet = load_wordnet()
    return sorted(lemma for lemma in {*wordnet.nouns.lemmas, *wordnet.adjectives.lemmas} if lemma.isalpha())


def speed_rows(reader: "WordNetCorpusReader") -> list[Row]:
    """Plain NLTK and ours on pairs of the same answers, taking turns."""
    phrases = answers()
    vocabulary = sorted({word for phrase in phrases for word in phrase})
    numbers = {word: number for number, word in enumerate(vocabulary)}
    tokens = np.array([numbers[word] for phrase in phrases for word in phrase], np.int32)
    starts = np.cumsum([0, *map(len, phrases)]).astype(np.int32)
    exact, near = word_scores(vocabulary, 0.0), word_scores(vocabulary, THRESHOLD)
    draw = np.random.default_rng(0)
    pairs = draw.integers(len(phrases), size=(N_DECISIONS, 2), dtype=np.int32)
    of_exact = pairs[:N_EXACT_PAIRS]
    score_pairs(tokens, starts, of_exact, exact), decide_pairs(tokens, starts, pairs[:1], near, THRESHOLD)  # compile

    rates: dict[str, list[float]] = {"nltk": [], "exact": [], "decisions": []}
    for run in range(RUNS):
        sample = pairs[run * N_NLTK_PAIRS : (run + 1) * N_NLTK_PAIRS]
        texts = [(phrases[a], phrases[b]) for a, b in sample]
        for word in {word for pair in texts for phrase in pair for word in phrase}:
            nltk_synsets(reader, word)  # NLTK reads a synset from its files once; that is not what we measure
        seconds, expected = timed(lambda texts=texts: [nltk_phrase_wup(reader, a, b) for a, b in texts])
        rates["nltk"].append(len(texts) / seconds)
        seconds, scores = timed(lambda: score_pairs(tokens, starts, of_exact, exact))
        rates["exact"].append(len(of_exact) / seconds)
        seconds, accepted = timed(lambda: decide_pairs(tokens, starts, pairs, near, THRESHOLD))
        rates["decisions"].append(len(pairs) / seconds)
        part = slice(run * N_NLTK_PAIRS, (run + 1) * N_NLTK_PAIRS)
        if scores[part].tolist() != expected or accepted[part].tolist() != [score < THRESHOLD for score in expected]:
            raise SystemExit("wordnet: our scores are not NLTK's")
    nltk, ours, decisions = (median(rates[what]) for what in ("nltk", "exact", "decisions"))
    return [
        ("WUP of answer pairs, plain NLTK", nltk, "pairs/s", ""),
        ("WUP of answer pairs, ours", ours, "pairs/s", ""),
        ("WUP of answer pairs, ours to plain NLTK", ours / nltk, "x", ">= 2,000"),
        (f"filter decisions at {THRESHOLD}, ours", decisions, "pairs/s", ""),
        (f"filter decisions at {THRESHOLD}, ours to plain NLTK", decisions / nltk, "x", ">= 100,000"),
    ]


def preparation_rows() -> list[Row]:
    """What has to be done before the first score."""
    lemmas = single_words()
    table = word_scores(lemmas, THRESHOLD)  # compiles
    table_seconds = median(timed(lambda: word_scores(lemmas, THRESHOLD))[0] for _ in range(RUNS))
    load_seconds = median(timed(load_wordnet.__wrapped__)[0] for _ in range(RUNS))
    with tempfile.TemporaryDirectory() as cache:
        first, second = (seconds_of_first_calls(cache), seconds_of_first_calls(cache))
    return [
        (f"table of all pairs >= {THRESHOLD} of {len(lemmas):,} lemmas", table_seconds, "s", "< 1"),
        ("pairs in it", float(len(table.near_words)), "pairs", ""),
        ("WordNet's tables loaded", load_seconds, "s", "< 0.5"),
        ("first scores on a machine, numba compiling", first, "s", ""),
        ("first scores of a process, compiled before", second, "s", ""),
    ]


def difference_row(reader: "WordNetCorpusReader") -> Row:
    """How many of many random word pairs, rare ones and answers' words alike, score otherwise than in NLTK."""
    draw = Random(0)
    sources = [single_words(), sorted({word for phrase in answers() for word in phrase})]
    pairs = [(draw.choice(draw.choice(sources)), draw.choice(draw.choice(sources))) for _ in range(N_WORD_PAIRS)]
    vocabulary = list(dict.fromkeys(word for pair in pairs for word in pair))
    numbers = {word: number for number, word in enumerate(vocabulary)}
    places = np.array([(numbers[word], numbers[other]) for word, other in pairs], np.int32)
    tokens, starts = np.arange(len(vocabulary), dtype=np.int32), np.arange(len(vocabulary) + 1, dtype=np.int32)
    found = score_pairs(tokens, starts, places, word_scores(vocabulary, 0.0))
    with nltk_that_keeps_things(reader) as synsets:
        expected = [max(nltk_wup(synsets, a, b), nltk_wup(synsets, b, a)) for a, b in pairs]
    return (
        f"of {N_WORD_PAIRS:,} random word pairs differ from NLTK",
        float((found != expected).sum()),
        "pairs",
        "<= 0",
    )


@njit()
def score_pairs(
    tokens: NDArray[np.int32], starts: NDArray[np.int32], pairs: NDArray[np.int32], scores: WordScores
) -> NDArray[np.float64]:
    """The score of each pair of phrases."""
    found = np.empty(len(pairs))
    for n in range(len(pairs)):
        a, b = pairs[n, 0], pairs[n, 1]
        found[n] = phrase_score(tokens, starts[a], starts[a + 1], starts[b], starts[b + 1], scores)
    return found


@njit()
def decide_pairs(
    tokens: NDArray[np.int32],
    starts: NDArray[np.int32],
    pairs: NDArray[np.int32],
    scores: WordScores,
    threshold: float,
) -> NDArray[np.bool_]:
    """Whether each pair may stand side by side."""
    accepted = np.empty(len(pairs), np.bool_)
    for n in range(len(pairs)):
        a, b = pairs[n, 0], pairs[n, 1]
        score = phrase_score(tokens, starts[a], starts[a + 1], starts[b], starts[b + 1], scores)
        accepted[n] = score < threshold
    return accepted


def nltk_synsets(reader: "WordNetCorpusReader", word: str) -> list[Any]:
    """The synsets of eq. 3."""
    return [*reader.synsets(word, "n"), *reader.synsets(word, "a")]


def nltk_wup(synsets: Callable[[str], list[Any]], word: str, other: str) -> float:
    """Eq. 3, literally."""
    of_word, of_other = synsets(word), synsets(other)
    if not of_word:
        return float(word == other)
    return max((s.wup_similarity(o) for s in of_word for o in of_other), default=0.0)


def nltk_phrase_wup(reader: "WordNetCorpusReader", phrase: Phrase, other: Phrase) -> float:
    """Eq. 4, literally."""

    def directed(a: Sequence[str], b: Sequence[str]) -> float:
        product = 1.0
        for word in a:
            product *= max(nltk_wup(lambda w: nltk_synsets(reader, w), word, another) for another in b)
        return product

    return max(directed(phrase, other), directed(other, phrase))


@contextmanager
def nltk_that_keeps_things(reader: "WordNetCorpusReader") -> Iterator[Callable[[str], list[Any]]]:
    """NLTK's own arithmetic, but depths, ways up and its version are computed once; gives the lookup of synsets."""
    from nltk.corpus.reader.wordnet import Synset

    names = ("_shortest_hypernym_paths", "min_depth", "max_depth")
    kept = {name: lru_cache(maxsize=None)(getattr(Synset, name)) for name in names}
    version = reader.get_version()
    with patch.multiple(Synset, **kept), patch.object(reader, "get_version", lambda: version):
        yield lru_cache(maxsize=None)(lambda word: nltk_synsets(reader, word))


def seconds_of_first_calls(cache: str) -> float:
    """Import, load and first scores in a process of its own, with numba's cache in a folder of ours."""
    done = subprocess.run(
        [sys.executable, "-c", FIRST_CALLS],
        env={**os.environ, "NUMBA_CACHE_DIR": cache, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """Seconds taken, and what came out."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


if __name__ == "__main__":
    for what, value, unit, required in rows():
        print(f"{what:60} {value:16,.3f} {unit:8} {required}")
