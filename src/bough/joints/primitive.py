"""Primitive joints, and their table, from which the kernels that choose by kind are made.

A primitive is a file: its sizes, and four kernels, which are called with the number i of the body they move.

| kernel | does |
| --- | --- |
| motion(m, q, i, X) | fills row i of X: (cos, sin, d) of a screw about z, or the placement (R, p) of the joint |
| integrate(m, i, q, v, h, out) | the joint's part of out = that of q, moved by h v; out may be q |
| difference(m, i, q0, q1, out) | the joint's part of out = the tangent vector that moves q0 to q1 |
| rate(m, i, q, N) | the joint's rows and columns of N (nq, nv), zero on entry: the rate of q is N v |

Its q starts at `m.q_index[i]`; its degrees of freedom are `m.dof[i]` and following, and k sits at `m.v_index[k]` in v.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import InitVar, dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias
from warnings import warn

import numpy as np

from bough.compile.kernel import from_text, kernel
from bough.errors import ModelError, NonFiniteError
from bough.joints.mechanism import LAST_SCREW
from bough.types import FloatArray

Layout: TypeAlias = Callable[[FloatArray], FloatArray]  # a joint's part of q, (..., n), as another part


class ForeignLayout(NamedTuple):
    """One joint in one engine. `axes` are those of its v there, in order; `rotated` says whether the linear and the
    angular part are in the axes of the frame that the joint hangs on, and not in the body's."""

    to: Layout
    back: Layout
    nq: int
    axes: tuple[int, ...]
    rotated: tuple[bool, bool] = (False, False)


def same(q: FloatArray) -> FloatArray:
    return q


def scalar_first(q: FloatArray) -> FloatArray:
    """A part that ends in a quaternion x y z w, with w before x."""
    return np.concatenate([q[..., :-4], q[..., -1:], q[..., -4:-1]], -1)


def scalar_last(q: FloatArray) -> FloatArray:
    return np.concatenate([q[..., :-4], q[..., -3:], q[..., -4:-3]], -1)


def unit_quaternion(q: FloatArray) -> FloatArray:
    """The last four of q as a unit quaternion x y z w."""
    x = q[..., -4:]
    length = np.linalg.norm(x, axis=-1, keepdims=True)
    if (length < 1e-12).any():
        raise NonFiniteError("a quaternion in q is zero: it cannot be normalised")
    unit: FloatArray = x / length
    return unit


Kernel = Callable[..., Any]
QUATERNION = 6  # the axis of a move that turns by four entries of q, x y z w


class Move(NamedTuple):
    """One elementary part of a joint's motion, which viewers draw: about or along an axis, or by a quaternion."""

    axis: int  # 0-2 turns about x y z, 3-5 slides along them, or QUATERNION
    entry: int = 0  # of the joint's q: where its number is, or its quaternion begins
    zero: float = 0.0  # added to that number


@dataclass(frozen=True)
class Primitive:
    """One primitive joint. Its velocity is along axes of the body's own frame, in which it is constant."""

    name: str
    axes: tuple[int, ...]  # of the body's frame that it frees: 0-2 turn about x y z, 3-5 slide along them
    neutral: tuple[float, ...]  # the q at which the body's frame is the joint's
    motion: Kernel
    integrate: Kernel
    difference: Kernel
    rate: Kernel
    # (count, nq) configurations, evenly drawn; screws are drawn between their limits instead
    random: Callable[[np.random.Generator, int], FloatArray] | None = None
    orientation: Layout | None = None  # the unit quaternion x y z w of a q, where `layouts` has rotated parts
    layouts: Mapping[str, ForeignLayout] = field(default_factory=dict)  # by engine; by default as here
    moves: tuple[Move, ...] = ()  # its motion for viewers, the first move first
    urdf: tuple[str, ...] = ()  # joint types made of it that URDF files have
    engines: Mapping[str, str] = field(default_factory=dict)  # its type in Pinocchio, MuJoCo (and MJCF files), Drake
    takes_axis: bool = False  # whether files give it an axis, as they do for all screws
    quaternion: bool = False  # whether q ends in one, x y z w
    screw: bool = False  # a screw about z: one degree of freedom, cheaper than a placement
    kind: int = 0  # its number in the kernels, given by `register`
    abroad: InitVar[Mapping[str, ForeignLayout] | None] = None  # the former name of `layouts`

    def __post_init__(self, abroad: Mapping[str, ForeignLayout] | None) -> None:
        if abroad is not None:
            warn("Primitive(abroad=...) is called layouts now", DeprecationWarning, stacklevel=3)
            object.__setattr__(self, "layouts", abroad)

    @property
    def nq(self) -> int:
        """Its number of entries of q."""
        return len(self.neutral)


class _Dispatcher(NamedTuple):
    """A kernel that does one part of a joint's work, whatever its kind, and what it is called with."""

    function: Any
    part: str
    arguments: str


PRIMITIVES: dict[str, Primitive] = {}
# What a user may ask for, as a chain of primitives
JOINTS: dict[str, tuple[str, ...]] = {}
_dispatchers: list[_Dispatcher] = []
_closed = False


def register(primitive: Primitive, *names: str) -> Primitive:
    """Make a primitive known, and the joint types called `names` that consist of it (its own name, if none is given).

    A screw gets a number up to `LAST_SCREW`, a placement one above: kernels tell the two apart by one comparison.
    Joints are registered before the first model is built: code that is compiled does not learn new ones.
    """
    if _closed:
        raise ModelError(f"joint {primitive.name!r}: register joints before the first model is built")
    names = names or (primitive.name,)
    taken = [name for name in (primitive.name,) if name in PRIMITIVES] + [name for name in names if name in JOINTS]
    if taken:
        raise ModelError(f"a joint called {taken[0]!r} exists already")
    if primitive.screw and len(primitive.axes) != 1:
        raise ModelError(f"joint {primitive.name!r}: a screw has one axis, got {primitive.axes}")
    if not primitive.screw and primitive.random is None:
        raise ModelError(f"joint {primitive.name!r}: a joint that is no screw must say how to draw its configurations")
    n = sum(p.screw == primitive.screw for p in PRIMITIVES.values())
    kind = (n if n <= LAST_SCREW else LAST_SCREW - n) if primitive.screw else LAST_SCREW + 1 + n
    PRIMITIVES[primitive.name] = replace(primitive, kind=kind)
    JOINTS.update({name: (primitive.name,) for name in names})
    for one in _dispatchers:
        _renew(one)
    return PRIMITIVES[primitive.name]


def close_table() -> None:
    """From now on the joints are known: called when a model is built."""
    global _closed
    _closed = True


def dispatcher(name: str, part: str, arguments: str, doc: str) -> Kernel:
    """The kernel that does `part` of joint i, whatever its kind: comparison after comparison, as one would write it."""
    scope: dict[str, Any] = {"__name__": __name__}
    exec(compile(f"def {name}({arguments}): pass", __file__, "exec"), scope)
    scope[name].__doc__ = doc
    _dispatchers.append(_Dispatcher(scope[name], part, arguments))
    _renew(_dispatchers[-1])
    return kernel(_dispatchers[-1].function)


def _renew(one: _Dispatcher) -> None:
    """Write the code of a dispatcher from the table, in which the most frequent joints come first."""
    head = f"def {one.function.__name__}({one.arguments}):"
    lines, known = [head, "    kind = m.kind[i]"], list(PRIMITIVES.values())
    for place, primitive in enumerate(known):
        test = "else:" if place == len(known) - 1 else f"{'elif' if place else 'if'} kind == {primitive.kind}:"
        call = f"{primitive.name}_{one.part}"
        one.function.__globals__[call] = getattr(primitive, one.part)
        lines += [f"    {test}", f"        {call}({one.arguments})"]
    one.function.__code__ = from_text("\n".join(lines), {}, __file__).__code__
