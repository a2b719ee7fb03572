"""Pictures without a browser: what is drawn is where it should be."""

import dataclasses

import numpy as np
import pytest

import bough
from bough.view import Piece, arrows, picture, scene
from bough.view.picture import write_png

SIZE = (160, 120)


def block(height=0.5, *more):
    """One box, one metre wide, on a joint that turns it about z."""
    builder = bough.Builder("block")
    builder.add_body("block", placement=(0, 0, height), mass=1.0, inertia=np.eye(3))
    return scene(builder.build(), pieces=[Piece("block", "box", (1, 1, 1), colour=(1.0, 0.0, 0.0)), *more])


def red(pixels):
    r, g, b = (pixels[..., k].astype(int) for k in range(3))
    return (r > g + 60) & (r > b + 60)


def test_a_box_is_in_the_middle_and_casts_a_shadow():
    pixels = picture(block(), SIZE)
    assert pixels.shape == (120, 160, 3)
    rows, columns = np.nonzero(red(pixels))
    assert abs(rows.mean() - 60) < 12
    assert abs(columns.mean() - 80) < 6
    assert 0.05 < red(pixels).mean() < 0.5
    floating = picture(block(3.0), SIZE)
    assert not np.array_equal(floating, pixels)


def test_what_is_nearer_hides_what_is_behind():
    both = block(0.5, Piece("world", "box", (1, 1, 1), (0.0, -3.0, 0.5), colour=(0.0, 1.0, 0.0)))
    front = picture(both, SIZE, direction=(-np.pi / 2, 0.0))
    back = picture(both, SIZE, direction=(np.pi / 2, 0.0))
    assert red(front).mean() < 0.2 * red(back).mean()


def test_a_joint_moves_what_is_seen():
    model = bough.zoo.arm(3)
    first, second = (picture(scene(model, q), SIZE) for q in (np.zeros(3), np.array([0.0, 1.0, 0.0])))
    assert (first != second).any(axis=-1).mean() > 0.01


def test_nothing_is_cut_off_at_the_edges():
    """Not even of what is tall and seen from above."""
    tall = block(0.5, Piece("world", "box", (0.1, 0.1, 20.0), colour=(1.0, 0.0, 0.0)))
    shown = red(picture(tall, SIZE, direction=(-0.7, 0.28)))
    assert shown.any()
    assert not shown[[0, -1]].any()
    assert not shown[:, [0, -1]].any()


def test_joints_that_move_in_an_adaptive_run_are_lit_up():
    model = bough.zoo.chain(6)
    q = np.zeros((3, 6))
    q[2, 4] = 0.1
    played = scene(model).playing(np.arange(3.0), q, adaptive=True)
    assert red(picture(played, SIZE, sample=2)).sum() > 20 > 1 > red(picture(played, SIZE, sample=1)).sum()


def test_forces_are_drawn():
    found = block()
    pushed = dataclasses.replace(found, arrows=arrows(found.model, ["block"], [[0.0, 0.0, 5.0]], [[0.0, 0.0, 0.5]]))
    assert red(picture(pushed, SIZE))[:20].sum() > red(picture(found, SIZE))[:20].sum()


def test_the_file_is_a_png(tmp_path):
    image = pytest.importorskip("PIL.Image")
    pixels = picture(block(), SIZE)
    with image.open(write_png(tmp_path / "a.png", pixels)) as found:
        np.testing.assert_array_equal(np.asarray(found), pixels)


def test_nothing_to_draw_is_an_empty_floor():
    builder = bough.Builder("point")
    builder.add_body("a", mass=1.0, inertia=np.eye(3))
    assert picture(scene(builder.build(), pieces=[]), SIZE).std() < 40
