"""Names that have moved: the old path works for one release and warns about the new one."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

# A module, or one name in a module, and its new module; a new name follows a colon.
HOMES = {
    "noneg.bench": "noneg.lab.bench",
    "noneg.bench.summarise": "noneg.lab.bench:summarize",
    "noneg.datasets": "noneg.lab.datasets",
    "noneg.information": "noneg.lab.information",
    "noneg.learning.Annealing": "noneg.lab.sgld",
    "noneg.learning.SGLD": "noneg.lab.sgld",
    "noneg.learning.sgld": "noneg.lab.sgld",
    "noneg.plots.CriticalDifferenceDisplay": "noneg.lab.bench",
    "noneg.prior.PenalisedL1": "noneg.prior:PenalizedL1",
    "noneg.theory.labelled_bias_bound": "noneg.theory:labeled_bias_bound",
    "noneg.theory.labelled_generalization_bound": "noneg.theory:labeled_generalization_bound",
    "noneg.theory.labelled_optimal_bins": "noneg.theory:labeled_optimal_bins",
}


def find_moved(module: str, name: str) -> Any:  # noqa: ANN401
    """Return a name from its new module; to be called in the old module's ``__getattr__``."""
    home = HOMES.get(f"{module}.{name}") or HOMES.get(module)
    # The import system asks for names such as `__path__`, which belong only to the old module.
    if home is None or (name.startswith("__") and name != "__all__"):
        msg = f"module {module!r} has no attribute {name!r}"
        raise AttributeError(msg)
    home, _, renamed = home.partition(":")
    new = import_module(home)
    if name == "__all__":
        return getattr(new, name, [each for each in vars(new) if not each.startswith("_")])
    found = getattr(new, renamed or name)
    msg = (
        f"{module}.{name} has moved to {home}.{renamed or name}; "
        "the old path will be removed in the next release"
    )
    warnings.warn(msg, DeprecationWarning, stacklevel=3)
    return found
