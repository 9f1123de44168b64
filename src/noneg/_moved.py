"""Names that have moved: for one release the old path works, and a warning names the new one."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

# A module, or one name of a module, and the module that now has it.
HOMES = {
    "noneg.bench": "noneg.lab.bench",
    "noneg.datasets": "noneg.lab.datasets",
    "noneg.information": "noneg.lab.information",
    "noneg.learning.Annealing": "noneg.lab.sgld",
    "noneg.learning.SGLD": "noneg.lab.sgld",
    "noneg.learning.sgld": "noneg.lab.sgld",
    "noneg.plots.CriticalDifferenceDisplay": "noneg.lab.bench",
}


def find_moved(module: str, name: str) -> Any:  # noqa: ANN401
    """Return a name of a module from its new home; call it in the module's ``__getattr__``."""
    home = HOMES.get(f"{module}.{name}") or HOMES.get(module)
    # The import system asks for names such as `__path__`, which belong to the old module alone.
    if home is None or (name.startswith("__") and name != "__all__"):
        msg = f"module {module!r} has no attribute {name!r}"
        raise AttributeError(msg)
    found = getattr(import_module(home), name)
    if name != "__all__":
        msg = f"{module}.{name} has moved to {home}.{name}; the old path goes with the next release"
        warnings.warn(msg, DeprecationWarning, stacklevel=3)
    return found
