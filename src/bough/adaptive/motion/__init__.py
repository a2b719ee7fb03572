"""Motion with velocities: sweeps of the articulated-body algorithm, steps in time, and the engines that take them.

Belongs here: what moves a linkage, whole or contracted to the joints that are active, and how these are chosen. Does
not belong here: what a user sets or asks for (`dynamics`), motion from rest (`engines`).
"""
