"""PU learning methods, one file each; `noneg.learning.contract` says how to write another.

Methods of the PU benchmark have a ``variant``: "ref", the original paper's method and the default,
and, where it is listed in ``variants``, "bench", the version behind the benchmark's numbers.
"""

from __future__ import annotations

import copy

from noneg.extras import optional

with optional("noneg.learning"):
    from noneg.learning.algorithms.baselines import ElkanNoto, Naive, PNOracle
    from noneg.learning.algorithms.count_loss import CountLoss
    from noneg.learning.algorithms.cvir import CVIR, TEDn
    from noneg.learning.algorithms.dist import DistPU
    from noneg.learning.algorithms.glws import GLWS
    from noneg.learning.algorithms.holistic import HolisticPU
    from noneg.learning.algorithms.lbe import LBE
    from noneg.learning.algorithms.nnpu import NNPU, NNPUGA
    from noneg.learning.algorithms.p3mix import P3MIXC
    from noneg.learning.algorithms.p3mix_e import P3MIXE
    from noneg.learning.algorithms.pan import PAN
    from noneg.learning.algorithms.pubn import PUbN
    from noneg.learning.algorithms.pue import PUe
    from noneg.learning.algorithms.pusb import PUSB
    from noneg.learning.algorithms.robust import RobustPU
    from noneg.learning.algorithms.upu import UPU
    from noneg.learning.algorithms.vpu import VPU
    from noneg.learning.contract import Algorithm

__all__ = [
    "CVIR",
    "GLWS",
    "LBE",
    "NNPU",
    "NNPUGA",
    "P3MIXC",
    "P3MIXE",
    "PAN",
    "PUSB",
    "UPU",
    "VPU",
    "CountLoss",
    "DistPU",
    "ElkanNoto",
    "HolisticPU",
    "Naive",
    "PNOracle",
    "PUbN",
    "PUe",
    "RobustPU",
    "TEDn",
    "find_algorithm",
]

# The only registry: one line a method. Keep it in the order of the benchmark paper.
ALGORITHMS: dict[str, type[Algorithm]] = {
    "upu": UPU,
    "nnpu": NNPU,
    "nnpu-ga": NNPUGA,
    "pusb": PUSB,
    "pubn": PUbN,
    "vpu": VPU,
    "pan": PAN,
    "cvir": CVIR,
    "tedn": TEDn,
    "dist-pu": DistPU,
    "p3mix-e": P3MIXE,
    "p3mix-c": P3MIXC,
    "lbe": LBE,
    "count-loss": CountLoss,
    "robust-pu": RobustPU,
    "holistic-pu": HolisticPU,
    "pue": PUe,
    "glws": GLWS,
    "elkan-noto": ElkanNoto,
    "naive": Naive,
    "pn-oracle": PNOracle,
}


def find_algorithm(algorithm: str | Algorithm) -> Algorithm:
    """Return an algorithm of its own, from a name or from one with hyperparameters.

    Examples
    --------
    >>> find_algorithm("nnpu")
    NNPU(variant='ref', loss_name='logistic')
    """
    if isinstance(algorithm, Algorithm):
        return copy.deepcopy(algorithm)
    if algorithm not in ALGORITHMS:
        known = ", ".join(ALGORITHMS)
        raise ValueError(f"'algorithm' must be one of {known}, got {algorithm!r}.")
    return ALGORITHMS[algorithm]()
