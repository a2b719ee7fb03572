"""The primitive joints, the most frequent first, and the joint types that are made of them.

A new primitive is a file of its own and a line here.
"""

from __future__ import annotations

from bough.joints import ball, free, planar, slide, turn
from bough.joints.primitive import JOINTS, dispatcher, register

TURN = register(turn.TURN, "revolute", "continuous", "helical").kind
SLIDE = register(slide.SLIDE, "prismatic").kind
PLANAR = register(planar.PLANAR).kind
BALL = register(ball.BALL, "spherical").kind
FREE = register(free.FREE, "floating").kind

JOINTS |= {"cylindrical": ("turn", "slide"), "universal": ("turn", "turn"), "fixed": ()}

move_joint = dispatcher(
    "move_joint", "motion", "m, q, i, X", "Fill row i of X: (cos, sin, d) of the joint's screw, or its placement."
)
integrate_joint = dispatcher(
    "integrate_joint", "integrate", "m, i, q, v, h, out", "Put joint i of q, moved by h v, into out, which may be q."
)
difference_joint = dispatcher(
    "difference_joint", "difference", "m, i, q0, q1, out", "Put the tangent vector of joint i from q0 to q1 into out."
)
joint_rates = dispatcher(
    "joint_rates", "rate", "m, i, q, N", "Fill the part of joint i in N, zero on entry: the rate of q is N v."
)
