"""
A table in Spark
================

Rows stay where they are: the cluster makes one small sketch, and everything else happens here.
The same code reads a table of ten thousand rows in a local session and one of ten billion on a
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
# The same call as for a file or a data frame.

scores = noneg.read(table, score="score", label="confirmed", setting="one-sample", prior=0.25)
print(scores)
print(noneg.estimate("ece", scores))
ReliabilityDisplay.from_scores(scores)

# %%
# Nothing but the sketch came back, so another prior or another metric costs nothing more.

spark.stop()
print(noneg.estimate("auroc", scores.with_prior(0.3)))
