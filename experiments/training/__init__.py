"""Studies that train learning algorithms: all of them on two problems, and the PU benchmark."""
