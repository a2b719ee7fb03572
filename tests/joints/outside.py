"""Run by `test_primitive`: two joints registered from outside, beside the same mechanism made of known joints."""

import sys

import numpy as np

import graphs
from bough.compile.kernel import kernel
from bough.joints import ForeignLayout, Move, Primitive, register
from bough.spatial import put3, put9, put_tail


@kernel
def raft_motion(m, q, i, X):
    """Slides along x and y, in one frame."""
    zero, one, k = m.zero[0], m.one[0], m.q_index[i]
    put9(X, i, (one, zero, zero, zero, one, zero, zero, zero, one))
    put_tail(X, i, (q[k], q[k + 1], zero))


@kernel
def raft_integrate(m, i, q, v, h, out):
    for j in range(2):
        k = m.q_index[i] + j
        out[k] = q[k] + h * v[m.v_index[m.dof[i] + j]]


@kernel
def raft_difference(m, i, q0, q1, out):
    for j in range(2):
        k = m.q_index[i] + j
        out[m.v_index[m.dof[i] + j]] = q1[k] - q0[k]


@kernel
def raft_rate(m, i, q, N):
    for j in range(2):
        N[m.q_index[i] + j, m.v_index[m.dof[i] + j]] = m.one[0]


@kernel
def rail_motion(m, q, i, X):
    """A slide along z whose q is counted from one metre up."""
    put3(X, i, (m.offset[i, 3], m.offset[i, 4], m.offset[i, 1] + (m.one[0] + q[m.q_index[i]])))


@kernel
def rail_integrate(m, i, q, v, h, out):
    k = m.q_index[i]
    out[k] = q[k] + h * v[m.v_index[m.dof[i]]]


@kernel
def rail_difference(m, i, q0, q1, out):
    k = m.q_index[i]
    out[m.v_index[m.dof[i]]] = q1[k] - q0[k]


@kernel
def rail_rate(m, i, q, N):
    N[m.q_index[i], m.v_index[m.dof[i]]] = m.one[0]


def draw(rng, count):
    return rng.uniform(-1, 1, (count, 2))


def swapped(q):
    return q[..., ::-1]


def unturned(q):
    return np.broadcast_to([0.0, 0.0, 0.0, 1.0], (*q.shape[:-1], 4))


register(
    Primitive(
        "raft", (3, 4), (0.0, 0.0), raft_motion, raft_integrate, raft_difference, raft_rate, draw,
        orientation=unturned, layouts={"drake": ForeignLayout(swapped, swapped, 2, (4, 3))},
        moves=(Move(3, 0), Move(4, 1)), urdf=("raft",),
    )
)  # fmt: skip
register(
    Primitive(
        "rail", (5,), (0.0,), rail_motion, rail_integrate, rail_difference, rail_rate, screw=True,
        moves=(Move(5, zero=1.0),), urdf=("lift",),
    ),
    "lift",
)  # fmt: skip

import bough  # noqa: E402
from bough.compile.routine import interpret, trace  # noqa: E402
from bough.dynamics.aba import ABA  # noqa: E402
from bough.dynamics.crba import MASS_MATRIX  # noqa: E402
from bough.dynamics.engine import bind  # noqa: E402
from bough.dynamics.rnea import RNEA  # noqa: E402
from bough.errors import ModelError  # noqa: E402
from bough.joints import DIFFERENCE, INTEGRATE, configuration_rate  # noqa: E402

SOLID = {"mass": 1.3, "com": (0.1, 0.2, -0.3), "inertia": np.diag([0.3, 0.4, 0.5])}
PLACE = (0.3, -0.2, 0.5)


def models():
    """A ball on a raft on a turn, and a lift on the ball; then the same of prismatic joints."""
    new, known = bough.Builder(), bough.Builder()
    for builder in (new, known):
        builder.add_body("arm", axis=(1, 2, 3), placement=PLACE, **SOLID)
    new.add_body("raft", "arm", "raft", PLACE, **SOLID)
    known.add_body("x", "arm", "prismatic", PLACE, axis=(1, 0, 0))
    known.add_body("raft", "x", "prismatic", axis=(0, 1, 0), **SOLID)
    for builder in (new, known):
        builder.add_body("ball", "raft", "spherical", PLACE, **SOLID)
    new.add_body("lift", "ball", "lift", PLACE, axis=(0, 1, 1), **SOLID)
    up = np.array([0.0, 1.0, 1.0]) / np.sqrt(2.0)
    known.add_body("lift", "ball", "prismatic", PLACE + up, axis=up, **SOLID)
    return new.build(), known.build()


URDF = """<robot name="float"><link name="base"/>
<link name="raft"><inertial><mass value="2"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="lift"><inertial><mass value="2"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="raft" type="raft"><parent link="base"/><child link="raft"/><origin xyz="1 2 3" rpy="1 0 0"/></joint>
<joint name="lift" type="lift"><parent link="raft"/><child link="lift"/><axis xyz="1 0 0"/>
<limit lower="-1" upper="2" effort="5" velocity="3"/></joint></robot>"""


def load_view_and_convert():
    """A file with both joints is loaded, viewed and converted: nothing but their records knows them."""
    model = bough.load(URDF)
    assert [joint.type for joint in model.joints] == ["raft", "lift"]
    assert model.limits.upper[2] == 2.0
    q, v = np.array([[0.3, -0.4, 0.5], [1.0, 2.0, 3.0]])
    expected = bough.Dynamics(model, general=True).placements(q)[model.frame("lift")]
    welded = bough.load(URDF, weld={"lift": 0.5})
    np.testing.assert_allclose(bough.Dynamics(welded, general=True).placement(q[:2], "lift"), expected, atol=1e-12)
    scene = bough.view.scene(model)
    body = int(model.frames.body[model.frame("lift")])
    own = np.eye(4)
    own[:3, :3], own[:3, 3] = model.frames.R[model.frame("lift")], model.frames.p[model.frame("lift")]
    np.testing.assert_allclose(scene.placements(q)[body] @ own, expected, rtol=0, atol=1e-12)
    assert "</html>" in scene.html()
    assert bough.convert.to_mujoco(model, q, v)[0].tolist() == q.tolist()
    assert bough.convert.to_drake(model, q)[:2].tolist() == q[1::-1].tolist()


def ways(routine, model, *inputs):
    """Interpreted, traced, and in general code."""
    yield interpret(routine, (model.mechanism,), model.sizes, *inputs)[0]
    yield graphs.evaluate(trace(routine, (model.mechanism,), model.sizes), inputs)[0]
    yield bind(routine, model, general=True)(*inputs)


def main():
    new, known = models()
    assert (new.nq, new.nv, known.nq, known.nv) == (8, 7, 8, 7)
    rng = np.random.default_rng(0)
    q, more = (model.random_configuration(rng) for model in (new, new))
    v, x = rng.normal(size=(2, 7))
    assert new.neutral.tolist() == known.neutral.tolist()
    cases = {
        ABA: (q, v, x),
        RNEA: (q, v, x),
        MASS_MATRIX: (q,),
        INTEGRATE: (q, v),
        DIFFERENCE: (q, more),
    }
    for routine, inputs in cases.items():
        expected = interpret(routine, (known.mechanism,), known.sizes, *inputs)[0]
        for found in ways(routine, new, *inputs):
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12, err_msg=routine.name)
    N, expected = np.zeros((2, 8, 7))
    configuration_rate(new.mechanism, q, N)
    configuration_rate(known.mechanism, q, expected)
    np.testing.assert_array_equal(N, expected)
    there = bough.convert.to_mujoco(new, q, v)
    np.testing.assert_array_equal(np.concatenate(there), np.concatenate(bough.convert.to_mujoco(known, q, v)))
    drake_q, drake_v = bough.convert.to_drake(new, q, v)
    assert drake_q[1:3].tolist() == q[2:0:-1].tolist()
    assert drake_v[1:3].tolist() == v[2:0:-1].tolist()
    back = bough.convert.from_drake(new, drake_q, drake_v)
    np.testing.assert_allclose(np.concatenate(back)[:3], q[:3], rtol=0, atol=1e-15)
    np.testing.assert_allclose(back[1], v, rtol=0, atol=1e-14)
    load_view_and_convert()
    try:
        register(Primitive("late", (5,), (0.0,), rail_motion, rail_integrate, rail_difference, rail_rate, screw=True))
    except ModelError as error:
        print(error)


if __name__ == "__main__":
    main()
    sys.exit(0)
