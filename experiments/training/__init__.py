"""Studies that train learning algorithms: all of them on two worlds, and the PU benchmark."""
