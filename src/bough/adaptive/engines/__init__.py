"""Solution and motion of a linkage, whole or contracted: sweeps of the articulated-body algorithm, loops, stops, steps.

Belongs here: arrays and compiled passes behind one object, `engine.Engine`. Does not belong here: what a user sets or
asks for, and which joints are active.
"""
