"""From a kernel, a plain function over scalars, to its executions: interpreted, specialised, general.

Belongs here: kernels, routines, the ways to execute them (`executions`) and, in rooms of their own, graphs, text and
machine code. Does not belong here: any physics, any name of a thing that is computed.

The road of a call: a `Routine` and its `Constants` are bound (`executions.bind_arrays`); an execution compiles them to
an `Entry` when they are first called (`run.call`), the code of the entry opens a gate (`run.gate`), and from then on
arrays that fit go straight through that gate. Batches go through several gates at once (`run.threads`).
"""
