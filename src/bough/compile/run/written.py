"""The text of Python functions that pass arrays on to a gate, written out for a number of them.

One configuration in arrays that fit is passed on as it is, and the gate finds out whether it was that; fixed argument
lists cost Python a third of what variable ones do. Their scope has `gate`, `make` for new results, and `general` for
all else.
"""

from __future__ import annotations

from collections.abc import Sequence


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


def shortcut_text(inputs: Sequence[str], options: Sequence[str], longer: bool) -> str:
    """`shortcut(*inputs, *options)`; with `longer`, an array or a dict in the place of the first option is served."""
    given = ", ".join(inputs)
    lines = [
        f"def shortcut({given}{''.join(f', {name}={name}_default' for name in options)}):",
        f"    if {_plain(options)}:",
        *_fresh_result(f"{given}, "),
    ]
    if longer:
        more = f"{given}, {options[0]}"
        lines += [
            f"    elif {_plain(options[1:])}:",
            f"        y0 = latest({more})",
            "        if y0 is None:",
            f"            y0 = another({more})",
            "        if y0 is not None:",
            "            return y0",
        ]
    lines.append(f"    return otherwise({given}, {', '.join(f'{name}={name}' for name in options)})")
    return "\n".join(lines)


def _fresh_result(inputs: str) -> list[str]:
    """Lines that return the result in new arrays if the inputs are one configuration in arrays that fit."""
    return [f"        y0 = make({inputs})", "        if y0 is not None:", "            return y0"]


def _plain(options: Sequence[str]) -> str:
    """Are all options at their defaults?"""
    return " and ".join(f"{name} is {name}_default" for name in options) or "True"
