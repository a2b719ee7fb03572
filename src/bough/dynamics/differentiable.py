"""The derivatives that `Dynamics` and `OperationalSpace` offer, in one set of words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy.typing as npt

from bough.arguments import explained
from bough.dynamics.gradient_calls import Gradients
from bough.types import RealArray


class Differentiable:
    """Functions of a table by name, differentiated by each of their inputs, q on its tangent space."""

    _gradients: Gradients

    @explained
    def vjp(
        self,
        function: str,
        *inputs: npt.ArrayLike,
        weight: npt.ArrayLike,
        wrt: Sequence[str] | None = None,
        threads: int | None = None,
        **given: Any,
    ) -> dict[str, RealArray]:
        """The gradient of sum(weight * result) of a function of the table, by each input in `wrt` (by default all).

        `weight` has the shape of the result. The gradient by q is on the tangent space, (nv,). `given` are options of
        the function (frame=, reference=, method=), `forces` and values of the `inputs` that this object was made
        with, by both of which it is differentiated, too. Traced, so refused for models that are too large.
        """
        return self._gradients.vjp(function, inputs, weight, wrt, given, threads)

    @explained
    def jvp(
        self,
        function: str,
        *inputs: npt.ArrayLike,
        along: Mapping[str, npt.ArrayLike],
        threads: int | None = None,
        **given: Any,
    ) -> RealArray:
        """The rate of the result of a function of the table as its inputs move along directions, q along a velocity.

        `along` names inputs, or parameters, and gives each a direction; `given` is as in `vjp`.
        """
        return self._gradients.jvp(function, inputs, along, given, threads)

    @explained
    def hvp(
        self,
        function: str,
        *inputs: npt.ArrayLike,
        weight: npt.ArrayLike,
        along: Mapping[str, npt.ArrayLike],
        wrt: Sequence[str] | None = None,
        threads: int | None = None,
        **given: Any,
    ) -> dict[str, RealArray]:
        """The rate of what `vjp` gives as inputs move along directions: a product with second derivatives.

        Of q, it is the rate of the gradient on the tangent space, as the configuration moves with that velocity.
        """
        return self._gradients.hvp(function, inputs, weight, along, (wrt, given, threads))

    @explained
    def derivatives(
        self,
        function: str,
        *inputs: npt.ArrayLike,
        wrt: Sequence[str] | None = None,
        threads: int | None = None,
        **given: Any,
    ) -> dict[str, Any]:
        """The full Jacobians of a function of the table by each input in `wrt` (by default all).

        Axes are those of the result, then those of the input, in a batch after a leading one; of q there are nv. For
        functions with several results they are tuples. `given` is as in `vjp`.
        """
        return self._gradients.derivatives(function, inputs, wrt, given, threads)
