"""The engines' vocabularies in YAML: every file fits its schema, and errors name what is wrong."""

from dataclasses import dataclass
from pathlib import Path
from string import Formatter
from typing import Any

import pytest

from hf_vqa_mc import engines
from hf_vqa_mc.engines.gqa import patterns
from hf_vqa_mc.engines.vocabulary import read_vocabulary, vocabulary
from hf_vqa_mc.errors import InputError

FOLDER = Path(engines.__file__).parent
SCHEMAS: dict[str, type] = {"gqa/templates": patterns.Templates}


def test_every_file_has_a_schema_and_fits_it() -> None:
    files = {f"{path.parts[-3]}/{path.stem}" for path in FOLDER.rglob("*.yaml")}
    assert files == SCHEMAS.keys()
    for name, schema in SCHEMAS.items():
        assert isinstance(vocabulary(name, schema), schema)


def names_in(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


def test_templates_of_a_list_are_distinct_questions_and_name_known_phrases_only() -> None:
    file = vocabulary("gqa/templates", patterns.Templates)
    named = set()
    for variants in file.templates.values():
        for texts in variants.values():
            assert texts and len(set(texts)) == len(texts)
            assert all(text.endswith("?") for text in texts)
            named |= {name for text in texts for name in names_in(text) if name.isupper()}
    assert named == file.phrases.keys()
    for question_type, detailed in file.detailed_types.items():
        assert detailed.keys() <= file.templates[question_type].keys()


@dataclass(frozen=True)
class Toy:
    """A schema."""

    words: frozenset[str]
    plural_forms: dict[str, tuple[str, ...]]
    least: int = 1


GOOD = "words: [on, no, '1']\nplural forms:\n  cat: [cats]\n"


def read(folder: Path, text: str) -> Any:
    path = folder / "toy.yaml"
    path.write_text(text)
    return read_vocabulary(path, Toy)


def test_what_the_schema_has_as_text_needs_no_quotes(tmp_path: Path) -> None:
    assert read(tmp_path, GOOD) == Toy(frozenset({"on", "no", "1"}), {"cat": ("cats",)})


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (GOOD.replace("words:", "word:"), "line 1, key 'word': unknown; expected one of words, plural forms, least"),
        ("words: []\n", "line 1, key 'plural forms': missing; expected a mapping"),
        ("words: []\n" + GOOD, "line 1, key 'words': given twice"),
        (GOOD.replace("on, no", "on, on"), "line 1, key 'words': 'on' is listed twice"),
        (GOOD.replace("[cats]", "cats"), "line 3, key 'plural forms > cat': expected a list; found 'cats'"),
        (GOOD.replace("cats]", "[]]"), "line 3, key 'plural forms > cat > 1': expected text; found a list"),
        (GOOD + "least: many\n", "line 4, key 'least': expected an integer; found 'many'"),
        (GOOD + "least:\n", "line 4, key 'least': expected an integer; found ''"),
        ("", ": expected a mapping; found nothing"),
        ("words: [", "not a vocabulary in YAML"),
    ],
)
def test_an_error_names_file_line_key_and_what_was_expected(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    assert str(caught.value).startswith(str(tmp_path / "toy.yaml")) and problem in str(caught.value)
