# %%
import math

import numpy as np

# %%
gain = 1.0
log = []


def activation(x):
    return x


# %%
def network(w):
    out = np.empty(3)
    for i in range(3):
        out[i] = activation(gain * w[i])
    return out.sum()


# %%
assert network(np.ones(3)) == 3.0


# %%
def activation(x):  # noqa: F811
    return math.tanh(x) + x**2


# %%
gain = 0.5
log.append(network(np.ones(3)))
