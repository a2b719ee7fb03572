"""Every script that is quick gives what the papers print: nothing differs without a reason."""

from __future__ import annotations

import pytest

from bough.errors import OptionError
from papers import SCRIPTS, chosen, run
from papers.catalogue import PAPERS, title
from papers.chang_khatib import figure5
from papers.result import DIFFERS
from sizes import size

KINDS = {"exact", "rounds to printed", "corrected", "not reproducible", "measured"}


@pytest.mark.parametrize("name", [name for name in SCRIPTS if not name.startswith("redon_lin")])
def test_nothing_differs_without_a_reason(name, monkeypatch):
    monkeypatch.setattr(figure5, "DT", size(figure5.DT, 2e-2))
    result = run(name)
    assert result.rows
    assert [row for row in result.rows if row.status == DIFFERS] == []
    assert {row.status.partition(" (")[0] for row in result.rows} <= KINDS
    assert all(
        (row.what and (row.ours or row.formula)) or row.status.startswith("not reproducible") for row in result.rows
    )
    assert all(figure.caption.endswith(".") for figure in result.figures)


def test_scripts_are_chosen_by_the_beginning_of_their_names():
    assert chosen([]) == list(SCRIPTS)
    assert chosen(["featherstone2005.table"]) == ["featherstone2005.table1", "featherstone2005.table2"]
    assert chosen(["figure5", "shim"]) == [
        "featherstone2005.figure5", "shimanovskij.table1", "shimanovskij.table2", "chang_khatib.figure5"
    ]  # fmt: skip
    with pytest.raises(OptionError, match="there is no table or figure 'table9'; did you mean 'table"):
        chosen(["table9"])
    with pytest.raises(OptionError, match=r"did you mean 'featherstone2005\.table1'"):
        chosen(["featherstone2005.tabel1"])
    for word in ("", "zzz"):
        with pytest.raises(OptionError, match=f"figure {word!r}; expected one of featherstone2005, "):
            chosen([word])


def test_every_script_has_a_title_and_a_paper():
    for name in SCRIPTS:
        assert name.partition(".")[0] in PAPERS
        assert not title(name).startswith("featherstone")
