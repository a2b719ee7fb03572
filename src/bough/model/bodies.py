"""One body as the user gives it, checked at the door: placement, axes, mass and inertia."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bough.errors import ModelError, short, unknown_option
from bough.joints import JOINTS, PRIMITIVES
from bough.spatial import inertia_matrix
from bough.types import FloatArray, IntArray

# How far principal moments may break the triangle inequality, and rounding in rotations and symmetric matrices
TRIANGLE, ROUNDING = 1e-6, 1e-9
LARGEST = 1e15  # of a length, a mass, a moment or a ratio, in SI units
MICRON_SQUARED = 1e-12  # a radius of gyration that is no more than rounding, in m^2
NUMBERS = {"pitch", "armature", "lower", "upper", "velocity", "effort"}
OPTIONS = NUMBERS | {"joint_name", "mimic", "damping", "friction", "stiffness", "rest", "actuated"}

EYE, ZERO = np.eye(3), np.zeros(3)
EYE.flags.writeable = ZERO.flags.writeable = False
NO_OPTIONS: Mapping[str, Any] = MappingProxyType({})


@dataclass(slots=True)
class Body:
    """A body, the joint it hangs on (whose frame is the body's frame), and where that joint sits in the parent."""

    name: str
    parent: str
    joint_name: str
    joint: str
    R: FloatArray  # (3, 3) joint frame in the parent's frame
    p: FloatArray  # (3,)
    axes: FloatArray  # (1 or 2, 3) unit, in the joint frame
    pitch: float
    inertia: tuple[float, ...]  # 10 numbers, about the frame's origin
    options: Mapping[str, Any]

    @property
    def dofs(self) -> int:
        return sum(len(PRIMITIVES[primitive].axes) for primitive in JOINTS[self.joint])

    def number(self, option: str, default: float = 0.0) -> float:
        value = self.options.get(option)
        return default if value is None else float(value)


def placement(value: Any) -> tuple[FloatArray, FloatArray]:
    """(R, p) from None, a position (3,), a 4x4 matrix or a pair (R, p); a matrix that is no rotation is refused."""
    if value is None:
        return EYE, ZERO
    if isinstance(value, tuple) and len(value) == 2:
        R, p = np.asarray(value[0], float), np.asarray(value[1], float)
    else:
        a = np.asarray(value, float)
        if a.shape == (3,):
            return EYE, finite(a, "placement")
        if a.shape != (4, 4):
            raise ModelError(f"a placement is None, (3,), (4, 4) or a pair (R, p); got an array of shape {a.shape}")
        R, p = a[:3, :3], a[:3, 3]
    if R.shape != (3, 3) or p.shape != (3,):
        raise ModelError(f"a placement (R, p) needs shapes (3, 3) and (3,), got {R.shape} and {p.shape}")
    finite(R, "placement"), finite(p, "placement")
    if not _is_rotation(*R.ravel().tolist()):
        raise ModelError("the matrix of a placement is no rotation: R R' is not 1 to 1e-9, or det R < 0")
    return R, p


def placed(value: Any, name: str) -> tuple[FloatArray, FloatArray]:
    """`placement`, with the name of what is placed in its errors."""
    try:
        return placement(value)
    except ModelError as error:
        raise ModelError(f"{name!r}: {error}") from None
    except (TypeError, ValueError):
        raise ModelError(f"{name!r}: a placement is None, (3,), (4, 4) or a pair (R, p) of numbers") from None


def _is_rotation(a: float, b: float, c: float, d: float, e: float, f: float, g: float, h: float, i: float) -> bool:
    """Rows (a b c), (d e f) are orthonormal and the third is their cross product."""
    gap = (
        a * a + b * b + c * c - 1.0, d * d + e * e + f * f - 1.0, a * d + b * e + c * f,
        g - (b * f - c * e), h - (c * d - a * f), i - (a * e - b * d),
    )  # fmt: skip
    return all(abs(x) <= ROUNDING for x in gap)


def gravity_of(value: Any) -> FloatArray:
    """(3,) as it is given, checked."""
    try:
        g = np.array(value, float)
    except (TypeError, ValueError):
        g = np.empty(0)
    if g.shape != (3,) or not (np.abs(g) <= LARGEST).all():
        raise ModelError(f"gravity must be three finite numbers, got {short(repr(value))}")
    return g


def finite(a: FloatArray, what: str) -> FloatArray:
    """The same array, if none of its numbers is so large that products of them overflow."""
    if not all(abs(x) <= LARGEST for x in a.ravel().tolist()):
        raise ModelError(f"{what} must be finite and at most {LARGEST:g} in size, got {short(str(a.tolist()), 200)}")
    return a


def unit_axes(axis: npt.ArrayLike, joint: str, name: str) -> FloatArray:
    """Unit axes (1, 3), or (2, 3) for a universal joint; of a joint type that has no axis, whatever was given."""
    expected = 2 if joint == "universal" else 1
    try:
        axes = np.array(axis, float, ndmin=2)
    except (TypeError, ValueError):
        axes = np.empty(0)
    if joint == "universal" and axes.shape == (1, 3):
        axes = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    if axes.shape != (expected, 3):
        raise ModelError(f"body {name!r}: a {joint} joint needs {expected} axis (3,), got {axis!r}")
    finite(axes, f"body {name!r}: axis")
    for k, row in enumerate(axes.tolist()):
        length = math.hypot(*row)
        if length < 1e-9:
            raise ModelError(f"body {name!r}: the axis of its {joint} joint is zero; expected a direction")
        axes[k] /= length
    if joint == "universal" and np.linalg.norm(np.cross(*axes)) < 1e-6:
        raise ModelError(f"body {name!r}: the two axes of a universal joint are parallel")
    return axes


def planar_frame(normal: FloatArray) -> FloatArray:
    """The smallest rotation that brings z onto the unit normal of a planar joint."""
    x, y, z = normal.tolist()
    if z < -1.0 + 1e-12:
        return np.diag([1.0, -1.0, -1.0])
    k = 1.0 / (1.0 + z)
    return np.array([[1.0 - k * x * x, -k * x * y, x], [-k * x * y, 1.0 - k * y * y, y], [-x, -y, z]])


def rigid(mass: float, com: npt.ArrayLike, inertia: npt.ArrayLike) -> FloatArray:
    """(10,) inertia about the frame's origin from mass, centre of mass and 3x3 inertia about that centre."""
    return np.array(_rigid(mass, np.asarray(com, float).tolist(), np.asarray(inertia, float).tolist()))


def _rigid(m: float, com: list[float], J: list[list[float]]) -> tuple[float, ...]:
    x, y, z = com
    return (
        J[0][0] + m * (y * y + z * z), J[1][1] + m * (x * x + z * z), J[2][2] + m * (x * x + y * y),
        J[0][1] - m * x * y, J[0][2] - m * x * z, J[1][2] - m * y * z, m * x, m * y, m * z, m,
    )  # fmt: skip


def checked_inertia(name: str, mass: Any, com: Any, inertia: Any, strict: bool) -> tuple[float, ...]:
    """The ten numbers of a rigid inertia; if strict, one that no real body has is refused."""
    try:
        m, c = float(mass), np.asarray(com, float)
        J = np.zeros((3, 3)) if inertia is None else np.asarray(inertia, float)
    except (TypeError, ValueError):
        raise ModelError(f"body {name!r}: mass, com and inertia must be numbers") from None
    if c.shape != (3,) or J.shape != (3, 3):
        raise ModelError(f"body {name!r}: com needs shape (3,) and inertia (3, 3), got {c.shape} and {J.shape}")
    if not 0.0 <= m <= LARGEST:
        raise ModelError(f"body {name!r}: mass must be finite and not negative, at most {LARGEST:g} kg, got {m}")
    finite(c, f"body {name!r}: com")
    rows = finite(J, f"body {name!r}: inertia").tolist()
    moments = principal_moments(rows, name)
    if strict:
        check_moments(name, m, *moments)
    return _rigid(m, c.tolist(), rows)


def check_moments(name: str, m: float, low: float, middle: float, high: float) -> None:
    """Refuse principal moments about the centre of mass that no body has."""
    if negative(low, high, m):
        raise ModelError(f"body {name!r}: {not_positive(low, middle, high)}")
    if low + middle < high * (1.0 - TRIANGLE):
        moments = f"{low:g}, {middle:g}, {high:g}"
        raise ModelError(f"body {name!r}: no body has principal moments {moments}: one exceeds the sum of the others")
    if m == 0.0 and high > 0.0:
        raise ModelError(f"body {name!r}: it has an inertia but no mass")


def about_com(inertia: FloatArray) -> FloatArray:
    """(n, 3, 3): J - m (c.c 1 - c c')."""
    mass, h = inertia[:, 9], inertia[:, 6:9]
    com = h / np.where(mass != 0.0, mass, 1.0)[:, None]
    ch = com[:, :, None] * h[:, None, :]
    J: FloatArray = inertia_matrix(inertia) - np.trace(ch, axis1=1, axis2=2)[:, None, None] * np.eye(3) + ch
    return J


def principal_moments(J: list[list[float]], name: str) -> tuple[float, float, float]:
    """In ascending order."""
    (a, d, e), (d2, b, f), (e2, f2, c) = J
    gap = max(abs(d - d2), abs(e - e2), abs(f - f2))
    if gap > 0.0 and gap > ROUNDING * max(abs(a), abs(b), abs(c), abs(d), abs(e), abs(f)):
        raise ModelError(f"body {name!r}: the inertia matrix is not symmetric")
    if d == 0.0 and e == 0.0 and f == 0.0:
        low, middle, high = sorted((a, b, c))
    else:
        low, middle, high = np.linalg.eigvalsh(J).tolist()
    return low, middle, high


def negative(low: float, high: float, mass: float) -> bool:
    """Whether the smallest principal moment is less than zero, beyond rounding."""
    return low < -(ROUNDING * high + MICRON_SQUARED * mass)


def not_positive(low: float, middle: float, high: float) -> str:
    return f"the inertia matrix is not positive: principal moments {low:g}, {middle:g}, {high:g}"


def check_options(body: Body, strict: bool) -> None:
    """Numbers are numbers, rates and inertias not negative, pitch with helical joints only."""
    name, options = body.name, body.options
    unexpected = options.keys() - OPTIONS
    if unexpected:
        raise unknown_option(f"body {name!r}: unknown option {min(unexpected)!r}", min(unexpected), sorted(OPTIONS))
    for key in options.keys() & NUMBERS:
        value = options[key]
        if value is not None and not (isinstance(value, int | float | np.floating) and value == value):
            raise ModelError(f"body {name!r}: {key} must be a number, got {value!r}")
    if not 0.0 <= body.number("armature") < math.inf:
        raise ModelError(f"body {name!r}: armature must be finite and not negative, got {options['armature']}")
    if body.number("armature") > 0.0 and mixed(body.joint):
        raise ModelError(
            f"body {name!r}: a {body.joint} joint takes no armature: it slides along axes that turn with the body, as "
            f'no rotor does; add it to the mass and inertia of the body (in MJCF, use <freejoint/> or armature="0")'
        )
    if (body.pitch != 0.0) != (body.joint == "helical") or math.isinf(body.pitch):
        raise ModelError(f"body {name!r}: only helical joints need a pitch, which is not zero; got {body.pitch}")
    if strict and body.number("lower", -math.inf) > body.number("upper", math.inf):
        raise ModelError(f"body {name!r}: its lower limit {options['lower']} exceeds its upper {options['upper']}")


def mixed(joint: str) -> bool:
    """Whether the joint turns and slides in one frame, as planar and floating joints do.

    An armature on the diagonal of H, constant in such axes, would break Newton's law: the momentum of a rotor that
    slides at v while the axes turn at w changes by armature (w x v), and no rotor can be geared to such a slide.
    Axes that only turn are safe with one armature for all of them, because w x (armature w) = 0.
    """
    return any(len({axis // 3 for axis in PRIMITIVES[primitive].axes}) == 2 for primitive in JOINTS[joint])


def is_screw(joint: str) -> bool:
    """Whether the joint is one screw: one degree of freedom, with q a number."""
    return len(JOINTS[joint]) == 1 and PRIMITIVES[JOINTS[joint][0]].screw


def check_joint_type(name: str, joint: str) -> None:
    if joint not in JOINTS:
        raise unknown_option(f"body {name!r}: unknown joint type {joint!r}", joint, JOINTS)


# How a model looks: geometries on named frames, as a file or a maker of models says it.


class Mesh(NamedTuple):
    """Triangles, with a texture if they have one; normals are those of the faces."""

    vertices: FloatArray  # (k, 3)
    faces: IntArray  # (t, 3)
    uv: FloatArray | None = None  # (k, 2) places of the vertices in the image, from its lower left corner
    image: npt.NDArray[np.uint8] | None = None  # (height, width, 3)


class Piece(NamedTuple):
    """A geometry at a place in a named frame."""

    frame: str
    kind: str  # "box", "sphere", "cylinder", "cone" or "mesh"
    size: FloatArray | tuple[float, float, float]  # lengths along x, y and z
    p: FloatArray | tuple[float, float, float] = (0.0, 0.0, 0.0)
    R: FloatArray | None = None  # (3, 3)
    colour: tuple[float, float, float] | None = None  # that of the body's branch
    mesh: Mesh | None = None
