"""`bough cache`."""

import json


def test_cache_warm_compiles_what_is_asked_for(run, monkeypatch):
    from bough.app import warm

    monkeypatch.setattr(warm, "general", lambda: [])
    monkeypatch.setattr(warm, "adaptive", lambda: [])
    assert "0 functions are ready" in run("cache", "warm")
    assert "14 functions are ready" in run("cache", "warm", "zoo:chain:2")


def test_cache(run, monkeypatch, tmp_path):
    monkeypatch.setenv("BOUGH_CACHE_DIR", str(tmp_path))
    assert "0 entries" in run("cache", "info")
    assert "removed 0 entries" in run("cache", "clear")
    assert json.loads(run("cache", "info", "--json"))["entries"] == 0
