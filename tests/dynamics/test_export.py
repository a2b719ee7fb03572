"""C export of a model's functions: compiled with every warning an error, and run beside the Python ones."""

import ctypes
import re
import shutil
import subprocess

import numpy as np
import pytest

import bough
from bough.dynamics.functions import FUNCTIONS

FLAGS = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-fPIC"]
needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")


def compiled(folder, *sources, level="-O1"):
    library = folder / "model.so"
    subprocess.run(["gcc", *FLAGS, level, "-shared", *map(str, sources), "-o", str(library), "-lm"], check=True)
    return ctypes.CDLL(str(library))


def run(function, inputs, like):
    """The output of a C function, whose type and shape are those of `like`; a list of them for a list."""
    several = isinstance(like, list)
    out = [np.full(x.shape, np.nan, x.dtype) for x in (like if several else [like])]
    function.restype = None
    function(*(ctypes.c_void_p(np.ascontiguousarray(a).ctypes.data) for a in (*inputs, *out)))
    return out if several else out[0]


def state(model, dtype=float):
    rng = np.random.default_rng(0)
    q, v, tau, qdd = model.random_configuration(rng), *rng.normal(size=(3, model.nv))
    given = {"q": q, "v": v, "tau": tau, "qdd": qdd, "dt": np.array([0.01])}
    return {name: x.astype(dtype) for name, x in given.items()}


def by_dynamics(dyn, row, given, frame):
    """The function with its defaults, as a list of arrays."""
    result = getattr(dyn, row.name)(*given, *([frame] if "frame" in row.options else []))
    return [np.atleast_1d(getattr(x, "packed", x)) for x in (result if isinstance(result, tuple) else [result])]


@needs_gcc
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 2e-4)])
def test_every_function_agrees_with_dynamics_at_its_defaults(tmp_path, dtype, tolerance):
    model = bough.zoo.random_tree(6, seed=4)
    dyn, frame, values = bough.Dynamics(model), model.frame_names[-1], state(model, dtype)
    wanted = [(name, {"frame": frame}) if "frame" in row.options else name for name, row in FUNCTIONS.items()]
    wanted += ["forward_kinematics"]
    source, header = bough.export_c(model, wanted, tmp_path / "robot.c", dtype=dtype)
    library = compiled(tmp_path, source, level="-O0")
    for name, row in FUNCTIONS.items():
        given = [values[x] for x in row.arguments]
        expected = [x.astype(dtype) for x in by_dynamics(dyn, row, given, frame)]
        symbol = f"random_tree_{name}" + (f"_{frame}" if "frame" in row.options else "")
        out = run(getattr(library, symbol), given, expected)
        for got, wanted in zip(out, expected, strict=True):
            assert np.abs(got - wanted).max() <= tolerance * max(1.0, np.abs(wanted).max()), name
    frames = run(library.random_tree_forward_kinematics, [values["q"]], dyn.placements(values["q"]))
    np.testing.assert_allclose(frames[-1], dyn.placement(values["q"], frame), atol=tolerance)
    text = header.read_text()
    assert model.hash in text
    assert bough.__version__ in text
    assert "#define RANDOM_TREE_MASS_MATRIX_Q_SIZE" in text
    assert text.count("Reference local_world_aligned.") == 3


@needs_gcc
def test_options_are_named_in_the_header(tmp_path):
    model = bough.zoo.arm(3)
    dyn, values = bough.Dynamics(model), state(model)
    wanted = [("jacobian", {"frame": "hand", "reference": "local"}), ("forward_dynamics", {"method": "crba"})]
    source, header = bough.export_c(model, wanted, tmp_path / "arm.c")
    library = compiled(tmp_path, source)
    expected = dyn.jacobian(values["q"], "hand", "local")
    np.testing.assert_allclose(run(library.arm_jacobian_hand_local, [values["q"]], expected), expected, atol=1e-12)
    text = header.read_text()
    assert "Reference local." in text
    assert "Method crba." in text
    assert "Frame 'hand'." in text


@needs_gcc
def test_float_and_double_in_one_program(tmp_path):
    model = bough.zoo.arm(3)
    dyn = bough.Dynamics(model)
    sources = [
        bough.export_c(model, ["gravity"], tmp_path / f"{prefix}.c", dtype=dtype, prefix=prefix)[0]
        for prefix, dtype in (("arm_double", np.float64), ("arm_float", np.float32))
    ]
    main = tmp_path / "main.c"
    main.write_text(
        '#include "arm_double.h"\n#include "arm_float.h"\nint main(void)\n{\n'
        "    double q[3] = {0.1, 0.2, 0.3}, g[3], d = 0;\n    float p[3] = {0.1f, 0.2f, 0.3f}, h[3];\n    int i;\n"
        "    arm_double_gravity(q, g);\n    arm_float_gravity(p, h);\n"
        "    for (i = 0; i < ARM_FLOAT_GRAVITY_Q_SIZE; i++)\n        d += (g[i] - h[i]) * (g[i] - h[i]);\n"
        "    return d > 1e-8;\n}\n"
    )
    program = tmp_path / "both"
    subprocess.run(["gcc", *FLAGS, str(main), *map(str, sources), "-o", str(program), "-lm"], check=True)
    assert subprocess.run([str(program)], check=False).returncode == 0
    library, q = compiled(tmp_path, *sources), np.array([0.1, 0.2, 0.3])
    np.testing.assert_allclose(run(library.arm_double_gravity, [q], q), dyn.gravity(q), rtol=1e-12, atol=1e-12)


AWKWARD = ["a.b", "a/b", 'a"b', "a\nb", "a*/b", "/*a", "a??/b", "für", "Für", "for", "3d", "", "_", "a\\", "a\\\nb",
           "gravity", "0", "A.B", "x" * 5000, "*/ #error", "\u202e"]  # fmt: skip


@needs_gcc
def test_awkward_names_become_identifiers(tmp_path):
    builder = bough.Builder('we */ "go" 3\n')
    builder.add_body("link", mass=1.0, com=(0.1, 0, 0), inertia=np.eye(3))
    frames = [name for name in AWKWARD if name]
    for k, name in enumerate(frames):
        builder.add_frame(name, "link", (np.eye(3), (k, 0, 0)))
    model = builder.build()
    source, header = bough.export_c(model, [("placement", {"frame": name}) for name in frames], tmp_path / "3 odd.c")
    library, q = compiled(tmp_path, source), np.array([0.4])
    symbols = re.findall(r"^void (\w+)\(", header.read_text(), flags=re.M)
    assert len(set(symbols)) == len({s.upper() for s in symbols}) == len(frames)
    dyn = bough.Dynamics(model)
    for name, symbol in zip(frames, symbols, strict=True):
        expected = dyn.placement(q, name)
        np.testing.assert_allclose(run(library[symbol], [q], expected), expected, atol=1e-12)
    for path in (source, header):
        path.read_bytes().decode("ascii")


@needs_gcc
@pytest.mark.parametrize("prefix", ["for", "3", "", "a b", "ü", "class"])
def test_any_prefix(tmp_path, prefix):
    source, _ = bough.export_c(bough.zoo.arm(1), ["gravity"], tmp_path / "robot.c", prefix=prefix)
    compiled(tmp_path, source)


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_the_source_is_cpp_too(tmp_path):
    """As in projects that take every source for C++; its entry points keep their C names."""
    source, _ = bough.export_c(bough.zoo.arm(2), ["forward_dynamics", "mass_matrix"], tmp_path / "robot.c", prefix="a")
    flags = [flag for flag in FLAGS if not flag.startswith("-std")]
    subprocess.run(["g++", "-x", "c++", *flags, "-shared", str(source), "-o", str(tmp_path / "a.so")], check=True)
    assert ctypes.CDLL(str(tmp_path / "a.so")).a_mass_matrix


@needs_gcc
def test_names_that_meet_are_refused_or_given(tmp_path):
    builder = bough.Builder("arm")
    builder.add_body("link", mass=1.0, com=(0.1, 0, 0), inertia=np.eye(3))
    builder.add_frame("tool", "link", (np.eye(3), (1.0, 0, 0)))
    builder.add_frame("tool_local", "link", (np.eye(3), (0, 2.0, 0)))
    model, path = builder.build(), tmp_path / "arm.c"
    one = {"frame": "tool", "reference": "local"}
    for first, second in (
        (("jacobian", one), ("jacobian", {"frame": "tool_local"})),
        (("kinematics", {"frames": ["tool"]}), ("kinematics", {"frames": ["tool_local"]})),
        ("gravity", "gravity"),
    ):
        with pytest.raises(bough.BoughError, match=r"would both be called .* 'name'"):
            bough.export_c(model, [first, second], path)
    with pytest.raises(bough.BoughError, match="is a word, got 3"):
        bough.export_c(model, [("gravity", {"name": 3})], path)
    assert not path.exists()
    other = {"frame": "tool_local", "name": "other"}
    library = compiled(tmp_path, bough.export_c(model, [("jacobian", one), ("jacobian", other)], path)[0])
    dyn, q = bough.Dynamics(model), np.array([0.4])
    for symbol, J in (
        ("arm_jacobian_tool_local", dyn.jacobian(q, **one)),
        ("arm_other", dyn.jacobian(q, "tool_local")),
    ):
        np.testing.assert_allclose(run(library[symbol], [q], J), J, atol=1e-12)


def test_what_cannot_be_exported_is_refused(tmp_path):
    arm, path = bough.zoo.arm(3), tmp_path / "x.c"
    for functions, sentence in (
        (["fly"], "unknown function"),
        ([], "a list of functions, got none"),
        (["mass_matrx"], "did you mean 'mass_matrix'"),
        ("gravity", r"a list of functions, got the name 'gravity'; write \['gravity'\]"),
        (["jacobian"], "name one with frame"),
        ([("jacobian", {"frame": "hnad"})], "did you mean 'hand'"),
        ([("jacobian", {"frame": "hand", "reference": "locl"})], "did you mean 'local'"),
        ([("gravity", {"frame": "hand"})], "does not take the option 'frame'"),
        ([("forward_dynamics", {"method": "abba"})], "did you mean 'aba'"),
        ([("gravity", "x", 3)], "a name, or a name and a dict"),
        ([3], "a name, or a name and a dict"),
    ):
        with pytest.raises(bough.BoughError, match=sentence):
            bough.export_c(arm, functions, path)
    with pytest.raises(bough.BoughError, match="float64 or float32, got"):
        bough.export_c(arm, ["gravity"], path, dtype=np.float16)
    with pytest.raises(bough.BoughError, match="float64 or float32, got 'flot'"):
        bough.export_c(arm, ["gravity"], path, dtype="flot")
    with pytest.raises(bough.BoughError, match="no name for a C file"):
        bough.export_c(arm, ["gravity"], tmp_path / "x.h")
    for wrong in ("", tmp_path, tmp_path / "a\0.c"):
        with pytest.raises(bough.BoughError, match="no name for a C file"):
            bough.export_c(arm, ["gravity"], wrong)
    with pytest.raises(bough.BoughError, match=r"there is no folder '.*missing' for 'x\.c'"):
        bough.export_c(arm, ["gravity"], tmp_path / "missing" / "x.c")
    with pytest.raises(bough.BoughError, match="needs a Model"):
        bough.export_c("arm.urdf", ["gravity"], path)
    assert not list(tmp_path.iterdir())


@needs_gcc
@pytest.mark.parametrize("inputs", [(), ("placement",)])
def test_kinematics_of_many_frames(tmp_path, inputs):
    model = bough.zoo.arm(3)
    dyn, values = bough.Dynamics(model), state(model)
    q, v, frames = values["q"], values["v"], ["link2", "hand"]
    moving = ("kinematics", {"frames": frames, "jacobians": ["hand"], "reference": "local", "velocities": True})
    source, header = bough.export_c(model, [moving, "kinematics"], tmp_path / "arm.c", inputs=inputs)
    library = compiled(tmp_path, source)
    given = [model.joint_placements] if inputs else []
    wanted = dyn.kinematics(q, v, frames, ["hand"], reference="local")
    like = [wanted.placements, wanted.velocities, wanted.drifts, wanted.jacobians["hand"][None]]
    for found, expected in zip(run(library.arm_kinematics_local, [q, v, *given], like), like, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-12)
    everything = dyn.placements(q)
    found = run(library.arm_kinematics, [q, *given], [everything, np.zeros((0, 6, 3))])[0]
    np.testing.assert_allclose(found, everything, atol=1e-12)
    assert "Frames 'link2, hand'." in header.read_text()
    for options, words in (
        ({"frames": "hand"}, "write"),
        ({"frames": ["hnd"]}, "hnd"),
        ({"frames": ["hand"], "jacobians": ["link2"]}, "needs the frame among the frames"),
        ({"reference": "here"}, "no reference"),
        ({"frame": "hand"}, "does not take 'frame'; it takes frames"),
    ):
        with pytest.raises(bough.BoughError, match=words):
            bough.export_c(model, [("kinematics", options)], tmp_path / "arm.c")
