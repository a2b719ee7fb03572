"""A moving linkage: accelerations, the active region by bound evaluation on the assembly tree, and steps in time.

Does not belong here: what a user sets or asks for (`dynamics`), what solves and moves a linkage (`engines`).
"""
