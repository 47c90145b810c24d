# %%
from math import *

from numpy import *


# %%
def wavelet(s, x):
    a = zeros((2, len(x)))
    a[0] = sin(s * x) * e ** (-(x**2))
    a[1] = cumsum(a[0]) / sqrt(pi)
    return dot(a[0], a[1]) + max(a[1]) + sum(a[0])


# %%
x = linspace(-1, 2, 7)
objective = lambda s: wavelet(s, x) * len(x)
