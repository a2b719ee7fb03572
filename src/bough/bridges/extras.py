"""Libraries that may not be there."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

from bough.errors import MissingExtraError


def required(package: str, extra: str, at_least: str = "0") -> Any:
    """The package, or one sentence that says how to get it."""
    try:
        found = import_module(package)
    except ImportError:
        raise MissingExtraError(f'bough.{extra} needs {package}: pip install "bough[{extra}]"') from None
    version = str(getattr(found, "__version__", at_least))
    if _numbers(version) < _numbers(at_least):
        raise MissingExtraError(f"bough.{extra} needs {package} {at_least} or newer, found {version}")
    return found


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(x) for x in re.findall(r"\d+", version)[:3])
