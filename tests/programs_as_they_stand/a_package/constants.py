"""Numbers and shapes that everybody imports."""

import numpy as np

GRAVITY = 9.81
N = 8
SPACING = 1.0 / N
DEPTH = np.linspace(1.0, 2.0, N)
DEFAULTS = {"dt": 0.01, "steps": 6, "scheme": "leapfrog"}
