"""What a command works on: a file with the options of `load`, or a mechanism of the zoo."""

from __future__ import annotations

import inspect
import os
from typing import Any, Unpack

from bough.errors import ModelError, UnknownNameError, short
from bough.io import LoadOptions, load
from bough.model import Model, unknown

WORDS = {"true": True, "yes": True, "false": False, "no": False}


def read_model(file: str, **options: Unpack[LoadOptions]) -> Model:
    """The model in a file, or of the zoo: zoo:NAME or zoo:NAME:ARGUMENT:..."""
    return zoo_model(file) if file.startswith("zoo:") else load(existing(file), **options)


def existing(file: str) -> str:
    """The path of a file that is there."""
    if not os.path.exists(file):
        raise ModelError(f"there is no file {short(file, 300)}")
    return file


def zoo_model(file: str) -> Model:
    from bough import zoo

    name, *arguments = file.removeprefix("zoo:").split(":")
    makers = tuple(n for n in zoo.__all__ if inspect.isfunction(getattr(zoo, n)) and not n.endswith("_tasks"))
    if name not in makers:
        raise UnknownNameError(unknown("mechanism", name, makers).replace("the model", "the zoo"))
    signature = inspect.signature(getattr(zoo, name), eval_str=True)
    expected = f"expected zoo:{name}:{':'.join(signature.parameters)}"
    if len(arguments) > len(signature.parameters):
        raise ModelError(f"{short(file)}: too many arguments; {expected}")
    taken = zip(signature.parameters.values(), arguments, strict=False)
    try:
        bound = signature.bind(*(_value(parameter, text) for parameter, text in taken))
    except (TypeError, ValueError) as error:
        raise ModelError(f"{short(file)}: {error}; {expected}") from None
    model: Model = getattr(zoo, name)(*bound.args)
    return model


def _value(parameter: inspect.Parameter, text: str) -> Any:
    """An argument as its parameter wants it: a whole number, yes or no, or a word."""
    if parameter.annotation is int:
        if not text.removeprefix("-").isdecimal() or len(text) > 30:
            raise ValueError(f"{parameter.name} must be a whole number, got {short(text)!r}")
        return int(text)
    if parameter.annotation is bool:
        if text.lower() not in WORDS:
            raise ValueError(f"{parameter.name} must be yes or no, got {short(text)!r}")
        return WORDS[text.lower()]
    return text


def welds(given: list[str]) -> dict[str, Any]:
    """Options --weld NAME, NAME=POSITION or NAME=NUMBER,NUMBER,...: the joints to fix, with their positions if any."""
    found: dict[str, Any] = {}
    for text in given:
        name, mark, value = text.rpartition("=")
        if not mark:
            found[text] = None
            continue
        try:
            numbers = [float(word) for word in value.split(",")]
        except ValueError:
            raise ModelError(
                f"--weld {short(text)!r}: expected NAME, NAME=POSITION or NAME=NUMBER,NUMBER,..."
            ) from None
        found[name] = numbers[0] if len(numbers) == 1 else numbers
    return found
