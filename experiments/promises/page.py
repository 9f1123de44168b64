"""Tables and figures of the page, from the stored tables."""

import numpy as np

from experiments.tables import Tables, column, distinct, pick, table
