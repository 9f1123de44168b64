"""What a review of some rows reveals about a whole table: errors, coverage, tests, and real
species."""
