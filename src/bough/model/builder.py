"""From bodies and joints to a `Model`: merge welds, tie mimic joints, expand joints into primitives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from bough.arguments import explained
from bough.errors import ModelError, UnknownNameError, unknown_option
from bough.joints import JOINTS, PRIMITIVES
from bough.model.assemble import GRAVITY, Parts, assemble, frozen, laid_inertia
from bough.model.bodies import (
    EYE,
    NO_OPTIONS,
    ZERO,
    Body,
    check_joint_type,
    check_options,
    checked_inertia,
    finite,
    gravity_of,
    placed,
    planar_frame,
    unit_axes,
)
from bough.model.checks import check_leaves, check_massless, check_positive, check_turning
from bough.model.contents import WORLD, Coupling, Frames, Joints, unknown
from bough.model.coupling import Tie, find_ties, free_parents
from bough.model.dofs import actuated_of, check_dofs, ignored_limits, limits_of, passive_of
from bough.model.laid_frames import LaidFrames
from bough.model.loops import ClosureKind, LoopClosure, check_closure, check_ends, end_of
from bough.model.model import Model
from bough.model.parameters import TO_KERNEL, check_physical
from bough.types import FloatArray, IntArray

Mimic = Literal["honour", "independent"]


class _Carrier(NamedTuple):
    """Where a frame sits: the number of the moving body that carries it (-1 = world), and its placement there."""

    body: int
    R: FloatArray
    p: FloatArray


@explained
class Builder:
    """Build a `Model` body by body.

    With `check=False` it takes bodies that are not physical but harmless (principal moments that break the triangle
    inequality, an inertia without a mass, a lower limit above the upper, a negative moment that those of the bodies
    welded to it make up for): files are full of them.

    >>> builder = Builder("pendulum")
    >>> builder.add_body("rod", joint="revolute", axis=(0, 1, 0), mass=1.0, com=(0, 0, -0.5))
    'rod'
    >>> model = builder.build()
    """

    def __init__(self, name: str = "model", gravity: Sequence[float] = GRAVITY, *, check: bool = True) -> None:
        self.name = name
        self.check = check
        self.notes: list[str] = []
        self.gravity = gravity_of(gravity)
        self._bodies: dict[str, Body] = {}
        self._frames: dict[str, tuple[str, FloatArray, FloatArray]] = {}
        self._joint_names: set[str] = set()
        self._closures: dict[str, LoopClosure] = {}

    def add_body(
        self,
        name: str,
        parent: str = WORLD,
        joint: str = "revolute",
        placement: Any = None,
        *,
        axis: npt.ArrayLike = (0.0, 0.0, 1.0),
        mass: float = 0.0,
        com: npt.ArrayLike = (0.0, 0.0, 0.0),
        inertia: npt.ArrayLike | None = None,
        **options: Any,
    ) -> str:
        """Add a body that hangs on `parent` by `joint`, and return its name.

        Parameters
        ----------
        name : of the body
        parent : the body that it hangs on
        joint : a joint type
        placement : of the joint frame in the parent's frame; the joint frame is the body's frame
        axis : in the joint frame, (3,): of a planar joint the normal, which turns z onto it and moves along the x and y
            so turned; of a universal joint two axes (2, 3)
        mass : kg
        com : centre of mass (3,) in the body's frame
        inertia : (3, 3) about the centre of mass, in the axes of the body's frame; by default the mass is a point
        joint_name : by default the name of the body
        pitch : of a helical joint, metres per radian
        armature : kg m^2 or kg on the diagonal of H; not on planar and floating joints
        lower, upper, velocity, effort : limits
        mimic : (joint, ratio, offset)
        damping : N m s or N s/m; one number or one for each DoF, like all below
        friction : dry friction, N m or N
        stiffness : of springs, N m or N/m. A spherical joint has one, planar and floating joints have none.
        rest : where springs are slack, rad or m, by default 0; those of a spherical joint are slack at the identity
        actuated : True or False; by default all but the DoF of a floating or spherical joint on the world
        """
        joint_name = options.get("joint_name", name)
        self._check_names(name, parent, joint_name)
        check_joint_type(name, joint)
        R, p = placed(placement, name)
        pitch = options.get("pitch", 0.0)
        inertia = checked_inertia(name, mass, com, inertia, self.check)
        body = Body(name, parent, joint_name, joint, R, p, unit_axes(axis, joint, name), pitch, inertia, options)
        check_options(body, self.check)
        check_dofs(body)
        self._bodies[name] = body
        self._joint_names.add(joint_name)
        return name

    def add_bodies(
        self,
        names: Sequence[str],
        parents: Sequence[str],
        joint: str | Sequence[str],
        origins: npt.ArrayLike,
        inertias: npt.ArrayLike,
        *,
        axes: npt.ArrayLike | None = None,
        joint_names: Sequence[str] | None = None,
    ) -> None:
        """Add n bodies from arrays; a parent comes before its children. About 3 us per body.

        All frames are parallel to the world's where every joint is at zero.

        Parameters
        ----------
        names, parents : n names each; a parent is `world`, an earlier body, or one of these.
        joint : the type of all joints, or n types; none of them universal.
        origins : (n, 3) of the joint frames in their parents' frames.
        inertias : (n, 10) about these origins, as in `Model.inertias`.
        axes : (n, 3), z where there are none.
        joint_names : n names, those of the bodies where there are none.
        """
        n = len(names)
        types = [joint] * n if isinstance(joint, str) else list(joint)
        labels = names if joint_names is None else joint_names
        p, I = np.array(origins, float), np.array(inertias, float)
        z = np.tile([[0.0, 0.0, 1.0]], (n, 1)) if axes is None else np.array(axes, float)
        if not (len(parents) == len(types) == len(labels) == n and z.shape == p.shape == (n, 3) and I.shape == (n, 10)):
            raise ModelError(
                f"add_bodies: expected {n} parents, joints and joint names, origins ({n}, 3), inertias ({n}, 10) and "
                f"axes ({n}, 3), got {len(parents)}, {len(types)}, {len(labels)}, {p.shape}, {I.shape} and {z.shape}"
            )
        for what, a in (("origins", p), ("inertias", I), ("axes", z)):
            finite(a, f"add_bodies: {what}")
        for k in np.flatnonzero(I[:, 0] < 0.0).tolist():
            raise ModelError(f"body {names[k]!r}: mass must not be negative, got {I[k, 0]}")
        if self.check:
            check_physical(I, names, "add_bodies")
        I = I[:, TO_KERNEL]
        length = np.linalg.norm(z, axis=1, keepdims=True)
        for k in np.flatnonzero(length[:, 0] < 1e-9).tolist():
            raise ModelError(f"body {names[k]!r}: the axis of its {types[k]} joint is zero; expected a direction")
        z /= np.where(length > 0.0, length, 1.0)
        p.flags.writeable = z.flags.writeable = False
        for kind in dict.fromkeys(types):
            check_joint_type(names[types.index(kind)], kind)
            if kind in ("universal", "helical"):
                raise ModelError(f"add_bodies adds no {kind} joints: use add_body")
        rows = zip(names, parents, labels, types, p, z[:, None], map(tuple, I.tolist()), strict=True)
        for name, parent, label, kind, origin, axis, inertia in rows:
            self._check_names(name, parent, label)
            self._bodies[name] = Body(name, parent, label, kind, EYE, origin, axis, 0.0, inertia, NO_OPTIONS)
            self._joint_names.add(label)

    def add_frame(self, name: str, body: str, placement: Any = None) -> str:
        """Name a frame at `placement` in the frame of `body`."""
        if body != WORLD and body not in self._bodies:
            raise UnknownNameError(f"frame {name!r}: " + unknown("body", body, tuple(self._bodies)))
        if not name or name in self._frames or name in self._bodies or name == WORLD:
            raise ModelError(f"frame {name!r}: the name is taken or empty")
        self._frames[name] = (body, *placed(placement, name))
        return name

    def add_closure(
        self,
        frame: str,
        other: str = WORLD,
        kind: ClosureKind = "connect",
        *,
        point: Any = None,
        other_point: Any = None,
        length: float | None = None,
        name: str | None = None,
    ) -> str:
        """Close a loop of the tree: constrain two frames (or bodies), and return the closure's name.

        `Dynamics` ignores closures; `ConstrainedDynamics` and `simulate.rollout` honour them.

        Parameters
        ----------
        frame, other : the two frames
        kind : "connect" (one origin, three rows), "weld" (the frames coincide, six), "hinge" (a turn about their common
            z axis is free), "slide" (a motion along it), "cylindrical" (both), "distance" (origins `length` apart, one)
        point, other_point : where the ends are in `frame` and in `other`: points (3,), or placements as in `add_frame`;
            each becomes a frame of the model, called name/frame
        length : of "distance", m
        name : by default made from the kind and the frames
        """
        name = name or f"{kind}({frame}, {other})"
        length = check_closure(name, kind, self._closures, length)
        ends = []
        for end, at in ((frame, end_of(name, frame, point)), (other, end_of(name, other, other_point))):
            body, R, p = self._frames.get(end, (end, EYE, ZERO))
            if body != WORLD and body not in self._bodies:
                known = (*self._bodies, *self._frames)
                raise UnknownNameError(f"closure {name!r}: " + unknown("frame", end, known))
            own = end if at is None else self.add_frame(f"{name}/{end}", body, (R @ at[0], p + R @ at[1]))
            ends.append(own)
        self._closures[name] = LoopClosure(name, kind, ends[0], ends[1], length)
        return name

    def note(self, text: str) -> None:
        """Keep a remark about what was read: it becomes one of the model's notes."""
        self.notes.append(text)

    def _check_names(self, name: str, parent: str, joint_name: str) -> None:
        if not name or name == WORLD:
            raise ModelError(f"a body cannot be called {name!r}")
        if name in self._bodies or name in self._frames:
            raise ModelError(f"body {name!r}: the name is taken")
        if joint_name in self._joint_names:
            raise ModelError(f"body {name!r}: a joint called {joint_name!r} exists already")
        if parent != WORLD and parent not in self._bodies:
            raise UnknownNameError(f"body {name!r}: " + unknown("body", parent, tuple(self._bodies)))

    def build(self, mimic: Mimic = "honour") -> Model:
        """Merge welds, tie mimic joints to their leaders, expand joints into primitives, and lay the frames.

        `mimic="independent"` gives every mimic joint a DoF of its own. O(n log n); about 20 us per body.
        """
        if mimic not in ("honour", "independent"):
            raise unknown_option(f"there is no way {mimic!r} to build mimic joints", mimic, ("honour", "independent"))
        moving = [b for b in self._bodies.values() if JOINTS[b.joint]]
        if not moving:
            raise ModelError(f"{self.name!r} has no moving body; expected a joint that moves, or a floating base")
        carriers = self._carriers(moving)
        ties = find_ties(moving) if mimic == "honour" else {}
        inertia = self._carried_inertia(carriers, len(moving))
        parents = [carriers[b.parent].body for b in moving]
        if not self.check:
            check_positive(moving, inertia)
        check_massless(moving, parents, ties, inertia)
        check_leaves(moving, parents, ties, inertia)
        check_turning(moving, parents, inertia)
        q, v = _places(moving, ties)
        parts, last_part = _parts(moving, carriers, inertia, _Coordinates(q[:, 0], v[:, 0], ties))
        mechanism, layout, rank = assemble(parts, self.gravity.tolist())
        free = [k for k in range(len(moving)) if k not in ties]
        joints = Joints(
            tuple(moving[k].joint_name for k in free), tuple(moving[k].name for k in free),
            tuple(moving[k].joint for k in free), frozen(q[free]), frozen(v[free]),
        )  # fmt: skip
        names = [b.joint_name for b in moving]
        couplings = tuple(Coupling(names[k], names[tie.leader], tie.ratio, tie.offset) for k, tie in ties.items())
        frames = self._named_frames(carriers, layout, rank[last_part])
        check_ends(self._closures.values(), dict(zip(frames.names, frames.body.tolist(), strict=True)))
        parent = free_parents(parents, ties)
        limits = limits_of(moving, v, ties)
        notes = (*self.notes, *ignored_limits(moving, v, ties, limits))
        return Model(
            self.name, parent, joints, frames, mechanism, limits, passive_of(moving, v, ties),
            actuated_of(moving, parents, v, ties), couplings, notes,
            tuple(self._closures.values()),
        )  # fmt: skip

    def _carriers(self, moving: list[Body]) -> dict[str, _Carrier]:
        """Where every body sits: a welded one on the moving body (or world) that carries it."""
        number = {b.name: k for k, b in enumerate(moving)}
        carriers = {WORLD: _Carrier(-1, EYE, ZERO)}
        for body in self._bodies.values():
            k = number.get(body.name)
            if k is None:
                up = carriers[body.parent]
                carriers[body.name] = _Carrier(up.body, up.R @ body.R, up.p + up.R @ body.p)
            else:
                turned = PRIMITIVES[JOINTS[body.joint][0]].takes_axis and body.axes[0, 2] != 1.0
                carriers[body.name] = _Carrier(k, planar_frame(body.axes[0]).T if turned else EYE, ZERO)
        return carriers

    def _carried_inertia(self, carriers: dict[str, _Carrier], n: int) -> FloatArray:
        """(n, 10) inertias of the moving bodies with all that is welded to them, in the frames of their joints."""
        chosen = [(carriers[b.name], b.inertia) for b in self._bodies.values()]
        chosen = [(carrier, inertia) for carrier, inertia in chosen if carrier.body >= 0]
        body = np.array([carrier.body for carrier, _ in chosen])
        R = np.array([carrier.R for carrier, _ in chosen])
        p = np.array([carrier.p for carrier, _ in chosen])
        inertia = np.array([inertia for _, inertia in chosen])
        away = np.array([carrier.R is not EYE for carrier, _ in chosen])
        back = -np.einsum("nji,nj->ni", R[away], p[away])
        inertia[away] = laid_inertia(inertia[away], R[away].transpose(0, 2, 1), back)
        total = np.zeros((n, 10))
        np.add.at(total, body, inertia)
        return total

    def _named_frames(self, carriers: dict[str, _Carrier], layout: LaidFrames, last: IntArray) -> Frames:
        """The world, every body and every added frame; `last` is the kernel's number of each moving body."""
        names = (WORLD, *self._bodies, *self._frames)
        found = [carriers[name] for name in (WORLD, *self._bodies)]
        for body, R, p in self._frames.values():
            on = carriers[body]
            found.append(_Carrier(on.body, on.R @ R, on.p + on.R @ p))
        carrier = np.array([on.body for on in found])
        R, p = np.array([on.R for on in found]), np.array([on.p for on in found])
        number = np.where(carrier >= 0, last[np.maximum(carrier, 0)], -1)
        moves = carrier >= 0
        laid_R, laid_p = layout.R[number[moves]], layout.p[number[moves]]
        p[moves] = np.einsum("nji,nj->ni", laid_R, p[moves] - laid_p)
        R[moves] = np.einsum("nji,njk->nik", laid_R, R[moves])
        return Frames(names, frozen(number), frozen(R), frozen(p))


class _Coordinates(NamedTuple):
    """Where each moving body's joint finds its coordinates, and which are tied to another's."""

    q: IntArray
    v: IntArray
    ties: dict[int, Tie]


def _places(moving: list[Body], ties: dict[int, Tie]) -> tuple[IntArray, IntArray]:
    """(n, 2) each: where the part of q and of v that drives each moving body starts and stops."""
    kinds = [[PRIMITIVES[primitive] for primitive in JOINTS[b.joint]] for b in moving]
    free = np.array([k not in ties for k in range(len(moving))])
    nq = np.array([sum(kind.nq for kind in chain) for chain in kinds])
    nv = np.array([sum(len(kind.axes) for kind in chain) for chain in kinds])
    leader = np.array([ties[k].leader if k in ties else k for k in range(len(moving))])
    places = []
    for count in (nq, nv):
        stop = np.cumsum(np.where(free, count, 0))
        places.append(np.stack([stop - count, stop], axis=1)[leader])
    return places[0], places[1]


def _parts(
    moving: list[Body], carriers: dict[str, _Carrier], inertia: FloatArray, at: _Coordinates
) -> tuple[Parts, IntArray]:
    """Primitive bodies, and the number of the last one of each moving body, which carries its inertia."""
    rows: list[tuple[Any, ...]] = []
    last: list[int] = []
    for k, body in enumerate(moving):
        up, own = carriers[body.parent], carriers[body.name]
        R = body.R if up.R is EYE else up.R @ body.R
        p = body.p if up.R is EYE else up.p + up.R @ body.p
        if own.R is not EYE:
            R = R @ own.R.T
        _, ratio, shift = at.ties.get(k, (k, 1.0, 0.0))
        parent, q, v = last[up.body] if up.body >= 0 else -1, at.q[k], at.v[k]
        chain = [PRIMITIVES[primitive] for primitive in JOINTS[body.joint]]
        for place, kind in enumerate(chain):
            axis = body.axes[min(place, len(body.axes) - 1)]
            I = inertia[k] if place == len(chain) - 1 else np.zeros(10)
            rows.append((parent, kind.kind, R, p, axis, body.pitch, I, q, v, body.number("armature"), ratio, shift))
            parent, R, p, q, v = len(rows) - 1, EYE, ZERO, q + kind.nq, v + len(kind.axes)
        last.append(parent)
    return Parts(*(np.array(column) for column in zip(*rows, strict=True))), np.array(last)
