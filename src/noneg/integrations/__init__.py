"""Integrations with third-party tools, each in its own module that imports the tool on use."""
