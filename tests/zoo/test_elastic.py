"""Elastic rods: where they lie, what they weigh, how stiff they are, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from bough import adaptive, zoo
from bough.errors import BoughError


def ends(model, q=None):
    sim = adaptive.QuasiStatics(model, method="aba")
    if q is not None:
        sim.configuration = q
    return sim


@pytest.mark.parametrize(("options", "hinges"), [({"planar": True}, 1), ({}, 2), ({"GJ": 0.3}, 3)])
@pytest.mark.parametrize("clamped", [True, False])
def test_a_cable_lies_along_x_with_its_stiffness_spread_over_its_hinges(options, hinges, clamped):
    model = zoo.cable(12, 2.0, 0.6, mass=0.24, clamped=clamped, **options)
    ds = 2.0 / 12
    first = 0.5 if clamped else 0.0
    x = ds * (np.arange(12) + first)
    np.testing.assert_allclose(ends(model).positions(), x[:, None] * [1, 0, 0], atol=1e-12)
    np.testing.assert_allclose(ends(model).positions(["end"]), [[2.0, 0, 0]], atol=1e-12)
    assert model.total_mass == pytest.approx(0.24 * (2.0 - first * ds) / 2.0)
    k = np.array([0.6, 0.6, 0.3])[:hinges] / (hinges * ds)
    expected = np.tile(k, 12 // hinges)
    expected[: 0 if clamped else hinges] = 0.0
    np.testing.assert_allclose(model.stiffness, expected)


def test_positive_bends_of_a_planar_cable_go_down_and_twist_moves_nothing():
    tip = ends(zoo.cable(8, planar=True), np.full(8, 0.01)).positions(["end"])[0]
    assert tip[2] < -0.01
    assert tip[1] == pytest.approx(0.0, abs=1e-15)
    q = np.zeros(9)
    q[2::3] = 0.3
    np.testing.assert_allclose(ends(zoo.cable(9, GJ=1.0), q).positions(["end"])[0], [1, 0, 0], atol=1e-12)


def test_a_span_is_a_closure_of_the_tip():
    model = zoo.cable(8, span=0.7)
    assert [(c.frame, c.other, c.kind) for c in model.closures] == [("anchor", "end", "connect")]
    np.testing.assert_allclose(ends(model).positions(["anchor"]), [[0.7, 0, 0]])


def test_hair_leaves_a_ball_along_its_normals_and_curls_at_rest():
    model = zoo.hair(7, 4, 0.2, curl=3.0)
    p = ends(model).positions().reshape(7, 4, 3)
    np.testing.assert_allclose(np.linalg.norm(p, axis=2), np.tile(0.09 + 0.05 * (np.arange(4) + 0.5), (7, 1)))
    assert (np.abs(np.cross(p[:, 0], p[:, 3])) < 1e-15).all()
    assert (p[:, :, 2] > 0.0).all()
    np.testing.assert_allclose(model.rest.reshape(7, 4), np.tile([0.3, 0.0], (7, 2)))
    assert (model.parent.reshape(7, 4)[:, 0] == -1).all()


def test_a_tree_branches_where_its_branches_are():
    model = zoo.tree(levels=3, branches=2, pieces=4)
    assert len(model.joints) == 4 * (1 + 2 + 4)
    p = ends(model).positions()
    along = model.parent[1:]
    gaps = np.linalg.norm(p[1:] - p[along], axis=1)
    assert (gaps > 0.0).all()
    assert gaps.max() <= 2.0 * 0.4 * 3.0 / 4
    assert p[:, 2].max() > 1.5
    assert (model.stiffness > 0.0).all()
    assert np.bincount(along, minlength=28).max() <= 3


@pytest.mark.parametrize(
    "make",
    [
        lambda: zoo.cable(0),
        lambda: zoo.cable(5, EI=-1.0),
        lambda: zoo.cable(5, length=0.0),
        lambda: zoo.cable(5, planar=True, GJ=1.0),
        lambda: zoo.cable(5, mass=float("nan")),
        lambda: zoo.cable(5, span="1"),
        lambda: zoo.hair(0),
        lambda: zoo.hair(3, curl=float("inf")),
        lambda: zoo.tree(levels=0),
        lambda: zoo.tree(levels=200),
    ],
)
def test_what_is_no_rod_is_refused(make):
    with pytest.raises(BoughError):
        make()
