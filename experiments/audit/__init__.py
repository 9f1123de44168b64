"""What a review of some rows tells of a whole table: errors, coverage, tests, and real species."""
