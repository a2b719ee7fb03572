"""Functions whose last inputs come in a dict: found by its keys; those of the latest call are met in native code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from bough.compile.run.gate import Maker, make_unpacker

if TYPE_CHECKING:
    from bough.compile.function import CompiledFunction


class Unpacking:
    """`function` with its last inputs in a dict: `keys` are in the order of the dict, `order` is that of the inputs."""

    def __init__(self, function: CompiledFunction, keys: Sequence[Any], order: Sequence[Any]) -> None:
        self._plain = len(function.inputs) - len(order)
        self._places = {key: self._plain + order.index(key) for key in keys}
        first = "".join(f"x{k}, " for k in range(self._plain))
        last = "".join(f"given[key{k}], " for k in range(len(order)))
        self._scope: dict[str, Any] = {f"key{k}": key for k, key in enumerate(order)}
        exec(f"def unpack({first}given):\n    return make({first}{last})", self._scope)
        self.call: Callable[..., Any] = self._scope["unpack"]  # gives None where the inputs do not fit
        function.lend_make(self._scope, "make")
        self._native: tuple[Any, Any, Any] = (None, None, None)  # what it is made of, and native code

    def native(self, other: Maker) -> Maker:
        """The same in native code, for dicts with these very keys; what is no dict goes to `other`.

        Without native code, or before it is there, only `other` serves.
        """
        make = self._scope["make"]
        if self._native[:2] != (make, other):
            self._native = (make, other, make_unpacker(make, other, self._plain, self._places) or other)
        return self._native[2]


class Mappings:
    """The functions that serve dicts, by their keys."""

    def __init__(self) -> None:
        self._found: dict[tuple[Any, ...], Unpacking] = {}
        self._latest: Unpacking | None = None

    def add(self, keys: Sequence[Any], function: CompiledFunction, order: Sequence[Any]) -> None:
        """Let `function` serve dicts with these keys in their order; its last inputs are those under `order`."""
        if tuple(keys) not in self._found:
            self._found[tuple(keys)] = Unpacking(function, keys, order)

    def serve(self, scope: dict[str, Any]) -> None:
        """Put `latest` and `another` into a scope that has `longer`, which serves arrays.

        `latest` serves dicts with the keys of the latest call, and arrays; `another` whatever it does not.
        """
        scope["latest"], scope["another"] = scope["longer"], partial(self._another, scope)

    def _another(self, scope: dict[str, Any], *inputs: Any) -> Any:
        """The result by the function that serves the dict at the end, which becomes the latest; None without one."""
        longer, given = scope["longer"], inputs[-1]
        is_dict = type(given) is dict
        found = self._found.get(tuple(given)) if is_dict else self._latest
        self._latest = found or self._latest
        scope["latest"] = self._latest.native(longer) if self._latest else longer
        if not is_dict:
            return longer(*inputs)
        return found.call(*inputs) if found else None
