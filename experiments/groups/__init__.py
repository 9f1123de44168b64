"""Results by group: do simultaneous intervals cover, and does the test keep its size?"""
