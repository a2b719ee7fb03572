"""Random models of every joint type, each with its twin in Pinocchio; and every way to execute a routine."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import naive
import numpy as np
import pinocchio as pin
from scipy.spatial.transform import Rotation

from bough.build import Builder
from bough.compile import expr
from bough.compile.routine import interpret, trace
from bough.dynamics.engine import bind
from bough.model import Model

JOINT_TYPES = (
    "revolute", "continuous", "prismatic", "helical", "cylindrical", "universal", "planar", "spherical", "floating",
)  # fmt: skip
PITCH = 0.3


@dataclass
class Twin:
    """A model, the same model in Pinocchio, and the maps between their orders."""

    model: Model
    pin: pin.Model
    data: pin.Data = field(init=False)
    joints: list[int] = field(default_factory=list)  # the model's joints in Pinocchio's order

    def __post_init__(self):
        self.data = self.pin.createData()

    @property
    def v_order(self):
        """x[v_order] is a vector of the model in Pinocchio's order."""
        return np.concatenate([np.arange(self.model.nv)[self.model.joints[j].v] for j in self.joints])

    def q_to_pin(self, q):
        parts = [_pin_q(self.model.joints[j], q) for j in self.joints]
        return np.concatenate(parts)

    def v_to_pin(self, v):
        return v[self.v_order]

    def from_pin(self, x, axes=(0,)):
        """A vector or matrix of Pinocchio, its axes of length nv in the model's order."""
        for axis in axes:
            x = np.take(x, np.argsort(self.v_order), axis=axis)
        return x

    def state(self, seed):
        rng = np.random.default_rng(seed)
        return self.model.random_configuration(rng), *rng.normal(size=(3, self.model.nv))


def _pin_q(joint, q):
    x = q[joint.q]
    return np.array([x[0], x[1], math.cos(x[2]), math.sin(x[2])]) if joint.type == "planar" else x


def random_twin(seed, parent, joints, armature=False):
    """Bodies b0, b1, ... with a frame f0, f1, ... on each; `parent` lists parents first, in any other order."""
    rng = np.random.default_rng(seed)
    bodies = [_random_body(rng, joint, armature) for joint in joints]
    builder, twin = Builder(f"random{seed}"), Twin.__new__(Twin)
    for i, body in enumerate(bodies):
        up = "world" if parent[i] < 0 else f"b{parent[i]}"
        builder.add_body(f"b{i}", up, joints[i], body["placement"], **body["options"])
        builder.add_frame(f"f{i}", f"b{i}", body["frame"])
    twin.__init__(builder.build(), *_in_pinocchio(parent, joints, bodies))
    return twin


def _random_body(rng, joint, armature):
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
        options["armature"] = rng.uniform(0.1, 1.0)
    return {"placement": _random_placement(rng), "frame": _random_placement(rng), "options": options}


def _random_placement(rng):
    return Rotation.from_quat(rng.normal(size=4)).as_matrix(), 0.5 * rng.normal(size=3)


def _in_pinocchio(parent, joints, bodies):
    model, carrier, order = pin.Model(), {-1: (0, pin.SE3.Identity())}, []
    for i in naive.depth_first(parent):
        up, at = carrier[parent[i]]
        at, options = at * pin.SE3(*bodies[i]["placement"]), bodies[i]["options"]
        if joints[i] == "fixed":
            carrier[i] = up, at
        else:
            for part in _pin_joints(joints[i], np.asarray(options["axis"], float)):
                up = model.addJoint(up, part, at, f"{joints[i]}{i}_{model.njoints}")
                at = pin.SE3.Identity()
                k = model.joints[up]
                model.armature[k.idx_v : k.idx_v + k.nv] = options.get("armature", 0.0)
            carrier[i] = up, at
            order.append(i)
        up, at = carrier[i]
        model.appendBodyToJoint(up, pin.Inertia(options["mass"], options["com"], options["inertia"]), at)
        model.addFrame(pin.Frame(f"f{i}", up, at * pin.SE3(*bodies[i]["frame"]), pin.FrameType.OP_FRAME))
    moving = sorted(order)
    return model, [moving.index(i) for i in order]


def _pin_joints(joint, axis):
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


# Ways to execute a routine. Each takes the routine, the model, more constants, and the inputs.


def interpreted(routine, model, constants, *inputs):
    result = interpret(routine, (model.mechanism, *constants), model.sizes, *inputs)
    return result[0] if len(result) == 1 else result


def traced(routine, model, constants, *inputs):
    """The graph, evaluated node by node."""
    program = trace(routine, (model.mechanism, *constants), model.sizes)
    flat = [np.ravel(x) for x in inputs]
    graph, value = program.graph, []
    unary = {expr.NEG: float.__neg__, expr.SQRT: math.sqrt, expr.SIN: math.sin, expr.COS: math.cos}
    binary = {expr.ADD: float.__add__, expr.SUB: float.__sub__, expr.MUL: float.__mul__, expr.DIV: float.__truediv__}
    for i, op in enumerate(graph.op):
        a, b = graph.a[i], graph.b[i]
        if op == expr.CONST:
            value.append(graph.value[i])
        elif op == expr.INPUT:
            value.append(float(flat[a][b]))
        else:
            value.append(binary[op](value[a], value[b]) if op in binary else unary[op](value[a]))
    result = [np.array([value[r] for r in roots]).reshape(x.shape) for x, roots in zip(program.outputs, program.roots)]
    return result[0] if len(result) == 1 else result


def general(routine, model, constants, *inputs):
    return bind(routine, model, *constants, general=True)(*inputs)


def specialised(routine, model, constants, *inputs):
    return bind(routine, model, *constants)(*inputs)


EXECUTIONS = (interpreted, traced, general, specialised)
