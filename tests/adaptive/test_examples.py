"""The paper's benchmarks run, small."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import matplotlib
import pytest

from sizes import size

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize(
    ("name", "options", "picture"),
    [
        ("bicycle_chain", ["--steps", "30", "--scale", size("1", "0.2")], "adaptive_bicycle_chain.png"),
        ("millipede", ["--steps", "4", "--scale", "0.01"], "adaptive_millipede.png"),
        ("molecule", ["--steps", "3", "--scale", size("0.04", "0.002")], "adaptive_molecule_scattered.png"),
    ],
)
def test_an_example_prints_its_table_and_draws(name, options, picture, tmp_path, monkeypatch, capsys):
    matplotlib.use("Agg")
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.setattr(sys, "argv", [name, "--out", str(tmp_path), *options])
    runpy.run_path(str(EXAMPLES / f"adaptive_{name}.py"), run_name="__main__")
    assert "2^-19" in capsys.readouterr().out
    assert (tmp_path / picture).stat().st_size > 10_000


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("whip", ["--steps", "60", "--scale", "0.05"]),
        ("tree", ["--steps", "80", "--scale", "0.01"]),
        ("millipede", ["--steps", "100", "--scale", "0.02"]),
    ],
)
def test_an_example_of_motion_prints_its_table_and_draws(name, options, tmp_path, monkeypatch, capsys):
    matplotlib.use("Agg")
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.setattr(sys, "argv", [name, "--out", str(tmp_path), *options])
    runpy.run_path(str(EXAMPLES / f"motion_{name}.py"), run_name="__main__")
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[2:-1]]
    errors = [float(row[2]) for row in rows]
    assert errors[-1] < errors[0]
    assert (tmp_path / f"motion_{name}.png").stat().st_size > 10_000


def test_the_bridge_settles_and_is_drawn(tmp_path, monkeypatch, capsys):
    matplotlib.use("Agg")
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.setattr(sys, "argv", ["bridge", "--out", str(tmp_path), "--hangers", "5", "--pieces", "3"])
    runpy.run_path(str(EXAMPLES / "settle_cable_bridge.py"), run_name="__main__")
    out = capsys.readouterr().out
    assert "6 loops" in out or "7 loops" in out
    sinks = [float(line.split("sinks by ")[1].split(" m")[0]) for line in out.splitlines() if "sinks" in line]
    assert 0.0 <= sinks[0] < sinks[1] < 1.0
    assert (tmp_path / "settle_cable_bridge.png").stat().st_size > 10_000


def test_the_enzyme_is_pulled_downhill_and_drawn(tmp_path, monkeypatch, capsys):
    matplotlib.use("Agg")
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.setattr(sys, "argv", ["chain", "--out", str(tmp_path), "--steps", "40", "--eps", "0.5"])
    runpy.run_path(str(EXAMPLES / "pull_protein_chain.py"), run_name="__main__")
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[2:-1]]
    assert [row[0] for row in rows] == ["all", "0.5"]
    for row in rows:
        assert row[-1] == "0"  # energies that rose
        assert float(row[-2]) < 6.5 < float(row[-4]) == pytest.approx(8.09)
    assert (tmp_path / "pull_protein_chain.png").stat().st_size > 10_000
