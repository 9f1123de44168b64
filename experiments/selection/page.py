"""Tables for the README, computed from the stored results."""

import numpy as np

from experiments.selection.nceas import MEASURED, REGIONS, SELECTIONS
from experiments.selection.worlds import AGAIN
from experiments.tables import Row, Tables, pick

TITLES = {
    "auroc": "AUROC",
    "brier": "Brier score",
    "precision_at": "precision at the 10% most suitable sites",
    "ece": "ECE",
}


def inside(tables: Tables) -> list[Row]:
    """Return the share of species inside and the mean width, for each region and metric."""
    rows = []
    for region in REGIONS:
        for metric in MEASURED:
            found = pick(tables("species"), region=region, metric=metric)
            row = {"region": region, "metric": TITLES[metric], "n": len(found)}
            for g in SELECTIONS:
                share = np.mean([x[f"inside_{g:g}"] for x in found])
                width = np.mean([x[f"width_{g:g}"] for x in found])
                row[f"{g:g}"] = f"{100 * share:.0f}% ({width:.2f})"
            rows.append(row)
    return rows


def needed(tables: Tables) -> list[Row]:
    """Return the factor required by the survey: quantiles over species and models."""
    rows = []
    for region in REGIONS:
        for metric in ("auroc", "precision_at"):
            factors = [x["needed"] for x in pick(tables("species"), region=region, metric=metric)]
            low, middle, high = np.quantile(factors, [0.5, 0.75, 0.9])
            row = {"region": region, "metric": TITLES[metric]}
            rows.append(row | {"half": low, "three": middle, "nine": high})
    return rows


def reached(tables: Tables) -> list[Row]:
    """Return how often the ends are reached, by metric: mean and smallest value over cells."""
    rows = []
    for metric in dict.fromkeys(x["metric"] for x in tables("adversarial")):
        found = pick(tables("adversarial"), metric=metric)
        ends = np.array([[x["low_reached"], x["high_reached"]] for x in found])
        rows.append(
            {"metric": metric, "cells": len(found), "mean": ends.mean(), "least": ends.min()}
        )
    return rows


def weak(tables: Tables) -> list[Row]:
    """Return the ends that were reached least often, with the results of additional draws."""
    rows = []
    for x in tables("again"):
        cell = {key: x[key] for key in ("world", "setting", "prior", "n_positive", "metric")}
        (first,) = pick(tables("adversarial"), **cell)
        for end in ("low", "high"):
            if first[f"{end}_reached"] < AGAIN:
                found = {"end": end, "first": first[f"{end}_reached"], "again": x[f"{end}_reached"]}
                rows.append(cell | found)
    return rows


def by_size(tables: Tables) -> list[Row]:
    """Return how often the ends are reached, by setting, prior and size."""
    rows = []
    for setting in ("two-sample", "one-sample"):
        for prior in (0.02, 0.1, 0.5):
            row = {"setting": setting, "prior": prior}
            for n in (100, 300, 1000):
                found = pick(tables("adversarial"), setting=setting, prior=prior, n_positive=n)
                ends = [(x["low_reached"] + x["high_reached"]) / 2 for x in found]
                row[f"n{n}"] = float(np.mean(ends)) if ends else float("nan")
            rows.append(row)
    return rows
