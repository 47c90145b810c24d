# %%
import numpy as np

# %%
nx, nt = 11, 6
dx = 1.0 / (nx - 1)
u = np.zeros((nt + 1, nx))


# %%
def simulate(kappa, amplitude):
    u[0] = amplitude * np.sin(np.pi * np.arange(nx) * dx)
    for n in range(nt):
        u[n + 1, 1:-1] = u[n, 1:-1] + kappa * dt / dx**2 * np.diff(u[n], 2)
        u[n + 1, 0] = u[n + 1, -1] = 0.0
    return u


# %%
dt = 0.002


# %%
def loss(kappa, amplitude=1.0):
    final = simulate(kappa, amplitude)[-1]
    return np.sum((final - target) ** 2)


# %%
target = np.linspace(0.0, 0.5, nx)
loss(0.8)
