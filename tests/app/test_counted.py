"""Counts of `bough info` are counted once."""

import pytest

import bough
from bough.app import show
from bough.dynamics import export


def test_counts_are_kept_on_the_disk(monkeypatch, tmp_path):
    monkeypatch.setenv("BOUGH_CACHE_DIR", str(tmp_path))
    model = bough.zoo.arm(3)
    first = show.counted(model)
    assert first == {label: bough.count(model, name, method=method) for label, name, method in show.SHOWN}
    monkeypatch.setattr(export, "count", None)
    assert show.counted(model) == first
    with pytest.raises(TypeError):
        show.counted(bough.zoo.arm(4))


def test_other_sources_are_counted_again(monkeypatch, tmp_path):
    monkeypatch.setenv("BOUGH_CACHE_DIR", str(tmp_path))
    show.counted(bough.zoo.arm(3))
    monkeypatch.setattr(show, "source_digest", lambda package: "edited")
    monkeypatch.setattr(export, "count", None)
    with pytest.raises(TypeError):
        show.counted(bough.zoo.arm(3))
