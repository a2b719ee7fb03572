"""Sweeps on Ray (on loopback) and through submitit, workers killed in the middle."""

import os

import pytest

from bough.errors import SweepError
from bough.sweep import RayCluster, Slurm, read, run

pytest.importorskip("pyarrow")


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
def test_submitit_on_this_machine(notes, own, tmp_path, monkeypatch):
    pytest.importorskip("submitit")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    executor = Slurm(cluster="local", poll=0.1)
    assert run(own("flaky", 4), tmp_path / "a", executor, chunk=2).retried == 2
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
