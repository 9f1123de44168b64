"""Write originals.json: shares of positives from the published code of BBE and DEDPUL.

Run once, with torch and pandas, and a folder that contains clones of
https://github.com/dimonenka/DEDPUL (commit 04c0281) and of https://github.com/acmi-lab/PU_learning
(commit 5e5e350)::

    PYTHONPATH=. python tests/reference/make_originals.py DIR

``experiments/prior/original_code.py`` loads them and lists the adjustments for current libraries.
"""

import json
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
from scipy.special import expit, ndtri

HERE = Path(__file__).parent
WORLDS = [
    (far, share, n, m)
    for far in (3, 4)
    for share in (0.05, 0.2, 0.5, 0.8)
    for n, m in ((200, 800), (1000, 2000))
]
# Irrational steps: every sequence fills the unit interval evenly and never repeats.
STEPS = (0.6180339887498949, 0.7548776662466927, 0.8191725133961645)


def sample(far, share, n, m):
    """Probabilities of being labeled, positives N(far, 1) and negatives N(0, 1), written out."""
    k = round(share * m)
    p, hidden, negative = (
        ndtri((np.arange(1, size + 1) * step) % 1.0)
        for size, step in zip((n, k, m - k), STEPS, strict=True)
    )
    p, u = p + far, np.append(hidden + far, negative)
    return tuple(_probability(x, far, share) for x in (p, u))


def _probability(x, far, share):
    ratio = np.exp(far * x - far * far / 2)
    return expit(np.log(ratio / (share * ratio + 1 - share)))


def main():
    from experiments.prior.original_code import Originals

    code = Originals(Path(sys.argv[1]))
    cases = []
    for world in WORLDS:
        p, u = sample(*world)
        flags = np.repeat([0, 1], [p.size, u.size])
        case = dict(zip(("far", "share", "n", "m"), world, strict=True))
        case["bbe"] = code.bbe_share(p, u)
        case["dedpul"] = code.dedpul_share(p, u, trends=False)
        case["dedpul with trends"] = code.dedpul_share(p, u, trends=True)
        if world in ((3, 0.2, 200, 800), (3, 0.8, 200, 800)):
            ratio = code.dedpul.estimate_diff(1 - np.append(p, u), flags, MT=False)
            case["ratio"] = [float(f"{r:.9g}") for r in np.sort(ratio)]
        cases.append(case)
    # Rounded scores, so that both samples have ties.
    p, u = (np.round(x, 2) for x in sample(3, 0.5, 200, 800))
    ties = {"far": 3, "share": 0.5, "n": 200, "m": 800, "decimals": 2, "bbe": code.bbe_share(p, u)}
    versions = {name: version(name) for name in ("numpy", "scipy", "pandas", "torch")}
    origin = {"dedpul": "dimonenka/DEDPUL 04c0281", "bbe": "acmi-lab/PU_learning 5e5e350"}
    out = {"origin": origin, "versions": versions, "cases": cases, "ties": ties}
    (HERE / "originals.json").write_text(json.dumps(out, indent=1) + "\n")


if __name__ == "__main__":
    main()
