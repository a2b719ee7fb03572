"""Programs as text: LLVM IR and C99.

Belongs here: what writes the text of a program. Does not belong here: compiling or running it (`run`).
"""
