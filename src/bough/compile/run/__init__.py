"""Machine code: compiling, keeping, loading and calling it.

Belongs here: the disk cache, native code, gates from Python to it, threads, calls. Does not belong here: what the code
computes (`graph`), how it is written (`emit`).
"""
