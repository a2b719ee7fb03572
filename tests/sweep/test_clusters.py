"""Sweeps on Ray (on loopback) and through submitit, workers killed in the middle."""

import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from bough.errors import SweepError
from bough.sweep import RayCluster, Slurm, Threads, executors, read, run

pytest.importorskip("pyarrow")


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
def test_submitit_on_this_machine(notes, own, tmp_path, monkeypatch):
    pytest.importorskip("submitit")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    executor = Slurm(cluster="local")
    assert run(own("flaky", 4), tmp_path / "a", executor, chunk=2).retried == 2
    assert read(tmp_path / "a")["row"].tolist() == [0, 1, 2, 3]


def test_an_executor_of_submitit_as_it_is(notes, own, tmp_path, monkeypatch):
    submitit = pytest.importorskip("submitit")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    run(own("slow", 4), tmp_path / "a", submitit.AutoExecutor(folder=tmp_path / "logs", cluster="local"), chunk=2)
    assert read(tmp_path / "a")["row"].tolist() == [0, 1, 2, 3]


@pytest.fixture(scope="module")
def ray():
    """A cluster of two workers on loopback, which find the helper by the environment of the test."""
    return pytest.importorskip("ray", reason="needs ray: pip install 'bough[ray]'")


@pytest.mark.ray
def test_a_local_ray(ray, notes, own, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, _node_ip_address="127.0.0.1")
    try:
        lethal = own("lethal")
        summary = run(lethal, tmp_path / "a", RayCluster("auto", 2), chunk=1)
        table = read(tmp_path / "a")
        assert table["row"].tolist() == list(range(12))
        assert summary.retried == int((table["q"][:, 0] > 0).sum()) > 0
        written = notes.read_text().splitlines()
        assert len(written) == len({*written}) == 12
        with pytest.raises(SweepError, match="OSError: never"):
            run(own("hopeless"), tmp_path / "b", RayCluster("auto", 2), chunk=1, retries=0)
    finally:
        ray.shutdown()


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    """A Slurm that answers, and short patience with it."""
    pytest.importorskip("submitit", reason="needs submitit: pip install 'bough[slurm]'")
    if not shutil.which("sbatch") or subprocess.run(["sinfo"], capture_output=True, check=False).returncode:
        pytest.skip("no Slurm answers here (sbatch, sinfo)")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setattr(executors, "GRACE", 1.0)
    return Slurm(2)


@pytest.mark.slurm
def test_jobs_of_slurm_that_are_killed(cluster, notes, own, tmp_path):
    """A job that dies takes along what it had not written; Slurm keeps no accounts, and need not."""
    job = own("lethal")
    summary = run(job, tmp_path / "a", cluster, chunk=1, retries=4)
    table = read(tmp_path / "a")
    assert table["row"].tolist() == list(range(12))
    assert summary.retried >= int((table["q"][:, 0] > 0).sum()) > 0
    written = notes.read_text().splitlines()
    assert len(written) == len({*written}) == 12
    with pytest.raises(SweepError, match="OSError: never"):
        run(own("hopeless"), tmp_path / "b", cluster, chunk=3, retries=0)


@pytest.mark.slurm
def test_jobs_of_slurm_outlive_their_driver(cluster, notes, own, tmp_path):
    folder = tmp_path / "a"
    command = [sys.executable, "-m", "bough", "sweep", "zoo:arm?n=3", "sweep_helper:slow", "--rows", "12", "--seed",
               "3", "--chunk", "1", "--workers", "2", "--engine", "slurm", "--to", str(folder)]  # fmt: skip
    driver = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])})
    deadline = time.monotonic() + 120
    while not list(folder.glob("part-*.parquet")) and time.monotonic() < deadline and driver.poll() is None:
        time.sleep(0.05)
    driver.send_signal(signal.SIGKILL)
    assert driver.wait() == -signal.SIGKILL
    while len(list(folder.glob("part-*.parquet"))) < 12 and time.monotonic() < deadline:
        time.sleep(0.2)
    summary = run(own("slow"), folder, Threads(1))
    assert summary.found == 12
    assert len(notes.read_text().splitlines()) == 12
