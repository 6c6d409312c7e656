"""Programs and templates that are written into exports; programs are copied as they are, without any data."""

from importlib import resources


def harness_file(name: str) -> str:
    """The text of one of the files here."""
    return (resources.files(__name__) / name).read_text("utf-8")
