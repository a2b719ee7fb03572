"""Bridges to other people's numbers: CasADi, PyTorch, JAX, SymPy. Each is one short file over a graph or an entry.
And to their loops: Gymnasium (`env`), over the ensembles of `simulate`.

Belongs here: what hands a function of the table over to another library. Does not belong here: algorithms and
derivatives, which are Bough's own. A bridge imports its library when it is imported itself, so `bough.casadi` and its
like are loaded only when they are used; a missing library gives one sentence with the extra that brings it.
"""
