"""Numba twins of the passes in `noneg.kernels`; imported only for large arrays."""

from noneg.kernels_numba.buckets import bucket_of, bucket_triples
from noneg.kernels_numba.order import (
    count_above,
    doubled_wins,
    group_by_run,
    sort_run,
    sort_runs,
)
from noneg.kernels_numba.sums import binary_flags, in_unit_interval, node_sums, width_triples

__all__ = [
    "binary_flags",
    "bucket_of",
    "bucket_triples",
    "count_above",
    "doubled_wins",
    "group_by_run",
    "in_unit_interval",
    "node_sums",
    "sort_run",
    "sort_runs",
    "width_triples",
]
