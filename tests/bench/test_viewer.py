"""The browser of this machine says how fast it draws."""

import pytest

import browser
from benchmarks import viewer
from bough.errors import MissingExtraError


def test_a_page_times_itself():
    if browser.found() is None:
        pytest.skip("no Chromium or Chrome is installed (or named by BOUGH_TEST_BROWSER)")
    found = viewer.measured("zoo:arm?n=3")
    assert found["ms"] > 0
    assert found["by"]


def test_without_a_browser(monkeypatch):
    monkeypatch.delenv("BOUGH_TEST_BROWSER", raising=False)
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(MissingExtraError, match="needs Chromium or Chrome"):
        viewer.measured("zoo:arm")
