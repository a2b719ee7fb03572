"""What may be asked of a motion: methods, integrators, effects and errors, refused by name where they do not fit."""

from __future__ import annotations

from collections.abc import Iterable

from bough.adaptive.measures import ErrorMeasure, check_measure
from bough.adaptive.motion import INTEGRATORS
from bough.dynamics.functions import suggestion
from bough.errors import SettingError

METHODS = ("auto", "adaptive", "full")
EFFECTS = ("damping", "springs", "friction", "limits", "closures")


def check_options(error: ErrorMeasure | None, method: str, integrator: str, without: Iterable[str]) -> None:
    """Refuse options that do not exist."""
    if method not in METHODS:
        raise SettingError(f"there is no method {method!r}{suggestion(str(method), METHODS)}")
    if integrator not in INTEGRATORS:
        raise SettingError(f"there is no integrator {integrator!r}{suggestion(str(integrator), INTEGRATORS)}")
    unknown = [name for name in without if name not in EFFECTS]
    if unknown:
        raise SettingError(f"joints have no effect {unknown[0]!r}; known: {', '.join(EFFECTS)}")
    if error is not None:
        check_error(error)


def check_error(error: ErrorMeasure) -> None:
    """Refuse measures of joints: a motion is measured in space."""
    check_measure(error)
    if error.over != "body":
        raise SettingError(f"{error.name} measures joints at rest: use body_acceleration or rms_acceleration (m/s^2)")
