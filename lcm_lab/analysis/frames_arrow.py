"""Columns of plain buffers, handed to DuckDB without a copy and without another library.

The idea: a table goes from SQLite to DuckDB in batches. Each column of a batch is one block of memory (numbers side by
side, or texts end to end with their offsets), described by the two C structures of the Arrow C data interface, a stable
binary contract that DuckDB reads directly. That spares one Python object conversion per value on DuckDB's side, and
needs no pyarrow.

The invariant: a :class:`Batch` owns every buffer it describes, so DuckDB may read it for as long as the batch is
referenced; releasing it frees nothing and only marks it released, as the interface asks. Checked by
``tests/analysis/test_frames_load.py``, value by value against SQLite.
"""

import ctypes
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import filterfalse, repeat
from operator import is_not
from typing import Any, Final

_NULLABLE: Final = 2


class _Schema(ctypes.Structure):
    """``struct ArrowSchema``."""


class _Array(ctypes.Structure):
    """``struct ArrowArray``."""


_SCHEMA_RELEASE: Final = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Schema))
_ARRAY_RELEASE: Final = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Array))
_Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_char_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(_Schema))),
    ("dictionary", ctypes.POINTER(_Schema)),
    ("release", _SCHEMA_RELEASE),
    ("private_data", ctypes.c_void_p),
]
_Array._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(_Array))),
    ("dictionary", ctypes.POINTER(_Array)),
    ("release", _ARRAY_RELEASE),
    ("private_data", ctypes.c_void_p),
]
_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


def _release_schema(pointer: Any) -> None:
    pointer.contents.release = _SCHEMA_RELEASE()


def _release_array(pointer: Any) -> None:
    pointer.contents.release = _ARRAY_RELEASE()


# Kept here for the life of the process: DuckDB calls them whenever it lets go of a batch.
_on_schema: Final = _SCHEMA_RELEASE(_release_schema)
_on_array: Final = _ARRAY_RELEASE(_release_array)


@dataclass(frozen=True, slots=True)
class Buffers:
    """One column: its Arrow format (``l`` whole number, ``g`` float, ``U`` text), null count, and its memory.

    ``memory`` is (validity, values) for numbers and (validity, offsets, bytes) for texts; validity None is "no NULL".
    """

    format: str
    nulls: int
    memory: tuple[Any, ...]


def numbers(values: Sequence[Any], *, real: bool = False) -> Buffers:
    """A column of int64 (of float64 with ``real``) from values that are numbers or None.

    Raises:
        TypeError, OverflowError: a value is something else; nothing is ever rounded or converted to fit.
    """
    code, letter = ("d", "g") if real else ("q", "l")
    nulls = values.count(None)
    if not nulls:
        return Buffers(letter, 0, (None, array(code, values)))
    if nulls == len(values):
        return Buffers(letter, nulls, (_validity(values), array(code, bytes(8 * nulls))))
    return Buffers(letter, nulls, (_validity(values), array(code, [0 if one is None else one for one in values])))


def whole(values: Any, given: Sequence[Any] = ()) -> Buffers:
    """A column of int64 from a numpy array; NULL where ``given`` is None."""
    nulls = given.count(None)
    return Buffers("l", nulls, (_validity(given) if nulls else None, values))


def texts(values: Sequence[Any]) -> Buffers:
    """A text column from ``bytearray`` values that are UTF-8, or None.

    Raises:
        TypeError: a value is of another type; ``bytes`` count as one, because a BLOB arrives as such.
        UnicodeDecodeError: a value is not valid UTF-8.
    """
    import numpy as np

    nulls = values.count(None)
    if nulls == len(values):
        return Buffers("U", nulls, (_validity(values), np.zeros(len(values) + 1, np.int64), b""))
    kinds = set(map(type, values))
    if not kinds <= {bytearray, type(None)}:
        raise TypeError("a value in a text column is not text")
    present = [b"" if one is None else one for one in values] if nulls else values
    data = b"".join(present)
    offsets = np.zeros(len(values) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, present), np.int64, len(values)), out=offsets[1:])
    for one in filterfalse(bytearray.isascii, filter(None, values)):
        one.decode()  # raises where it is not UTF-8; most texts are ASCII and are passed over
    return Buffers("U", nulls, (_validity(values) if nulls else None, offsets, data))


class Batch:
    """Some rows of a table as named columns, readable by DuckDB any number of times."""

    def __init__(self, columns: dict[str, Buffers], length: int) -> None:
        self.length = length
        self.text_bytes = sum(len(one.memory[2]) for one in columns.values() if one.format == "U")
        self._columns = columns
        self._kept: list[Any] = []

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        """The batch as two capsules: what its columns are, and where they lie."""
        schemas = [_schema(one.format, name) for name, one in self._columns.items()]
        whole_schema = _schema("+s", "")
        whole_schema.n_children, whole_schema.children = len(schemas), self._pointers(_Schema, schemas)
        arrays = [self._array(one.memory, one.nulls) for one in self._columns.values()]
        whole = self._array((None,), 0)
        whole.n_children, whole.children = len(arrays), self._pointers(_Array, arrays)
        self._kept += [whole_schema, whole]
        return (
            _new_capsule(ctypes.addressof(whole_schema), b"arrow_schema", None),
            _new_capsule(ctypes.addressof(whole), b"arrow_array", None),
        )

    def _array(self, memory: tuple[Any, ...], nulls: int) -> _Array:
        addresses = (ctypes.c_void_p * len(memory))(*(None if one is None else _address(one) for one in memory))
        self._kept.append(addresses)
        buffers = ctypes.cast(addresses, ctypes.POINTER(ctypes.c_void_p))
        return _Array(self.length, nulls, 0, len(memory), 0, buffers, None, None, _on_array, None)

    def _pointers(self, kind: type[Any], children: list[Any]) -> Any:
        pointers = (ctypes.POINTER(kind) * len(children))(*map(ctypes.pointer, children))
        self._kept += [pointers, children]
        return ctypes.cast(pointers, ctypes.POINTER(ctypes.POINTER(kind)))


def _schema(letters: str, name: str) -> _Schema:
    return _Schema(letters.encode(), name.encode(), None, _NULLABLE, 0, None, None, _on_schema, None)


def _address(memory: Any) -> int | None:
    if isinstance(memory, array):
        return memory.buffer_info()[0]
    if isinstance(memory, bytes):
        return ctypes.cast(ctypes.c_char_p(memory), ctypes.c_void_p).value
    address: int = memory.ctypes.data
    return address


def _validity(values: Sequence[Any]) -> Any:
    import numpy as np

    present = np.fromiter(map(is_not, values, repeat(None)), np.bool_, len(values))
    return np.packbits(present, bitorder="little")
