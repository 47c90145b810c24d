# %%
import numpy as np
from scipy.optimize import root

rng = np.random.default_rng(0)
t = np.linspace(0, 2, 9)
data = 2.0 * np.exp(-1.3 * t) + 0.01 * rng.standard_normal(9)

# %%
model = lambda p, t: p[0] * np.exp(-p[1] * t)
chi2 = lambda p: np.sum((model(p, t) - data) ** 2)

# %%
equilibrium = lambda k: root(lambda x: np.array([x[0] ** 2 + k * x[1] - 2, x[0] - x[1] ** 3]), [1.0, 1.0], tol=1e-13).x
both = lambda p: chi2(p) + equilibrium(p[1]).sum()

# %%
for k in range(3):
    chi2(np.array([1.0 + k, 1.0]))
