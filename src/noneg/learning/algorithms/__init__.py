"""PU learning methods, one per file; `noneg.learning.contract` explains how to write one.

Methods in the PU benchmark have a ``variant``: "ref" (the default) is the original paper's method;
"bench", if listed in ``variants``, is the version behind the benchmark's numbers.
"""

from __future__ import annotations

import copy

from noneg.errors import InputError
from noneg.extras import optional
from noneg.learning.contract import Algorithm

with optional("noneg.learning"):
    # The registry: one line per method, in the order of the benchmark paper.
    # isort: off
    from noneg.learning.algorithms.upu import UPU as UPU
    from noneg.learning.algorithms.nnpu import NNPU as NNPU
    from noneg.learning.algorithms.nnpu import NNPUGA as NNPUGA
    from noneg.learning.algorithms.pusb import PUSB as PUSB
    from noneg.learning.algorithms.pubn import PUbN as PUbN
    from noneg.learning.algorithms.vpu import VPU as VPU
    from noneg.learning.algorithms.pan import PAN as PAN
    from noneg.learning.algorithms.cvir import CVIR as CVIR
    from noneg.learning.algorithms.cvir import TEDn as TEDn
    from noneg.learning.algorithms.dist import DistPU as DistPU
    from noneg.learning.algorithms.p3mix import P3MIXE as P3MIXE
    from noneg.learning.algorithms.p3mix import P3MIXC as P3MIXC
    from noneg.learning.algorithms.lbe import LBE as LBE
    from noneg.learning.algorithms.count_loss import CountLoss as CountLoss
    from noneg.learning.algorithms.robust import RobustPU as RobustPU
    from noneg.learning.algorithms.holistic import HolisticPU as HolisticPU
    from noneg.learning.algorithms.pue import PUe as PUe
    from noneg.learning.algorithms.glws import GLWS as GLWS
    from noneg.learning.algorithms.ncpu import NcPU as NcPU
    from noneg.learning.algorithms.baselines import ElkanNoto as ElkanNoto
    from noneg.learning.algorithms.likelihood import Likelihood as Likelihood
    from noneg.learning.algorithms.baselines import Naive as Naive
    from noneg.learning.algorithms.baselines import PNOracle as PNOracle
    # isort: on

ALGORITHMS: dict[str, type[Algorithm]] = {
    kind.name: kind
    for kind in list(globals().values())
    if isinstance(kind, type) and issubclass(kind, Algorithm) and kind is not Algorithm
}
__all__ = [kind.__name__ for kind in ALGORITHMS.values()]
__all__ += ["find_algorithm"]


def find_algorithm(algorithm: str | Algorithm) -> Algorithm:
    """Return a new algorithm, given a name or an algorithm to copy.

    Examples
    --------
    >>> find_algorithm("nnpu")
    NNPU(variant='ref', loss_name='logistic')
    """
    if isinstance(algorithm, Algorithm):
        return copy.deepcopy(algorithm)
    if algorithm not in ALGORITHMS:
        known = ", ".join(ALGORITHMS)
        raise InputError("algorithm", f"must be one of {known}", value=algorithm)
    return ALGORITHMS[algorithm]()
