"""Active joints: chosen by bounded passes at rest, by bound evaluation in motion, and when to choose them again.

Does not belong here: what solves and moves a linkage (`engines`), what clusters know of themselves (`tree`).
"""
