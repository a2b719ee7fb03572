"""Displacements that move points out of the ground, with at most the energy that impacts have just dissipated."""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.compile.scalar import positive
from bough.dynamics.center_of_mass import WORK as MOMENT_WORK
from bough.dynamics.crba import crba
from bough.dynamics.energy import potential_energy
from bough.dynamics.laws import JointLaws, StepNumbers, with_rotors
from bough.dynamics.stepping import stay_within_stops
from bough.joints import Mechanism, difference_joint, integrate_joint, tiny
from bough.opspace.sweeps.held import Proximal
from bough.opspace.sweeps.jacobian import DofTree, JacobianPattern, packed_jacobian
from bough.opspace.sweeps.wrenches import Seeds
from bough.simulate.cone import Laws, start_sweeps, update_impulses
from bough.simulate.contact_step import (
    WORK,
    Grounds,
    RoughJoints,
    add_impulses,
    combine_rows,
    contact_rows,
    eliminate_held,
    mobility,
    place_points,
)
from bough.simulate.stops import Stops
from bough.sparsity.ltdl import ltdl
from bough.types import Rows, Scalar, Workspace

SHARES = 6  # of a move that are tried


@kernel
def lift(
    m: Mechanism, t: Seeds, p: JacobianPattern, f: DofTree, x: Proximal, j: JointLaws, c: StepNumbers, e: RoughJoints,
    o: Stops, g: Grounds, k: Laws, q: Rows, spent: Rows, axes: Rows, height: Rows, friction: Rows, q_after: Rows,
    w: Workspace,
) -> None:  # fmt: skip
    """q moved so that points leave the ground, with at most the energy `spent`, and within the stops.

    `friction` is an input fixed at zero: the solver finds moves, not impulses.
    """
    zero = m.zero[0]
    for i in range(len(m.v_index)):
        w.rotor[i] = m.armature[i]
        if j.prescribed[i] == 1:
            w.rotor[i] = m.armature[i] + c.lock[0]
    crba(with_rotors(m, w.rotor), q, w.H, w)
    ltdl(f.parent, f.rows, w.H)
    packed_jacobian(m, t, p, w.J, w)
    mobility(m, p, f, w)
    for r in range(len(w.b_t)):
        w.b_t[r] = zero
    contact_rows(m, g, axes, w)
    combine_rows(m, g, w)
    place_points(m, t, g, axes, height, w.ahead, w)
    eliminate_held(m, x, w)
    for n in range(len(w.ahead)):
        w.b[g.first[0] + 3 * n] = w.ahead[n]
    for n in range(len(w.friction)):
        w.friction[n] = zero
    for i in range(len(w.u)):
        w.u[i] = zero
    for r in range(len(w.lam)):
        w.start[r] = zero
    start_sweeps(k, w.A, w.b, w.start, w.lam, w)
    for n in range(k.most[0]):
        update_impulses(k, n, w.A, w.b, w.friction, w.lam, w)
    add_impulses(m, p, f, g, w.move, w)
    move_within(m, j, c, q, spent[0], q_after, w)


@kernel
def move_within(
    m: Mechanism, j: JointLaws, c: StepNumbers, q: Rows, spent: Scalar, q_after: Rows, w: Workspace
) -> None:
    """q_after = q moved by w.move, or by the share of it that needs at most the energy `spent`.

    The first share is enough where energy rises faster than in proportion to it; else further ones take twice what
    still is too much.
    """
    one, before, share = m.one[0], stored_energy(m, j, c, q, w), m.one[0]
    for n in range(SHARES):
        move_by(m, j, q, share, q_after, w)
        over = positive(stored_energy(m, j, c, q_after, w) - before - spent)
        if n > 0:
            over = over + over
        share = share * (spent / (spent + over + tiny(one) * tiny(one)))
    move_by(m, j, q, share, q_after, w)


@kernel
def move_by(m: Mechanism, j: JointLaws, q: Rows, share: Scalar, q_after: Rows, w: Workspace) -> None:
    for i in range(len(m.parent)):
        integrate_joint(m, i, q, w.move, share, q_after)
    stay_within_stops(m, j, q, q_after)


@kernel
def stored_energy(m: Mechanism, j: JointLaws, c: StepNumbers, q: Rows, w: Workspace) -> Scalar:
    """The energy of gravity and springs."""
    potential_energy(m, q, w.V, w)
    energy, half = w.V[0], m.one[0] / (m.one[0] + m.one[0])
    for i in range(len(m.parent)):
        difference_joint(m, i, c.rest, q, w.x)
        for k in range(m.dof[i], m.dof[i + 1]):
            a = m.v_index[k]
            energy = energy + half * j.stiffness[k] * w.x[a] * w.x[a]
    return energy


LIFT = Routine(
    "lift_contacts",
    lift,
    inputs={"q": "nq", "spent": "1", "axes": "contacts 9", "height": "contacts", "friction": "contacts"},
    outputs={"q_after": "nq"},
    work=WORK | MOMENT_WORK | {"V": "1"},
).without("friction")
