"""Figures 4 and 5 on benchmark data: Gaussian mixtures on logits, whose true error is known.

The measuring itself is that of experiments/pu_ece, with mixtures in place of its worlds.
"""

from __future__ import annotations

import importlib.util
import sys
import warnings
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from noneg.simulation import LogitMixture, MixtureLaw

if TYPE_CHECKING:
    from storage import Model

SYNTHETIC = Path(__file__).parents[1] / "pu_ece"
MAX_COMPONENTS = 10
TOLERANCE = 0.08  # of a slope beside the synthetic one


def fit_mixture(logits: np.ndarray, components: int = MAX_COMPONENTS, seed: int = 0) -> MixtureLaw:
    """Fit mixtures with 1, 2, ... Gaussians; return the one with the smallest BIC."""
    column = logits.reshape(-1, 1)
    best: GaussianMixture | None = None
    for k in range(1, components + 1):
        with warnings.catch_warnings():
            # A fit that is not done after 100 rounds is judged by its BIC as it is.
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = GaussianMixture(k, random_state=seed, n_init=2).fit(column)
        if best is None or found.bic(column) < best.bic(column):
            best = found
    return MixtureLaw(
        weights=best.weights_ / best.weights_.sum(),
        means=best.means_.ravel(),
        sds=np.sqrt(best.covariances_.ravel()),
    )


def mixture_world(model: Model, components: int = MAX_COMPONENTS) -> LogitMixture:
    """Return a world with the prior and the laws of a classifier's test logits."""
    groups = ("test_pos", "test_neg")
    positive, negative = (fit_mixture(model.logits[g], components) for g in groups)
    return LogitMixture(positive=positive, negative=negative, prior=model.prior)


def component_rows(name: str, world: LogitMixture) -> list[dict[str, object]]:
    """Return the components of both classes, a row each."""
    return [
        {"world": name, "prior": world.prior, "class": label, "weight": w, "mean": m, "sd": s}
        for label, law in (("positive", world.positive), ("negative", world.negative))
        for w, m, s in zip(law.weights, law.means, law.sds, strict=True)
    ]


def synthetic_experiment(worlds: dict[str, LogitMixture]) -> ModuleType:
    """Return the program of experiments/pu_ece with these worlds and bins of equal mass."""
    if importlib.util.find_spec("matplotlib") is None:
        # The program then measures all the same; only its pictures are missing.
        sys.modules.setdefault("figures", ModuleType("figures"))
    sys.path.insert(0, str(SYNTHETIC))
    try:
        spec = importlib.util.spec_from_file_location("pu_ece_run", SYNTHETIC / "run.py")
        program = importlib.util.module_from_spec(spec)
        sys.modules["pu_ece_run"] = program
        spec.loader.exec_module(program)
    finally:
        sys.path.remove(str(SYNTHETIC))
    program.WORLDS = worlds
    program.FIGURE_WORLDS = {4: list(worlds), 5: list(worlds)}
    program.TCE = {name: world.tce() for name, world in worlds.items()}
    program.LIPSCHITZ = {name: program.lipschitz(world) for name, world in worlds.items()}
    program.BINNINGS = ("mass",)
    return program


def measure_mixture(name: str, world: LogitMixture, sizes: list[int], trials: int, out: Path):
    """Write the points, slopes and floors of Figures 4 and 5 on one mixture, and its components."""
    program = synthetic_experiment({name: world})
    measured = [
        m
        for figure, settings in program.SETTINGS.items()
        for setting in settings
        for n in sizes
        for m in program.measure(program.Cell(figure, name, setting, n, trials))
    ]
    out.mkdir(parents=True, exist_ok=True)
    for figure in program.SETTINGS:
        rows = [program.bias_row(m) for m in measured if m.cell.figure == figure]
        program.write_csv(out / f"figure{figure}.csv", rows)
    program.write_csv(out / "slopes.csv", program.slope_rows(measured))
    program.write_csv(out / "floors.csv", program.floor_rows(measured))
    program.write_csv(out / "mixtures.csv", component_rows(name, world))
    program.write_csv(
        out / "worlds.csv", program.world_rows()
    )  # the last: it says that all is there
