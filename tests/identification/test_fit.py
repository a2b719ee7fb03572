"""Identification of simulated robots: with noise, with a payload that the model does not know, with friction."""

from dataclasses import replace

import numpy as np
import pytest

import bough
from bough import zoo
from bough.identification import base_parameters, identify, write_urdf
from bough.identification.consistent import pseudo_inertia, ten_numbers

URDF = """<robot name="two"><link name="base"/>
<link name="a"><inertial><origin xyz="0.1 0 0.02" rpy="0.3 0 0.2"/><mass value="2"/>
<inertia ixx="0.02" ixy="0.001" ixz="0" iyy="0.03" iyz="0" izz="0.04"/></inertial></link>
<link name="b"><inertial><origin xyz="0.2 0 0"/><mass value="1"/>
<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>
<link name="tip"><inertial><origin xyz="0 0 0.1"/><mass value="0.3"/>
<inertia ixx="0.001" ixy="0" ixz="0" iyy="0.001" iyz="0" izz="0.001"/></inertial></link>
<joint name="j1" type="continuous"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/></joint>
<joint name="j2" type="continuous"><parent link="a"/><child link="b"/><origin xyz="0.4 0 0" rpy="1.2 0 0"/>
<axis xyz="0 1 0"/><dynamics damping="0.1" friction="0.0"/></joint>
<joint name="w" type="fixed"><parent link="b"/><child link="tip"/><origin xyz="0.3 0 0"/></joint></robot>"""


def measured(model, count=400, noise=0.0, seed=0, friction=None):
    """States, and what force sensors would show."""
    rng = np.random.default_rng(seed)
    q = model.random_configuration(rng, count)
    v, qdd = 2.0 * rng.normal(size=(2, count, model.nv))
    tau = bough.Dynamics(model).inverse_dynamics(q, v, qdd) + model.damping * v + model.friction * np.sign(v)
    return q, v, qdd, tau + noise * rng.normal(size=tau.shape)


def test_pseudo_inertias_and_back():
    rows = zoo.arm(4).inertias
    P = pseudo_inertia(rows)
    assert (np.linalg.eigvalsh(P) > 0.0).all()
    np.testing.assert_allclose(ten_numbers(P), rows, atol=1e-15)
    m, c, J = bough.model.parameters.standard(rows[:1])[0]
    np.testing.assert_allclose(P[0, :3, 3], m * c, atol=1e-15)
    about = J + m * (c @ c * np.eye(3) - np.outer(c, c))
    np.testing.assert_allclose(P[0, :3, :3], np.trace(about) / 2 * np.eye(3) - about, atol=1e-15)


def test_base_parameters_of_a_planar_pendulum():
    """A hinge with a vertical axis shows one number, with a horizontal one three: J, and the first moment across."""
    for axis, rank in (((0, 0, 1), 1), ((0, 1, 0), 3)):
        builder = bough.Builder()
        builder.add_body("rod", axis=axis, mass=1.0, com=(0.3, 0.0, 0.0), inertia=np.diag([0.01, 0.02, 0.02]))
        found = base_parameters(builder.build())
        assert found.rank == rank
        assert "rod.m" in found.unseen
    assert "rod." in str(found)


def test_base_parameters_explain_all_forces():
    """Inertias that differ by what is not seen give the same forces."""
    model = zoo.arm(4)
    found = base_parameters(model)
    q, v, qdd, tau = measured(model, 20)
    pi = model.inertias.ravel()
    only = np.zeros_like(pi)
    only[found.seen] = found.combinations @ pi
    Y = bough.Dynamics(model).regressor(q, v, qdd)
    np.testing.assert_allclose(Y @ only, tau, atol=1e-8)
    assert found.rank < len(pi)
    assert 1.0 <= found.condition < 1e6


def test_a_robot_with_noise_and_friction():
    truth = zoo.arm(4)
    passive = truth.passive._replace(damping=np.full(4, 0.3), friction=np.array([0.2, 0.0, 0.1, 0.4]))
    truth = replace(truth, passive=passive)
    rng = np.random.default_rng(1)
    wrong = zoo.arm(4).with_inertias(truth.inertias * rng.uniform(0.6, 1.6, (4, 1)))
    noise = 0.05
    found = identify(wrong, *measured(truth, 800, noise), drive=("damping", "friction"), noise=noise)
    assert found.residual == pytest.approx(1.0, abs=0.05)
    np.testing.assert_allclose(found.model.damping, truth.damping, atol=0.02)
    np.testing.assert_allclose(found.model.friction, truth.friction, atol=0.03)
    where = [found.names.index(f"{dof}.damping") for dof in truth.dof_names]
    assert (np.abs(found.values[where] - 0.3) < 5.0 * found.standard_errors[where]).all()
    # what it predicts elsewhere
    q, _, _, tau = measured(truth, 50, seed=7)
    guess = measured(found.model, 50, seed=7)[3]
    before = measured(wrong, 50, seed=7)[3]
    assert np.abs(guess - tau).max() < 0.03 * np.abs(before - tau).max()
    bough.Dynamics(wrong, inputs=["inertia"]).mass_matrix(q[0], inertia=found.model.inertias)  # physical


def test_a_payload_that_the_model_does_not_know():
    model = zoo.arm(3)
    loaded = model.with_payload("hand", 2.0, (0.05, 0.0, 0.1), 0.01 * np.eye(3))
    found = identify(model, *measured(loaded, 500, 0.01), noise=0.01)
    q, v, qdd, tau = measured(loaded, 50, seed=3)
    dyn = bough.Dynamics(found.model)
    np.testing.assert_allclose(dyn.inverse_dynamics(q, v, qdd), tau, atol=0.02 * np.abs(tau).max())
    assert found.free_residual <= found.residual


def test_too_little_data_stays_with_the_prior():
    model = zoo.arm(3)
    found = identify(model, *measured(model, 1))
    np.testing.assert_allclose(found.model.inertias, model.inertias, atol=1e-5)
    assert np.isinf(found.standard_errors).any()


def test_the_corrected_file(tmp_path):
    source = tmp_path / "two.urdf"
    source.write_text(URDF)
    model = bough.load(source)
    truth = model.with_payload("b", 0.7, (0.1, 0.02, 0.0), 0.002 * np.eye(3))
    found = identify(model, *measured(truth, 300), drive=("damping",))
    path = write_urdf(found.model, source, tmp_path / "corrected.urdf")
    again = bough.load(path)
    np.testing.assert_allclose(again.inertias, found.model.inertias, atol=1e-9)
    np.testing.assert_allclose(again.damping, found.model.damping, atol=1e-12)
    tau = measured(truth, 5, seed=9)[3]
    np.testing.assert_allclose(measured(again, 5, seed=9)[3], tau, atol=1e-2)


def test_files_with_mimic_and_welded_joints_are_written_back(tmp_path):
    finger = """<link name="{0}"><inertial><mass value="0.2"/><inertia ixx="0.01" iyy="0.01" izz="0.01"/></inertial>
        </link>
        <joint name="to_{0}" type="revolute"><parent link="b"/><child link="{0}"/><origin xyz="0 {1} 0"/>
        <axis xyz="1 0 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/>{2}</joint>"""
    more = finger.format("c", 0.1, "") + finger.format("d", -0.1, '<mimic joint="to_c"/>') + finger.format("e", 0.3, "")
    source = tmp_path / "hand.urdf"
    source.write_text(URDF.replace("</robot>", more + "</robot>"))
    options = {"mimic": "independent", "weld": {"to_e": 0.4}}
    model = bough.load(source, **options)
    changed = model.with_inertias(1.1 * model.inertias)
    with pytest.raises(bough.BoughError, match="options of load"):
        write_urdf(changed, source, tmp_path / "x.urdf")
    path = write_urdf(changed, source, tmp_path / "corrected.urdf", **options)
    np.testing.assert_allclose(bough.load(path, **options).inertias, changed.inertias, atol=1e-12)
    assert bough.load(path).couplings[0].follower == "to_d"


def test_what_is_refused(tmp_path):
    model = zoo.arm(3)
    q, v, qdd, tau = measured(model, 5)
    with pytest.raises(bough.BoughError, match=r"q must have shape \(samples, 3\)"):
        identify(model, q[:, :2], v, qdd, tau)
    with pytest.raises(bough.BoughError, match="5, 5, 5, 4 rows"):
        identify(model, q, v, qdd, tau[:4])
    tau[2, 1] = np.nan
    with pytest.raises(bough.BoughError, match="not finite in row 2"):
        identify(model, q, v, qdd, tau)
    with pytest.raises(bough.BoughError, match="no term of a drive is called 'backlash'"):
        identify(model, q, v, qdd, q, drive=("backlash",))
    with pytest.raises(bough.BoughError, match="noise must be positive"):
        identify(model, q, v, qdd, q, noise=0.0)
    with pytest.raises(bough.BoughError, match=r"noise must be positive, one number or one for each DoF \(3\)"):
        identify(model, q, v, qdd, q, noise=[1.0, 1.0])
    with pytest.raises(bough.BoughError, match=r"q must have shape \(samples, 3\), got \(0, 3\)"):
        identify(model, q[:0], v[:0], qdd[:0], tau[:0])
    with pytest.raises(bough.BoughError, match="tau must be an array of real numbers, got dtype complex128"):
        identify(model, q, v, qdd, q + 1j)
    source = tmp_path / "two.urdf"
    source.write_text(URDF)
    with pytest.raises(bough.BoughError, match=r"the bodies of .* are not those"):
        write_urdf(model, source, tmp_path / "x.urdf")
