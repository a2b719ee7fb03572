"""Byte offsets inside the objects of Python and numpy, measured and not assumed."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cache

import numpy as np

from bough.errors import SettingError


@dataclass(frozen=True)
class ObjectLayout:
    """Byte offsets inside Python's and numpy's objects."""

    type_of: int
    bytes_data: int
    data_of: int
    ndim_of: int
    extents_of: int
    descr_of: int
    flags_of: int


@cache
def object_layout() -> ObjectLayout:
    """The layout of this interpreter's objects; refused where a sample array contradicts it."""
    head, word = object.__basicsize__, ctypes.sizeof(ctypes.c_void_p)
    layout = ObjectLayout(
        type_of=head - word,
        bytes_data=bytes.__basicsize__ - 1,
        data_of=head,
        ndim_of=head + word,
        extents_of=head + 2 * word,
        descr_of=head + 5 * word,
        flags_of=head + 6 * word,
    )
    if word != 8 or not (_matches(layout, np.ones((2, 3))) and _matches(layout, np.ones((4, 2)).T)):
        raise SettingError("compiled code cannot read the arrays of this Python and numpy; set BOUGH_INTERPRET=1")
    return layout


def _matches(layout: ObjectLayout, sample: np.ndarray) -> bool:
    """Whether `layout` finds in `sample` the values of numpy's own attributes."""

    def word(offset: int) -> int:
        return ctypes.c_int64.from_address(id(sample) + offset).value

    def half_word(offset: int) -> int:
        return ctypes.c_int32.from_address(id(sample) + offset).value

    text = b"a record"
    return (
        ctypes.string_at(id(text) + layout.bytes_data, len(text)) == text
        and word(layout.type_of) == id(np.ndarray)
        and word(layout.data_of) == sample.ctypes.data
        and half_word(layout.ndim_of) == sample.ndim
        and word(layout.descr_of) == id(sample.dtype)
        and half_word(layout.flags_of) == sample.flags.num
        and tuple((ctypes.c_int64 * sample.ndim).from_address(word(layout.extents_of))) == sample.shape
    )
