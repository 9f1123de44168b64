"""Theory of binned calibration errors: bounds, optimal numbers of bins, sample sizes.

Another name of `noneg.calibration.theory`.
"""

from noneg.calibration.theory import *  # noqa: F403
from noneg.calibration.theory import __all__  # noqa: F401
