"""Every public entry beside the functions of `Dynamics`: what stands before its first call, and the call.

`robot`, `q`, `v`, `frame` and `frames` are there; a test walks the doors and finds each public name here, or among
those that only hold data.
"""

from __future__ import annotations

# What must be installed, by the beginning of an entry's name
NEEDS = {
    "casadi": "casadi",
    "torch": "torch",
    "jax": "jax",
    "sympy": "sympy",
    "env": "gymnasium",
    "sweep": "pyarrow",
    "control.WholeBody": "qpsolvers",
    "convert: to_drake": "pydrake",
    "convert: to_mujoco": "mujoco",
}
SPACE = "space = bough.OperationalSpace(robot, [bough.pose(f) for f in frames[-1:]])"
LOOP = """
rod = {"axis": (0, 1, 0), "mass": 1.0, "inertia": 0.01 * np.eye(3)}
bars = bough.Builder("four-bar")
bars.add_body("crank", **rod)
bars.add_body("coupler", "crank", placement=(0.3, 0, 0), **rod)
bars.add_body("rocker", placement=(1.0, 0, 0), **rod)
bars.add_closure("coupler", "rocker", point=(0.9, 0, 0), other_point=(0.6, 0, 0))
loop = bars.build()
"""
GROUND = """
from bough.simulate import Contacts, Ensemble, GroundedEnsemble
walker = bough.zoo.quadruped()
stance = walker.rest_configuration.copy()
stance[2] = 0.34
feet = Contacts(["lf_foot", "rf_foot", "lh_foot", "rh_foot"], sweeps=8)
"""
MOLECULE = "some = bough.zoo.molecule(2000)\n"
ENTRIES = {
    "Dynamics.derivatives": ("dyn = bough.Dynamics(robot)", "dyn.derivatives('gravity', q)"),
    "Dynamics.vjp": ("dyn = bough.Dynamics(robot)", "dyn.vjp('forward_dynamics', q, v, v, weight=v)"),
    "Dynamics.jvp": ("dyn = bough.Dynamics(robot)", "dyn.jvp('forward_dynamics', q, v, v, along={'v': v})"),
    "Dynamics.hvp": (
        "dyn = bough.Dynamics(robot)", "dyn.hvp('kinetic_energy', q, v, weight=[1.0], wrt=['v'], along={'v': v})"),
    "Dynamics.kinematics": ("dyn = bough.Dynamics(robot)", "dyn.kinematics(q, v)"),
    "Dynamics.together": ("dyn = bough.Dynamics(robot)", "dyn.together(['mass_matrix', 'bias_force'])(q, v)"),
    "Dynamics.with_status": ("dyn = bough.Dynamics(robot)", "dyn.with_status('forward_dynamics', q, v, v)"),
    "general code: forward_dynamics": ("dyn = bough.Dynamics(robot, general=True)", "dyn.forward_dynamics(q, v, v)"),
    "OperationalSpace": ("", "bough.OperationalSpace(robot, [bough.pose(f) for f in frames])(q, v).inertia"),
    "OperationalSpace.inverse_inertia": (SPACE, "space.inverse_inertia(q)"),
    "OperationalSpace.full": (SPACE, "space.full(q, v)"),
    "OperationalSpace.torques": (SPACE, "space.torques(q, v, np.zeros(6))"),
    "opspace.Hierarchy": (SPACE, "bough.opspace.Hierarchy(space).forces(np.eye(6), np.zeros(6), np.ones(6))"),
    "opspace.Tracker": (SPACE, "bough.opspace.Tracker(space).positions(q)"),
    "opspace.ConstrainedDynamics": (SPACE, "bough.opspace.ConstrainedDynamics(space)(q, v, 0 * v)"),
    "opspace.ConstrainedInverseDynamics": (SPACE, "bough.opspace.ConstrainedInverseDynamics(space)(q, v, 0 * v)"),
    "opspace.SparseRows": (
        "tree, J = bough.Tree([-1, 0, 0]), [[1.0, 2.0, 0.0], [1.0, 0.0, 3.0]]",
        "bough.opspace.SparseRows(tree, J).innovations(np.eye(3))"),
    "opspace.make_plan": (SPACE, "space.plan()"),
    "close_loops": (LOOP, "bough.close_loops(loop, [0.6, -0.5, -1.5])"),
    "opspace.mobility": (LOOP, "bough.opspace.mobility(loop, [0.6, -0.5, -1.5])"),
    "count": ("", "bough.count(robot, 'forward_dynamics')"),
    "opspace.count": ("", "bough.count(robot, 'inverse_inertia', tasks=[bough.pose(frame)])"),
    "export_c": (
        "import tempfile; folder = tempfile.mkdtemp()",
        "bough.export_c(robot, ['forward_dynamics'], folder + '/robot.c')"),
    "ik.solve": (
        "goal = bough.Dynamics(robot).placement(q, frame)", "bough.ik.solve(robot, {frame: goal}, robot.neutral)"),
    "control.TaskController": (SPACE, "bough.control.TaskController(space, {})(0.0, q, 0 * v)"),
    "control.WholeBody": ("", "bough.control.WholeBody(robot, [bough.pose(frame)])(0.0, q, 0 * v)"),
    "control.augmented_object": (
        SPACE + "\nbox = bough.control.rigid_object(1.0, (0, 0, 0), 0.1 * np.eye(3))",
        "bough.control.augmented_object(space(q, v), [(0.0, 0.0, 0.0)], box).inertia"),
    "control.Stabiliser": (SPACE, "bough.control.Stabiliser(space, q)"),
    "rollout": ("", "bough.simulate.rollout(robot, q, 0 * v, duration=0.01, dt=1e-3)"),
    "rollout on the ground": (
        GROUND, "bough.simulate.rollout(walker, stance, np.zeros(18), duration=0.01, dt=1e-3, contacts=feet)"),
    "simulate.Ensemble": ("", "bough.simulate.Ensemble(robot, q[None], 0 * v[None], dt=1e-3).step()"),
    "simulate.GroundedEnsemble": (
        GROUND, "GroundedEnsemble(walker, stance[None], np.zeros((1, 18)), dt=1e-3, contacts=feet).step()"),
    "env.RobotVectorEnv": (
        GROUND + "RobotVectorEnv = bough.env.RobotVectorEnv",
        "RobotVectorEnv(walker, num_envs=8, start=stance, contacts=feet, servo=(60.0, 1.5), "
        "reward=lambda s: s.v[:, 0], ended=lambda s: s.q[:, 2] < 0.2).reset(seed=0)"),
    "base_parameters": ("", "bough.base_parameters(robot)"),
    "identify": (
        "arm = bough.zoo.arm(4)\nq, (v, a) = arm.random_configuration(rng, 100), rng.normal(size=(2, 100, 4))\n"
        "tau = bough.Dynamics(arm).inverse_dynamics(q, v, a)",
        "bough.identify(arm, q, v, a, tau)"),
    "sweep.run": (
        "import tempfile; from bough.sweep import DrawnRows, Evaluate, Job, Threads\n"
        "job = Job(bough.zoo.arm(6), Evaluate('forward_dynamics'), DrawnRows(2000, seed=1))",
        "bough.sweep.run(job, tempfile.mkdtemp(), Threads(2))"),
    "casadi.function": ("import casadi", "bough.casadi.function(robot, 'forward_dynamics')"),
    "torch": (
        "import torch; from bough import torch as bridge; q, v = map(torch.from_numpy, (q, v))",
        "bridge.forward_dynamics(robot, q, v, v)"),
    "jax": (
        "import jax; jax.config.update('jax_enable_x64', True); from bough import jax as bridge",
        "bridge.forward_dynamics(robot, q, v, v)"),
    "sympy": (
        "import sympy; from bough import sympy as bridge; arm = bough.zoo.arm(2)",
        "bridge.expressions(arm, 'gravity')"),
    "convert: to_mujoco": ("import mujoco", "bough.convert.to_mujoco(robot, q)"),
    "convert: to_drake": ("import pydrake.multibody.plant", "bough.convert.to_drake(robot, q)"),
    "load": ("", "bough.load(path, floating_base=True) if path else bough.load('zoo:arm?n=4')"),
    "doctor": ("", "bough.doctor(robot)"),
    "view.Scene, its page": ("", "bough.view.scene(robot, q).html()"),
    "view.picture": ("", "bough.view.picture(bough.view.scene(robot, q), (320, 200))"),
    "sparsity.ltdl": ("H, tree = np.eye(7), bough.Tree([-1, 0, 0, 1, 1, 2, 2])", "bough.sparsity.ltdl(H, tree)"),
    "sparsity.ltl": ("H, tree = np.eye(7), bough.Tree([-1, 0, 0, 1, 1, 2, 2])", "bough.sparsity.ltl(H, tree)"),
    "sparsity.udut": ("H, tree = np.eye(7), bough.Tree([-1, 0, 0, 1, 1, 2, 2])", "bough.sparsity.udut(H, tree)"),
    "sparsity.hmul": (
        "H, tree = np.eye(7), bough.Tree([-1, 0, 0, 1, 1, 2, 2])", "bough.sparsity.hmul(H, tree, np.ones(7))"),
    "adaptive.QuasiStatics, first step": (
        MOLECULE + "sim = bough.adaptive.QuasiStatics(some, bough.adaptive.relative_joint(1e-3))\n"
        "sim.apply_force(1999, (0.0, 0.0, 1.0))",
        "sim.step(1e-3)"),
    "adaptive.Dynamics, first step": (
        MOLECULE + "sim = bough.adaptive.Dynamics(some, bough.adaptive.body_acceleration(1e-2))", "sim.step(1e-3)"),
}  # fmt: skip
