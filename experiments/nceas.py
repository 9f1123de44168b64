"""The NCEAS benchmark: records of species, background points, and independent surveys."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
from sklearn.base import ClassifierMixin

from experiments.study import data_file

GROUPS = {"AWT": ("_bird", "_plant"), "NZ": ("",), "SA": ("",), "SWI": ("",)}
KEYS = ("siteid", "spid", "x", "y", "occ", "group")
# Predictors with fewer distinct values are categories.
CATEGORIES = 12


@cache
def read(name: str) -> pd.DataFrame:
    return pd.read_parquet(data_file(f"nceas/{name}.parquet"))


def regions(*names: str) -> tuple[str, ...]:
    """Return these regions, by default all; none, and a message, if the data are not available."""
    return () if data_file("nceas") is None else names or tuple(GROUPS)


def training(region: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the presence records and the background."""
    return read(f"{region}train_po"), read(f"{region}train_bg")


def surveys(region: str) -> Iterator[tuple[pd.DataFrame, pd.DataFrame]]:
    """Yield the sites and what was found there, for each group of species."""
    for group in GROUPS[region]:
        yield read(f"{region}test_env{group}"), read(f"{region}test_pa{group}")


def design(rows: pd.DataFrame, background: pd.DataFrame, ddof: int = 0) -> np.ndarray:
    """Return the continuous predictors, standardized by the background and clipped at 4."""
    names = [n for n in background if n not in KEYS and background[n].nunique() > CATEGORIES]
    x, base = (frame[names].to_numpy(float) for frame in (rows, background))
    return np.clip((x - base.mean(axis=0)) / base.std(axis=0, ddof=ddof), -4.0, 4.0)


def with_squares(x: np.ndarray) -> np.ndarray:
    return np.hstack([x, x**2])


@dataclass(frozen=True, eq=False)
class Species:
    """Predictors of its records, of the background and of the survey sites, and where it is
    present."""

    name: str
    records: np.ndarray
    background: np.ndarray
    sites: np.ndarray
    present: np.ndarray

    def scorer(
        self, model: ClassifierMixin, records: np.ndarray, features: Callable = with_squares
    ) -> Callable[[np.ndarray], np.ndarray]:
        """Train a model to separate records from the background, and return its probabilities."""
        parts = [features(records), features(self.background)]
        model.fit(np.vstack(parts), np.repeat([1, 0], [len(part) for part in parts]))
        return lambda rows: model.predict_proba(features(rows))[:, 1]


def species(region: str, records: int, presences: int = 1, ddof: int = 0) -> Iterator[Species]:
    """Yield the species of a region with at least so many records and presences."""
    taken, background = training(region)
    base = design(background, background, ddof)
    for sites, survey in surveys(region):
        there = design(sites, background, ddof)
        for name in survey.columns.drop(list(KEYS), errors="ignore"):
            own, present = taken[taken["spid"] == name], survey[name].to_numpy() > 0
            if len(own) >= records and present.sum() >= presences:
                yield Species(name, design(own, background, ddof), base, there, present)
