"""Update the stored numbers after an intended change: run this file."""

import json
import tempfile
from pathlib import Path

from golden.cases import CASES, answers, numbers

STORED = Path(__file__).with_name("numbers.json")
COMMANDS = ("evaluate", "compare", "recalibrate")

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        told = {case: answers(case, Path(scratch)) for case in CASES}
    found = {
        case: {name: numbers(answer[name]) for name in COMMANDS} for case, answer in told.items()
    }
    STORED.write_text(json.dumps(found, indent=0, sort_keys=True) + "\n")
