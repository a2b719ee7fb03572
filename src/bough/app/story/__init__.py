"""The demonstration, `bough demo`: a humanoid with a box, a molecule of 50,000 joints, quadrupeds on the ground.

Belongs here: the robot of the demonstration, its runs and its page. Does not belong here: anything that others use.
"""
