"""`bough cache`."""

import json

from bough.dynamics import FUNCTIONS


def test_cache_warm_compiles_the_functions_of_a_model(run, monkeypatch):
    from bough.app import warm

    for what in ("operational_space", "adaptive"):
        monkeypatch.setattr(warm, what, list)
    functions = warm.functions
    monkeypatch.setattr(
        warm, "functions", lambda dynamics, dtype: [] if dynamics.general else functions(dynamics, dtype)
    )
    assert "0 functions are ready" in run("cache", "warm")
    found = run("cache", "warm", "zoo:chain:2")
    of_no_frame = [name for name, row in FUNCTIONS.items() if "frame" not in row.options]
    # one configuration and batches, in two precisions; factorize takes no batch
    assert f"{4 * len(of_no_frame) - 2} functions are ready" in found
    assert "but those of a frame, in float64 and float32" in " ".join(found.split())


def test_cache(run, monkeypatch, tmp_path):
    monkeypatch.setenv("BOUGH_CACHE_DIR", str(tmp_path))
    assert "0 entries" in run("cache", "info")
    assert "removed 0 entries" in run("cache", "clear")
    assert json.loads(run("cache", "info", "--json"))["entries"] == 0
