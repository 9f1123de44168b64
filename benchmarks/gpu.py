"""How fast does one GPU sketch a billion float32 scores, compared with copying them?

    PYTHONPATH=src python benchmarks/gpu.py --rows 1e9 --out gpu.json

Needs only torch with CUDA and NumPy.
"""

import argparse
import json
import platform
import sys
import time
from pathlib import Path

import numpy as np
import torch

from noneg.kernels import FINE_GRID, bucket_of
from noneg.torch import N_BUCKETS, add_rows

PIECE = 1 << 26


def seconds(call, repeats=5):
    """Return the best time of a few calls, waiting for each to finish."""
    best = float("inf")
    for _ in range(repeats):
        torch.cuda.synchronize()
        start = time.perf_counter()
        call()
        torch.cuda.synchronize()
        best = min(best, time.perf_counter() - start)
    return best


def new_sums(device):
    count = torch.zeros(2 * N_BUCKETS, dtype=torch.int64, device=device)
    bounds = torch.ones(N_BUCKETS, dtype=torch.float64, device=device)
    return count, count.double(), 2.0 * bounds, -bounds


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, default=1e9)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    n, device = int(arguments.rows), "cuda"
    torch.manual_seed(0)
    scores = torch.sigmoid(torch.randn(n, device=device) * 2.0 - 2.0)
    flags = torch.rand(n, device=device) < 0.5 * scores
    sums = new_sums(device)

    def sketch():
        for start in range(0, n, PIECE):
            add_rows(*sums, scores[start : start + PIECE], flags[start : start + PIECE])

    sketch()
    few = scores[:1_000_000].cpu().numpy().astype(np.float64)
    small = new_sums(device)
    add_rows(*small, scores[:1_000_000], flags[:1_000_000])
    marks = flags[:1_000_000].cpu().numpy()
    want = np.bincount(bucket_of(few, FINE_GRID) + N_BUCKETS * marks, minlength=2 * N_BUCKETS)
    copy = torch.empty_like(scores)
    times = {
        "copy": seconds(lambda: copy.copy_(scores)),
        "sum": seconds(lambda: scores.sum(dtype=torch.float64)),
        "sketch": seconds(sketch),
    }
    result = {
        "command": " ".join(["python", *sys.argv]),
        "device": torch.cuda.get_device_name(),
        "versions": {"torch": torch.__version__, "python": platform.python_version()},
        "rows": n,
        "seconds": times,
        "copy_bytes_per_second": 2 * 4 * n / times["copy"],
        "rows_per_second": n / times["sketch"],
        "sketch_over_copy": times["sketch"] / times["copy"],
        "peak_bytes": torch.cuda.max_memory_allocated(),
        "counts_equal_numpy": bool((small[0].cpu().numpy() == want).all()),
    }
    arguments.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
