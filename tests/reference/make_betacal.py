"""Write betacal.json: coefficients of betacal 1.1.0 on labeled scores.

Run with an environment that has betacal, numpy and scikit-learn: python make_betacal.py
Each problem is given by its recipe, so that the test can draw the same rows.
"""

import json
from importlib.metadata import version
from pathlib import Path

import numpy as np
from betacal import BetaCalibration

# Seed, rows, shape of the beta distribution of scores, power: P(y = 1 | s) = s ** power.
RECIPES = [
    [0, 5000, 2.0, 5.0, 1.5],
    [1, 5000, 1.0, 1.0, 0.5],
    [2, 2000, 0.7, 0.9, 1.0],
    [3, 20000, 4.0, 2.0, 3.0],
]


def main():
    rows = []
    for recipe in RECIPES:
        seed, n, a, b, power = recipe
        rng = np.random.default_rng(seed)
        s = rng.beta(a, b, n)
        y = rng.random(n) < s**power
        model = BetaCalibration(parameters="abm").fit(s.reshape(-1, 1), y.astype(int))
        alpha, beta, _ = model.calibrator_.map_
        at = [0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99]
        rows.append(
            {
                "recipe": recipe,
                "alpha": float(alpha),
                "beta": float(beta),
                "at": at,
                "predicted": model.predict(np.array(at)).tolist(),
            }
        )
    origin = f"betacal {version('betacal')}, scikit-learn {version('scikit-learn')}"
    text = json.dumps({"origin": origin, "problems": rows}, indent=1)
    (Path(__file__).parent / "betacal.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
