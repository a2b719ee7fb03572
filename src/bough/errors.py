"""Exceptions: one clear sentence each, saying what is wrong, where, and what was expected."""

from __future__ import annotations

import itertools
import re
import types
from collections import abc
from importlib import import_module

__all__ = [
    "BoughError",
    "CheckpointError",
    "FactorizationError",
    "FileFormatError",
    "KernelError",
    "MissingExtraError",
    "ModelError",
    "NonFiniteError",
    "NumericalError",
    "OptionError",
    "RecordingError",
    "SettingError",
    "ShapeError",
    "SweepError",
    "TaskError",
    "TooLargeError",
    "TreeError",
    "UnknownNameError",
    "WorkerLostError",
    "nearest",
    "required",
    "short",
    "unknown_option",
]

LONGEST_MESSAGE = 2000
MOST_COMPARED, FIRST = 20000, 30  # names that are compared, and those that are printed


def short(text: str, most: int = 80) -> str:
    """The text, or its beginning and end if it is too long to be printed."""
    if len(text) <= most:
        return text
    return f"{text[: most * 2 // 3]} ... {text[-(most // 4) :]}"


def some_of(words: abc.Sequence[str], most: int = 5) -> str:
    """The first of them, and how many more there are."""
    more = f" and {len(words) - most} more" if len(words) > most else ""
    return ", ".join(words[:most]) + more


def nearest(name: str, known: abc.Iterable[str], otherwise: str = "expected one of") -> str:
    """The end of a sentence that refuses a name: the nearest known names, or else the first of them; "" of none."""
    from difflib import get_close_matches  # not before it is needed: it is slow to import

    text, every = name[:200], list(dict.fromkeys(itertools.islice(known, MOST_COMPARED)))
    near = get_close_matches(text, every) or [x for x in every if text and text.lower() in x.lower()][:3]
    if near:
        return f"; did you mean {' or '.join(map(repr, near))}?"
    first = ", ".join(map(short, every[:FIRST])) + (", ..." if len(every) > FIRST else "")
    return f"; {otherwise} {first}" if every else ""


def unknown_option(sentence: str, name: object, known: abc.Iterable[str]) -> OptionError:
    """The error that refuses a value of an option: the sentence, and the nearest values or all of them."""
    return OptionError(sentence + nearest(str(name), known))


class BoughError(Exception):
    """The base class of all errors that Bough raises.

    `rows` are the rows of the batch that failed, if any. Long messages are shortened.
    """

    rows: tuple[int, ...] = ()

    def __str__(self) -> str:
        return short(super().__str__(), LONGEST_MESSAGE)


class TreeError(BoughError, ValueError):
    """A parent array that is no forest: a cycle, two parents, a dangling index."""


class ModelError(BoughError, ValueError):
    """A mechanism that cannot be built: bad inertia, duplicate name, unknown joint type."""


class FileFormatError(ModelError):
    """A robot description that cannot be read: broken XML, missing file, loop, two roots."""


class UnknownNameError(BoughError, KeyError):
    """A body, joint or frame name that the model does not have."""

    def __str__(self) -> str:
        return short(str(self.args[0]), LONGEST_MESSAGE)  # a KeyError would print the repr


class OptionError(BoughError, TypeError, ValueError):
    """An option that a function does not take, of the wrong type, or with a value that it does not know."""


class ShapeError(BoughError, ValueError):
    """An array of the wrong shape or type."""


class NonFiniteError(BoughError, ValueError):
    """NaN or infinity in an input."""


class NumericalError(BoughError, ArithmeticError):
    """Finite inputs that give no finite result."""


class FactorizationError(NumericalError):
    """A matrix that is not positive definite."""


class TooLargeError(BoughError, MemoryError):
    """A result that would not fit in memory, refused before it is allocated."""


class TaskError(BoughError, ValueError):
    """A task set that is empty, contradictory or singular."""


class MissingExtraError(BoughError, ImportError):
    """An optional package that is needed and not installed."""


class CheckpointError(BoughError, ValueError):
    """A checkpoint that is damaged, or was made for another model."""


class SettingError(BoughError, ValueError):
    """An environment variable or an option whose value says nothing sensible: a number of threads, a step, an eps."""


class RecordingError(BoughError, ValueError):
    """A recording that is damaged, or of another model."""


class SweepError(BoughError, RuntimeError):
    """A sweep that cannot go on: chunks that fail, or a folder of another one."""


class WorkerLostError(BoughError, ConnectionError):
    """A worker of a sweep that ended before its chunk did; the chunk is sent again."""


class KernelError(BoughError, TypeError):
    """A kernel that says what cannot be compiled; it concerns those who write kernels."""


def required(package: str, extra: str, what: str | None = None, at_least: str = "0") -> types.ModuleType:
    """An optional package that `what` needs, or one sentence that says how to get it."""
    what = what or f"bough.{extra}"
    try:
        found = import_module(package)
    except ImportError:
        raise MissingExtraError(f'{what} needs {package}: pip install "bough[{extra}]"') from None
    version = str(getattr(found, "__version__", at_least))
    if _numbers(version) < _numbers(at_least):
        raise MissingExtraError(f"{what} needs {package} {at_least} or newer, found {version}")
    return found


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(x) for x in re.findall(r"\d+", version)[:3])
