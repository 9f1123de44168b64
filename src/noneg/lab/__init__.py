"""Research tools: the benchmark, information theory, the papers' data sets and SGLD.

Nothing else in noneg depends on this package, except the command `noneg bench`.
"""
