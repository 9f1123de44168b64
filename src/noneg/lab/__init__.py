"""The research floor: the benchmark, information theory, the papers' data sets and SGLD.

Nothing else in noneg depends on it, except the command `noneg bench`.
"""
