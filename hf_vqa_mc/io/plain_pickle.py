"""Pickles of gensim: plain values and NumPy arrays; nothing else is unpickled, since pickles can run code."""

import io
import pickle
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

ADMITTED_KINDS = "biufSU"  # kinds of NumPy's types of numbers and texts


class Refused(Exception):
    """The pickle has a global that is not admitted."""


class PickledArray:
    """Replaces a NumPy array, whose own ``__setstate__`` trusts the file; `numbers` makes the array on demand."""

    def __init__(self, *_: object) -> None:
        self._state: tuple[Any, ...] = ()

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self._state = state

    def numbers(self) -> NDArray[Any]:
        """The array."""
        _, shape, kind, fortran, content = self._state
        return np.ndarray(shape, kind.dtype, _bytes(content), order="F" if fortran else "C")


class _Dtype:
    """Replaces a NumPy dtype, as `PickledArray` does an array."""

    def __init__(self, code: str, *_: object) -> None:
        self.dtype = np.dtype(code)
        if self.dtype.kind not in ADMITTED_KINDS:
            raise Refused(f"the dtype {code!r}")

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.dtype = self.dtype.newbyteorder(state[1])


def _bytes(text: str | bytes, encoding: str = "latin1") -> bytes:
    """Bytes as pickled by protocols before 3, or by Python 2."""
    if encoding != "latin1":
        raise Refused(f"the encoding {encoding}")
    return text.encode(encoding) if isinstance(text, str) else text


def _from_buffer(content: bytes, kind: _Dtype, shape: tuple[int, ...], order: Any) -> NDArray[Any]:  # noqa: ANN401
    return np.ndarray(shape, kind.dtype, content, order=order)


def _scalar(kind: _Dtype, content: str | bytes) -> Any:  # noqa: ANN401  a number
    return np.frombuffer(_bytes(content), kind.dtype)[0]


_ADMITTED: dict[str, Callable[..., Any]] = {
    "numpy ndarray": PickledArray,
    "numpy.core.multiarray _reconstruct": PickledArray,
    "numpy.core.multiarray scalar": _scalar,
    "numpy.core.numeric _frombuffer": _from_buffer,
    "numpy dtype": _Dtype,
    "_codecs encode": _bytes,
    "__builtin__ bytes": lambda: b"",
}
"""The constructors in pickles of NumPy arrays, replaced by some that make nothing else."""


class _PlainUnpickler(pickle._Unpickler):
    """Builds the substitutes and refuses everything else.

    Based on the pure Python unpickler: five bytes of a file can make the one in C allocate 64 GB.
    """

    def __init__(self, content: bytes, others: Mapping[str, Callable[..., Any]]) -> None:
        super().__init__(io.BytesIO(content), encoding="latin1")
        self._admitted = {**_ADMITTED, **others}

    def find_class(self, module: str, name: str) -> Any:  # noqa: ANN401  a constructor
        found = self._admitted.get(f"{module.replace('numpy._core', 'numpy.core')} {name}")
        if found is None:
            raise Refused(f"{module}.{name}")
        return found

    def persistent_load(self, pid: Any) -> Any:  # noqa: ANN401  whatever was pickled
        raise Refused("an object outside of it")


def unpickled(content: bytes, others: Mapping[str, Callable[..., Any]]) -> Any:  # noqa: ANN401
    """Plain values, `PickledArray` for arrays, and ``others`` in place of "MODULE NAME"; raises Refused for more."""
    return _PlainUnpickler(content, others).load()
