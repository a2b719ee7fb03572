"""Models by name: mechanisms of the zoo with their arguments, and robots of the `robot_descriptions` package."""

from __future__ import annotations

import contextlib
import glob
import importlib
import inspect
import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any
from urllib.parse import unquote

from bough.errors import MissingExtraError, ModelError, OptionError, UnknownNameError, nearest, short
from bough.model import Model, unknown

WORDS = {"true": True, "yes": True, "false": False, "no": False}


def mechanisms() -> tuple[str, ...]:
    """Names of the mechanisms of the zoo."""
    zoo = importlib.import_module("bough.zoo")

    return tuple(name for name in zoo.__all__ if _makes_model(getattr(zoo, name)))


def _makes_model(function: Any) -> bool:
    return inspect.isfunction(function) and inspect.signature(function).return_annotation in (Model, "Model")


def zoo_model(file: str) -> Model:
    """zoo:NAME, with arguments by their place (zoo:chain:30:1) or by their names (zoo:chain?n=30&seed=1)."""
    zoo = importlib.import_module("bough.zoo")

    placed, _, named = file.removeprefix("zoo:").partition("?")
    name, *arguments = placed.split(":")
    if name not in mechanisms():
        raise UnknownNameError(unknown("mechanism", name, mechanisms()).replace("the model", "the zoo"))
    signature = inspect.signature(getattr(zoo, name), eval_str=True)
    known = list(signature.parameters)
    expected = f"expected zoo:{name}:{':'.join(known)} or zoo:{name}?{'&'.join(f'{key}=...' for key in known)}"
    if len(arguments) > len(known):
        raise ModelError(f"{short(file)}: too many arguments; {expected}")
    taken = zip(signature.parameters.values(), arguments, strict=False)
    try:
        values = [_value(parameter, text) for parameter, text in taken]
        words = {key: _value(_parameter(signature, key), text) for key, text in pairs(named).items()}
        bound = signature.bind(*values, **words)
    except (TypeError, OptionError) as error:
        raise ModelError(f"{short(file)}: {error}; {expected}") from None
    model: Model = getattr(zoo, name)(*bound.args, **bound.kwargs)
    return model


def pairs(text: str) -> dict[str, str]:
    """KEY=VALUE&KEY=VALUE; %20 and its like stand for other characters."""
    found: dict[str, str] = {}
    for part in text.split("&") if text else ():
        key, mark, value = part.partition("=")
        if not (key and mark):
            raise OptionError(f"{short(part)!r} is not NAME=VALUE")
        if key in found:
            raise OptionError(f"{short(key)} is given twice")
        found[unquote(key)] = unquote(value)
    return found


def _parameter(signature: inspect.Signature, name: str) -> inspect.Parameter:
    if name not in signature.parameters:
        raise OptionError(f"there is no parameter {short(name)!r}")
    return signature.parameters[name]


def _value(parameter: inspect.Parameter, text: str) -> Any:
    """An argument as its parameter wants it: a whole number, yes or no, or a word."""
    if parameter.annotation is int:
        if not text.removeprefix("-").isdecimal() or len(text) > 30:
            raise OptionError(f"{parameter.name} must be a whole number, got {short(text)!r}")
        return int(text)
    if parameter.annotation is bool:
        if text.lower() not in WORDS:
            raise OptionError(f"{parameter.name} must be yes or no, got {short(text)!r}")
        return WORDS[text.lower()]
    return text


def robot_file(text: str) -> str:
    """The file of robot:NAME, which `robot_descriptions` fetches from its own repository if it is not here yet."""
    name = text.removeprefix("robot:")
    known = robots()
    full = next((x for x in (name, f"{name}_description", f"{name}_mj_description") if x in known), None)
    if full is None:
        hint = nearest(name, [x.removesuffix("_description") for x in known])
        raise UnknownNameError(f"robot_descriptions has no robot {short(name)!r}{hint}")
    with contextlib.redirect_stdout(sys.stderr):
        try:
            module = import_module(f"robot_descriptions.{full}")
        except Exception as error:
            raise ModelError(f"robot:{short(name)} could not be fetched: {short(str(error), 300)}") from None
    for kind in ("URDF_PATH", "MJCF_PATH"):
        if hasattr(module, kind):
            return str(getattr(module, kind))
    raise ModelError(f"robot:{short(name)} is neither URDF nor MJCF")


def robots() -> list[str]:
    """Names in the `robot_descriptions` package; nothing is fetched."""
    if find_spec("robot_descriptions") is None:
        raise MissingExtraError("robot:NAME needs the package robot_descriptions: pip install 'bough[robots]'")
    return sorted(import_module("robot_descriptions._descriptions").DESCRIPTIONS)


def complete(incomplete: str) -> list[str]:
    """Completions of a model argument."""
    offered = [f"zoo:{name}" for name in mechanisms()]
    if incomplete.startswith("robot:"):
        with contextlib.suppress(ImportError):
            offered += [f"robot:{name.removesuffix('_description')}" for name in robots()]
    files = [path for ending in ("urdf", "xml", "mjcf") for path in glob.glob(f"{glob.escape(incomplete)}*.{ending}")]
    return [name for name in (*offered, *sorted(files)) if name.startswith(incomplete)]
