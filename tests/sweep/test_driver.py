"""A folder of parts: whole after kills, failures and damage; nothing lost, nothing doubled."""

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

from bough import sweep, zoo
from bough.errors import MissingExtraError, OptionError, RecordingError, SweepError
from bough.sweep import ArrayRows, DrawnRows, Evaluate, Job, Processes, Threads, parts, read, run
from patience import until

pytest.importorskip("pyarrow")
JOB = Job(zoo.arm(3), Evaluate("forward_dynamics"), DrawnRows(100))


def noted(notes):
    return notes.read_text().splitlines() if notes.exists() else []


def same(found, job):
    """The folder holds exactly the table of the job."""
    expected, table = job.columns(0, job.rows.count), read(found)
    assert set(table) == set(expected)
    for name, column in expected.items():
        np.testing.assert_array_equal(table[name], column)


EXECUTORS = {"one thread": Threads(1), "threads": Threads(3), "processes": Processes(2), "pool": ThreadPoolExecutor(2)}


@pytest.mark.parametrize("executor", EXECUTORS.values(), ids=EXECUTORS)
def test_parts_make_the_table(executor, tmp_path):
    summary = run(JOB, tmp_path / "a", executor, chunk=30)
    assert (summary.rows, summary.parts, summary.found, summary.retried) == (100, 4, 0, 0)
    same(tmp_path / "a", JOB)
    assert run(JOB, tmp_path / "a", executor).found == 4


def test_chunks_are_chosen_and_kept(tmp_path):
    run(JOB, tmp_path)
    assert 1 <= json.loads((tmp_path / "sweep.json").read_text())["chunk"] <= 100
    same(tmp_path, JOB)


def test_only_what_is_missing_is_computed(notes, own, tmp_path):
    job, folder = own("slow"), tmp_path / "a"
    run(job, folder, Threads(2), chunk=1)
    assert len(noted(notes)) == 12
    (folder / "part-000003.parquet").unlink()
    (folder / "part-000007.parquet").write_bytes(b"PAR1 damaged")
    (folder / ".part-000009.parquet.x.part").write_bytes(b"left by a kill")
    summary = run(job, folder, Threads(2))
    assert summary.found == 10
    assert len(noted(notes)) == 14
    assert not list(folder.glob(".part*"))
    same(folder, job)


def test_a_part_of_another_chunk_does_not_count(notes, own, tmp_path):
    run(own("slow", 4), tmp_path / "a", chunk=1)
    (tmp_path / "a" / "part-000001.parquet").write_bytes((tmp_path / "a" / "part-000002.parquet").read_bytes())
    with pytest.raises(RecordingError, match="is not rows 1:2 of this sweep"):
        read(tmp_path / "a")
    assert read(tmp_path / "a", partial=True)["row"].tolist() == [0, 2, 3]
    assert run(own("slow", 4), tmp_path / "a").found == 3
    same(tmp_path / "a", own("slow", 4))


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
@pytest.mark.parametrize("engine", ["threads", "processes"])
def test_a_killed_driver_goes_on(engine, notes, own, tmp_path):
    folder = tmp_path / "a"
    command = [sys.executable, "-m", "bough", "sweep", "zoo:arm?n=3", "sweep_helper:slow", "--rows", "40", "--seed",
               "3", "--chunk", "1", "--workers", "2", "--engine", engine, "--to", str(folder)]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "HOLD": f"{notes}.go"}
    driver = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    until(lambda: len(list(folder.glob("part-*.parquet"))) >= 5 or driver.poll() is not None)
    driver.send_signal(signal.SIGKILL)
    code = driver.wait()
    Path(f"{notes}.go").touch()
    assert code == -signal.SIGKILL
    driver.stderr.read()  # to its end, which comes when the processes that it had have ended by themselves
    driver.stderr.close()
    kept = {path.name: path.stat().st_mtime_ns for path in folder.glob("part-*.parquet")}
    begun = len(noted(notes))
    assert 5 <= len(kept) < 40
    job = own("slow", 40)
    summary = run(job, folder, Threads(2))
    assert summary.found == len(kept)
    assert len(noted(notes)) == begun + 40 - len(kept)
    assert all((folder / name).stat().st_mtime_ns == when for name, when in kept.items())
    same(folder, job)


def test_nothing_is_left_where_there_is_no_pyarrow(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match="needs pyarrow"):
        run(JOB, tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_files_named_like_pythons_own_do_not_reach_workers(monkeypatch, tmp_path):
    (tmp_path / "types.py").write_text("raise SystemExit('not these types')")
    monkeypatch.syspath_prepend(str(tmp_path))
    run(JOB, tmp_path / "a", Processes(1), chunk=60)
    same(tmp_path / "a", JOB)


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
def test_killed_workers_lose_their_chunk_only(notes, own, tmp_path):
    job = own("lethal")
    summary = run(job, tmp_path / "a", Processes(2), chunk=1)
    first = read(tmp_path / "a")["q"][:, 0]
    lost = int((first > 0).sum())
    assert 0 < lost < 12
    assert summary.retried == lost
    assert len(noted(notes)) == len({*noted(notes)}) == 12
    assert read(tmp_path / "a")["row"].tolist() == list(range(12))


def test_failed_chunks_are_sent_again(notes, own, tmp_path):
    assert run(own("flaky"), tmp_path / "a", Threads(2), chunk=1).retried == 12
    assert len(noted(notes)) == 12


@pytest.mark.parametrize("executor", [Threads(2), Processes(1)], ids=repr)
def test_what_succeeds_is_kept(executor, notes, own, tmp_path):
    with pytest.raises(SweepError, match=r"of 12 chunks failed, the others are kept; .* OSError: never"):
        run(own("hopeless"), tmp_path / "a", executor, chunk=1, retries=1)
    there = len(list((tmp_path / "a").glob("part-*")))
    assert 0 < there < 12
    with pytest.raises(SweepError, match="parts are missing"):
        read(tmp_path / "a")


def test_another_sweep_in_the_folder_is_refused(tmp_path):
    run(JOB, tmp_path, chunk=50)
    with pytest.raises(SweepError, match="holds another sweep: rows is"):
        run(Job(JOB.model, JOB.work, DrawnRows(100, seed=1)), tmp_path)
    with pytest.raises(SweepError, match="holds another sweep: model_hash is"):
        run(Job(zoo.arm(3, 1), JOB.work, JOB.rows), tmp_path)
    with pytest.raises(SweepError, match="50 rows a chunk, not 10"):
        run(JOB, tmp_path, chunk=10)
    for text in ("{", '{"job": {}, "rows": 3, "chunk": 0}', '{"job": {}, "rows": 1e999, "chunk": 1}'):
        (tmp_path / "sweep.json").write_text(text)
        with pytest.raises(SweepError, match="damaged"):
            run(JOB, tmp_path)
        with pytest.raises(SweepError, match="damaged"):
            read(tmp_path)
    (tmp_path / "sweep.json").unlink()
    with pytest.raises(SweepError, match="says of which"):
        run(JOB, tmp_path)


def test_two_drivers_do_not_share_a_folder(tmp_path):
    with parts.locked(tmp_path), pytest.raises(SweepError, match="another sweep is writing"):
        run(JOB, tmp_path)


def test_nothing_is_written_for_what_cannot_be(tmp_path):
    with pytest.raises(OptionError):
        run(Job(JOB.model, Evaluate("gravity", {"x": 1}), JOB.rows), tmp_path / "a")
    assert not (tmp_path / "a").exists()
    with pytest.raises(SweepError, match="no folder of a sweep"):
        read(tmp_path)
    with pytest.raises(OptionError, match="one worker or more"):
        run(JOB, tmp_path, Threads(0))


def test_an_executor_of_pythons_own_stays_open(tmp_path):
    with ProcessPoolExecutor(2, get_context("spawn")) as executor:
        run(JOB, tmp_path / "a", executor, chunk=60)
        assert executor.submit(len, "open").result() == 4
    same(tmp_path / "a", JOB)
    assert not (tmp_path / "a" / "job.pickle").exists()
    with pytest.raises(OptionError, match="an executor has `submit`"):
        run(JOB, tmp_path / "b", 3)


def test_executor_is_an_alias():
    with pytest.warns(DeprecationWarning, match=r"concurrent\.futures\.Executor"):
        assert sweep.Executor is Executor


def test_a_damaged_part_is_found_and_computed_again(tmp_path):
    """One bit is enough. Where it is not found (in statistics of pages), it does not change the table."""
    run(JOB, tmp_path, chunk=50)
    part, found = tmp_path / "part-000001.parquet", []
    written = part.read_bytes()
    for place in range(5, len(written), 211):
        part.write_bytes(written[:place] + bytes([written[place] ^ 4]) + written[place + 1 :])
        found.append(run(JOB, tmp_path).found)
        same(tmp_path, JOB)
    assert found.count(1) > len(found) // 2


def test_what_is_there_can_be_read(tmp_path):
    run(JOB, tmp_path / "a", chunk=30)
    whole = read(tmp_path / "a")
    (tmp_path / "a" / "part-000001.parquet").unlink()
    damaged = tmp_path / "a" / "part-000002.parquet"
    damaged.write_bytes(damaged.read_bytes()[:-100])
    with pytest.raises(SweepError, match="1 of 4 parts are missing"):
        read(tmp_path / "a")
    found = read(tmp_path / "a", partial=True)
    assert found["row"].tolist() == [*range(30), *range(90, 100)]
    np.testing.assert_array_equal(found["q"], whole["q"][found["row"]])
    assert set(read(tmp_path / "a", ["q"], partial=True)) == {"row", "q"}
    for path in (tmp_path / "a").glob("part-*"):
        path.unlink()
    with pytest.raises(SweepError, match="none of 4 parts is there"):
        read(tmp_path / "a", partial=True)


def test_columns_that_are_not_there(tmp_path):
    run(JOB, tmp_path, chunk=60)
    with pytest.raises(RecordingError, match="has no column 'ghost'; it has row, q, v"):
        read(tmp_path, ["q", "ghost"])


def test_shapes_that_vary_from_part_to_part(notes, own, tmp_path):
    run(own("growing", 4), tmp_path / "a", Threads(1), chunk=2)
    with pytest.raises(
        SweepError, match=r"rows of 'total' have shape \(2,\) in part-000001.parquet and \(1,\) in part"
    ):
        read(tmp_path / "a")
    run(own("renaming", 4), tmp_path / "b", Threads(1), chunk=2)
    with pytest.raises(SweepError, match="has the columns row, q, v, y0, but"):
        read(tmp_path / "b")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("ragged", "rows of 'total' differ in shape"),
        ("odd", "'total' must be numbers or text"),
        ("nothing", "must give arrays by name, got None"),
        ("empty", "rows of 'total' are empty"),
        ("colon", "may not be called 'a:b'"),
        ("clash", "may not be called 'q'"),
    ],
)
def test_results_that_make_no_table(name, words, notes, own, tmp_path):
    with pytest.raises(SweepError, match=words):
        run(own(name), tmp_path / "a", Threads(1), chunk=4)
    assert not list((tmp_path / "a").glob("part-*"))


def test_columns_that_clash_leave_nothing_behind(tmp_path):
    rows = ArrayRows({"q": np.zeros((4, 3)), "gravity": np.zeros((4, 3))})
    with pytest.raises(OptionError, match="may not be called 'gravity'"):
        run(Job(JOB.model, Evaluate("gravity"), rows), tmp_path / "a", chunk=2)
    assert not (tmp_path / "a").exists()


def test_functions_get_copies_of_their_rows(notes, own, tmp_path):
    drawn = DrawnRows(6).take(JOB.model, ("q", "v"), 0, 6)
    given = ArrayRows(drawn)
    run(Job(JOB.model, own("greedy").work, given), tmp_path / "a", Threads(1), chunk=3)
    table = read(tmp_path / "a")
    np.testing.assert_array_equal(table["q"], drawn["q"])
    np.testing.assert_array_equal(table["first"], table["q"][:, 0])
    assert given.arrays["q"].any()


@pytest.mark.parametrize("name", ["part-000001.parquet", "sweep.json", "lock", ".part-000001.parquet.0.part"])
def test_a_folder_in_the_place_of_a_file_is_refused_in_one_sentence(name, tmp_path):
    run(JOB, tmp_path, chunk=50)
    (tmp_path / name).unlink(missing_ok=True)
    (tmp_path / name).mkdir()
    with pytest.raises(SweepError, match=rf"{name}: Is a directory"):
        run(JOB, tmp_path)


def test_a_file_in_the_place_of_the_folder_is_refused_in_one_sentence(tmp_path):
    (tmp_path / "a").write_text("a file")
    with pytest.raises(OptionError, match="a file is in the way"):
        run(JOB, tmp_path / "a")
    with pytest.raises(SweepError, match="Not a directory"):
        read(tmp_path / "a")


def test_a_nested_description_is_refused(tmp_path):
    run(JOB, tmp_path, chunk=50)
    (tmp_path / "sweep.json").write_text("[" * 100_000)
    with pytest.raises(SweepError, match="damaged"):
        read(tmp_path)


def test_less_than_no_retries_are_refused(tmp_path):
    with pytest.raises(SweepError, match="retries are none or more, got -1"):
        run(JOB, tmp_path / "a", retries=-1)
    assert not (tmp_path / "a").exists()
