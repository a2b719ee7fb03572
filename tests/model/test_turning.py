"""Bodies that nothing keeps from turning are refused when a model is built, and numbers that would overflow."""

from __future__ import annotations

import numpy as np
import pytest

from bough import Builder, Dynamics, doctor, load
from bough.errors import ModelError

OBJECT = """<robot name="mug"><link name="mug"><inertial><origin xyz="{}"/><mass value="0.3"/>
<inertia ixx="{}" iyy="{}" izz="{}"/></inertial></link>{}</robot>"""
HANDLE = """<link name="handle"><inertial><mass value="0.1"/><inertia ixx="{0}" iyy="{0}" izz="{0}"/></inertial></link>
<joint name="w" type="fixed"><parent link="mug"/><child link="handle"/><origin xyz="{1}"/></joint>"""


@pytest.mark.parametrize(
    ("com", "moments"), [("0 0 0", (0, 0, 0)), ("0.3 0.2 0.1", (0, 0, 0)), ("0 0 0.7", (1e-3, 1e-3, 0))]
)
def test_a_floating_point_or_rod_is_refused(com: str, moments: tuple) -> None:
    text = OBJECT.format(com, *moments, "")
    with pytest.raises(
        ModelError, match=r"'mug' resists no turning on its floating joint 'root_joint'.*give it an inertia"
    ):
        load(text, floating_base=True)
    assert doctor(text, floating_base=True)[0].severity == "error"


@pytest.mark.parametrize(
    ("handle", "loads"), [(HANDLE.format(1e-6, "0.1 0 0"), True), (HANDLE.format(0, "0.1 0 0"), False)]
)
def test_what_is_welded_to_it_counts(handle: str, loads: bool) -> None:
    """An inertia anywhere in the composite will do; two points are a rod."""
    text = OBJECT.format("0 0 0", 0, 0, 0, handle)
    if not loads:
        with pytest.raises(ModelError, match="resists no turning"):
            load(text, floating_base=True)
        return
    model = load(text, floating_base=True)
    assert np.isfinite(Dynamics(model, general=True).forward_dynamics(model.neutral, np.ones(6), np.zeros(6))).all()


@pytest.mark.parametrize(
    ("joint", "com", "inertia", "refused"),
    [
        ("spherical", (0, 0, 0), (0, 0, 0), True),
        ("spherical", (0, 0, 0.5), (0, 0, 0), True),
        ("spherical", (0, 0, 0.5), (0, 0, 1e-6), False),
        ("planar", (0.1, 0, 0), (0, 0, 0), True),
        ("planar", (0.1, 0, 0), (1e-6, 1e-6, 1e-6), False),
        ("floating", (0.1, 0, 0), (1e-9, 1e-9, 1e-9), False),
    ],
)
def test_other_joints(joint: str, com, inertia, refused: bool) -> None:
    builder = Builder(check=False)
    builder.add_body("b", joint=joint, mass=1.0, com=com, inertia=np.diag(inertia))
    if refused:
        with pytest.raises(ModelError, match=f"resists no turning on its {joint} joint"):
            builder.build()
    else:
        assert np.linalg.matrix_rank(Dynamics(builder.build(), general=True).mass_matrix(builder.build().neutral)) >= 3


def test_a_point_that_carries_bodies_is_legal() -> None:
    builder = Builder(check=False)
    builder.add_body("base", joint="floating", mass=1.0)
    builder.add_body("arm", "base", mass=1.0, inertia=np.eye(3))
    assert builder.build().nv == 7


@pytest.mark.parametrize(
    "options",
    [
        {"com": (1e200, 0, 0)},
        {"placement": (1e308, 0, 0)},
        {"mass": 1e300},
        {"inertia": np.eye(3) * 1e300},
        {"axis": (1e300, 0, 0)},
    ],
)
def test_numbers_whose_products_overflow_are_refused(options) -> None:
    with pytest.raises(ModelError, match=r"at most 1e\+15"):
        Builder().add_body("b", **{"mass": 1.0, "inertia": np.eye(3)} | options)


def test_long_chains_of_mimic_joints() -> None:
    """Ratios multiply along them, in linear time."""
    builder = Builder(check=False)
    for k in range(5000):
        tie = {"mimic": (f"j{k - 1}", 1.01 if k < 100 else 1.0, 0.0)} if k else {}
        builder.add_body(f"b{k}", joint_name=f"j{k}", mass=1.0, inertia=np.eye(3), **tie)
    np.testing.assert_allclose(builder.build().couplings[-1].ratio, 1.01**99)
    builder = Builder()
    for k in range(3):
        tie = {"mimic": (f"j{k - 1}", 1e10, 0.0)} if k else {}
        builder.add_body(f"b{k}", joint_name=f"j{k}", mass=1.0, inertia=np.eye(3), **tie)
    with pytest.raises(ModelError, match=r"'j2' mimics 'j0' with ratio 1e\+20"):
        builder.build()
