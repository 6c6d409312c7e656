"""Pickles of plain values and NumPy arrays; nothing else is unpickled, since pickles can run code."""

import io
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

from hf_vqa_mc.errors import InputError


def plain_pickle(content: bytes, location: str) -> Any:  # noqa: ANN401  whatever was pickled
    """Unpickle numbers, texts, bytes, lists, tuples, dicts and NumPy arrays or scalars of numbers.

    Raises:
        InputError: the pickle is damaged, or has anything else; nothing of it has been run.
    """
    try:
        return _PlainUnpickler(io.BytesIO(content), encoding="latin1").load()
    except _Refused as error:
        raise InputError(
            f"{location}: the pickle refers to {error}; expected only plain values and NumPy arrays, since other "
            "pickles can run code"
        ) from None
    except Exception as error:  # damaged pickles raise any error
        raise InputError(f"{location}: damaged pickle ({type(error).__name__}); download the file again") from error


class _Refused(Exception):
    """The pickle has a global that is not admitted."""


def _empty(kind: object, shape: tuple[int, ...], code: bytes) -> np.ndarray[Any, Any]:
    """The array that an array's state is set on, which NumPy makes with shape (0,)."""
    if kind != _NDARRAY or tuple(shape) != (0,):
        raise _Refused(f"an array of {kind} and shape {shape}")
    return np.ndarray(shape, np.int8)


def _encoded(text: str, encoding: str) -> bytes:
    if encoding != "latin1":
        raise _Refused(f"the encoding {encoding}")
    return text.encode(encoding)


def _from_buffer(content: bytes, kind: "np.dtype[Any]", shape: tuple[int, ...], order: Any) -> Any:  # noqa: ANN401
    return np.frombuffer(content, kind).reshape(shape, order=order)


def _scalar(kind: "np.dtype[Any]", content: bytes) -> Any:  # noqa: ANN401  a number
    return np.frombuffer(content, kind)[0]


def _dtype(code: str, *flags: bool) -> "np.dtype[Any]":
    kind = np.dtype(code, copy=True)  # its byte order is set later
    if kind.kind not in "biufSU":
        raise _Refused(f"the dtype {code!r}")
    return kind


_NDARRAY = "numpy.ndarray"
"""Replaces the class, which is only an argument."""
_ADMITTED: dict[str, Callable[..., Any] | str] = {
    "numpy ndarray": _NDARRAY,
    "numpy.core.multiarray _reconstruct": _empty,
    "numpy.core.multiarray scalar": _scalar,
    "numpy.core.numeric _frombuffer": _from_buffer,
    "numpy dtype": _dtype,
    "_codecs encode": _encoded,
    "__builtin__ bytes": lambda: b"",
}
"""The constructors in pickles of NumPy arrays, replaced by some that make nothing else."""


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:  # noqa: ANN401  a constructor
        found = _ADMITTED.get(f"{module.replace('numpy._core', 'numpy.core')} {name}")
        if found is None:
            raise _Refused(f"{module}.{name}")
        return found

    def persistent_load(self, pid: Any) -> Any:  # noqa: ANN401  whatever was pickled
        raise _Refused("an object outside of it")
