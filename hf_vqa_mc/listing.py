"""Declarations of one kind by name: sources, decoy kinds, schemes, models, probes, layouts."""

from collections import UserDict
from collections.abc import Mapping
from pkgutil import resolve_name
from typing import Protocol, TypeVar, cast

from hf_vqa_mc.errors import unknown_name


class Named(Protocol):
    """Anything with a name."""

    @property
    def name(self) -> str:
        """Its name, as typed by users."""


N = TypeVar("N", bound=Named)


class Listing(UserDict[str, N]):
    """An ordered dictionary of declarations by name.

    Args:
        what: type of the declarations, for messages: ``source``.
        declarations: the initial ones.
        lazy: name to ``package.module:NAME`` of more declarations, imported on first use.

    >>> from hf_vqa_mc.listing import Listing
    >>> from types import SimpleNamespace
    >>> listing = Listing("source", SimpleNamespace(name="vqa"))
    >>> listing.add(SimpleNamespace(name="mine"))
    >>> list(listing)
    ['vqa', 'mine']
    """

    def __init__(self, what: str, *declarations: N, lazy: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self.what = what
        self.data = cast(dict[str, N], dict(lazy or {}))
        for declaration in declarations:
            self.add(declaration)

    def add(self, declaration: N) -> None:
        """Add a declaration, possibly of another package; raises ValueError if its name is taken."""
        if declaration.name in self:
            raise ValueError(f"{self.what} {declaration.name!r} is listed already")
        self[declaration.name] = declaration

    def find(self, name: str) -> N:
        """The declaration of a name; raises InputError with the nearest name if there is none."""
        if name not in self:
            raise unknown_name(self.what, name, self)
        return self[name]

    def __getitem__(self, name: str) -> N:
        if isinstance(home := self.data[name], str):
            self.data[name] = resolve_name(home)
        return self.data[name]
