"""Comparisons with other libraries: measured as ratios in one run, contestants alternating. Nothing here asserts."""
