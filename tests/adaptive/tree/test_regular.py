"""Point masses and rods on the assembly tree: the same mechanism, with inertias that can be inverted."""

import numpy as np
import pytest

import bough
from bough.adaptive import Dynamics, QuasiStatics, body_acceleration, energy, relative_joint
from bough.adaptive.tree.assembly import is_flat
from bough.adaptive.tree.regular import regular
from bough.errors import ModelError
from sizes import size

KINDS = ["rods", "points", "mixed", "sliders", "planar rods"]


def thin(kind, n, seed=0):
    """A branched linkage of bodies that have no inertia about some axis, or about none."""
    rng = np.random.default_rng(seed)
    builder = bough.Builder(kind)
    for k in range(n):
        up = "world" if k == 0 else f"b{max(0, k - 1 - int(rng.integers(0, 2)))}"
        axis = (0, 1, 0) if kind == "planar rods" or k % 2 else (0, 0, 1)
        joint = "prismatic" if kind == "sliders" and k % 3 == 2 else "revolute"
        along = np.array([0.5, 0.0, 0.0])
        inertia = np.diag([0.0, 0.1, 0.1]) if "rods" in kind or (kind == "mixed" and k % 2) else np.zeros((3, 3))
        if kind == "mixed" and k % 4 == 0:
            inertia = 0.1 * np.eye(3)
        builder.add_body(
            f"b{k}", up, joint=joint, placement=tuple(along if k else 0 * along), axis=axis, mass=rng.uniform(0.5, 2.0),
            com=tuple(along), inertia=inertia,
        )  # fmt: skip
    return builder.build()


@pytest.mark.parametrize("kind", KINDS)
def test_regular_inertias_move_alike(kind):
    model = thin(kind, 14 if kind == "sliders" else size(40, 12))
    assert is_flat(model.mechanism.inertia).any()
    other = regular(model)
    assert not is_flat(other.mechanism.inertia).any()
    rng = np.random.default_rng(1)
    q, v, tau = model.random_configuration(rng), rng.normal(size=model.nv), rng.normal(size=model.nv)
    one, two = (bough.Dynamics(m, general=True) for m in (model, other))
    H = one.mass_matrix(q)
    assert np.abs(two.mass_matrix(q) - H).max() < 1e-11 * np.abs(H).max()
    f = one.inverse_dynamics(q, v, tau)
    assert np.abs(two.inverse_dynamics(q, v, tau) - f).max() < 1e-11 * np.abs(f).max()


@pytest.mark.parametrize("kind", KINDS)
def test_the_tree_takes_them(kind):
    model = thin(kind, 14 if kind == "sliders" else size(60, 14))
    rng = np.random.default_rng(2)
    q, f = 0.5 * rng.normal(size=model.nv), rng.normal(size=3)
    found = []
    for error, method in ((None, "aba"), (None, "dca"), (relative_joint(1e-9), "adaptive"), (energy(1e-9), "adaptive")):
        sim = QuasiStatics(model, error, method)
        sim.configuration = q
        sim.apply_force(len(model.joints) - 1, f)
        found.append(sim.accelerations())
        assert sim.stats.method == {"aba": "aba", "dca": "dca"}.get(method, "adaptive")
    for other in found[1:]:
        assert np.abs(other - found[0]).max() < 1e-6 * np.abs(found[0]).max()


def test_a_motion_of_rods_is_adaptive():
    model = thin("planar rods", size(200, 40))
    ends = []
    for method in ("adaptive", "full"):
        sim = Dynamics(model, body_acceleration(1e-3), method)
        sim.gravity = (0.0, 0.0, 0.0)
        sim.velocity = np.where(np.arange(model.nv) > model.nv - 3, 1.0, 0.0)
        sim.run(20, 1e-3)
        ends.append(sim)
    assert ends[0].stats.method == "adaptive"
    assert np.abs(ends[0].positions() - ends[1].positions()).max() < 1e-5


def test_what_cannot_be_made_regular_is_refused_by_name():
    builder = bough.Builder()
    builder.add_body("bead", joint="cylindrical", mass=1.0, com=(1, 0, 0))
    with pytest.raises(ModelError, match="body 'bead' has a singular inertia"):
        QuasiStatics(builder.build(), method="adaptive")
