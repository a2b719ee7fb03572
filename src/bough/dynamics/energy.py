"""Kinetic and potential energy (Featherstone, Rigid Body Dynamics Algorithms, 2008, section 2.13)."""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.dynamics.center_of_mass import first_moment
from bough.dynamics.kinematics import body_velocities
from bough.joints import Mechanism, joint_motion
from bough.spatial import dot3, dot6, get6, get10, rigid_times
from bough.types import Rows, Workspace


@kernel
def kinetic_energy(m: Mechanism, q: Rows, v: Rows, T: Rows, w: Workspace) -> None:
    """T[0] = v' H v / 2 in joules, rotor inertias included; from body velocities, without H."""
    joint_motion(m, q, w.X)
    body_velocities(m, v, w.X, w.v)
    twice = m.zero[0]
    for i in range(len(m.parent)):
        vi = get6(w.v, i)
        twice = twice + dot6(vi, rigid_times(get10(m.inertia, i), vi))
        for k in range(m.dof[i], m.dof[i + 1]):
            rate = m.ratio[k] * v[m.v_index[k]]
            twice = twice + m.armature[k] * (rate * rate)
    T[0] = twice / (m.one[0] + m.one[0])


@kernel
def potential_energy(m: Mechanism, q: Rows, V: Rows, w: Workspace) -> None:
    """V[0] = - gravity . sum of m c in joules, zero if all mass sits at the world's origin."""
    joint_motion(m, q, w.X)
    V[0] = -dot3((m.gravity[0], m.gravity[1], m.gravity[2]), first_moment(m, m.one[0], w))


KINETIC_ENERGY = Routine(
    "kinetic_energy",
    kinetic_energy,
    inputs={"q": "nq", "v": "nv"},
    outputs={"T": "1"},
    work={"X": "bodies 12", "v": "bodies 6"},
)
POTENTIAL_ENERGY = Routine(
    "potential_energy",
    potential_energy,
    inputs={"q": "nq"},
    outputs={"V": "1"},
    work={"X": "bodies 12", "h": "bodies 3", "mass": "bodies"},
)
