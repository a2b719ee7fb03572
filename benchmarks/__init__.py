"""Comparisons with other libraries, recorded: measured in one run, contestants in turn. Nothing here asserts.

Belongs here: one file for each section of `docs/benchmarks`, the tables made from recorded runs, and `results`. The
engines and the timing are those of `bough.app.bench`. Does not belong here: tests, and anything that the library needs.
"""
