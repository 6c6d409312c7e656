"""Makes the WordNet tables that the package ships, through NLTK.

`python -m tests.text.make_tables NLTK_DATA_DIR` rewrites them; the same corpus gives the same bytes.
Only this script and other tests need NLTK's WordNet corpus.
"""

import hashlib
import sys
import warnings
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.text import wordnet

if TYPE_CHECKING:
    from nltk.corpus.reader.wordnet import Synset, WordNetCorpusReader

TABLES_FILE = Path(wordnet.__file__).parent / "data" / "wordnet30.npz"
WORDNET_VERSION = "3.0"
PARTS_OF_SPEECH = {"noun": "n", "adjective": "a"}
"""The parts of speech with the letters by which NLTK knows them; "a" also finds satellite adjectives ("s")."""

Tables = dict[str, NDArray[Any]]


def open_wordnet(nltk_data: Path) -> "WordNetCorpusReader":
    """NLTK's reader of the corpus in `nltk_data`/corpora/wordnet.

    Raises:
        InputError: There is no WordNet, or one of another version.
    """
    folder = nltk_data / "corpora" / "wordnet"
    if not (folder / "index.noun").is_file():
        raise InputError(f"{folder}: no unpacked WordNet (index.noun) here; unpack wordnet.zip in {folder.parent}")
    import nltk
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    if str(nltk_data) not in nltk.data.path:  # NLTK opens files below these folders only
        nltk.data.path.insert(0, str(nltk_data))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The multilingual functions are not available")
        reader = WordNetCorpusReader(nltk.data.FileSystemPathPointer(str(folder)), None)
    if reader.get_version() != WORDNET_VERSION:
        raise InputError(f"{folder}: WordNet {reader.get_version()}, expected {WORDNET_VERSION}")
    return reader


def ranked_synsets(reader: "WordNetCorpusReader") -> list["Synset"]:
    """All nouns, then all adjectives; a synset's index is its id.

    Nouns go from the deepest to the root (by NLTK's min_depth), equally deep ones by name: of any synsets the one
    with the smallest id is the one that NLTK takes as least common subsumer.
    """
    nouns = sorted(reader.all_synsets("n"), key=lambda synset: (-synset.min_depth(), synset.name()))
    return nouns + sorted(reader.all_synsets("a"))


def ancestor_rows(synsets: Sequence["Synset"], ids: dict[str, int]) -> tuple[list[dict[int, int]], list[int]]:
    """What each synset's ancestors (itself included) are, and how far away.

    Returns:
        For each synset {ancestor's id: NLTK's shortest_path_distance to it}, by ascending id, and the number of
        links up to its farthest ancestor. A path may pass through any common ancestor, hence be shorter than the
        way up (it is for 12,944 pairs).
    """
    upward = [{ids[a.name()]: links for a, links in s._shortest_hypernym_paths(False).items()} for s in synsets]
    reaches = [max(ways.values()) for ways in upward]
    rows = []
    for ways, reach in zip(upward, reaches, strict=True):
        one_way = len(ways) == reach + 1  # then there are no shortcuts
        row = ways if one_way else {a: min(ways[v] + links for v, links in upward[a].items()) for a in ways}
        rows.append(dict(sorted(row.items())))
    return rows, reaches


def lemma_tables(reader: "WordNetCorpusReader", part: str, ids: dict[str, int]) -> Tables:
    """The lemmas of a part of speech, sorted, with their synsets in NLTK's order, and morphy's exceptions."""
    letter = PARTS_OF_SPEECH[part]
    lemmas = sorted(reader.all_lemma_names(letter))
    offsets = [reader._lemma_pos_offset_map[lemma][letter] for lemma in lemmas]
    synsets = [ids[reader.synset_from_pos_and_offset(letter, offset).name()] for offset in chain(*offsets)]
    exceptions = [" ".join([form, *bases]) for form, bases in sorted(reader._exception_map[letter].items())]
    return {
        f"{part}_lemmas": _text(lemmas),
        f"{part}_synset_counts": _small(map(len, offsets)),
        f"{part}_synsets": np.array(synsets, np.int32),
        f"{part}_exceptions": _text(exceptions),
    }


def make_tables(reader: "WordNetCorpusReader") -> Tables:
    """All that `hf_vqa_mc.text.wordnet` needs to score as NLTK does; what each table is, `WordNet` says."""
    synsets = ranked_synsets(reader)
    ids = {synset.name(): number for number, synset in enumerate(synsets)}
    rows, reaches = ancestor_rows(synsets, ids)
    tables: Tables = {
        "depths": _small(synset.max_depth() + 1 for synset in synsets),
        "min_depths": _small(synset.min_depth() for synset in synsets),
        "reaches": _small(reaches),
        "ancestor_counts": _small(map(len, rows)),
        "ancestors": np.array(list(chain(*rows)), np.int32),
        "distances": _small(chain(*(row.values() for row in rows))),
    }
    similar = [sorted(ids[other.name()] for other in synset.similar_tos()) for synset in synsets]
    tables |= {"similar_counts": _small(map(len, similar)), "similar": np.array(list(chain(*similar)), np.int32)}
    for part in PARTS_OF_SPEECH:
        tables |= lemma_tables(reader, part, ids)
    return tables


def digest(tables: Tables) -> str:
    """Sha256 of the tables' names, types and values; unlike a file's it does not depend on how zlib packed them."""
    total = hashlib.sha256()
    for name in sorted(tables):
        table = np.ascontiguousarray(tables[name])
        total.update(f"{name} {table.dtype.str} {table.shape}\n".encode())
        total.update(table.tobytes())
    return total.hexdigest()


def _small(numbers: Iterable[int]) -> NDArray[np.uint8]:
    """Numbers in [0, 255]; numpy raises OverflowError for any other."""
    return np.array(list(numbers), np.uint8)


def _text(lines: Sequence[str]) -> NDArray[np.uint8]:
    return np.frombuffer("\n".join(lines).encode(), np.uint8)


def main(arguments: Sequence[str]) -> None:
    """Write the tables into the package and print what they are."""
    if len(arguments) != 1:
        raise SystemExit("usage: python -m tests.text.make_tables NLTK_DATA_DIR")
    tables: dict[str, Any] = make_tables(open_wordnet(Path(arguments[0])))
    with TABLES_FILE.open("wb") as file:
        np.savez_compressed(file, **tables)
    sys.stdout.write(f"{TABLES_FILE}: {TABLES_FILE.stat().st_size:,} bytes, sha256 of the tables {digest(tables)}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
