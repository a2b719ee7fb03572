"""Numbers out of XML attributes: ASCII, finite, and not so large that their squares overflow."""

from __future__ import annotations

import math
import re
from xml.etree.ElementTree import Element

import numpy as np

from bough.errors import FileFormatError, short
from bough.model import LARGEST
from bough.types import FloatArray

NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)
WANTED = {1: "a number", 3: "three numbers"}


def scalar(element: Element | None, attribute: str, default: float, where: str, *, largest: float = LARGEST) -> float:
    """A number of an element, or the default where element or attribute are missing."""
    return _numbers(element, attribute, (default,), where, largest)[0]


def vector(element: Element | None, attribute: str, default: tuple[float, float, float], where: str) -> FloatArray:
    return np.array(_numbers(element, attribute, default, where, LARGEST))


def needed(element: Element, attributes: tuple[str, ...], where: str) -> None:
    for attribute in attributes:
        if attribute not in element.attrib:
            raise FileFormatError(f"{where}: <{element.tag}> has no attribute {attribute!r}")


def _numbers(
    element: Element | None, attribute: str, default: tuple[float, ...], where: str, largest: float
) -> tuple[float, ...]:
    text = None if element is None else element.get(attribute)
    if element is None or text is None:
        return default
    words = text.split()[:10]
    values = tuple(float(word) for word in words if NUMBER.fullmatch(word))
    if len(values) != len(words) or len(values) != len(default) or not all(map(math.isfinite, values)):
        got = f"{attribute}={short(text)!r}"
        raise FileFormatError(f"{where}: <{element.tag}> has {got}; expected {WANTED[len(default)]}, finite")
    if max(map(abs, values)) > largest:
        got = f"{attribute}={short(text)!r}"
        raise FileFormatError(f"{where}: <{element.tag}> has {got}; expected at most {largest:g} in SI units")
    return values
