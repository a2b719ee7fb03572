"""From a kernel, a plain function over scalars, to its executions: interpreted, traced, compiled. Knows no robots.

Belongs here: routines (`routine`), the ways to execute them (`executions`) and, in rooms of their own, graphs, text and
machine code. Does not belong here: any physics.
"""
