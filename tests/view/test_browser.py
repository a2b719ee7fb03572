"""The page in a real browser: it loads, fetches nothing, a slider moves a link, and it is not blank."""

import io
from itertools import pairwise

import numpy as np
import pytest

import bough
import browser
from bough.view import Arrows, scene

STATE = "document.querySelector('.bough-scene').bough"


@pytest.fixture
def shown(page, tmp_path):
    """A scene in the browser."""

    def show(found):
        path = found.save_html(tmp_path / "scene.html")
        page.open(path.as_uri())
        page.wait("document.querySelector('.bough-scene')?.dataset.ready === 'yes'")
        return page

    return show


def pixels(page):
    """What the page shows, once what was drawn last has come through to the screen."""
    image = pytest.importorskip("PIL.Image")
    page.run(browser.DRAWN)
    with image.open(io.BytesIO(page.png())) as found:
        return np.asarray(found.convert("RGB")).astype(int)


def untimed(page):
    """Nothing is timed from here on, and what was timed so far is forgotten: all that is drawn is whole."""
    page.run(  # at once: a picture that is on its way must find another era, or its time counts after all
        f"(({{ pace, draw }}) => {{ pace.restart(); pace.drawn = (shown) => shown(); pace.level = pace.whole = 0; "
        f"pace.note.textContent = ''; draw(); }})({STATE})"
    )


def test_the_page_loads_and_fetches_nothing(shown, tmp_path):
    page = shown(scene(bough.zoo.humanoid()))
    assert page.errors() == []
    assert page.requests() == [(tmp_path / "scene.html").as_uri()]
    untimed(page)
    picture = pixels(page)[:, :560]
    assert picture.std() > 8
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 500


def test_a_slider_moves_a_link(shown):
    model = bough.zoo.arm(4)
    page = shown(scene(model))
    before = pixels(page)
    name = model.joint_names[1]
    page.run(f"""(() => {{ const s = document.querySelector('input[data-joint="{name}"]');
        s.value = 1.2; s.dispatchEvent(new Event('input')); }})()""")
    page.wait(f"{STATE}.frames > 1")
    world = np.array(page.run(f"Array.from({STATE}.world)")).reshape(-1, 3, 4)
    expected = scene(model).placements([0.0, 1.2, 0.0, 0.0])[:, :3]
    np.testing.assert_allclose(world, expected, atol=1e-6)
    assert (pixels(page) != before).any(axis=-1).mean() > 0.003


def test_every_kind_of_joint_follows_its_sliders(shown, every_joint):
    page = shown(scene(every_joint))
    page.run("""document.querySelectorAll('input[data-joint]').forEach((s, k) => {
        s.value = 0.1 + 0.05 * (k % 5); s.dispatchEvent(new Event('input')); })""")
    q = np.array(page.run(f"Array.from({STATE}.q)"))
    assert (q != every_joint.neutral).all()
    world = np.array(page.run(f"Array.from({STATE}.world)")).reshape(-1, 3, 4)
    np.testing.assert_allclose(world, scene(every_joint).placements(q)[:, :3], atol=1e-5)


def test_a_recording_plays(shown):
    model = bough.zoo.chain(30)
    q = np.zeros((20, 30))
    q[:, 4] = np.linspace(0, 1, 20)
    arrows = Arrows(np.array([29]), np.zeros((1, 3)), np.ones((20, 1, 3)))
    found = scene(model).playing(
        np.arange(20) / 10, q, {"bound": np.geomspace(1, 1e-6, 20)}, arrows=arrows, adaptive=True
    )
    page = shown(found)
    page.run("""(() => { const s = document.querySelector('input[data-role="time"]');
        s.value = 12; s.dispatchEvent(new Event('input')); })()""")
    assert page.run(f"{STATE}.q[4]") == pytest.approx(q[12, 4])
    active = page.run(f"Array.from({STATE}.stage.table).filter((_, k) => k % 16 === 12 && k >= 16).slice(0, 30)")
    assert np.flatnonzero(active).tolist() == [4]
    page.run(f"{STATE}.bar.run(true)")
    page.wait(f"{STATE}.sample > 13")
    assert page.errors() == []


def test_many_links_are_drawn(shown):
    page = shown(scene(bough.zoo.molecule(10_000, 1)))
    assert page.run(f"{STATE}.stage.parts.length") <= 3
    untimed(page)
    assert pixels(page)[:, :560].std() > 8


def test_what_is_too_slow_is_drawn_with_less_and_said(shown):
    """Frame times are told, not measured: thirty pictures a second, or steps down to where they are reached."""
    page = shown(scene(bough.zoo.molecule(2_000, 1)))
    untimed(page)
    tell = f"((ms, n) => {{ for (let k = 0; k < n; k++) {STATE}.pace.took(ms); return {STATE}.pace.level; }})"
    assert page.run(f"{tell}(30, 60)") == 0
    assert page.run("document.querySelector('.slow').textContent") == ""
    levels = [page.run(f"{tell}(60, 11)") for _ in range(8)]
    assert levels == [1, 2, 3, 4, 5, 6, 6, 6]
    assert page.run(f"{STATE}.pace.rate") == pytest.approx(1000 / 60)
    assert "17 frames per second; while it moves: few pixels" in page.run("document.querySelector('.slow').textContent")
    page.run(f"{STATE}.pace.level = 0; {STATE}.pace.restart()")
    assert page.run(f"{tell}(900, 2)") == 4


def test_few_links_are_not_said_to_be_lines(shown):
    page = shown(scene(bough.zoo.arm(4)))
    untimed(page)
    page.run(f"{STATE}.pace.level = 4; {STATE}.pace.milliseconds = 90; {STATE}.pace.say()")
    assert "lines" not in page.run("document.querySelector('.slow').textContent")


def test_every_level_draws_and_rest_brings_all_back(shown):
    page = shown(scene(bough.zoo.molecule(2_000, 1)))
    untimed(page)
    whole = pixels(page)[:, :560]
    for level in range(1, 7):
        page.run(
            f"{STATE}.pace.level = {level}; {STATE}.stage.draw({STATE}.camera, {STATE}.content.view, LEVELS[{level}])"
        )
        assert pixels(page)[:, :560].std() > 2, level
    frames = page.run(f"{STATE}.pace.level = 6; {STATE}.draw(); {STATE}.frames")
    page.wait(f"{STATE}.frames > {frames}")
    assert np.abs(pixels(page)[:, :560] - whole).mean() < 0.5
    assert page.run(f"{STATE}.pace.still.words") == ""
    page.run(f"{STATE}.pace.whole = 2000")  # more than a reader would wait for
    assert "plain shapes" in page.run(f"{STATE}.pace.still.words")
    assert page.errors() == []


@pytest.mark.parametrize("moving", [False, True])
def test_on_a_phone_panels_stand_below_the_scene(shown, moving):
    model = bough.zoo.arm(4)
    found = scene(model).playing([0.0, 1.0], np.zeros((2, 4)), {"bound": [1.0, 2.0]}) if moving else scene(model)
    page = shown(found)
    page.send("Emulation.setDeviceMetricsOverride", width=400, height=700, deviceScaleFactor=1, mobile=True)
    try:
        page.wait("innerWidth === 400")
        assert page.run("document.documentElement.scrollWidth") <= 400
        boxes = "[...document.querySelectorAll('canvas.stage, .time, aside')].map((e) => e.getBoundingClientRect())"
        rows = sorted(page.run(f"{boxes}.map((r) => [r.top, r.bottom, r.left, r.right])"))
        assert len(rows) == 2 + moving
        for above, below in pairwise(rows):
            assert above[1] <= below[0] + 1
        assert min(row[2] for row in rows) >= 0
        assert max(row[3] for row in rows) <= 400
    finally:
        page.send("Emulation.clearDeviceMetricsOverride")


ROOT_ON_SCREEN = """(({ camera, stage, world }) => {
  const canvas = stage.canvas, m = camera.matrix(canvas.clientWidth / canvas.clientHeight, stage.covered());
  const at = [world[3], world[7], world[11], 1], row = (r) => at.reduce((sum, x, c) => sum + m[4 * c + r] * x, 0);
  return [((row(0) / row(3) + 1) / 2) * canvas.clientWidth, ((1 - row(1) / row(3)) / 2) * canvas.clientHeight];
})"""


def test_keys_play_a_click_tells_and_switches_show_layers(shown):
    model = bough.zoo.quadruped()
    q = np.tile(model.neutral, (11, 1))
    q[:, 0] = np.linspace(0.0, 1.0, 11)
    page = shown(scene(model).playing(np.arange(11) / 10, q))
    key = lambda name: page.send("Input.dispatchKeyEvent", type="keyDown", key=name)  # noqa: E731
    for _ in range(3):
        key("ArrowRight")
    key("ArrowLeft")
    assert page.run(f"{STATE}.sample") == 2
    key(" ")
    page.wait(f"{STATE}.bar.running() && {STATE}.sample !== 2")
    key(" ")
    page.run(f"[{STATE}.camera.azimuth, {STATE}.camera.height] = VIEWS.top")
    at = tuple(page.run(f"{ROOT_ON_SCREEN}({STATE})"))
    page.mouse("mouseMoved", at)
    page.mouse("mousePressed", at, True)
    page.mouse("mouseReleased", at)
    assert page.run("document.querySelector('.picked').textContent").startswith("trunk, 8 kg")
    names = page.run("Array.from(document.querySelectorAll('.switch'), (x) => x.textContent)")
    assert names == ["frames", "centres of mass", "inertia", "colours of branches", "camera follows"]
    hidden = f"{STATE}.stage.parts.filter((part) => part.hidden).length"
    assert page.run(hidden) == 3
    page.run("document.querySelectorAll('.switch input').forEach((box) => box.click())")
    assert page.run(hidden) == 0
    for k in (3, 9):
        page.run(f"(({{ bar }}, s) => {{ s.value = {k}; s.dispatchEvent(new Event('input')); }})"
                 f"({STATE}, document.querySelector('input[data-role=time]'))")  # fmt: skip
    root = page.run(f"{STATE}.world[3] - {STATE}.camera.target[0]")
    page.run(
        "(s => { s.value = 1; s.dispatchEvent(new Event('input')); })(document.querySelector('input[data-role=time]'))"
    )
    assert page.run(f"{STATE}.world[3] - {STATE}.camera.target[0]") == pytest.approx(root, abs=1e-6)
    assert page.errors() == []
