"""The demonstration: a humanoid puts a box down, linkages settle, tables of cost and speed; one page that holds it all.

Belongs here: the robot of the demonstration, what it does, and its page. Does not belong here: anything that others use.
"""
