"""The paper's benchmarks run, small."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import matplotlib
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize(
    ("name", "options", "picture"),
    [
        ("bicycle_chain", ["--steps", "30"], "adaptive_bicycle_chain.png"),
        ("millipede", ["--steps", "4", "--scale", "0.01"], "adaptive_millipede.png"),
        ("molecule", ["--steps", "3", "--scale", "0.04"], "adaptive_molecule_scattered.png"),
    ],
)
def test_an_example_prints_its_table_and_draws(name, options, picture, tmp_path, monkeypatch, capsys):
    matplotlib.use("Agg")
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.setattr(sys, "argv", [name, "--out", str(tmp_path), *options])
    runpy.run_path(str(EXAMPLES / f"adaptive_{name}.py"), run_name="__main__")
    assert "2^-19" in capsys.readouterr().out
    assert (tmp_path / picture).stat().st_size > 10_000
