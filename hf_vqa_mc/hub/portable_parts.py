"""Simple definitions that replace those of the same name in portable code, where hf_vqa_mc is not installed."""

import json
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from PIL import Image

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.text.normalisation import words

RawImage = Any
"""A PIL image, or the path of an image file."""


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file."""
    path.write_bytes(content)


def write_json(path: Path, content: object, indent: int | None = None) -> None:
    """Write a JSON file."""
    path.write_text(json.dumps(content, indent=indent), "utf-8")


def parsed(text: str) -> Any:  # noqa: ANN401  any JSON value
    """The value of a JSON text."""
    return json.loads(text)


def read_json(path: Path) -> Any:  # noqa: ANN401  any JSON value
    """The value of a JSON file."""
    return json.loads(path.read_text("utf-8"))


def hub_folder(what: str, name: str, files: Sequence[str], expected: str, **of_hub: Any) -> Path:  # noqa: ANN401
    """Download files of a model repository unless they are in the cache; arguments of ``snapshot_download``."""
    from huggingface_hub import snapshot_download

    return Path(snapshot_download(name, allow_patterns=list(files), **of_hub))


def open_image(image: Image.Image | str | PathLike[str]) -> Image.Image:
    """The image in RGB, without the EXIF orientation."""
    if not hasattr(Image, "open"):
        raise InputError("images need pillow: pip install pillow")
    return (image if isinstance(image, Image.Image) else Image.open(image)).convert("RGB")


def word_lists(texts: Sequence[str]) -> Iterator[list[str]]:
    """Iterate over the words of each text."""
    return map(words, texts)


class WordVectors:
    """A file of word vectors, which only hf_vqa_mc reads."""

    sha256: str
    rows: Any
    name: str


def load_word_vectors(name: str) -> WordVectors:
    """Raise InputError."""
    raise InputError(f'word vectors {name}: only hf_vqa_mc reads such files; use new_words="skip"')
