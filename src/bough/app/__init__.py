"""The command line and what it shows: thin shells over the library, no algorithm.

Belongs here: commands, the demo, tables and pictures for the terminal. Does not belong here: anything that computes.
"""
