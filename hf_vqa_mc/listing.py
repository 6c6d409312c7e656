"""Declarations of one kind by name: sources, decoy kinds, schemes, models, probes, layouts."""

from collections.abc import Iterator, Mapping
from pkgutil import resolve_name
from typing import Generic, Protocol, TypeVar, cast

from hf_vqa_mc.errors import unknown_name


class Named(Protocol):
    """Anything with a name."""

    @property
    def name(self) -> str:
        """As users type it."""


N = TypeVar("N", bound=Named)


class Listing(Mapping[str, N], Generic[N]):
    """Declarations by name, in order.

    Args:
        what: they are, for messages: ``source``.
        declarations: to begin with.
        homes: more of them, name to ``package.module:NAME``, imported when first used; their names are known at once.

    >>> from hf_vqa_mc.listing import Listing
    >>> from types import SimpleNamespace
    >>> listing = Listing("source", SimpleNamespace(name="vqa"))
    >>> listing.add(SimpleNamespace(name="mine"))
    >>> list(listing)
    ['vqa', 'mine']
    """

    def __init__(self, what: str, *declarations: N, homes: Mapping[str, str] | None = None) -> None:
        self.what = what
        self._declared: dict[str, N | str] = dict(homes or {})
        for declaration in declarations:
            self.add(declaration)

    def add(self, declaration: N) -> None:
        """List another declaration; this is how a package of yours adds one.

        Raises:
            ValueError: its name is taken.
        """
        if declaration.name in self._declared:
            raise ValueError(f"{self.what} {declaration.name!r} is listed already")
        self._declared[declaration.name] = declaration

    def remove(self, name: str) -> None:
        """Take a declaration out again."""
        del self._declared[name]

    def find(self, name: str) -> N:
        """The declaration of this name.

        Raises:
            InputError: there is none; suggests the nearest name.
        """
        if name not in self._declared:
            raise unknown_name(self.what, name, self._declared)
        return self[name]

    def __contains__(self, name: object) -> bool:
        return name in self._declared  # without importing it

    def __getitem__(self, name: str) -> N:
        found = self._declared[name]
        if isinstance(found, str):
            found = self._declared[name] = cast(N, resolve_name(found))
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._declared)

    def __len__(self) -> int:
        return len(self._declared)
