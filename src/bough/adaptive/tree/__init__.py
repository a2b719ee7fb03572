"""The divide-and-conquer tree of Redon & Lin: assembly, the algebra of a node, exact and bounded passes.

Belongs here: clusters of bodies and what is computed on them. Does not belong here: who asks for a pass, and when.
"""
