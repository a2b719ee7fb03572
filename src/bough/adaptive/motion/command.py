"""One entry to all that is done with the assembly tree of a moving linkage: it is compiled once."""

from __future__ import annotations

from bough.adaptive.motion.choose import Choice, Rule, choose, lost, momenta, settle
from bough.adaptive.motion.layout import Effort, Moving
from bough.adaptive.motion.sums import survey
from bough.adaptive.motion.survey import Survey, build
from bough.adaptive.node import Blueprint, State
from bough.adaptive.passes import Front, Loads
from bough.compile.kernel import loop_kernel
from bough.joints import Mechanism
from bough.types import Rows, Scalar

BUILD, SURVEY, CHOOSE, SETTLE, MOMENTA, LOST = range(6)


@loop_kernel
def attend(
    m: Mechanism,
    plan: Blueprint,
    st: State,
    fr: Front,
    loads: Loads,
    e: Effort,
    s: Moving,
    y: Survey,
    x: Choice,
    rule: Rule,
    touched: Rows,
    what: int,
) -> Scalar:
    """BUILD: all records. SURVEY: what active nodes do, then CHOOSE: the next region. SETTLE: make it so. MOMENTA: of
    its pieces, into y.momentum. LOST: Delta."""
    if what == BUILD:
        build(m, plan, st, fr, loads, e, s, y)
    elif what == SURVEY:
        survey(m, plan, st, fr, loads, touched, e, s, y)
        return choose(m, plan, st, fr, e, s, y, rule, x)
    elif what == CHOOSE:
        return choose(m, plan, st, fr, e, s, y, rule, x)
    elif what == SETTLE:
        settle(m, plan, st, fr, e, s, y, x)
    elif what == MOMENTA:
        momenta(plan, y, x)
    elif what == LOST:
        return lost(m, plan, st, s, y, x)
    return 0.0
