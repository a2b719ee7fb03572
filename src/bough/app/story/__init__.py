"""The demonstration: a humanoid puts a box down, linkages settle, costs and speeds; one page holds it all.

Belongs here: the robot of the demonstration, what it does, its page. Does not belong here: anything that others use.
"""
