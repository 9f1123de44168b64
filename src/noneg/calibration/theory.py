"""Alias of `noneg.theory`."""

from noneg.theory import *  # noqa: F403
