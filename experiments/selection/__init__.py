"""Does the interval cover when labels are not random?"""
