"""What may be believed: a tree beside plain solutions, an eps above rounding, accelerations that are numbers."""

from __future__ import annotations

import warnings

import numpy as np

from bough.adaptive.engines import PlainEngine, TreeEngine, measure_noise
from bough.adaptive.measures import ErrorMeasure
from bough.adaptive.passes import FAR, Loads
from bough.errors import NumericalError
from bough.types import FloatArray


def examine(tree: TreeEngine, plain: PlainEngine, loads: Loads) -> None:
    """Compare a tree with plain solutions, once; one that is wrong is not used."""
    noise = measure_noise(tree, plain, loads)
    if noise.is_too_large:
        warnings.warn(
            f"divide and conquer is off by {noise.rounding:.1e} of the largest acceleration on this linkage (light "
            f'bodies between heavy ones): plain O(n) steps are taken instead, as with method="aba"',
            stacklevel=6,
        )


def clamped(tree: TreeEngine, error: ErrorMeasure) -> ErrorMeasure:
    """An eps below what rounding may do would be an empty promise: it is raised, with a warning."""
    floor = tree.noise.floor(error)
    if not error.eps < floor or tree.noise.is_too_large:  # one that is not known is no floor
        return error
    warnings.warn(
        f"{error.name}: eps = {error.eps:g} is below the noise floor of this linkage, {floor:.1e}, "
        f"which is used instead; eps = 0 is exact",
        stacklevel=5,
    )
    return error.clamped(floor)


def not_finite(q: FloatArray) -> NumericalError:
    """Why accelerations at q are no numbers."""
    far = float(np.abs(q).max(initial=0.0))
    if far > FAR:
        return NumericalError(
            f"the joint accelerations are not finite: a joint has moved to {far:.1e}, so steps are too large"
        )
    return NumericalError("the joint accelerations are not finite: the linkage is singular or the forces are too large")
