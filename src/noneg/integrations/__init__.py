"""Integrations with third-party tools, each in its own module that imports the tool on use.

Every tracker is given the same: named numbers, and the report as a file.
"""
