"""Dynamics of a model: one algorithm, one file, one reference; `Dynamics` offers them as functions of arrays.

Belongs here: algorithms in joint space, and the table of functions from which `Dynamics`, `count` and `export_c` are
made. Does not belong here: tasks (`opspace`), time (`simulate`).
"""
