"""The live view: what its controls do, and that a browser shows it."""

import html
import io
import socket
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import bough
from bough.errors import OptionError
from bough.opspace import OperationalSpace, position
from bough.view import scene

pytest.importorskip("viser")

from bough.view import Mesh, Piece
from bough.view.kinematics import joints_in, links
from bough.view.live import Live
from bough.view.live.access import escape_markdown
from bough.view.live.panels import effective
from bough.view.live.stage import creased, quaternions, textured
from bough.view.shapes import unit
from patience import until


@pytest.fixture
def port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def test_a_slider_moves_the_robot(port):
    model = bough.zoo.arm(4)
    with Live(scene(model), port) as live:
        assert len(live.sliders.handles) == model.nv
        live.sliders.handles[1].value = 0.7
        until(lambda: live.q[1] == pytest.approx(0.7))
        T = scene(model).placements(live.q)
        part = live.stage.parts[0]
        found = np.asarray(part.handle.batched_positions)
        own = np.where((part.part.body >= 0)[:, None, None], T[part.part.body], np.eye(4))
        expected = np.einsum("kij,kj->ki", own[:, :3, :3], part.part.placement[:, :, 3]) + own[:, :3, 3]
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_every_freedom_has_a_slider(port, every_joint):
    with Live(scene(every_joint), port) as live:
        assert len(live.sliders.handles) == every_joint.nv
        for k, handle in live.sliders.handles.items():
            handle.value = 0.01 * (k + 1)
        until(lambda: np.allclose(live.sliders.values, 0.01 * np.arange(1, every_joint.nv + 1)))
        np.testing.assert_allclose(live.q, every_joint.integrate(every_joint.neutral, live.sliders.values))


def test_a_texture_is_sent_and_keeps_its_colours(port):
    trimesh = pytest.importorskip("trimesh")
    image = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
    corners = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    mesh = Mesh(corners, np.array([[0, 1, 2]]), corners[:, :2], image)
    model = bough.zoo.arm(2)
    shown = scene(model, pieces=[Piece("hand", "mesh", (2.0, 2.0, 2.0), colour=(1.0, 1.0, 1.0), mesh=mesh)])
    sent = textured(mesh)
    np.testing.assert_array_equal(np.asarray(sent.visual.material.image), image)
    np.testing.assert_array_equal(sent.visual.uv, corners[:, :2])
    with Live(shown, port) as live:
        (part,) = live.stage.parts
        glb = trimesh.load_scene(io.BytesIO(part.handle.glb_data), file_type="glb")
        (read,) = glb.dump()
        np.testing.assert_array_equal(np.asarray(read.visual.material.baseColorTexture.convert("RGB")), image)
        before = np.array(part.handle.batched_positions)
        live.show(model.random_configuration(np.random.default_rng(0)), np.ones(2, bool))  # lit up, as in a run
        assert not np.allclose(part.handle.batched_positions, before)
        assert part.textured
        assert not part.lit


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


def test_ellipsoids_are_of_frames_that_move_and_in_one_scale(port):
    with Live(scene(bough.zoo.humanoid()), port) as live:
        assert "world" not in live.ellipsoids.choice.options
        for frame in ("left_hand", "torso"):
            live.ellipsoids.toggle(frame)
        sizes = [np.asarray(live.ellipsoids.shown[frame].batched_scales)[0] for frame in ("left_hand", "torso")]
        masses = [effective(live.ellipsoids.dynamics, live.q, frame)[2] for frame in ("left_hand", "torso")]
        np.testing.assert_allclose(sizes[0] / sizes[1], masses[0] / masses[1], rtol=1e-4)


def test_clicks_and_sliders_on_threads_of_their_own_do_not_meet(port):
    with Live(scene(bough.zoo.arm(4)), port) as live, ThreadPoolExecutor(4) as pool:
        frames = [name for name in live.scene.model.frame_names if name != "world"]
        work = [pool.submit(live.ellipsoids.toggle, frame) for frame in frames * 6]
        work += [pool.submit(live.ellipsoids.show, live.q + 0.01 * k) for k in range(20)]
        assert [future.exception() for future in work] == [None] * len(work)
        assert live.ellipsoids.shown == {}


def test_a_mesh_has_edges_where_its_faces_do():
    """A cube whose corners are shared, and then are not: normals of the browser are those of faces."""
    cube = unit("box", 4)
    corners, place = np.unique(cube.vertices, axis=0, return_inverse=True)
    found = creased(Mesh(corners, place.ravel()[cube.faces]))
    assert len(found.vertices) == 24
    np.testing.assert_allclose(found.vertices[found.faces], cube.vertices[cube.faces])
    ball = unit("sphere", 24)
    assert len(creased(ball).vertices) < 1.1 * len(ball.vertices)


def test_a_linkage_settles_before_it_is_moved_by_hand(port):
    with Live(scene(bough.zoo.chain(80)), port) as live:
        assert live.run.kind.value == "adaptive quasi-statics"
        assert not live.sliders.folder.expand_by_default


def test_a_motion_is_refused(port):
    model = bough.zoo.chain(3)
    with pytest.raises(OptionError, match="played in a page"):
        Live(scene(model).playing(np.arange(2.0), np.zeros((2, 3))), port)


def settling(live):
    live.run.kind.value = "adaptive quasi-statics"
    live.run.run.value = True
    until(lambda: "joints computed" in live.run.text.content)


def pull(live, body, way):
    """Drag the origin of a body."""
    at = live.stage.placements(live.q)[body, :3, 3]
    live.run.drag("start", body, at, at)
    live.run.drag("update", body, at, at + way)


def test_a_linkage_settles_under_a_dragged_force(port):
    with Live(scene(bough.zoo.chain(30, geometry="straight")), port) as live:
        settling(live)
        pull(live, 29, (0.0, 3.0, 1.0))
        until(lambda: np.abs(live.q).max() > 1e-3)
        live.run.eps.value = 1e-3
        until(lambda: live.run.sim.sim.error.eps == pytest.approx(1e-3))
        live.run.drag("end", 29, np.zeros(3), np.zeros(3))
        until(lambda: live.run.sim.number < 0)


def test_a_drag_that_goes_nowhere_pulls_at_nothing(port):
    with Live(scene(bough.zoo.chain(30)), port) as live:
        settling(live)
        steps = live.run.sim.sim.steps
        until(lambda: live.run.sim.sim.steps > steps + 100)
        np.testing.assert_array_equal(live.q, live.scene.q)


def test_it_settles_from_where_sliders_put_it_and_they_go_on_from_where_it_rests(port):
    with Live(scene(bough.zoo.chain(30)), port) as live:
        live.sliders.handles[3].value = 0.5
        until(lambda: live.q[3] == 0.5)
        settling(live)
        assert live.q[3] == pytest.approx(0.5, abs=0.01)
        live.sliders.handles[4].value = 0.25
        until(lambda: live.run.sim.sim.configuration[4] == pytest.approx(0.25, abs=0.01))
        pull(live, 29, (3.0, 2.0, 1.0))
        until(lambda: np.abs(live.q[10:]).max() > 1e-3)
        live.run.run.value = False
        with live.run.lock:
            rest = live.q
        until(lambda: live.sliders.handles[10].value == rest[10])
        live.sliders.handles[5].value = -0.3
        until(lambda: live.q[5] == -0.3)
        np.testing.assert_array_equal(np.delete(live.q, 5), np.delete(rest, 5))


def test_a_quadruped_stands_on_its_feet_and_is_lifted_by_a_drag(port):
    model = bough.zoo.quadruped()
    with Live(scene(model, model.rest_configuration), port) as live:
        assert {point.frame for point in live.run.contacts.points} == {
            f"{leg}_shank" for leg in ("lf", "rf", "lh", "rh")
        }
        live.run.run.value = True
        weight = f"{9.81 * model.total_mass:.4g} N"
        until(lambda: weight in live.run.text.content)
        standing = live.q[2]
        assert abs(standing) < 0.05
        pull(live, 0, (0.0, 0.0, 0.6))
        until(lambda: live.q[2] > standing + 0.1)


def test_contacts_of_the_caller_are_those_of_the_simulation(port):
    feet = bough.simulate.Contacts(["left_foot", "right_foot"])
    with Live(scene(bough.zoo.humanoid()), port, feet) as live:
        assert live.run.contacts is feet


def test_an_arm_on_a_fixed_base_swings_without_contacts(port):
    with Live(scene(bough.zoo.arm(3)), port) as live:
        assert live.run.contacts is None
        live.run.hold.value = False
        live.run.run.value = True
        until(lambda: np.abs(live.q).max() > 0.1)


def test_what_stumbles_over_a_waking_browser_is_told_again(port, monkeypatch):
    """asyncio's event is set by viser from a thread that is not its own, and fails where a browser wakes meanwhile."""
    with Live(scene(bough.zoo.chain(30)), port) as live:
        told, push = count(1), live.server.scene._queue_scene_message

        def waking(message):
            push(message)
            if next(told) % 29 == 0:
                raise RuntimeError("deque mutated during iteration")

        monkeypatch.setattr(live.server.scene, "_queue_scene_message", waking)
        live.run.kind.value = "adaptive quasi-statics"
        live.run.run.value = True
        until(lambda: next(told) > 300)
        pull(live, 29, (3.0, 2.0, 1.0))
        until(lambda: np.abs(live.q).max() > 1e-3)


def test_many_bodies_are_placed_by_compiled_code(port):
    model = bough.zoo.molecule(2500, 1, floating=True)
    q = model.random_configuration(np.random.default_rng(0))
    with Live(scene(model), port) as live:
        np.testing.assert_allclose(live.stage.placements(q), scene(model).placements(q), atol=1e-9)


def test_few_that_move_among_many_are_wider(port):
    found = scene(bough.zoo.chain(2500))
    with Live(found, port) as live:
        part = max(live.stage.parts, key=lambda part: len(part.part))
        live.show(found.q, np.arange(2500) == 7)
        ratio = np.asarray(part.handle.batched_scales) / np.asarray(part.size)
        wide = part.part.body == 7
        np.testing.assert_allclose(ratio[wide], [[4.0, 4.0, 1.0]] * wide.sum(), rtol=1e-6)
        np.testing.assert_allclose(ratio[~wide], 1.0, rtol=1e-6)
        live.show(found.q)
        np.testing.assert_allclose(np.asarray(part.handle.batched_scales), part.size, rtol=1e-6)


def test_which_joints_move():
    three = links(bough.zoo.arm(3))._replace(q=np.array([0, 1, 5]), kind=np.array([0, 3, 0]))
    assert joints_in(three, np.array([0, 0, 0, 1, 0, 1], bool)).tolist() == [False, True, True]


def test_quaternions_are_those_of_rotations():
    R = Rotation.random(200, random_state=0).as_matrix()
    R[0], R[1] = np.diag([1.0, -1.0, -1.0]), np.diag([-1.0, -1.0, 1.0])
    found = quaternions(R)
    np.testing.assert_allclose(Rotation.from_quat(np.roll(found, -1, axis=1)).as_matrix(), R, atol=1e-12)


def test_a_port_that_is_taken_is_left_alone(port):
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", port))
        busy.listen()
        with Live(scene(bough.zoo.arm(2)), port) as live:
            assert f":{port}/" not in live.address


def test_a_browser_shows_it_and_its_slider_moves_a_link(page, port):
    image = pytest.importorskip("PIL.Image")
    with Live(scene(bough.zoo.arm(4)), port) as live:
        page.open(live.address)
        page.wait("document.querySelector('canvas') && document.querySelector('[role=slider]')")

        def is_drawn():
            with image.open(io.BytesIO(page.png())) as shown:
                return np.asarray(shown.convert("RGB")).std() > 5

        def is_moved():
            page.run("document.querySelector('[role=slider]').focus()")
            key = {"key": "ArrowRight", "code": "ArrowRight", "windowsVirtualKeyCode": 39}
            for kind in ("keyDown", "keyUp"):
                page.send("Input.dispatchKeyEvent", type=kind, **key)
            return live.q[0] != 0.0

        until(is_drawn)
        until(is_moved)


def on_screen(page, camera, point):
    """Where a point of the scene is in the page."""
    wide, high = page.run("[innerWidth, innerHeight]")
    x, y, z = Rotation.from_quat(np.roll(camera.wxyz, -1)).inv().apply(point - camera.position)
    scale = high / 2 / np.tan(camera.fov / 2)
    return wide / 2 + scale * x / z, high / 2 + scale * y / z


@pytest.mark.slow  # a browser without a graphics card draws this page once in seconds while other work goes on
def test_a_mouse_with_ctrl_drags_a_body(page, port):
    """A drag is tried until the page has taken it: how long it needs to draw what is dragged is its own affair."""
    with Live(scene(bough.zoo.arm(4)), port) as live:
        page.open(live.address)
        page.wait("document.querySelector('canvas') && document.querySelector('[role=slider]')")
        settling(live)
        until(lambda: live.server.get_clients())
        client = next(iter(live.server.get_clients().values()))

        def pulled():
            body = live.stage.placements(live.q)[3, :3, 3]
            start = on_screen(page, client.camera, body)
            page.drag(start, (start[0], start[1] - 120), steps=12, control=True)
            return np.abs(live.q).max() > 1e-3

        until(pulled)


def answer(address, **headers):
    try:
        with urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=10) as found:
            return found.status, found.headers.get("Set-Cookie")
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_only_browsers_of_this_machine_that_know_the_token_are_answered(port):
    with Live(scene(bough.zoo.arm(3)), port) as live:
        bare = live.address.split("?")[0]
        status, cookie = answer(live.address)
        assert status == 200
        assert "SameSite=Strict" in cookie
        own = cookie.split(";")[0]
        assert answer(bare, Cookie=own)[0] == 200
        assert answer(bare)[0] == 403
        assert answer(bare + "?token=guess")[0] == 403
        assert answer(live.address, Host="evil.example")[0] == 403
        assert answer(live.address, Origin="http://evil.example")[0] == 403
        upgrade = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
                   "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}  # fmt: skip
        assert answer(bare, **upgrade)[0] == 403
        assert answer(bare, **upgrade, Cookie=own, Origin="http://evil.example")[0] == 403
        with socket.create_connection(("127.0.0.1", port), timeout=10) as wire:
            lines = [f"{k}: {v}" for k, v in {**upgrade, "Cookie": own, "Host": f"127.0.0.1:{port}"}.items()]
            wire.sendall("\r\n".join(["GET / HTTP/1.1", *lines, "Origin: http://localhost", "", ""]).encode())
            assert b" 101 " in wire.recv(100)


@pytest.mark.parametrize(
    "name", ["<img src=x onerror=alert(1)>", "{alert(1)}", "a|b", "![x](file:///etc/passwd)", "*x*"]
)
def test_names_are_never_markup(name):
    found = escape_markdown(name)
    assert not set(found) & set("<>{}|[]!*`_\\")
    assert html.unescape(found) == name
