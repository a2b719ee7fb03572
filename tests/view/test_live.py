"""The live view: what its controls do, and that a browser shows it."""

import io
import socket
import time

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import bough
from bough.opspace import OperationalSpace, position
from bough.view import scene

pytest.importorskip("viser")

from bough.view.live import Live
from bough.view.live.panels import effective, pattern_picture
from bough.view.live.play import joints_in
from bough.view.live.stage import quaternions


@pytest.fixture
def port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def until(true, seconds=20.0):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_slider_moves_the_robot(port):
    model = bough.zoo.arm(4)
    with Live(scene(model), port) as live:
        assert len(live.sliders.handles) == model.nv
        live.sliders.handles[1].value = 0.7
        until(lambda: live.q[1] == pytest.approx(0.7))
        T = scene(model).placements(live.q)
        part = live.stage.parts[0]
        found = np.asarray(part.handle.batched_positions)
        own = T[part.part.body]
        expected = np.einsum("kij,kj->ki", own[:, :3, :3], part.part.placement[:, :, 3]) + own[:, :3, 3]
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_every_freedom_has_a_slider(port, every_joint):
    with Live(scene(every_joint), port) as live:
        assert len(live.sliders.handles) == every_joint.nv
        for k, handle in live.sliders.handles.items():
            handle.value = 0.01 * (k + 1)
        until(lambda: np.allclose(live.sliders.values, 0.01 * np.arange(1, every_joint.nv + 1)))
        np.testing.assert_allclose(live.q, every_joint.integrate(every_joint.neutral, live.sliders.values))


def test_the_inertia_at_a_frame_is_lambda():
    model = bough.zoo.humanoid()
    q = model.random_configuration(np.random.default_rng(1))
    center, R, masses = effective(bough.Dynamics(model, general=True), q, "left_hand")
    expected = OperationalSpace(model, [position("left_hand")], general=True)(q, np.zeros(model.nv)).inertia
    np.testing.assert_allclose(R @ np.diag(masses) @ R.T, expected, rtol=1e-6)
    assert np.linalg.det(R) == pytest.approx(1.0)
    np.testing.assert_allclose(center, bough.Dynamics(model, general=True).placement(q, "left_hand")[:3, 3])


def test_ellipsoids_come_and_go(port):
    with Live(scene(bough.zoo.arm(4)), port) as live:
        live.ellipsoids.toggle("hand")
        assert "kg" in live.ellipsoids.text.content
        live.ellipsoids.toggle("hand")
        assert live.ellipsoids.shown == {}


def test_a_recording_is_played(port):
    model = bough.zoo.chain(20)
    q = np.zeros((10, 20))
    q[:, 3] = np.arange(10) / 10
    found = scene(model).playing(np.arange(10) / 20, q, {"bound": np.ones(10)}, adaptive=True)
    with Live(found, port) as live:
        live.player.bar.value = 4
        until(lambda: live.q[3] == pytest.approx(0.4))
        assert "bound" in live.player.text.content
        live.player.play.value = True
        until(lambda: live.q[3] > 0.6)


def test_a_linkage_settles_under_a_dragged_force(port):
    model = bough.zoo.chain(30, geometry="straight")
    with Live(scene(model), port) as live:
        live.settling.run.value = True
        until(lambda: live.settling.sim is not None and live.settling.number >= 0)
        live.settling.handle.position = (5.0, 3.0, 1.0)
        until(lambda: np.abs(live.q).max() > 1e-3, 60.0)
        live.settling.eps.value = -3.0
        until(lambda: live.settling.sim.error.eps == pytest.approx(1e-3))
        until(lambda: "joints computed" in live.settling.text.content)


def test_many_bodies_are_placed_by_compiled_code(port):
    model = bough.zoo.molecule(2500, 1, floating=True)
    q = model.random_configuration(np.random.default_rng(0))
    with Live(scene(model), port) as live:
        np.testing.assert_allclose(live.stage.placements(q), scene(model).placements(q), atol=1e-9)


def test_which_joints_move():
    start, count = np.array([0, 1, 5]), np.array([1, 4, 1])
    assert joints_in((start, count), np.array([0, 0, 0, 1, 0, 1], bool)).tolist() == [False, True, True]


def test_quaternions_are_those_of_rotations():
    R = Rotation.random(200, random_state=0).as_matrix()
    R[0], R[1] = np.diag([1.0, -1.0, -1.0]), np.diag([-1.0, -1.0, 1.0])
    found = quaternions(R)
    np.testing.assert_allclose(Rotation.from_quat(np.roll(found, -1, axis=1)).as_matrix(), R, atol=1e-12)


def test_the_pattern_of_l_is_the_lower_half():
    found = scene(bough.zoo.tree1())
    H, L = (pattern_picture(found, lower, least=7) for lower in (False, True))
    assert (L[np.triu_indices(7, 1)] == 255).all()
    np.testing.assert_array_equal(H[np.tril_indices(7)], L[np.tril_indices(7)])


def test_a_port_that_is_taken_is_left_alone(port):
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", port))
        busy.listen()
        with Live(scene(bough.zoo.arm(2)), port) as live:
            assert not live.address.endswith(f":{port}")


def test_a_browser_shows_it_and_its_slider_moves_a_link(page, port):
    image = pytest.importorskip("PIL.Image")
    with Live(scene(bough.zoo.arm(4)), port) as live:
        page.open(live.address)
        page.wait("document.querySelector('canvas') && document.querySelector('[role=slider]')")
        page.run("new Promise((done) => setTimeout(done, 1500))")
        with image.open(io.BytesIO(page.png())) as shown:
            assert np.asarray(shown.convert("RGB")).std() > 5
        page.run("document.querySelector('[role=slider]').focus()")
        for kind in ("keyDown", "keyUp"):
            page.send(
                "Input.dispatchKeyEvent", type=kind, key="ArrowRight", code="ArrowRight", windowsVirtualKeyCode=39
            )
        until(lambda: live.q[0] != 0.0)
