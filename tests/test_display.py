"""What notebooks show of models, recordings, factors and plans."""

from html.parser import HTMLParser

import numpy as np
import pytest

import bough
from bough import _display as display
from bough.simulate import rollout

ARM = bough.zoo.arm(3)
SPACE = bough.OperationalSpace(bough.zoo.humanoid(), [bough.pose("left_hand"), bough.pose("right_foot")])
SHOWN = {
    "model": (bough.zoo.humanoid(), ("30 in v", "nonzeros of H", "<path", "left_arm1")),
    "bodies of a forest": (bough.zoo.star(70), ("70 in v", "more")),
    "recording": (rollout(ARM, np.zeros(3), np.zeros(3), duration=0.1, dt=0.01), ("polyline", "q[1]", "0 to 0.1 s")),
    "many states": (rollout(ARM, np.zeros((2, 3)), np.zeros((2, 3)), duration=0.1, dt=0.01), ("2 states",)),
    "factor": (bough.Dynamics(ARM).factorize(np.zeros(3)), ("H = L&#x27; D L", "nonzeros of L", "M0 2")),
    "plan": (SPACE.plan(), ("(chosen)", "operations", "chang_khatib")),
}  # fmt: skip


class Balanced(HTMLParser):
    def handle_starttag(self, tag, attributes):
        if tag not in ("br", "path", "polyline"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", SHOWN)
def test_results_show_themselves(name):
    found, words = SHOWN[name]
    text = found._repr_html_()
    parser = Balanced()
    parser.open = []
    parser.feed(text)
    assert parser.open == []
    assert "<script" not in text
    assert [word for word in words if word not in text] == []


def test_names_are_never_markup():
    evil = "<img src=x>"
    x = np.arange(3.0)
    for text in (
        display.table([(evil, 1)], (evil, "n")),
        display.pattern(np.eye(2), evil),
        display.plot(x, {evil: x}, evil),
    ):
        assert "<img" not in text


def test_a_pattern_is_darker_where_more_is_nonzero():
    assert display.pattern(np.array([[1.0, 0.1], [0.0, 0.6]]), "").count("<path") == 3
    assert display.pattern(np.zeros((0, 0)), "") == ""
    assert display.plot(np.zeros(1), {"x": np.zeros(1)}, "s") == ""
