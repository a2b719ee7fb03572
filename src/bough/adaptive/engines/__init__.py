"""Engines that solve a linkage here and now: over the assembly tree, plainly in O(n), on the contracted
tree of what was opened, and the switch between them.

Belongs here: arrays and compiled passes behind one object each. Does not belong here: what a user sets or asks for.
"""
