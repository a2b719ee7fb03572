"""The report is whole, stands alone, and can be read by machines."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import pytest

from papers import Figure, Result, Row, run, write
from papers.report import as_html, as_markdown, deviations, summary


class Balance(HTMLParser):
    """Tags that are opened and not closed, and what the page would load from elsewhere."""

    def __init__(self):
        super().__init__()
        self.open, self.loaded = [], []

    def handle_starttag(self, tag, attributes):
        if tag not in ("meta", "img"):
            self.open.append(tag)
        self.loaded += [v for k, v in attributes if k in ("src", "href") and not v.startswith(("data:", "#"))]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def results():
    odd = Result((Row("a | <b>", "1", "2", "2x", "differs"),), (Figure("f", "Seen.", lambda c: c.subplots()),))
    return {"featherstone2005.table1": run("featherstone2005.table1"), "featherstone2005.figure5": odd}


def test_files(results, tmp_path):
    paths = write(results, tmp_path / "out")
    assert [p.name for p in paths] == [
        "reproduction.html", "reproduction.json", "reproduction.md", "featherstone2005.figure5.f.png",
        "featherstone2005.figure5.f.svg",
    ]  # fmt: skip
    content = json.loads(paths[1].read_text())
    assert content["summary"] == summary(results) == {"exact": 12, "differs": 1}
    assert content["results"]["featherstone2005.figure5"]["rows"][0]["ours"] == "2"
    first = [path.read_bytes() for path in paths[3:]]
    again = write(results, tmp_path / "out")[3:]
    assert [path.read_bytes() for path in again] == first  # nothing of the day or the machine


def test_the_page_stands_alone(results):
    page = Balance()
    text = as_html(results, {"featherstone2005.figure5.f.png": b"x"})
    page.feed(text)
    assert page.open == []
    assert page.loaded == []
    assert "a | &lt;b&gt;" in text
    assert text.count("data:image/png;base64,") == 1


def test_markdown_tables_are_not_broken_by_what_stands_in_them(results):
    lines = [line for line in as_markdown(results, {}).splitlines() if line.startswith("| a ")]
    assert lines == [r"| a \| <b> | 1 |  | 2 | 2x | differs |  |"]


def test_deviations_are_listed(results):
    assert "| Featherstone 2005, Figure 5 | a \\| <b> |" in as_markdown(results, {})
    assert "Featherstone 2005, Figure 5</a></td><td>a | &lt;b&gt;" in as_html(results, {})
    assert [row.what for _, row in deviations(results)] == ["a | <b>"]
