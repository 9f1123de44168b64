"""Update the stored numbers after an intended change: run this file.

A stored number that the new one equals up to rounding stays, so the diff shows only the change.
"""

import json
import math
import tempfile
from pathlib import Path

from golden.cases import CASES, answers, numbers

STORED = Path(__file__).with_name("numbers.json")
COMMANDS = ("evaluate", "compare", "recalibrate")
# Sums of a few hundred doubles agree to 1e-12 on one machine; other processors sum in a different
# order, and iterative fits stop at 1e-10.
CLOSE = 1e-9


def updated(stored: dict[str, float], found: dict[str, float]) -> dict[str, float]:
    """Return the numbers found, or the stored ones where both are equal up to rounding."""
    close = {
        place: x
        for place, x in stored.items()
        if math.isclose(x, found.get(place, math.nan), rel_tol=CLOSE, abs_tol=CLOSE)
    }
    return found | close


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        told = {case: answers(case, Path(scratch)) for case in CASES}
    stored = json.loads(STORED.read_text("utf-8"))
    found = {
        case: {
            name: updated(stored.get(case, {}).get(name, {}), numbers(answer[name]))
            for name in COMMANDS
        }
        for case, answer in told.items()
    }
    STORED.write_text(json.dumps(found, indent=0, sort_keys=True) + "\n")
