"""Placements of the viewer are those of the dynamics, in Python and in the page's JavaScript."""

import json
import shutil
import subprocess
from importlib.resources import files

import numpy as np
import pytest

import bough
from bough.view import links, poses
from bough.view.html import packed, steps

NODE = shutil.which("node")
SCRIPT = """
const fs = require("fs");
eval(fs.readFileSync(process.argv[2], "utf8").replace('"use strict";', "") + `
unpack_all(JSON.parse(fs.readFileSync(process.argv[3], "utf8"))).then((x) => {
  const rows = x.states ? unfold(x.states) : [x.q];
  const found = rows.map((q) => Array.from(place_bodies(x.links, q, new Float64Array(12 * x.links.parent.length))));
  console.log(JSON.stringify(found));
});`);
"""


def frames(model, T):
    """World placements of all named frames, from those of bodies."""
    own = np.tile(np.eye(4), (len(model.frame_names), 1, 1))
    own[:, :3, :3], own[:, :3, 3] = model.frames.R, model.frames.p
    body = model.frames.body
    return np.where((body >= 0)[:, None, None], T[np.maximum(body, 0)] @ own, own)


@pytest.mark.parametrize("seed", range(3))
def test_bodies_are_where_the_dynamics_puts_them(every_joint, seed):
    q = every_joint.random_configuration(np.random.default_rng(seed))
    expected = bough.Dynamics(every_joint, general=True).placements(q)
    np.testing.assert_allclose(frames(every_joint, poses(links(every_joint), q)), expected, atol=1e-12)


def test_long_chains_and_wide_trees():
    for model in (bough.zoo.chain(300), bough.zoo.molecule(300, 1, floating=True), bough.zoo.star(5)):
        q = model.random_configuration(np.random.default_rng(0))
        expected = bough.Dynamics(model, general=True).placements(q)
        np.testing.assert_allclose(frames(model, poses(links(model), q)), expected, atol=1e-11)


def in_node(model, tmp_path, **states):
    (tmp_path / "run.js").write_text(SCRIPT)
    tree = links(model)
    content = {"links": {name: packed(x, "f4" if x.dtype.kind == "f" else "i4") for name, x in tree._asdict().items()}}
    (tmp_path / "data.json").write_text(json.dumps(content | states))
    source = tmp_path / "kinematics.js"
    source.write_text((files("bough.view") / "page" / "kinematics.js").read_text())
    words = [NODE, "run.js", str(source), str(tmp_path / "data.json")]
    printed = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    return np.array(json.loads(printed)).reshape(-1, len(tree.parent), 3, 4)


@pytest.mark.skipif(NODE is None, reason="needs node")
def test_the_page_computes_the_same(every_joint, tmp_path):
    q = every_joint.random_configuration(np.random.default_rng(5))
    found = in_node(every_joint, tmp_path, q=packed(q, "f4"))
    np.testing.assert_allclose(found[0], poses(links(every_joint), q)[:, :3], atol=3e-6)


@pytest.mark.skipif(NODE is None, reason="needs node")
def test_the_page_unfolds_a_motion(tmp_path):
    model = bough.zoo.arm(4)
    q = np.random.default_rng(2).normal(size=(7, 4))
    q[3] = q[2]
    found = in_node(model, tmp_path, states=packed(steps(q).view(np.int32), "i4"))
    expected = [poses(links(model), row)[:, :3] for row in q]
    np.testing.assert_allclose(found, expected, atol=3e-6)
    assert not steps(q)[3].any()
