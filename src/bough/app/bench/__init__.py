"""`bough bench --model`: one mechanism in Bough and in the other engines that are installed.

Belongs here: fair timing, the same mechanism and state in other engines, and the comparison of one model. Does not
belong here: the benchmark suite and its recorded results (`benchmarks` beside `src`), which builds on this.
"""
