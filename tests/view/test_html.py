"""The page stands alone: well-formed, nothing fetched, whatever a model is called."""

import base64
import json
import re
import zlib
from html.parser import HTMLParser

import numpy as np
import pytest

import bough
from bough.view import Arrows, scene
from bough.view.html import SCRIPTS, packed, text

VOID = {"meta", "input", "br", "link", "img"}


class Balanced(HTMLParser):
    """Tags that open and close in order."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.seen, self.addresses = [], [], []

    def handle_starttag(self, tag, attributes):
        self.seen.append(tag)
        self.addresses += [value for name, value in attributes if name in ("src", "href")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def content(page):
    return json.loads(re.search(r'<script type="application/json">(.*?)</script>', page, re.DOTALL)[1])


def unpacked(array):
    raw = zlib.decompress(base64.b64decode(array["data"]))
    return np.frombuffer(raw, f"<{array['type']}").reshape(array["shape"])


@pytest.fixture(scope="module")
def html():
    return scene(bough.zoo.arm(4)).html()


def test_the_page_is_well_formed(html):
    parser = Balanced()
    parser.feed(html)
    assert parser.open == []
    assert {"html", "head", "body", "script", "style"} <= set(parser.seen)


def test_nothing_is_fetched(html):
    parser = Balanced()
    parser.feed(html)
    assert parser.addresses == []
    for word in ("import(", "fetch(", "XMLHttpRequest", "@import", "url(", "WebSocket", "https:"):
        assert word not in html, word
    # a name space of drawings is no address
    assert set(re.findall(r"http:[^\"'` ]+", html)) <= {"http://www.w3.org/2000/svg"}


def test_what_the_page_carries_is_the_scene(html):
    model = bough.zoo.arm(4)
    found, expected = content(html), scene(model)
    np.testing.assert_array_equal(unpacked(found["links"]["parent"]), expected.links.parent)
    np.testing.assert_allclose(unpacked(found["links"]["fixed"]), expected.links.fixed, atol=1e-6)
    assert found["joints"]["names"] == list(model.joint_names)
    assert len(found["shapes"]) == len(expected.shapes)
    for part, own in zip(found["shapes"], expected.shapes, strict=True):
        np.testing.assert_allclose(unpacked(part["placement"]), own.placement, atol=1e-6)
        assert unpacked(part["faces"]).max() < len(unpacked(part["vertices"]))


def test_names_are_no_markup():
    builder = bough.Builder('</script><script>alert("1")</script>')
    builder.add_body("<img src=x>", mass=1.0, inertia=np.eye(3), joint_name='"&amp;</style>')
    page = scene(builder.build()).html()
    assert page.count("</script>") == 2
    assert "<img" not in page
    assert content(page)["joints"]["names"] == ['"&amp;</style>']


def test_a_motion_with_forces_is_carried():
    model = bough.zoo.arm(3)
    q = np.random.default_rng(0).normal(size=(5, 3))
    arrows = Arrows(np.array([0, -1]), np.zeros((2, 3)), np.ones((5, 2, 3)))
    found = content(scene(model).playing(np.arange(5.0), q, {"force": np.arange(5.0)}, arrows=arrows).html())
    bits = unpacked(found["motion"]["q"]).view(np.uint32)
    states = np.bitwise_xor.accumulate(bits, axis=0).view(np.float32)
    np.testing.assert_array_equal(states, q.astype(np.float32))
    assert unpacked(found["arrows"]["force"]).shape == (5, 2, 3)
    assert list(found["motion"]["tracks"]) == ["force"]


def test_joints_that_rest_cost_nothing():
    model = bough.zoo.chain(2000)
    q = np.random.default_rng(0).normal(size=(1, 2000)).repeat(100, axis=0)
    q[:, 7] = np.arange(100.0)
    still, moving = (len(scene(model).playing(np.arange(t), q[:t]).html()) for t in (1, 100))
    assert moving - still < 20_000


def test_a_frame_of_a_notebook_holds_the_page():
    found = scene(bough.zoo.arm(2))._repr_html_()
    parser = Balanced()
    parser.feed(found)
    assert parser.seen == ["iframe"]


def test_arrays_survive():
    for kind in ("f4", "i4", "u1"):
        np.testing.assert_array_equal(unpacked(packed(np.arange(6).reshape(2, 3), kind)), np.arange(6).reshape(2, 3))


def test_scripts_stay_readable():
    for name in SCRIPTS:
        lines = text(name).splitlines()
        assert len(lines) < 320
        assert max(map(len, lines)) < 200


def test_a_long_motion_is_thinned_out_with_its_forces(monkeypatch):
    monkeypatch.setattr("bough.view.html.MOST_SAMPLES", 30)
    model = bough.zoo.arm(3)
    arrows = Arrows(np.array([0]), np.zeros((1, 3)), np.arange(100.0)[:, None, None] * np.ones((1, 1, 3)))
    found = content(scene(model).playing(np.arange(100.0), np.zeros((100, 3)), arrows=arrows).html())
    time, force = unpacked(found["motion"]["time"]), unpacked(found["arrows"]["force"])
    assert len(time) == 10
    np.testing.assert_allclose(force[:, 0, 0], time * force[-1, 0, 0] / time[-1], rtol=1e-6)
    assert found["notes"] == ["10 of 100 samples, evenly chosen"]


def test_layers_are_frames_centres_and_ellipsoids_of_inertia():
    """A solid ellipsoid with the diameters that are drawn has the inertia of the body."""
    model = bough.zoo.quadruped()
    made = content(scene(model).html())
    assert set(made["layers"]) == {"frames", "centres of mass", "inertia"}
    (part,) = made["layers"]["inertia"]
    trunk = unpacked(part["placement"])[unpacked(part["body"]).tolist().index(0)].reshape(3, 4)
    square = (np.linalg.norm(trunk[:, :3], axis=0) ** 2 / 20.0).astype(float)  # mean squares of a solid ellipsoid
    moments = 8.0 * (square.sum() - square)
    np.testing.assert_allclose(np.sort(moments), [0.1, 0.3, 0.35], rtol=1e-5)
    assert made["bodies"]["names"][0] == "trunk"
    assert unpacked(made["bodies"]["mass"])[0] == 8.0
