"""`Model`: a frozen mechanism. Topology and geometry as arrays for the kernels, names and frames for the user."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bough.compile.routine import Routine
from bough.errors import ModelError, OptionError, ShapeError, UnknownNameError
from bough.joints import DIFFERENCE, INTEGRATE, LAST_SCREW, Mechanism, manifold
from bough.model import parameters
from bough.model.assemble import frozen, laid_inertia
from bough.model.bodies import Piece, checked_inertia, gravity_of, placed
from bough.model.contents import (
    Coupling,
    Frames,
    Joint,
    JointLimits,
    Joints,
    Numbered,
    Passive,
    ScalarJoints,
    freeze,
    place_of,
    unknown,
)
from bough.model.coupling import coupled_parents, parents_in_order_of_v
from bough.model.facts import digest, explain, html, listing, sizes_of, summary
from bough.model.loops import LoopClosure
from bough.model.parameters import grouped
from bough.tree import Tree
from bough.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """A mechanism, built by `bough.Builder` or read by `bough.load`; never changed afterwards.

    q, v and all results are in the order of `joint_names`. A floating joint has q = x y z qx qy qz qw and
    v = linear, angular velocity in the body's own frame; a spherical joint has q = qx qy qz qw and the angular
    velocity in the body's frame; a planar joint has q = x y angle and v = linear x, y in the body's frame, rate.
    """

    name: str
    parent: IntArray  # (joints,) in the order of joint_names, -1 = world
    joints: Joints
    frames: Frames
    mechanism: Mechanism
    limits: JointLimits
    passive: Passive
    actuated: BoolArray  # (nv,) whether a motor drives the DoF
    couplings: tuple[Coupling, ...] = ()
    notes: tuple[str, ...] = field(default=())  # what a reader dropped or found suspicious
    closures: tuple[LoopClosure, ...] = ()  # loops beyond the tree, which tree algorithms leave out
    visuals: tuple[Piece, ...] = ()  # how it looks, where it does not come from a file
    units: tuple[str, str] = ("m", "kg")  # of lengths and masses, as they are printed

    def __post_init__(self) -> None:
        for value in self.__dict__.values():
            freeze(value)

    @cached_property
    def nq(self) -> int:
        """The length of q."""
        return int(self.joints.q.max(initial=0))

    @cached_property
    def nv(self) -> int:
        """The number of degrees of freedom: the length of v, tau and accelerations."""
        return int(self.joints.v.max(initial=0))

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """All moving joints, mimic joints excepted, in the order of q and v."""
        return tuple(self.joints.names)

    @cached_property
    def body_names(self) -> tuple[str, ...]:
        """The body that each joint moves, in the order of `joint_names`."""
        return tuple(self.joints.bodies)

    @cached_property
    def mimic_bodies(self) -> tuple[str, ...]:
        """The body that each mimic joint moves, in the order of `couplings`."""
        return tuple(self.frames.names[k] for k in parameters.mimic_frames(self).tolist())

    @property
    def damping(self) -> FloatArray:
        """(nv,) viscous damping, N m s or N s/m: for simulation; `Dynamics` ignores it."""
        return self.passive.damping

    @property
    def friction(self) -> FloatArray:
        """(nv,) dry friction, N m or N: for simulation; `Dynamics` ignores it."""
        return self.passive.friction

    @property
    def stiffness(self) -> FloatArray:
        """(nv,) of springs that rest at `rest`, N m or N/m: for simulation; `Dynamics` ignores them."""
        return self.passive.stiffness

    @property
    def rest(self) -> FloatArray:
        """(nv,) where springs rest, rad or m; see `rest_configuration`."""
        return self.passive.rest

    @cached_property
    def frame_names(self) -> tuple[str, ...]:
        """Every body and link, welded or moving, and whatever else has a name and a place."""
        return tuple(self.frames.names)

    @cached_property
    def tree(self) -> Tree:
        """The tree of the bodies that `joint_names` move, in that order, without followers of mimic joints."""
        return Tree(self.parent)

    @cached_property
    def dof_tree(self) -> Tree:
        """The tree of degrees of freedom, in the order of v: the pattern of the mass matrix.

        Mimic joints tie branches together: the tree then is the elimination tree of the coupled matrix.
        """
        if self.couplings:
            return Tree(coupled_parents(self.mechanism, self.nv))
        return Tree(parents_in_order_of_v(self.mechanism))

    @cached_property
    def scalar_joints(self) -> ScalarJoints:
        """Joints with one coordinate, mimic joints excepted: where their coordinates are in q and v."""
        m = self.mechanism
        leads = np.isin(m.dof[:-1], self.leading)
        single = np.flatnonzero((m.kind <= LAST_SCREW) & leads)
        return freeze(ScalarJoints(m.q_index[single], m.v_index[m.dof[single]]))

    @cached_property
    def leading(self) -> IntArray:
        """(nv,) the kernels' degree of freedom behind each entry of v; mimic joints follow one of these."""
        own, found = parameters.own_dofs(self), np.empty(self.nv, np.int64)
        found[self.mechanism.v_index[own]] = own
        return frozen(found)

    @cached_property
    def dof_names(self) -> tuple[str, ...]:
        """The name of each entry of v: the joint's, with a number where a joint has several."""
        many = [(j.name, j.v.stop - j.v.start) for j in self.joints]
        return tuple(name if n == 1 else f"{name}[{k}]" for name, n in many for k in range(n))

    @cached_property
    def sizes(self) -> dict[str, int]:
        """The numbers behind the shapes of kernel arrays."""
        return sizes_of(self)

    @cached_property
    def grouped(self) -> Mechanism:
        """The mechanism with its inertias reduced to base parameters: same motion, more zeros, cheaper when traced."""
        return grouped(self.mechanism)

    @cached_property
    def total_mass(self) -> float:
        """In kg, of all that moves."""
        return float(self.mechanism.inertia[:, 9].sum())

    @cached_property
    def hash(self) -> str:
        """A digest of the content: equal for models that compute the same and name the same."""
        return digest(self)

    def __hash__(self) -> int:
        return int(self.hash[:15], 16)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Model) and self.hash == other.hash

    def frame(self, name: str) -> int:
        """The number of a frame; an unknown name is refused with the nearest ones."""
        return place_of("frame", name, self.frames.names, lambda: self._frame_numbers)

    def joint(self, name: str) -> Joint:
        """The joint of this name, with its places in q and v; a mimic joint has none, and is refused with its law."""
        for c in self.couplings:
            if c.follower == name:
                raise UnknownNameError(
                    f"joint {name!r} is a mimic joint without a place in q and v: it is at {c.ratio:g} {c.leader} + "
                    f'{c.offset:g}; ask for joint({c.leader!r}), or load with mimic="independent"'
                )
        return self.joints[place_of("joint", name, self.joints.names, lambda: self._joint_numbers)]

    @cached_property
    def _frame_numbers(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.frame_names)}

    @cached_property
    def _joint_numbers(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.joint_names)}

    @cached_property
    def body_frames(self) -> IntArray:
        """(joints,) the number of the frame of each of `body_names`."""
        if isinstance(self.frames.names, Numbered):
            return frozen(np.arange(1, 1 + len(self.joints)))
        return frozen(np.array([self._frame_numbers[name] for name in self.joints.bodies], np.int64))

    @cached_property
    def neutral(self) -> FloatArray:
        """The configuration with every joint at zero and every quaternion the identity, (nq,)."""
        return frozen(manifold.neutral(self.mechanism, self.nq))

    @cached_property
    def rest_configuration(self) -> FloatArray:
        """q (nq,) with slack springs: their forces are -stiffness * difference(rest_configuration, q)."""
        return frozen(manifold.at_rest(self.mechanism, self.neutral, self.rest))

    def random_configuration(
        self, rng: np.random.Generator | int | None = None, batch: int | None = None
    ) -> FloatArray:
        """Configurations drawn evenly: within limits where there are any, all rotations equally likely.

        `rng` is a generator of numpy or a seed for a new one.
        """
        if batch is not None and not (hasattr(batch, "__index__") and batch >= 0):
            raise ShapeError(f"batch must be a whole number, at least 0, got {batch!r}")
        try:
            drawn = rng if isinstance(rng, np.random.Generator) else np.random.default_rng(rng)
        except (TypeError, ValueError):
            raise OptionError(f"rng must be a numpy generator or a seed, got {rng!r}") from None
        shape = (1 if batch is None else batch, self.nq)
        q = manifold.random(self.mechanism, self.limits.lower, self.limits.upper, drawn, shape)
        return q[0] if batch is None else q

    def with_gravity(self, gravity: npt.ArrayLike) -> Model:
        """The same mechanism under another gravity (3,), for example none."""
        return replace(self, mechanism=self.mechanism._replace(gravity=gravity_of(gravity)))

    @cached_property
    def inertias(self) -> FloatArray:
        """(bodies, 10): mass, first moment m c (3), then xx xy yy xz yz zz at the origin, in the frame of each body.

        In the order of `body_names`; each with all that is welded to it. Bodies of mimic joints are not among them.
        """
        return parameters.inertias(self)

    @cached_property
    def armature(self) -> FloatArray:
        """(nv,) rotor inertia, kg m^2 or kg, on the diagonal of the mass matrix."""
        return parameters.armature(self)

    @cached_property
    def joint_placements(self) -> FloatArray:
        """(joints, 4, 4): the frame of each joint at zero, in the frame of the moving body that it hangs on."""
        return frozen(parameters.joint_frames(self).now)

    @property
    def gravity(self) -> FloatArray:
        """(3,) in the world's axes."""
        return self.mechanism.gravity

    def with_inertias(self, inertias: npt.ArrayLike | Mapping[str, npt.ArrayLike], *, check: bool = True) -> Model:
        """The same mechanism with other inertias, as `inertias` gives them, or some of them by name of the body.

        What no rigid body has is refused by name, unless `check` is False.
        """
        if isinstance(inertias, Mapping):
            rows = np.array(self.inertias)
            for name, row in inertias.items():
                if name not in self.body_names:
                    raise UnknownNameError(unknown("body", name, self.body_names))
                what = f"the inertia of body {name!r}"
                rows[self.body_names.index(name)] = parameters.check_shape(row, (10,), what)
        else:
            rows = parameters.check_shape(inertias, (len(self.joints), 10), "inertias")
        if check:
            parameters.check_physical(rows, self.body_names, "with_inertias")
        laid = frozen(parameters.laid_inertias(self, rows))
        return replace(self, mechanism=self.mechanism._replace(inertia=laid))

    def with_payload(
        self, frame: str, mass: float, com: npt.ArrayLike = (0.0, 0.0, 0.0), inertia: npt.ArrayLike | None = None
    ) -> Model:
        """The same mechanism with a mass welded to a frame: `com` (3,) and `inertia` (3, 3) about it in that frame."""
        k = self.frame(frame)
        own = np.array(checked_inertia(f"the payload on {frame}", mass, com, inertia, strict=True))
        body, R, p = int(self.frames.body[k]), self.frames.R[k], self.frames.p[k]
        if body < 0:
            raise ModelError(f"with_payload: frame {frame!r} belongs to the world, which does not move")
        total = np.array(self.mechanism.inertia)
        total[body] += laid_inertia(own[None], R.T[None], -(R.T @ p)[None])[0]
        return replace(self, mechanism=self.mechanism._replace(inertia=frozen(total)))

    def with_frame(self, name: str, parent_frame: str, placement: Any = None) -> Model:
        """The same mechanism with one more named frame, at `placement` (as in `Builder.add_body`) in another."""
        if not name or name in self.frame_names:
            raise ModelError(f"with_frame: the name {name!r} is taken or empty")
        k, f = self.frame(parent_frame), self.frames
        R, p = placed(placement, name)
        frames = Frames(
            (*f.names, name),
            frozen(np.append(f.body, f.body[k])),
            frozen(np.concatenate([f.R, (f.R[k] @ R)[None]])),
            frozen(np.concatenate([f.p, (f.p[k] + f.R[k] @ p)[None]])),
        )
        return replace(self, frames=frames)

    def welded_at(self, q: npt.ArrayLike, joints: Sequence[str]) -> Model:
        """The mechanism with these joints fixed where they are at q (nq,); their bodies remain as named frames."""
        from bough.model import edit  # needs the builder, which needs models

        return edit.welded_at(self, q, joints)

    def to_urdf(self, path: str | Path | None = None) -> str:
        """The model as the text of a URDF file, which is written to `path` if one is given.

        What URDF cannot say (rotors, springs, gravity) is named in comments; joints that it does not have are refused.
        """
        from bough.model.write import save, urdf

        return save(urdf(self), path)

    def to_mjcf(self, path: str | Path | None = None) -> str:
        """The model as the text of an MJCF file, which is written to `path` if one is given.

        Named frames are sites, mimic joints and loops equalities; what MJCF cannot say is refused by name.
        """
        from bough.model.write import mjcf, save

        return save(mjcf(self), path)

    def integrate(self, q: npt.ArrayLike, v: npt.ArrayLike, *, threads: int | None = None) -> FloatArray:
        """q moved by the tangent vector v (velocity times time), on the quaternion manifolds; (nq,) or (batch, nq)."""
        return self._integrate(q, v, threads=threads)

    @cached_property
    def _integrate(self) -> Callable[..., FloatArray]:
        return self._bind(INTEGRATE)

    def difference(self, q0: npt.ArrayLike, q1: npt.ArrayLike, *, threads: int | None = None) -> FloatArray:
        """The tangent vector that integrates q0 to q1, by the shortest rotations; (nv,) or (batch, nv)."""
        return self._difference(q0, q1, threads=threads)

    @cached_property
    def _difference(self) -> Callable[..., FloatArray]:
        return self._bind(DIFFERENCE)

    def _bind(self, routine: Routine) -> Callable[..., FloatArray]:
        from bough.compile.executions import bind_arrays  # heavy, and not needed to load a model

        return bind_arrays(routine, (self.mechanism,), self.sizes, explain=self.explain).call

    def explain(self, inputs: Mapping[str, FloatArray]) -> str | None:
        """Why a function of these inputs (one row, by name) has no finite result, if a quaternion of zeros is why."""
        return explain(self.joints, inputs)

    def __getstate__(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({name: freeze(value) for name, value in state.items()})

    def __repr__(self) -> str:
        return summary(self)

    def _repr_html_(self) -> str:
        return html(self)

    def __str__(self) -> str:
        """The summary of `repr`, and a line for each of the first joints."""
        return listing(self)
