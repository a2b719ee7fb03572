"""Errors of arguments: when a public function fails, its annotations tell which argument was wrong.

Belongs here: comparing arguments with the signature after a call has failed; a call that succeeds costs nothing. Does
not belong here: what only a model or a task can know (shapes, names, physics), which is checked where it is known.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from itertools import islice
from traceback import walk_tb
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin

import numpy as np

from bough.errors import BoughError, OptionError, ShapeError, short

__all__ = ["explain_package", "explained"]

RAW = (TypeError, ValueError, KeyError, IndexError, AttributeError, OverflowError)  # and MaskError
MEMBERS = 1000  # of a list that are looked at
WORDS = {"npt.ArrayLike": "real numbers", "FloatArray": "real numbers", " | ": " or ", "os.PathLike[str]": "Path"}
Public = TypeVar("Public", bound=Callable[..., Any])


def explained(public: Public) -> Public:
    """The function, or the class with its constructor and public methods, whose failures name the argument."""
    if inspect.isclass(public):
        for name, member in list(vars(public).items()):
            if inspect.isfunction(member) and (name == "__init__" or not name.startswith("_")):
                setattr(public, name, explained(member))
        return public

    @wraps(public)
    def call(*given: Any, **named: Any) -> Any:
        try:
            return public(*given, **named)
        except BoughError:
            raise
        except Exception as error:
            if not isinstance(error, RAW) and type(error).__name__ != "MaskError":  # numpy.ma takes long to import
                raise
            sentence = complaint(public, given, named)
            if sentence is not None:
                raise OptionError(sentence) from error
            shapes = shapes_given(public, given, named) if _is_own(error) else ""
            if not shapes:
                raise
            raise ShapeError(f"{_name(public, given)}: {error}; given {shapes}") from error

    return call  # type: ignore[return-value]


def explain_package(package_name: str) -> None:
    """Explain all public functions of a package, also where they are defined."""
    package = sys.modules[package_name]
    for name in package.__all__:
        public = getattr(package, name)
        if inspect.isfunction(public) and public.__module__.startswith(package_name):
            setattr(package, name, explained(public))
            setattr(sys.modules[public.__module__], name, getattr(package, name))


def complaint(function: Callable[..., Any], given: tuple[Any, ...], named: Mapping[str, Any]) -> str | None:
    """The sentence about the first argument that is not what the signature says; None if all are."""
    name = _name(function, given)
    signature = inspect.signature(function)
    try:
        bound = signature.bind(*given, **named).arguments
    except TypeError as error:
        return f"{name}: {error}"
    for key, value in bound.items():
        parameter = signature.parameters[key]
        several = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        if several or parameter.annotation is parameter.empty:
            continue
        if value is not parameter.default and not fits(_meaning(function, parameter.annotation), value):
            expected = inspect.formatannotation(parameter.annotation).strip("'")
            for said, meant in WORDS.items():
                expected = expected.replace(said, meant)
            return f"{name}: {key} must be {expected}, got {short(repr(value))}"
    return None


def shapes_given(function: Callable[..., Any], given: tuple[Any, ...], named: Mapping[str, Any]) -> str:
    """The shapes of all arrays of a call, where numpy says that they do not fit together."""
    signature = inspect.signature(function)
    found = []
    for key, value in signature.bind(*given, **named).arguments.items():
        if "Array" in str(signature.parameters[key].annotation) or isinstance(value, np.ndarray | list):
            try:
                found.append(f"{key} {np.shape(value)}")
            except ValueError:
                found.append(f"{key} ragged")
    return ", ".join(found)


def _is_own(error: Exception) -> bool:
    """Was it raised here or by numpy, about what was given? A function of the user's may raise what it wants."""
    if isinstance(error, KeyError | OverflowError) or error.__traceback__ is None:
        return False
    *_, (frame, _) = walk_tb(error.__traceback__)
    return str(frame.f_globals.get("__name__")).partition(".")[0] in ("bough", "numpy")


def _name(function: Callable[..., Any], given: tuple[Any, ...]) -> str:
    """The name of a function, or that of a method in the class that it was called on."""
    name = function.__qualname__.removesuffix(".__init__").rpartition(".<locals>.")[2]
    owner, _, method = name.rpartition(".")
    if owner and given and owner in (c.__name__ for c in type(given[0]).__mro__):
        return f"{type(given[0]).__name__}.{method}"
    return name


class KnownByName(NamedTuple):
    """A type that is known by its name only: it is imported for type checkers."""

    name: str

    def __or__(self, other: Any) -> Any:
        return AnyOf((self, other))

    def __ror__(self, other: Any) -> Any:
        return AnyOf((other, self))

    def __getitem__(self, members: Any) -> Any:
        return self


class AnyOf(NamedTuple):
    """One of several types, of which some are known by their names only."""

    types: tuple[Any, ...]

    def __or__(self, other: Any) -> Any:
        return AnyOf((*self.types, other))


class AnnotationScope(dict[str, Any]):
    """Names of a module, and those that only type checkers see."""

    def __missing__(self, name: str) -> Any:
        import builtins

        return getattr(builtins, name, None) or KnownByName(name)


def _meaning(function: Callable[..., Any], annotation: Any) -> Any:
    if not isinstance(annotation, str):
        return annotation
    if annotation.endswith("ArrayLike") or annotation == "Array":
        return np.ndarray
    text = annotation.replace("npt.ArrayLike", "np_array")
    try:
        return eval(text, {}, AnnotationScope({**getattr(function, "__globals__", {}), "np_array": np.ndarray}))
    except (TypeError, AttributeError, SyntaxError):
        return Any


def fits(kind: Any, value: Any) -> bool:
    """Whether the value has a type. Unknown types fit all values."""
    origin, members = get_origin(kind), get_args(kind)
    if kind is Any:
        return True
    if isinstance(kind, AnyOf):
        return any(fits(one, value) for one in kind.types)
    if isinstance(kind, KnownByName):
        return kind.name.endswith("Array") or any(c.__name__ == kind.name for c in type(value).__mro__)
    if kind in (None, NoneType):
        return value is None
    if origin in (Union, UnionType):
        return any(fits(one, value) for one in members)
    if origin is Literal:
        return isinstance(value, str) and value in members
    if kind is np.ndarray or origin is np.ndarray:
        return _is_numbers(value)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return isinstance(value, Mapping) and _all_fit(members[:1], value) and _all_fit(members[1:], value.values())
    if isinstance(origin, type) and issubclass(origin, Iterable):
        if isinstance(value, np.ndarray) and members and members[0] in (int, float, np.ndarray):
            return _is_numbers(value)
        is_series = isinstance(value, Sequence if issubclass(origin, Sequence) else origin)
        return is_series and not isinstance(value, str | bytes) and _all_fit(members, value)
    if origin is not None or not isinstance(kind, type):
        return not callable(origin) or callable(value)
    return _is_a(kind, value)


def _is_a(kind: type, value: Any) -> bool:
    is_bool = isinstance(value, bool | np.bool_)
    if kind is float:
        return (
            isinstance(value, int | float | np.number) and not is_bool and bool(np.isreal(value) & np.isfinite(value))
        )
    if kind is int:
        return isinstance(value, int | np.integer) and not is_bool
    if kind is bool:
        return is_bool
    return isinstance(value, kind) if kind is os.PathLike or not getattr(kind, "_is_protocol", False) else True


def _all_fit(members: tuple[Any, ...], values: Iterable[Any]) -> bool:
    if not members or isinstance(values, Iterator):
        return True  # what was read once is gone
    return all(any(fits(kind, x) for kind in members if kind is not Ellipsis) for x in islice(values, MEMBERS))


def _is_numbers(value: Any) -> bool:
    """Real and finite numbers in a rectangular array, none of them hidden."""
    if isinstance(value, np.ma.MaskedArray):
        return False
    try:
        array = np.asarray(value)
        return array.dtype.kind in "fiu" and bool(np.isfinite(array).all())
    except (TypeError, ValueError):
        return False
