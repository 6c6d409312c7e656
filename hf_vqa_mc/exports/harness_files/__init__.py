"""Programs that are copied into exports as they are; nothing of a dataset is written into them."""

from importlib import resources


def harness_file(name: str) -> str:
    """The text of one of the programs here."""
    return (resources.files(__name__) / f"{name}.py").read_text("utf-8")
