"""`bough demo`, `bough reproduce` and `bough bench`."""

import json


def test_lists(run):
    assert "featherstone2005" in run("reproduce", "--list")
    assert all(json.loads(run("reproduce", "--list", "--json")).values())


def test_reproduce_refuses_before_it_runs(refused, monkeypatch, tmp_path):
    monkeypatch.setattr("papers.tour.run", None)
    (tmp_path / "file").touch()
    table = ("reproduce", "shimanovskij.table1")
    assert "did you mean 'table1'" in refused("reproduce", "tabel1")
    assert "file' cannot be made a folder: File exists" in refused(*table, "--to", tmp_path / "file")
    assert "there is no folder" in refused("reproduce", "--docs", tmp_path / "ghost", "--to", tmp_path)
    assert "--docs renews the page of all tables and figures" in refused(*table, "--docs", tmp_path)


def test_demo_writes_a_page(run, monkeypatch, tmp_path):
    def write(to, say, progress):
        say("1 of 3")
        return to / "index.html", {"cost": {"microseconds": 1.0}}

    monkeypatch.setattr("bough.app.story.page.write", write)
    said = run("demo", "--to", tmp_path / "page")
    assert "1 of 3" in said
    assert str(tmp_path / "page" / "index.html") in said
    assert "bough view robot.urdf" in said
    found = json.loads(run("demo", "--to", tmp_path / "page", "--json"))
    assert found == {"file": str(tmp_path / "page" / "index.html"), "cost": {"microseconds": 1.0}}


def test_what_is_not_installed_says_where_it_is(refused, monkeypatch, tmp_path):
    monkeypatch.setattr("bough.__file__", str(tmp_path / "site-packages" / "bough" / "__init__.py"))
    sentence = "papers/ is not installed with Bough: get its source code, and run it there"
    assert sentence in refused("reproduce", "--list")
