"""Error measures (Redon & Lin 2005, section 4; the relative joint rule corrected so that its bound holds).

An inactive cluster C omits joint accelerations whose weighted squares sum to A(C). Over the inactive clusters:
linkage measures bound the square root of their sum, joint measures that of the largest; relative ones divide by the
norm of all joint accelerations, or by the largest one computed so far, which is a lower bound of the largest of all.
`energy` is another one: what is lost of the rate of descent when inactive clusters are rigid (`engines.contracted`).
A measure is data: one more needs a function here, or anywhere else, that makes an `ErrorMeasure`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Literal, TypeAlias, get_args

from bough.arguments import explained
from bough.errors import OptionError, SettingError, UnknownNameError

# What a joint's error is compared with: one, the sum of the squares of all joint accelerations, the largest square
Scale = tuple[float, float, float]
ONE: Scale = (1.0, 0.0, 0.0)
ALL: Scale = (0.0, 1.0, 0.0)
LARGEST_JOINT: Scale = (0.0, 0.0, 1.0)


Over: TypeAlias = Literal["linkage", "joint", "energy", "body"]
OVER = get_args(Over)


@dataclass(frozen=True)
class ErrorMeasure:
    """A stopping rule and the error it allows; 0 is exact.

    E^2 <= eps^2 (s0 + s1 sum_j a_j^2 + s2 max_j a_j^2), where a_j^2 are weighted squares of joint accelerations, E^2 is
    the sum over all joints of the squares of their errors (over = "linkage") or the largest of them (over = "joint"),
    and s is `scale`. Over the "energy", squares are those of the mass metric, and E^2 is the descent rate lost.
    """

    name: str
    eps: float
    over: Over
    scale: Scale = ONE
    metres: bool = False  # eps is how far a body is misplaced by one step, in m, and of these bodies, or of all
    bodies: tuple[str | int, ...] | None = None

    def __post_init__(self) -> None:
        eps: Any = self.eps
        if not (isinstance(eps, (int, float)) and math.isfinite(eps) and eps >= 0.0):
            raise SettingError(f"{self.name}: eps must be a finite number that is not negative, got {self.eps!r}")
        if self.over not in OVER:
            raise OptionError(f"{self.name}: a measure goes over {', '.join(OVER)}, got {self.over!r}")
        scale: Any = self.scale
        if len(scale) != 3 or not all(math.isfinite(s) and s >= 0.0 for s in scale) or not any(scale):
            raise SettingError(f"{self.name}: scale must be three numbers, none negative and not all 0, got {scale!r}")

    def scaled(self, total: float, largest: float) -> float:
        """The reference for the square of an error, from the sum of squares of all joints and the largest."""
        return self.scale[0] + self.scale[1] * total + self.scale[2] * largest

    def check_at_rest(self, known: Sequence[str], culled: str) -> None:
        """Refuse what does not measure a linkage at rest with these bodies, where inactive clusters behave so."""
        if self.over == "body":
            raise SettingError(f"{self.name} measures motions with velocities: it is for adaptive.Dynamics")
        for body in self.bodies or ():
            if body not in known if isinstance(body, str) else not 0 <= body < len(known):
                raise UnknownNameError(f"{self.name}: there is no body {body!r}")
        if self.over == "energy" and culled != "rigid":
            raise SettingError('an error in energy needs culled clusters to be rigid: culled="rigid"')

    def clamped(self, floor: float) -> ErrorMeasure:
        """The same measure with eps at least `floor`."""
        return replace(self, eps=max(self.eps, floor))


def check_measure(error: object, kinds: str = "a measure") -> None:
    """Refuse what is no measure of errors."""
    if error is not None and not isinstance(error, ErrorMeasure):
        raise SettingError(f"error is {kinds} such as adaptive.relative_joint(1e-3), got {error!r}")


def measured(error: ErrorMeasure | float | None) -> ErrorMeasure | None:
    """A measure, None where all is exact; a number is the eps of `energy`, the measure by default."""
    if isinstance(error, Real) and not isinstance(error, bool):
        return energy(float(error)) if error else None
    check_measure(error, "a number, or a measure")
    return error if isinstance(error, ErrorMeasure) else None


def absolute_linkage(eps: float) -> ErrorMeasure:
    """Norm of the error of all joint accelerations at most eps."""
    return ErrorMeasure("absolute_linkage", eps, "linkage", ONE)


def relative_linkage(eps: float) -> ErrorMeasure:
    """That norm at most eps times the norm of all joint accelerations."""
    return ErrorMeasure("relative_linkage", eps, "linkage", ALL)


def absolute_joint(eps: float) -> ErrorMeasure:
    """Error of each joint acceleration at most eps."""
    return ErrorMeasure("absolute_joint", eps, "joint", ONE)


def relative_joint(eps: float) -> ErrorMeasure:
    """Error of each joint acceleration at most eps times the largest joint acceleration."""
    return ErrorMeasure("relative_joint", eps, "joint", LARGEST_JOINT)


@explained
def displacement(metres: float, bodies: Iterable[str | int] | None = None) -> ErrorMeasure:
    """No centre of mass of these bodies, or of any, is misplaced by more than so many metres by one step.

    An error of accelerations E in the mass metric misplaces a body of mass m by at most h E / sqrt(m): the lightest of
    the bodies decides. Inactive joints are locked, so every step goes downhill, too.
    """
    chosen = None if bodies is None else tuple(bodies)
    if chosen is not None and not chosen:
        raise SettingError("displacement: expected at least one body")
    return ErrorMeasure("displacement", metres, "energy", ONE, True, chosen)


def energy(eps: float) -> ErrorMeasure:
    """Norm of the error in the mass metric at most eps times that of all: at most eps^2 of the descent rate is lost.

    Inactive joints are locked, so every step goes downhill.
    """
    return ErrorMeasure("energy", eps, "energy", ALL)


# Of motions with velocities (`Dynamics`)


def body_acceleration(eps: float) -> ErrorMeasure:
    """A cluster is rigid where its joints, released, would give a body of mean mass no more than eps, m/s^2, beyond the
    rigid motion: the lower side of what is lost, and a rule, not a bound (`Dynamics.stats` says what is lost)."""
    return ErrorMeasure("body_acceleration", eps, "body", ONE)


def rms_acceleration(eps: float) -> ErrorMeasure:
    """sqrt(Delta / M) at most eps, m/s^2, whenever the active joints are chosen: the mass-weighted root mean square of
    the error of all bodies' accelerations, exactly."""
    return ErrorMeasure("rms_acceleration", eps, "body", ALL)


def joint_motion(eps: float) -> ErrorMeasure:
    """The rule of Redon, Galoppo & Lin 2005, for comparison: a cluster is rigid where the norm of its joints'
    accelerations would be at most eps, rad/s^2 and m/s^2 mixed. By a solution of all joints: O(n) a choice."""
    return ErrorMeasure("joint_motion", eps, "body", LARGEST_JOINT)
