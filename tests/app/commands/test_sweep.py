"""`bough sweep` as it is written on the command line; what it computes is tested with the library."""

import pytest

from bough.app.commands.sweep import work_of
from bough.errors import BoughError
from bough.sweep import Evaluate, Roll, YourOwn


def test_what_is_done():
    assert work_of("jacobian?frame=hand") == Evaluate("jacobian", {"frame": "hand"})
    assert work_of("rollout?duration=0.5&every=3") == Roll(duration=0.5, every=3)
    assert work_of("mod:f") == YourOwn("mod:f")
    assert work_of("mod:f?arrays=q,tau") == YourOwn("mod:f", ("q", "tau"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("mod:f?y=1", "'mod:f' has no option 'y'; it has arrays"),
        ("mod:f?arrays=q&y=1", "no option 'y'"),
        ("rollout?speed=1", "a rollout has no option 'speed'"),
        ("rollout?dt=fast", "could not convert"),
        ("gravity?x", "expected NAME"),
    ],
)
def test_options_that_do_not_fit(text, words):
    with pytest.raises(BoughError, match=words):
        work_of(text)
