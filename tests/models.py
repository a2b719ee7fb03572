"""Random models of every joint type, each with its twin in Pinocchio; and every way to execute a routine.

Pinocchio is imported when a twin is asked for it, so that models are to be had without it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.spatial.transform import Rotation

import naive
from bough.compile.graph import expr
from bough.compile.routine import interpret, trace, work_type
from bough.dynamics.engine import bind
from bough.dynamics.kinematics import place_body
from bough.joints import joint_motion
from bough.model.assemble import GRAVITY
from bough.model.builder import Builder

JOINT_TYPES = (
    "revolute", "continuous", "prismatic", "helical", "cylindrical", "universal", "planar", "spherical", "floating",
)  # fmt: skip
PITCH = 0.3


@dataclass
class Body:
    """What a random body is made of: a joint on a parent, at (R, p) in its frame, and a frame on the body."""

    parent: int
    joint: str
    R: np.ndarray
    p: np.ndarray
    frame: tuple
    options: dict


class Twin:
    """A model, the same in Pinocchio, the bodies that both are made of, and the maps between their orders."""

    def __init__(self, bodies, name="random", gravity=GRAVITY):
        self.bodies, self.gravity = bodies, gravity
        self.model = _in_bough(bodies, name, gravity)

    @cached_property
    def _theirs(self):
        return _in_pinocchio(self.bodies, self.gravity)

    @property
    def pin(self):
        return self._theirs[0]

    @property
    def joints(self):
        """Which joint of ours each of Pinocchio's is."""
        return self._theirs[1]

    @cached_property
    def data(self):
        return self.pin.createData()

    @cached_property
    def v_order(self):
        """x[v_order] is a vector of the model in Pinocchio's order."""
        return np.concatenate([np.arange(self.model.nv)[self.model.joints[j].v] for j in self.joints])

    def q_to_pin(self, q):
        return np.concatenate([_pin_q(self.model.joints[j], q) for j in self.joints])

    def v_to_pin(self, v):
        return v[self.v_order]

    def from_pin(self, x, axes=(0,)):
        """A vector or matrix of Pinocchio, its axes of length nv in the model's order."""
        for axis in axes:
            x = np.take(x, np.argsort(self.v_order), axis=axis)
        return x


def random_twin(seed, parent, joints, armature=False, gravity=GRAVITY):
    """Bodies b0, b1, ... with a frame f0, f1, ... on each; `parent` lists parents first, in any other order."""
    rng = np.random.default_rng(seed)
    bodies = [_random_body(rng, up, joint, armature) for up, joint in zip(parent, joints, strict=True)]
    return Twin(bodies, f"random{seed}", gravity)


def random_state(model, seed):
    """q, v, tau and qdd."""
    rng = np.random.default_rng(seed)
    return model.random_configuration(rng), *rng.normal(size=(3, model.nv))


def _random_body(rng, parent, joint, armature):
    axis = rng.normal(size=3)
    axis /= np.linalg.norm(axis)
    axes, A = axis, rng.normal(size=(3, 3))
    if joint == "universal":
        second = np.cross(axis, rng.normal(size=3))
        axes = np.array([axis, second / np.linalg.norm(second)])
    options = {
        "axis": (0, 0, 1) if joint == "planar" else axes,
        "mass": rng.uniform(0.5, 2.0),
        "com": 0.1 * rng.normal(size=3),
        # a cloud of points, so that the triangle inequality holds
        "inertia": 0.1 * (np.trace(A @ A.T) * np.eye(3) - A @ A.T),
    }
    if joint == "helical":
        options["pitch"] = PITCH
    if armature and joint != "fixed":
        rotor = rng.uniform(0.1, 1.0)
        options |= {} if joint in ("planar", "floating") else {"armature": rotor}  # these take none
    return Body(parent, joint, *_random_placement(rng), _random_placement(rng), options)


def _in_bough(bodies, name, gravity):
    builder = Builder(name, gravity)
    for i, body in enumerate(bodies):
        up = "world" if body.parent < 0 else f"b{body.parent}"
        builder.add_body(f"b{i}", up, body.joint, (body.R, body.p), **body.options)
        builder.add_frame(f"f{i}", f"b{i}", body.frame)
    return builder.build()


def _pin_q(joint, q):
    x = q[joint.q]
    return np.array([x[0], x[1], math.cos(x[2]), math.sin(x[2])]) if joint.type == "planar" else x


def _random_placement(rng):
    return Rotation.from_quat(rng.normal(size=4)).as_matrix(), 0.5 * rng.normal(size=3)


def _in_pinocchio(bodies, gravity):
    """The model of Pinocchio, whose joints must be numbered depth-first, and which joint of ours each of them is."""
    import pinocchio as pin

    model, carrier, order = pin.Model(), {-1: (0, pin.SE3.Identity())}, []
    for i in naive.depth_first([body.parent for body in bodies]):
        body = bodies[i]
        up, at = carrier[body.parent]
        at = at * pin.SE3(body.R, body.p)
        if body.joint != "fixed":
            order.append(i)
            for part in _pin_joints(body.joint, np.asarray(body.options["axis"], float)):
                up, at = model.addJoint(up, part, at, f"j{i}_{model.njoints}"), pin.SE3.Identity()
                k = model.joints[up]
                model.armature[k.idx_v : k.idx_v + k.nv] = body.options.get("armature", 0.0)
        carrier[i] = up, at
        model.appendBodyToJoint(up, pin.Inertia(*(body.options[k] for k in ("mass", "com", "inertia"))), at)
        model.addFrame(pin.Frame(f"f{i}", up, at * pin.SE3(*body.frame), pin.FrameType.OP_FRAME))
    model.gravity.linear = np.asarray(gravity, float)
    moving = sorted(order)
    return model, [moving.index(i) for i in order]


def _pin_joints(joint, axis):
    import pinocchio as pin

    return {
        "revolute": lambda: [pin.JointModelRevoluteUnaligned(axis)],
        "continuous": lambda: [pin.JointModelRevoluteUnaligned(axis)],
        "prismatic": lambda: [pin.JointModelPrismaticUnaligned(axis)],
        "helical": lambda: [pin.JointModelHelicalUnaligned(axis, PITCH)],
        "cylindrical": lambda: [pin.JointModelRevoluteUnaligned(axis), pin.JointModelPrismaticUnaligned(axis)],
        "universal": lambda: [pin.JointModelUniversal(axis[0], axis[1])],
        "planar": lambda: [pin.JointModelPlanar()],
        "spherical": lambda: [pin.JointModelSpherical()],
        "floating": lambda: [pin.JointModelFreeFlyer()],
    }[joint]()


def laid_placements(model, q):
    """World placements (R, p) of the bodies' laid frames, in depth-first order."""
    n = len(model.mechanism.parent)
    w = work_type(("X", "P"))(np.zeros((n, 12)), np.zeros((n, 12)))
    joint_motion(model.mechanism, q, w.X)
    for i in range(n):
        place_body(model.mechanism, i, w)
    return w.P[:, :9], w.P[:, 9:]


# Ways to execute a routine. Each takes the routine, the model, more constants, and the inputs.


def interpreted(routine, model, constants, *inputs):
    result = interpret(routine, (model.mechanism, *constants), model.sizes, *inputs)
    return result[0] if len(result) == 1 else result


def traced(routine, model, constants, *inputs):
    """The graph, evaluated node by node."""
    program = trace(routine, (model.mechanism, *constants), model.sizes)
    flat = [np.ravel(x) for x in inputs]
    graph, value = program.graph, []
    unary = {expr.NEG: float.__neg__, expr.SQRT: math.sqrt}
    unary |= {expr.SIN: math.sin, expr.COS: math.cos, expr.ATAN: math.atan, expr.STEP: lambda x: float(x >= 0.0)}
    binary = {expr.ADD: float.__add__, expr.SUB: float.__sub__, expr.MUL: float.__mul__, expr.DIV: float.__truediv__}
    for i, op in enumerate(graph.op):
        a, b = graph.a[i], graph.b[i]
        if op == expr.CONST:
            value.append(graph.value[i])
        elif op == expr.INPUT:
            value.append(float(flat[a][b]))
        else:
            value.append(binary[op](value[a], value[b]) if op in binary else unary[op](value[a]))
    result = [
        np.array([value[r] for r in roots]).reshape(x.shape)
        for x, roots in zip(program.outputs, program.roots, strict=True)
    ]
    return result[0] if len(result) == 1 else result


def general(routine, model, constants, *inputs):
    return bind(routine, model, *constants, general=True)(*inputs)


def specialised(routine, model, constants, *inputs):
    return bind(routine, model, *constants)(*inputs)


EXECUTIONS = (interpreted, traced, general, specialised)
