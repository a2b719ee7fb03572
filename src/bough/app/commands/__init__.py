"""Commands: one file for each, or for a few that belong together.

Belongs here: what a command takes, what it prints, and its exit code. Does not belong here: anything that computes.
Nothing but typer is imported before a command runs, so that `bough --help` is quick.
"""
