"""`CompiledFunction`: the protocol of functions on the CPU, on a GPU, and with parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, Self

from bough.compile.graph.program import Array


class CompiledFunction(Protocol):
    """A function of arrays, compiled on first use.

    Arrays of one configuration have the shapes of `inputs` and `outputs`; a batch adds an axis. The result is one array
    or a tuple of them, in the library, precision and place of the inputs.
    """

    name: str
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]

    def __call__(self, *inputs: Any, out: Any = None, threads: int | None = None) -> Any:
        """One configuration or a batch."""

    @property
    def call(self) -> Callable[..., Any]:
        """The same, with parameters by name: `call(*inputs, out=None, threads=None, **parameters)`."""

    @property
    def with_status(self) -> Callable[..., tuple[Any, Any]]:
        """As `call`, but (result, status): 0 is success, 2 an input and 3 a result that is not finite."""

    def on_basis(self, *inputs: Any, last: bool, threads: int | None = None) -> dict[str, tuple[Any, ...]]:
        """Results for every unit vector of the inputs that are None, by the names of these.

        Each result has the axes of that input after its own (`last`) or before them, and rows of a batch where rows
        are.
        """

    def launcher(self, *inputs: Any, out: Any, bad: Any, threads: int | None = None) -> Callable[[], None]:
        """A launcher that repeats one call on the same arrays.

        `out` has an array for each result; `bad` is one byte for each row, set where a result is not finite.
        """

    @property
    def makers(self) -> dict[str, Callable[..., Any]]:
        """Functions of one configuration that make new arrays, or None: "make", once compiled, and others for options.

        Parameters are their last inputs.
        """

    def with_code_of(self, choose: Callable[[bool], Self]) -> Self:
        """The same function by the code of `choose(batch)`."""
