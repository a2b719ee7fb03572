"""The text of Python functions that pass arrays on to a gate, written out for a number of them.

One configuration in arrays that fit is passed on as it is, and the gate finds out whether it was that; fixed argument
lists cost Python a third of what variable ones do. Their scope has `gate`, `make` for new results, and `general` for
all else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence


def call_text(inputs: int, outputs: int) -> str:
    """`call(*inputs, out=None, threads=None)`."""
    given = "".join(f"x{k}, " for k in range(inputs))
    fits = f"gate({given}out)" if outputs == 1 else f"type(out) is tuple and gate({given}*out)"
    lines = [
        f"def call({given}out=None, threads=None):",
        "    if out is None:",
        *_fresh_result(given),
        f"    elif {fits} == 0:",
        "        return out",
        f"    return general(({given}), out, threads)",
    ]
    return "\n".join(lines)


def shortcut_text(inputs: Sequence[str], options: Mapping[str, str], longer: bool, further: Sequence[str] = ()) -> str:
    """`shortcut(*inputs, *options, *further)`; options have texts of their defaults, `further` are passed on if given.

    With `longer`, an array or a dict in the place of the first option is served.
    """
    given, defaults = ", ".join(inputs), {**options, **dict.fromkeys(further, "None")}
    lines = [
        f"def shortcut({given}{''.join(f', {name}={text}' for name, text in defaults.items())}):",
        f"    if {_plain(defaults)}:",
        *_fresh_result(f"{given}, "),
    ]
    if longer:
        first, *_ = options
        more = f"{given}, {first}"
        lines += [
            f"    elif {_plain({k: x for k, x in defaults.items() if k != first})}:",
            f"        y0 = latest({more})",
            "        if y0 is None:",
            f"            y0 = another({more})",
            "        if y0 is not None:",
            "            return y0",
        ]
    if further:
        lines += [f"    if not ({_plain(dict.fromkeys(further, 'None'))}):", _otherwise(given, defaults, 2)]
    return "\n".join([*lines, _otherwise(given, options, 1)])


def _otherwise(given: str, names: Iterable[str], depth: int) -> str:
    return f"{'    ' * depth}return otherwise({given}, {', '.join(f'{name}={name}' for name in names)})"


def _fresh_result(inputs: str) -> list[str]:
    """Lines that return the result in new arrays if the inputs are one configuration in arrays that fit."""
    return [f"        y0 = make({inputs})", "        if y0 is not None:", "            return y0"]


def _plain(options: Mapping[str, str]) -> str:
    """Are all options at their defaults? None is soonest compared as a word."""
    return " and ".join(f"{name} is {text}" for name, text in options.items()) or "True"
