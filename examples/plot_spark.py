"""
A table in Spark
================

Rows stay on the cluster, which computes one small sketch; everything else runs locally. The same
code works for a table of ten thousand rows in a local session and for ten billion rows on a
cluster.
"""

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import noneg
from noneg.plots import ReliabilityDisplay

folder = Path(tempfile.mkdtemp())
spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "2")
    .config("spark.sql.warehouse.dir", str(folder))
    .getOrCreate()
)

rng = np.random.default_rng(0)
truth = rng.beta(1, 3, 50_000)
confirmed = (rng.random(truth.size) < truth) & (rng.random(truth.size) < 0.5)
pq.write_table(pa.table({"score": truth**0.8, "confirmed": confirmed}), folder / "rows.parquet")
table = spark.read.parquet(str(folder / "rows.parquet"))

# %%
# The call is the same as for a file or a data frame.

scores = noneg.read(table, score="score", label="confirmed", setting="one-sample", prior=0.25)
print(scores)
print(noneg.estimate("ece", scores))
ReliabilityDisplay.from_scores(scores)

# %%
# Only the sketch was returned, so another prior or another metric needs no further cluster work.

spark.stop()
print(noneg.estimate("auroc", scores.with_prior(0.3)))
