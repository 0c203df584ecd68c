"""What loops over parts of an axis have in common: parts of values, and what becomes of all parts.

A step of a loop (`sink_reductions`) or a block of rows (`reduce_in_blocks`) is one part of an axis. `parts.py` makes
the part of any value that can be made part by part; `accumulate.py` says what becomes of all of them: a sum, another
reduction, or an array that is written part by part; `order.py` where a loop can stand.
"""
