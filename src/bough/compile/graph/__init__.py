"""Straight-line programs: expressions, passes over them, twins and derivatives.

Belongs here: what turns one graph into another. Does not belong here: text for a compiler (`emit`), machine
code (`run`).
"""
