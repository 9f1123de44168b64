"""
A job a day, one number for the month
=====================================

Scores arrive every day, and there are too many to keep. Each day's job stores a sketch of a few
hundred kilobytes. The sketches of a month add up to an evaluation of all its rows, and each day can
still be examined separately.
"""

# %%
# The daily job
# -------------
# The job reads the day's rows chunk by chunk and writes one small file atomically. Here each day is
# simulated, and from day 20 on, the model is overconfident.

import tempfile
from pathlib import Path

import numpy as np

import noneg

folder = Path(tempfile.mkdtemp())


def rows_of(day):
    """Return flags for confirmed frauds, and all scores."""
    rng = np.random.default_rng(day)
    truth = rng.beta(1, 8, 20_000)
    fraud = rng.random(truth.size) < truth
    confirmed = fraud & (rng.random(truth.size) < 0.4)
    return confirmed, truth if day < 20 else truth**0.8


def daily_job(day):
    sketch = noneg.Sketch(setting="one-sample")
    confirmed, score = rows_of(day)
    for piece in np.array_split(np.arange(score.size), 4):
        sketch.update(confirmed[piece], score[piece])
    sketch.save(folder / f"{day:02}.parquet")


for day in range(1, 31):
    daily_job(day)

# %%
# The month
# ---------
# Sketches can be added in any order, no matter where they were made.

sketches = [noneg.Sketch.load(path) for path in sorted(folder.glob("*.parquet"))]
month = sum(sketches)
print(month)
print(noneg.estimate("debiased_ece", month.scores(prior=1 / 9)))

# %%
# Day by day
# ----------
# The same files show when the problem began.

import matplotlib.pyplot as plt

days = np.arange(1, 31)
found = [noneg.estimate("debiased_ece", sketch.scores(prior=1 / 9)) for sketch in sketches]
low, high = ([getattr(estimate, end) for estimate in found] for end in ("low", "high"))
plt.fill_between(days, low, high, alpha=0.3, label="95% interval")
plt.plot(days, [estimate.value for estimate in found], label="calibration error")
plt.axvline(20, color="gray", linestyle=":", label="new model")
plt.xlabel("day")
plt.legend()
