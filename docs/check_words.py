"""Find wording that a native engineer would not use: python docs/check_words.py

Each line of `docs/words.txt` has a regular expression, a tab, and a suggestion. Code, messages and
pages are searched, but not the list itself.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SEARCHED = (
    "src",
    "docs",
    "README.md",
    "CONTRIBUTING.md",
    "examples",
    "changelog.d",
    "experiments",
    "benchmarks",
    "tests",
)
# The list itself, and names that were spelled differently before they moved.
EXEMPT = ("docs/words.txt", "docs/check_words.py", "tests/test_moved.py")
ENDINGS = (".py", ".md", ".rst", ".json", ".js", ".jinja", ".txt")


def rules() -> list[tuple[re.Pattern[str], str]]:
    """Return the patterns and suggestions."""
    lines = (ROOT / "docs" / "words.txt").read_text(encoding="utf-8").splitlines()
    pairs = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return [(re.compile(pattern, re.IGNORECASE), advice) for pattern, advice in pairs]


def main() -> int:
    """Print every finding, and return how many there are."""
    listed = ["git", "ls-files", "--", *SEARCHED]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout  # noqa: S603
    found, checks = 0, rules()
    for name in names.splitlines():
        if not name.endswith(ENDINGS) or name in EXEMPT:
            continue
        for number, line in enumerate((ROOT / name).read_text("utf-8").splitlines(), start=1):
            for pattern, advice in checks:
                if (hit := pattern.search(line)) is not None:
                    found += 1
                    print(f"{name}:{number}: {hit.group()!r}: {advice}")
    return found


if __name__ == "__main__":
    sys.exit(bool(main()))
