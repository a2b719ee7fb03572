"""Sweeps over bodies and task rows that no single method owns: wrenches, Jacobian, bias, the factor, the inverse.

Belongs here: kernels that several methods or the state of a space share. Does not belong here: what only one method
for Lambda^-1 needs (`methods`), and descriptions of tasks (`tasks`).
"""
