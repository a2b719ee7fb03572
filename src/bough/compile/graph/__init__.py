"""Straight-line programs: expressions, passes over them, identical parts and derivatives.

Belongs here: transformations of graphs. Does not belong here: text for a compiler (`emit`), machine
code (`run`).
"""
