"""``python -m noneg`` runs the command line, as ``noneg`` does."""

from noneg.cli import main

if __name__ == "__main__":
    main(prog_name="noneg")
