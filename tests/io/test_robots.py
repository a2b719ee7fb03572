"""Every robot of example-robot-data loads, or is refused with a sentence; those that load agree with Pinocchio."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import naive
from bough.compile.routine import interpret
from bough.dynamics.crba import MASS_MATRIX
from bough.dynamics.dynamics import Dynamics
from bough.errors import BoughError, FileFormatError, ModelError, UnknownNameError
from bough.io import doctor, load
from bough.model.limbs import identical_limbs
from bough.model.model import Model
from models import Body
from robots import urdfs

pin = pytest.importorskip("pinocchio")


ROBOTS = urdfs()
MASSLESS = "neither it nor what it carries has mass"
REFUSED: dict[str, tuple[type[BoughError], str]] = {
    "alex_psyonic_hands.urdf": (UnknownNameError, "mimics 'index_q1'"),
    "bluevolta_bravo7_gripper.urdf": (ModelError, MASSLESS),
    "bravo7_gripper.urdf": (ModelError, MASSLESS),
    "falcon_bravo7_gripper.urdf": (ModelError, MASSLESS),
    "romeo.urdf": (ModelError, MASSLESS),
    "romeo_laas_small.urdf": (ModelError, "the inertia matrix is not positive"),
    "falcon.urdf": (FileFormatError, "refers to link 'Z_propeller'"),
    "ur3.urdf": (FileFormatError, "has no <link>"),
}
NEARLY_SINGULAR = "icub.urdf"  # a neck without inertia carries a head that is a point: see the tests at the end
UNMOVED = {"bluevolta.urdf", "quadrotor_base.urdf", "iris_simple.urdf"}  # nothing moves unless the base floats


def test_all_robots_are_found() -> None:
    assert len(ROBOTS) >= 77


@pytest.mark.parametrize("name", [name for name in ROBOTS if name.split("/")[1] in REFUSED])
def test_refused_with_a_sentence(name: str) -> None:
    kind, sentence = REFUSED[name.split("/")[1]]
    with pytest.raises(kind, match=sentence):
        load(ROBOTS[name], floating_base=True)
    assert any(finding.severity == "error" for finding in doctor(ROBOTS[name]))


OPTIONS = (
    {},
    {"floating_base": True},
    {"mimic": "independent"},
    {"check": True, "floating_base": True},
    {"weld": ["?"]},
)


@pytest.mark.parametrize("name", ROBOTS)
def test_the_doctor_has_an_error_if_and_only_if_load_raises(name: str) -> None:
    for options in OPTIONS:
        try:
            load(ROBOTS[name], **options)
            sentence = ""
        except BoughError as error:
            sentence = str(error)
        found = doctor(ROBOTS[name], **options)
        assert any(f.severity == "error" for f in found) == bool(sentence), (options, sentence)


@pytest.mark.parametrize("name", [name for name in ROBOTS if name.split("/")[1] in UNMOVED])
def test_without_a_moving_body(name: str) -> None:
    with pytest.raises(ModelError, match="has no moving body"):
        load(ROBOTS[name])


LOADED = [name for name in ROBOTS if name.split("/")[1] not in REFUSED]
MOVING = [name for name in LOADED if name.split("/")[1] not in UNMOVED]


@pytest.mark.parametrize(("name", "floating"), [*((n, False) for n in MOVING), *((n, True) for n in LOADED)])
def test_agrees_with_pinocchio(name: str, floating: bool) -> None:
    model = load(ROBOTS[name], floating_base=floating)
    assert set(link_names(name)) <= set(model.frame_names)
    check_against_pinocchio(model, ROBOTS[name], floating)


@pytest.mark.parametrize("name", [name for name in ROBOTS if name.split("/")[1] in ("solo.urdf", "panda.urdf")])
def test_executions_agree(name: str) -> None:
    """Interpreted, general and specialised; one of the two has a mimic joint."""
    model = load(ROBOTS[name], floating_base=True)
    q = model.random_configuration(np.random.default_rng(2))
    (H,) = interpret(MASS_MATRIX, (model.mechanism,), model.sizes, q)
    for general in (True, False):
        np.testing.assert_allclose(Dynamics(model, general=general).mass_matrix(q), H, atol=1e-13 * np.abs(H).max())


WITH_TWINS = ("g1_29dof_rev_1_0.urdf", "talos_reduced.urdf", "anymal.urdf", "allegro_right_hand.urdf", "solo12.urdf")


@pytest.mark.parametrize("name", [name for name in ROBOTS if name.split("/")[1] in WITH_TWINS])
def test_limbs_side_by_side_agree_with_pinocchio(name: str) -> None:
    """Single calls of specialised code, in which legs, arms or fingers share instructions."""
    model = load(ROBOTS[name], floating_base=True, mimic="independent")
    assert identical_limbs(model.mechanism)
    check_against_pinocchio(model, ROBOTS[name], True, general=False)


def test_independent_mimics_agree_with_pinocchio() -> None:
    """A file with a dangling mimic loads when mimics are freed."""
    path = next(path for name, path in ROBOTS.items() if name.endswith("alex_psyonic_hands.urdf"))
    model = load(path, floating_base=True, mimic="independent")
    assert not model.couplings
    check_against_pinocchio(model, path, True)


def test_welding_cures_massless_fingers() -> None:
    path = next(path for name, path in ROBOTS.items() if name.endswith("romeo.urdf"))
    model = load(path, floating_base=True, weld=["LHand", "RHand"])
    assert "LHand" not in model.joint_names
    assert not any(c.leader == "LHand" for c in model.couplings)
    check_against_pinocchio(model, path, True)


@cache
def link_names(name: str) -> list[str]:
    reference = pin.buildModelFromUrdf(str(ROBOTS[name]))
    return [f.name for f in reference.frames if f.type == pin.FrameType.BODY]


def check_against_pinocchio(model: Model, path: Path, floating: bool, general: bool = True) -> None:
    """H, inverse and forward dynamics, where v of Pinocchio, whose mimic joints are free, is G v."""
    reference = pin.buildModelFromUrdf(str(path), *([pin.JointModelFreeFlyer()] if floating else []))
    data = reference.createData()
    rng = np.random.default_rng(1)
    q, v, qdd = model.random_configuration(rng), *rng.normal(size=(2, model.nv))
    q_pin, G = pinocchio_coordinates(model, reference, q)
    H = G.T @ full(pin.crba(reference, data, q_pin)) @ G
    tau = G.T @ pin.rnea(reference, data, q_pin, G @ v, G @ qdd)
    dynamics = Dynamics(model, general=general)
    np.testing.assert_allclose(dynamics.mass_matrix(q), H, rtol=0, atol=1e-10 * np.abs(H).max())
    np.testing.assert_allclose(dynamics.inverse_dynamics(q, v, qdd), tau, rtol=0, atol=1e-10 * np.abs(tau).max())
    for method in ("crba",) if model.couplings else ("aba", "crba"):
        found = dynamics.forward_dynamics(q, v, tau, method=method)
        np.testing.assert_allclose(H @ found, H @ qdd, rtol=0, atol=1e-10 * np.abs(H @ qdd).max())
        if len(G) == model.nv:  # else Pinocchio's mechanism is another: its mimic or welded joints move
            expected = pinocchio_aba(reference, data, q_pin, G, v, tau)
            assert kinetic_norm(H, found - expected) < 1e-10 * kinetic_norm(H, expected)
            if path.name != NEARLY_SINGULAR:
                np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 * np.abs(expected).max())


def kinetic_norm(H: np.ndarray, x: np.ndarray) -> float:
    """Of velocities or accelerations: each motion counts as much as what it moves weighs."""
    return np.sqrt(x @ H @ x)


def pinocchio_aba(reference, data, q, G, v, tau):
    """G is square: it changes the order, and the frame of a base."""
    return np.linalg.solve(G, pin.aba(reference, data, q, G @ v, np.linalg.solve(G.T, tau)))


def pinocchio_coordinates(model: Model, reference, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same configuration for Pinocchio, which sorts joints by name, and the matrix G of v_pin = G v."""
    q_pin, G = pin.neutral(reference), np.zeros((reference.nv, model.nv))
    ties = {c.follower: c for c in model.couplings}
    for joint, name in zip(reference.joints[1:], list(reference.names)[1:], strict=True):
        leader, ratio, offset = ties[name][1:] if name in ties else (name, 1.0, 0.0)
        if leader not in model.joint_names:
            continue  # welded
        own = model.joint(leader)
        if joint.nv == 6:
            # Pinocchio floats a link called "world" where we float the link it carries
            at = reference.frames[reference.getFrameId(own.body)].placement
            pose = pin.XYZQUATToSE3(q[own.q]) * at.inverse()
            q_pin[joint.idx_q : joint.idx_q + 7] = pin.SE3ToXYZQUAT(pose)
            G[joint.idx_v : joint.idx_v + 6, own.v] = at.action
            continue
        x = ratio * q[own.q.start] + offset
        q_pin[joint.idx_q : joint.idx_q + joint.nq] = (np.cos(x), np.sin(x)) if joint.nq == 2 else x
        G[joint.idx_v, own.v] = ratio
    return q_pin, G


def full(upper: np.ndarray) -> np.ndarray:
    return np.triu(upper) + np.triu(upper, 1).T


# A robot whose accelerations are worth ten digits only, ours and Pinocchio's alike

ICUB = next(path for path in ROBOTS.values() if path.name == NEARLY_SINGULAR)
needs_long_doubles = pytest.mark.skipif(np.finfo(np.longdouble).eps > 1e-18, reason="no extended precision here")


def test_the_neck_of_icub_is_singular_at_rest() -> None:
    model = load(ICUB)
    moments = np.linalg.eigvalsh(Dynamics(model, general=True).mass_matrix(model.neutral))
    assert abs(moments[0]) < 1e-14 * moments[-1]


@needs_long_doubles
@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("method", ["aba", "crba"])
def test_accelerations_of_icub_are_as_good_as_the_torques(method: str, seed: int, floating: bool) -> None:
    """Their errors are those that a few units in the last place of the torques would cause."""
    model, rng = load(ICUB, floating_base=floating), np.random.default_rng(seed)
    q, v, qdd = model.random_configuration(rng), *rng.normal(size=(2, model.nv))
    tau = Dynamics(model, general=True).inverse_dynamics(q, v, qdd)
    H, expected = extended_precision(floating, q, v, tau)
    error = Dynamics(model, general=True).forward_dynamics(q, v, tau, method=method) - expected
    last_place = np.abs(np.linalg.inv(H)) @ np.spacing(np.abs(tau))
    assert (np.abs(error) < 16 * last_place).all()
    assert kinetic_norm(H, error) < 1e-12 * kinetic_norm(H, expected)


@needs_long_doubles
@pytest.mark.parametrize("floating", [False, True])
def test_icub_far_from_its_singularity(floating: bool) -> None:
    """Where the torques determine the accelerations best, all agree to 1e-10."""
    model, rng = load(ICUB, floating_base=floating), np.random.default_rng(3)
    dynamics = Dynamics(model, general=True)
    drawn = model.random_configuration(rng, batch=300)
    q, v, qdd = drawn[np.argmin(np.linalg.cond(dynamics.mass_matrix(drawn)))], *rng.normal(size=(2, model.nv))
    tau = dynamics.inverse_dynamics(q, v, qdd)
    _, truth = extended_precision(floating, q, v, tau)
    reference = pin.buildModelFromUrdf(str(ICUB), *([pin.JointModelFreeFlyer()] if floating else []))
    q_pin, G = pinocchio_coordinates(model, reference, q)
    by_pinocchio = pinocchio_aba(reference, reference.createData(), q_pin, G, v, tau)
    for method in ("aba", "crba"):
        found = dynamics.forward_dynamics(q, v, tau, method=method)
        for expected in (truth, by_pinocchio):
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 * np.abs(expected).max())


def extended_precision(floating: bool, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """H and the forward dynamics of iCub by the naive definitions in long doubles, rounded at the very end."""
    q, v, tau = (x.astype(np.longdouble) for x in (q, v, tau))
    mechanism = naive.Mechanism(bodies_of(ICUB, "floating" if floating else "fixed"), q, v)
    H, drive = mechanism.mass_matrix(), tau - mechanism.inverse_dynamics(np.zeros_like(v))
    qdd = np.zeros_like(v)
    for _ in range(5):  # a solution in doubles, refined
        qdd += np.linalg.solve(H.astype(float), (drive - H @ qdd).astype(float))
    return H.astype(float), qdd.astype(float)


def bodies_of(path: Path, base: str) -> list[Body]:
    """The links of a URDF in depth-first order of the file, every number a long double."""
    robot = ElementTree.parse(path).getroot()
    links = {link.get("name"): link for link in robot.findall("link")}
    root = (set(links) - {joint.find("child").get("link") for joint in robot.findall("joint")}).pop()
    bodies: list[Body] = []

    def add(name: str, parent: int, joint: str, at: ElementTree.Element | None) -> None:
        axis = numbers(None if at is None else at.find("axis"), "xyz", "1 0 0")
        options = {"axis": axis / (np.linalg.norm(axis) or 1)} | inertial(links[name].find("inertial"))
        bodies.append(Body(parent, joint, *origin(at), (), options))
        here = len(bodies) - 1
        for child in robot.findall("joint"):
            if child.find("parent").get("link") == name:
                add(child.find("child").get("link"), here, child.get("type"), child)

    add(root, -1, base, None)
    return bodies


def inertial(element: ElementTree.Element | None) -> dict:
    if element is None:
        return {"mass": np.longdouble(0), "com": np.zeros(3), "inertia": np.zeros((3, 3))}
    R, com = origin(element)
    I = {key: np.longdouble(float(value)) for key, value in element.find("inertia").attrib.items()}
    J = np.array([[I["i" + min(a + b, b + a)] for b in "xyz"] for a in "xyz"])
    return {"mass": numbers(element.find("mass"), "value", "0")[0], "com": com, "inertia": R @ J @ R.T}


def origin(element: ElementTree.Element | None) -> tuple[np.ndarray, np.ndarray]:
    at = None if element is None else element.find("origin")
    x, y, z = np.eye(3, dtype=np.longdouble)
    roll, pitch, yaw = numbers(at, "rpy", "0 0 0")
    return naive.turn(z, yaw) @ naive.turn(y, pitch) @ naive.turn(x, roll), numbers(at, "xyz", "0 0 0")


def numbers(element: ElementTree.Element | None, attribute: str, default: str) -> np.ndarray:
    text = default if element is None else element.get(attribute, default)
    return np.array([float(word) for word in text.split()], np.longdouble)
