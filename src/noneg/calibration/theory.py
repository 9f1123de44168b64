"""Another name of `noneg.theory`."""

from noneg.theory import *  # noqa: F403
