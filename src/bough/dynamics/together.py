"""Several functions of the table as one: traced together, so that what they share is computed once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from bough.compile.kernel import from_text, kernel
from bough.compile.routine import Routine, work_type
from bough.errors import OptionError


@cache
def together(routines: tuple[Routine, ...], groups: tuple[int, ...]) -> Routine:
    """One routine that runs several in turn: inputs by name, constants and outputs one after another.

    `groups` says how many constants each has after the mechanism. Outputs are numbered. An input that is fixed at zero
    in one routine is another array than the input of that name in its neighbours.
    """
    inputs: dict[str, str] = {}
    outputs: dict[str, str] = {}
    work: dict[str, str] = {}
    lines: list[str] = []
    scope: dict[str, Any] = {"__name__": __name__}
    constants = 0
    for k, routine in enumerate(routines):
        names = {name: f"zero_{name}" if name in routine.zeros else name for name in routine.inputs}
        inputs |= {names[name]: shape for name, shape in routine.inputs.items()}
        shared = {name: f"{name}_{shape.replace(' ', '_')}" for name, shape in routine.work.items()}
        work |= {shared[name]: shape for name, shape in routine.work.items()}
        lines.append(f"    w{k} = Work{k}({', '.join(f'w.{name}' for name in shared.values())})")
        scope[f"Work{k}"] = work_type(tuple(routine.work))
        results = [f"{k}_{name}" for name in routine.outputs]
        outputs |= dict(zip((f"y{name}" for name in results), routine.outputs.values(), strict=True))
        own = [f"c{constants + j}" for j in range(groups[k])]
        constants += groups[k]
        arguments = ["m", *own, *(f"x_{name}" for name in names.values()), *(f"y{name}" for name in results), f"w{k}"]
        lines.append(f"    body{k}({', '.join(arguments)})")
        scope[f"body{k}"] = routine.body
    head = ["m", *(f"c{j}" for j in range(constants)), *(f"x_{name}" for name in inputs), *outputs, "w"]
    body: Callable[..., None] = kernel(from_text("\n".join([f"def body({', '.join(head)}):", *lines]), scope))
    zeros = frozenset(f"zero_{name}" for routine in routines for name in routine.zeros)
    return Routine("_and_".join(r.name for r in routines), body, inputs, outputs, work, zeros)


def check_wanted(wanted: Sequence[Any]) -> list[tuple[str, dict[str, Any]]]:
    """Names, or names with options, as `export_c` takes them."""
    if isinstance(wanted, str) or not wanted:
        raise OptionError(f"together takes a list of functions, got {wanted!r}")
    return [named_function(item) for item in wanted]


def named_function(item: Any) -> tuple[str, dict[str, Any]]:
    """A function by its name, or by a pair of its name and options."""
    pair = (item, {}) if isinstance(item, str) else item
    if isinstance(pair, tuple | list) and len(pair) == 2 and isinstance(pair[0], str) and isinstance(pair[1], dict):
        return pair[0], pair[1]
    raise OptionError(f"a function is a name, or a name and a dict of options, got {item!r}")
