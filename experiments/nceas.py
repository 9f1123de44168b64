"""The NCEAS benchmark: records of species, background points, and independent surveys."""

from collections.abc import Iterator
from functools import cache

import pandas as pd

from experiments.study import data_file

GROUPS = {"AWT": ("_bird", "_plant"), "NZ": ("",), "SA": ("",), "SWI": ("",)}


@cache
def read(name: str) -> pd.DataFrame:
    return pd.read_parquet(data_file(f"nceas/{name}.parquet"))


def training(region: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the presence records and the background."""
    return read(f"{region}train_po"), read(f"{region}train_bg")


def surveys(region: str) -> Iterator[tuple[pd.DataFrame, pd.DataFrame]]:
    """Yield the sites and what was found there, for each group of species."""
    for group in GROUPS[region]:
        yield read(f"{region}test_env{group}"), read(f"{region}test_pa{group}")
