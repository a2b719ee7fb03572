"""`Dynamics` on a GPU, or its stand-in, beside `Dynamics` on the CPU, function by function."""

import pickle

import numpy as np
import pytest

import bough
from bough import zoo
from bough.compile.run.libraries import on_host
from bough.dynamics.functions import FUNCTIONS
from bough.dynamics.library import InKernels
from gpu import has_gpu, on_hardware, starfish, to_gpu

MODEL = on_hardware(zoo.humanoid(), starfish())


def test_devices_and_layouts_that_do_not_exist():
    with pytest.raises(bough.BoughError, match="no device 'gpu'"):
        bough.Dynamics(MODEL, device="gpu")
    with pytest.raises(bough.BoughError, match="no layout 'columns'"):
        bough.Dynamics(MODEL, layout="columns")
    with pytest.raises(bough.BoughError, match="no general code"):
        bough.Dynamics(MODEL, general=True, device="cuda")


def test_the_device_survives_pickling():
    dyn = pickle.loads(pickle.dumps(bough.Dynamics(MODEL, device="cuda", layout="columns")))
    assert dyn.device == ("cuda", "columns")
    assert "cuda" in repr(dyn)


def test_functions_of_the_cpu_are_refused():
    with pytest.raises(bough.BoughError, match="on the CPU"):
        bough.Dynamics(MODEL, device="cuda").factorize(MODEL.neutral)


def arguments(names, batch):
    rng = np.random.default_rng(0)
    special = {"q": lambda: MODEL.random_configuration(rng, batch), "dt": lambda: rng.uniform(0.001, 0.01, (batch, 1))}
    return [special.get(name, lambda: rng.normal(size=(batch, MODEL.nv)))() for name in names]


# Of the largest component of a row. The humanoid's H has a condition of 4e5: single precision on the CPU errs by 5e-5.
TOLERANCES = {"float64": 1e-12, "float32": on_hardware(1e-4, 1e-5)}


def assert_close(found, wanted, dtype):
    """Results of rows are equal, beside the largest component of each row."""
    for a, b in zip(*((x if isinstance(x, tuple) else (x,)) for x in (found, wanted)), strict=True):
        assert a.dtype == dtype
        rows = np.asarray(b).reshape(len(b), -1)
        scale = np.maximum(np.abs(rows).max(axis=1, initial=0.0, keepdims=True), 1.0 if dtype == "float64" else 1e-3)
        assert (np.abs(np.asarray(a).reshape(len(b), -1) - rows) / scale).max(initial=0.0) <= TOLERANCES[dtype]


def single_and_double(x, dtype):
    """The same numbers in the precision that is tried, and in double precision for the CPU."""
    given = [np.ascontiguousarray(a, dtype) for a in x]
    return given, [a.astype(float) for a in given]


LONG = ("step", "derivatives", "regressor")  # in names of functions: on the stand-in, in one precision
TABLE = [
    (name, dtype)
    for name in FUNCTIONS
    for dtype in TOLERANCES
    if name != "factorize" and (dtype == "float64" or has_gpu() or not name.endswith(LONG))
]


@pytest.mark.parametrize(("name", "dtype"), TABLE)
def test_every_function_of_the_table(name, dtype, gpu):
    row = FUNCTIONS[name]
    options = {"frame": MODEL.frame_names[-1]} if "frame" in row.options else {}
    given, known = single_and_double(arguments(row.arguments, 20), dtype)
    cpu, gpu_dyn = bough.Dynamics(MODEL, general=True), bough.Dynamics(MODEL, device="cuda")
    assert_close(getattr(gpu_dyn, name)(*given, **options), getattr(cpu, name)(*known, **options), dtype)


@pytest.mark.parametrize("name", ["kinetic_energy", "potential_energy", "regressor", "gravity", "placements"])
def test_columns_have_the_results_of_rows(name, gpu):
    given = arguments(FUNCTIONS[name].arguments, 7)
    wanted = getattr(bough.Dynamics(MODEL), name)(*given)
    dyn, columns = bough.Dynamics(MODEL, device="cuda", layout="columns"), [np.ascontiguousarray(x.T) for x in given]
    for found in (getattr(dyn, name)(*columns), dyn.with_status(name, *columns)[0], dyn.fused([name])(*columns)[0]):
        np.testing.assert_allclose(np.moveaxis(found, -1, 0), wanted, atol=1e-11 * np.abs(wanted).max())
    single, number = dyn.with_status(name, *(x[0] for x in given))[0], wanted[0]
    np.testing.assert_allclose(single, number, atol=1e-11 * np.abs(wanted).max(), strict=True)


def test_kinematics_and_generalized_forces_in_columns(gpu):
    frames, (q, v) = list(MODEL.frame_names[-2:]), arguments(("q", "v"), 3)
    F = np.random.default_rng(2).normal(size=(3, 2, 6))
    cpu, dyn = bough.Dynamics(MODEL), bough.Dynamics(MODEL, device="cuda", layout="columns")
    wanted, found = cpu.kinematics(q, v, frames, frames), dyn.kinematics(q.T.copy(), v.T.copy(), frames, frames)
    for name in frames:
        np.testing.assert_allclose(np.moveaxis(found.jacobians[name], -1, 0), wanted.jacobians[name], atol=1e-12)
    np.testing.assert_allclose(np.moveaxis(found.velocities, -1, 0), wanted.velocities, atol=1e-12)
    tau = dyn.generalized_forces(q.T.copy(), frames, np.moveaxis(F, 0, -1).copy())
    np.testing.assert_allclose(tau.T, cpu.generalized_forces(q, frames, F), atol=1e-11)


INPUTS = ("inertia", "armature", "gravity", "placement")
PARAMETRISED = ("forward_dynamics", "mass_matrix", *on_hardware(("inverse_dynamics", "semi_implicit_step"), ()))


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("name", PARAMETRISED)
def test_with_quantities_of_the_model_as_inputs(name, dtype, gpu):
    given, known = single_and_double(arguments(FUNCTIONS[name].arguments, 10), dtype)
    heavier = MODEL.inertias * np.linspace(0.8, 1.2, 10)[:, None, None]
    (inertia, gravity), more = single_and_double([heavier, [0.1, 0.2, -5.0]], dtype)
    cpu = bough.Dynamics(MODEL, general=True, inputs=INPUTS)
    gpu_dyn = bough.Dynamics(MODEL, device="cuda", inputs=INPUTS)
    wanted = getattr(cpu, name)(*known, inertia=more[0], gravity=more[1])
    assert_close(getattr(gpu_dyn, name)(*given, inertia=inertia, gravity=gravity), wanted, dtype)
    there = [to_gpu(x) for x in (*given, inertia, gravity)]
    found = getattr(gpu_dyn, name)(*there[:-2], inertia=there[-2], gravity=there[-1])  # the others are the model's own
    found = tuple(on_host(x).astype(dtype) for x in (found if isinstance(found, tuple) else (found,)))
    assert_close(found, wanted if isinstance(wanted, tuple) else (wanted,), dtype)


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("name", ["forward_dynamics", "inverse_dynamics", "mass_matrix", "gravity"])
def test_products_with_derivatives(name, dtype, gpu):
    model = bough.zoo.star(4)
    rng = np.random.default_rng(1)
    q = model.random_configuration(rng, 10)
    x = [q, *rng.normal(size=(len(FUNCTIONS[name].arguments) - 1, 10, model.nv))]
    weight = rng.normal(size=(10, model.nv, model.nv) if name == "mass_matrix" else (10, model.nv))
    given, known = single_and_double([*x, weight], dtype)
    inputs = ("inertia", "gravity")
    cpu, gpu_dyn = bough.Dynamics(model, inputs=inputs), bough.Dynamics(model, device="cuda", inputs=inputs)
    wanted = cpu.vjp(name, *known[:-1], weight=known[-1])
    found = gpu_dyn.vjp(name, *given[:-1], weight=given[-1])
    assert list(found) == list(wanted)
    assert_close(tuple(found.values()), tuple(wanted.values()), dtype)
    along = {"q": given[1] if len(x) > 1 else np.ones((10, model.nv), dtype), "gravity": np.ones(3, dtype)}
    wanted = cpu.jvp(name, *known[:-1], along={k: y.astype(float) for k, y in along.items()})
    assert_close(gpu_dyn.jvp(name, *given[:-1], along=along), wanted, dtype)


def test_a_status_for_each_row(gpu):
    q, v, tau = arguments(("q", "v", "tau"), 6)
    q[2, 3:7], v[4, 1] = 0.0, np.nan
    found, status = bough.Dynamics(MODEL, device="cuda").with_status("forward_dynamics", q, v, tau)
    assert status.tolist() == [0, 0, 3, 0, 2, 0]
    assert np.isfinite(found[[0, 1, 3, 5]]).all()
    assert not np.isfinite(found[[2, 4]]).any(axis=1).all()


def test_forces_and_derivatives(gpu):
    q, v, tau = arguments(("q", "v", "tau"), 40)
    cpu, gpu_dyn = bough.Dynamics(MODEL), bough.Dynamics(MODEL, device="cuda")
    forces = {MODEL.frame_names[3]: np.arange(6.0)}
    every = np.random.default_rng(1).normal(size=(40, len(MODEL.body_names), 6))
    for given in (forces, every):
        wanted = cpu.forward_dynamics(q, v, tau, given)
        found = gpu_dyn.forward_dynamics(q, v, tau, given)
        np.testing.assert_allclose(found, wanted, atol=1e-12 * np.abs(wanted).max())
    for a, b in zip(
        gpu_dyn.inverse_dynamics_derivatives(q, v, tau), cpu.inverse_dynamics_derivatives(q, v, tau), strict=True
    ):
        np.testing.assert_allclose(a, b, atol=1e-12 * np.abs(b).max())


@pytest.mark.parametrize("layout", ["rows", "columns"])
@pytest.mark.parametrize(
    ("name", "wrt"),
    [
        ("forward_dynamics", None),
        ("forward_dynamics", ("q", "tau")),
        ("inverse_dynamics", ("qdd",)),
        ("gravity", ("q", "gravity")),
        ("kinetic_energy", None),
    ],
)
def test_derivatives(name, wrt, layout, gpu):
    """Whole matrices, closed where they are and from unit vectors where they are not, in the arrays' own library."""
    model = zoo.star(3)
    rng = np.random.default_rng(2)
    x = [model.random_configuration(rng, 5), *rng.normal(size=(len(FUNCTIONS[name].arguments) - 1, 5, model.nv))]
    cpu = bough.Dynamics(model, inputs=("gravity",))
    dyn = bough.Dynamics(model, inputs=("gravity",), device="cuda", layout=layout)
    wanted = cpu.derivatives(name, *x, wrt=wrt)
    turn = (lambda a: np.ascontiguousarray(a.T)) if layout == "columns" else lambda a: a
    found = dyn.derivatives(name, *(to_gpu(turn(a)) for a in x), wrt=wrt)
    assert [*found] == [*wanted]
    for key, y in found.items():
        y = on_host(y)
        np.testing.assert_allclose(np.moveaxis(y, -1, 0) if layout == "columns" else y, wanted[key], atol=1e-10)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_derivatives_by_several_kernels_have_the_same_bits(dtype, gpu):
    """Whatever the batch and the neighbours: see "The same bits" in docs/gpu.md."""
    x = [to_gpu(a.astype(dtype)) for a in arguments(("q", "v", "tau"), 40)]
    dyn = bough.Dynamics(MODEL, device="cuda")
    whole = dyn.forward_dynamics_derivatives(*x)
    assert isinstance(dyn._library._derivatives, InKernels)
    for rows in (slice(0, 1), slice(3, 10), slice(7, 40)):
        found = bough.Dynamics(MODEL, device="cuda").forward_dynamics_derivatives(*(a[rows] for a in x))
        for a, b in zip(found, whole, strict=True):
            np.testing.assert_array_equal(on_host(a), on_host(b)[rows])


def in_layout(layout):
    """What brings an array of rows to the GPU in a layout, and results back to rows."""
    if layout == "rows":
        return to_gpu, on_host
    return lambda x: to_gpu(np.ascontiguousarray(np.moveaxis(x, 0, -1))), lambda y: np.moveaxis(on_host(y), -1, 0)


@pytest.mark.parametrize("layout", ["rows", "columns"])
def test_a_step_takes_a_number_and_one_for_each_row(layout, cupy):
    model, (to, back) = zoo.arm(2), in_layout(layout)
    rng = np.random.default_rng(3)
    x, each = rng.normal(size=(3, 5, 2)), rng.uniform(0.001, 0.01, 5)
    cpu, dyn = bough.Dynamics(model), bough.Dynamics(model, device="cuda", layout=layout)
    given, name = [to(a) for a in x], "semi_implicit_step"
    for dt, dt_there in ((0.01, 0.01), (each, to_gpu(each))):
        wanted = cpu.semi_implicit_step(*x, dt)
        for found in (dyn.semi_implicit_step(*given, dt_there), dyn.with_status(name, *given, dt_there)[0]):
            assert_close(tuple(map(back, found)), wanted, "float64")
    along = cpu.jvp(name, *x, each, along={"dt": each})
    assert_close(tuple(map(back, dyn.jvp(name, *given, to_gpu(each), along={"dt": to_gpu(each)}))), along, "float64")


@pytest.mark.parametrize("layout", ["rows", "columns"])
def test_a_step_of_an_empty_batch(layout, cupy):
    dyn, (to, _) = bough.Dynamics(zoo.arm(2), device="cuda", layout=layout), in_layout(layout)
    found = dyn.semi_implicit_step(*map(to, np.zeros((3, 0, 2))), to_gpu(np.zeros(0)))
    assert [y.shape for y in found] == [to(np.zeros((0, 2))).shape] * 2


@pytest.mark.parametrize("on_host_too", [False, True])
def test_named_forces_of_wrong_shape(on_host_too, cupy):
    """Nothing is broadcast on the GPU, either."""
    dyn, x = bough.Dynamics(zoo.arm(2), device="cuda"), np.zeros((3, 5, 2))
    place = np.asarray if on_host_too else to_gpu
    with pytest.raises(bough.BoughError, match="force on 'link2' must have shape"):
        dyn.vjp("forward_dynamics", *map(place, x), weight=place(x[0]), forces={"link2": place(np.ones((5, 1)))})


@pytest.mark.parametrize(("layout", "is_host"), [("rows", False), ("columns", False), ("columns", True)])
def test_derivatives_by_named_forces(layout, is_host, cupy):
    model, (to, back), here = zoo.arm(2), in_layout(layout), on_host if is_host else to_gpu
    to = (lambda x, to=to: on_host(to(x))) if is_host else to
    rng = np.random.default_rng(4)
    x, weight = rng.normal(size=(3, 5, 2)), rng.normal(size=(5, 2))
    forces = dict(zip(model.body_names, rng.normal(size=(2, 5, 6)), strict=True))
    forces[model.body_names[1]] = forces[model.body_names[1]][0]  # the same for all rows
    cpu, dyn = bough.Dynamics(model), bough.Dynamics(model, device="cuda", layout=layout)
    there = {key: to(f) if f.ndim > 1 else here(f) for key, f in forces.items()}
    given = [to(a) for a in x]
    wanted = cpu.vjp("forward_dynamics", *x, weight=weight, forces=forces)["forces"]
    found = dyn.vjp("forward_dynamics", *given, weight=to(weight), forces=there)["forces"]
    for key, wrench in wanted.items():
        np.testing.assert_allclose(back(found[key]), wrench, atol=1e-12)
    one = dict([*forces.items()][:1])
    wanted = cpu.jvp("forward_dynamics", *x, forces=forces, along={"forces": one})
    there_one = {key: there[key] for key in one}
    found = dyn.jvp("forward_dynamics", *given, forces=there, along={"forces": there_one})
    np.testing.assert_allclose(back(found), wanted, atol=1e-12)
    wanted = cpu.derivatives("forward_dynamics", *x, wrt=["forces"])["forces"]
    found = dyn.derivatives("forward_dynamics", *given, wrt=["forces"])["forces"]
    np.testing.assert_allclose(back(found), wanted, atol=1e-12)
