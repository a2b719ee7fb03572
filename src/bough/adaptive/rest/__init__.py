"""A linkage at rest: accelerations, the active region by bounded passes over the tree, and steps h qdd.

Does not belong here: what a user sets or asks for (`quasistatics`), what solves and moves a linkage (`engines`).
"""
