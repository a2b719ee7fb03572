"""What is done with rows equals what one would do by hand."""

import numpy as np
import pytest

import bough
from bough import zoo
from bough.errors import BoughError, ModelError, OptionError
from bough.record import read_table
from bough.sweep import ArrayRows, DrawnRows, Evaluate, Job, Roll, YourOwn, job
from bough.sweep.rows import rows_at_a_time

ARM = zoo.arm(3)
DYN = bough.Dynamics(ARM)


def test_a_function():
    found = Job(ARM, Evaluate("forward_dynamics"), DrawnRows(40)).columns(5, 25)
    assert found["row"].tolist() == list(range(5, 25))
    np.testing.assert_array_equal(
        found["forward_dynamics"], DYN.forward_dynamics(found["q"], found["v"], found["tau"], threads=1)
    )
    assert not found["status"].any()


@pytest.mark.parametrize("name", ["forward_dynamics_derivatives", "inverse_dynamics_derivatives"])
def test_several_results_have_columns_of_their_own(name, tmp_path):
    """With three rows in a chunk, rows and results were swapped."""
    made = Job(ARM, Evaluate(name), DrawnRows(3))
    made.write(tmp_path, 0, 3)
    found = read_table(tmp_path / job.name_of(0))
    given = [found[x] for x in made.needs]
    wanted = getattr(DYN, name)(*given, threads=1)
    names = [x for x in found if x.startswith("d")]
    assert len(names) == 3
    for column, y in zip(names, wanted, strict=True):
        np.testing.assert_allclose(found[column], y, rtol=1e-12, atol=1e-12)
    assert not found["status"].any()


def test_energies_are_numbers():
    found = Job(ARM, Evaluate("kinetic_energy"), DrawnRows(4)).columns(0, 4)
    np.testing.assert_array_equal(found["kinetic_energy"], DYN.kinetic_energy(found["q"], found["v"], threads=1))


def test_options_and_shapes():
    found = Job(ARM, Evaluate("jacobian", {"frame": "hand", "reference": "local"}), DrawnRows(4), inputs=False)
    columns = found.columns(0, 4)
    assert set(columns) == {"row", "jacobian", "status"}
    assert columns["jacobian"].shape == (4, 6, 3)


def test_rows_that_are_not_finite_have_a_status():
    q = np.zeros((3, 3))
    q[1, 0] = np.nan
    found = Job(ARM, Evaluate("gravity"), ArrayRows({"q": q})).columns(0, 3)
    assert found["status"].tolist() == [0, 2, 0]


def test_parameter_sets():
    found = Job(ARM, Evaluate("mass_matrix"), DrawnRows(5, spread=0.3)).columns(0, 5)
    for k in range(5):
        own = bough.Dynamics(ARM.with_inertias(found["inertia"][k]), general=True)
        np.testing.assert_allclose(found["mass_matrix"][k], own.mass_matrix(found["q"][k]), atol=1e-12)


def test_a_rollout():
    work = Roll(duration=0.01, dt=1e-3)
    found = Job(ARM, work, DrawnRows(3)).columns(0, 3)
    motion = bough.simulate.rollout(ARM, found["q"], found["v"], duration=0.01, dt=1e-3)
    np.testing.assert_array_equal(found["q_end"], motion.q[-1])
    assert np.isinf(found["failed_at"]).all()


def test_a_rollout_with_its_path():
    found = Job(ARM, Roll(duration=0.01, dt=1e-3, every=5), DrawnRows(3)).columns(0, 3)
    assert found["q_path"].shape == (3, 3, 3)
    np.testing.assert_allclose(found["time"], [[0.0, 0.005, 0.01]] * 3)


def test_rollouts_of_parameter_sets():
    rows = ArrayRows({"q": np.zeros((2, 3)), "v": np.ones((2, 3)), "gravity": [[0, 0, 0], [0, 0, -9.81]]})
    found = Job(ARM, Roll(duration=0.01, dt=1e-3), rows).columns(0, 2)
    for k in range(2):
        own = ARM.with_gravity(rows.arrays["gravity"][k])
        motion = bough.simulate.rollout(own, np.zeros(3), np.ones(3), duration=0.01, dt=1e-3)
        np.testing.assert_allclose(found["q_end"][k], motion.q[-1], atol=1e-12)


def test_states_that_are_not_finite_fail_at_once():
    rows = ArrayRows({"q": [[0.0] * 3, [np.nan] * 3], "v": np.zeros((2, 3))})
    found = Job(ARM, Roll(duration=0.01, dt=1e-3), rows).columns(0, 2)
    assert found["failed_at"].tolist() == [np.inf, 0.0]
    assert np.isnan(found["q_end"]).any(axis=1).tolist() == [False, True]


def test_a_state_that_cannot_go_on_is_recorded():
    rows = ArrayRows({"q": np.zeros((2, 3)), "v": [[0.0] * 3, [1e200] * 3]})
    found = Job(ARM, Roll(duration=0.01, dt=1e-3), rows).columns(0, 2)
    assert np.isfinite(found["failed_at"]).tolist() == [False, True]


@pytest.mark.parametrize(
    ("work", "words"),
    [
        (Evaluate("forward_dynamic"), "did you mean 'forward_dynamics'"),
        (Evaluate("jacobian"), "name one with frame="),
        (Evaluate("jacobian", {"frame": "hans"}), "did you mean 'hand'"),
        (Evaluate("gravity", {"colour": "red"}), "does not take the option"),
        (Roll(dt=0.0), "expected 0 < dt"),
        (Roll(every=1.5), "a whole number every"),
        (YourOwn("ghost:f"), "cannot be imported"),
        (YourOwn("ghost"), "expected module:function"),
        (YourOwn("..ghost:f"), "expected module:function"),
        (YourOwn("a..b:f"), "cannot be imported"),
        (YourOwn("math:pi"), "is no function, but float"),
    ],
)
def test_what_cannot_be_is_refused(work, words):
    with pytest.raises(BoughError, match=words):
        work.needs(ARM)


def test_other_refusals(notes, own):
    with pytest.raises(ModelError, match="arrays with 3 rows"):
        own("short").columns(0, 3)
    with pytest.raises(OptionError, match="not 'armature'"):
        Roll().bound(ARM, ("armature",))
    with pytest.raises(OptionError):
        Job(ARM, Evaluate("ghost"), DrawnRows(3)).columns(0, 1)


def test_rows_fail_alike_in_every_chunk():
    rows = ArrayRows({"q": [[np.nan] * 3] * 2, "v": np.zeros((2, 3)), "gravity": np.zeros((2, 3))})
    found = Job(ARM, Roll(duration=0.01, dt=1e-3), rows).columns(0, 2)
    assert found["failed_at"].tolist() == [0.0, 0.0]
    assert np.isnan(found["q_end"]).all()


def test_a_table_of_several_pieces(tmp_path):
    made = Job(ARM, Evaluate("gravity"), DrawnRows(2 * rows_at_a_time(ARM) + 5))
    made.write(tmp_path, 0, made.rows.count)
    found, expected = read_table(tmp_path / job.name_of(0)), made.columns(0, made.rows.count)
    for name, column in expected.items():
        np.testing.assert_array_equal(found[name], column)


def test_pieces_that_differ_are_refused(notes, own, monkeypatch):
    monkeypatch.setattr(job, "rows_at_a_time", lambda model: 4)
    with pytest.raises(BoughError, match="the same columns, of the same shapes and kinds"):
        own("moody", 7).part(0, 7)
