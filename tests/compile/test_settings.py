"""What the environment says, and what it says wrongly."""

import sys
import tempfile
from pathlib import Path

import pytest

from bough.compile import settings
from bough.errors import SettingError


@pytest.mark.parametrize("text", ["0", "", "false", "no", "off", "False", " OFF "])
def test_interpreting_is_switched_off_by(text, monkeypatch):
    monkeypatch.setenv("BOUGH_INTERPRET", text)
    assert not settings.interpreted()


@pytest.mark.parametrize("text", ["1", "true", "yes", "on"])
def test_interpreting_is_switched_on_by(text, monkeypatch):
    monkeypatch.setenv("BOUGH_INTERPRET", text)
    assert settings.interpreted()


def test_interpreting_is_off_by_default(monkeypatch):
    monkeypatch.delenv("BOUGH_INTERPRET", raising=False)
    assert not settings.interpreted()


def test_number_of_threads_can_be_set(monkeypatch):
    monkeypatch.setenv("BOUGH_NUM_THREADS", "3")
    assert settings.threads() == 3
    for text in ("", None):
        monkeypatch.setenv("BOUGH_NUM_THREADS", text) if text is not None else monkeypatch.delenv("BOUGH_NUM_THREADS")
        assert settings.threads() >= 1


@pytest.mark.parametrize("text", ["abc", "0", "-2", "1.5"])
def test_a_number_that_is_none_is_refused_by_name(text, monkeypatch):
    monkeypatch.setenv("BOUGH_NUM_THREADS", text)
    with pytest.raises(SettingError, match=f"BOUGH_NUM_THREADS is '{text}'; expected a whole number, 1 or more"):
        settings.threads()


def test_a_limit_of_the_cache_that_is_none_is_refused_by_name(monkeypatch):
    monkeypatch.setenv("BOUGH_CACHE_LIMIT", "abc")
    with pytest.raises(SettingError, match="BOUGH_CACHE_LIMIT is 'abc'"):
        settings.cache_limit()


@pytest.mark.parametrize(("platform", "part"), [("win32", "cache"), ("darwin", "Library"), ("linux", ".cache")])
def test_default_directory(monkeypatch, platform, part):
    for name in ("BOUGH_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", platform)
    assert part in settings.cache_directory().parts


def test_a_user_without_home_or_name_has_a_cache_among_temporary_files(monkeypatch, tmp_path):
    """As in a container that runs under a number."""

    def nobody(_):
        raise RuntimeError("Could not determine home directory.")

    for name in ("BOUGH_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", classmethod(nobody))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert tmp_path in settings.cache_directory().parents
