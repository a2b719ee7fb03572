"""The mechanism on which derivatives are compared with Pinocchio's."""

# Pinocchio's derivatives leave out that the axes of its universal joint turn with q: finite differences tell.
JOINTS = ["floating", "revolute", "spherical", "prismatic", "planar", "helical", "revolute", "cylindrical"]
PARENT = [-1, 0, 1, 1, 3, 4, 0, 6]
