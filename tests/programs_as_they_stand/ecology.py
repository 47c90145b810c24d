"""Ecology and epidemics: populations stepped through years, lists that grow, dictionaries of species."""

import math

import numpy as np
from scipy.integrate import solve_ivp

from tests.programs_as_they_stand.record import Field

program = Field("ecology")


def lotka_volterra(alpha, beta, delta, gamma):
    dt, steps = 0.02, 60
    prey, predator = np.zeros(steps + 1), np.zeros(steps + 1)
    prey[0], predator[0] = 10.0, 5.0
    for t in range(steps):
        prey[t + 1] = prey[t] + dt * (alpha * prey[t] - beta * prey[t] * predator[t])
        predator[t + 1] = predator[t] + dt * (delta * prey[t] * predator[t] - gamma * predator[t])
    return prey[-1] + np.max(predator)


program("Lotka and Volterra by Euler's method", lambda: lotka_volterra, 1.1, 0.4, 0.1, 0.4, argnums=(0, 1, 2, 3))


def harvest(r, K, quota):
    biomass = [0.3 * K]
    catches = []
    for year in range(15):
        B = biomass[-1]
        catch = quota * B if B > 0.2 * K else 0.0
        catches.append(catch)
        biomass.append(B + r * B * (1 - B / K) - catch)
    return sum(catches) + np.array(biomass)[5:].mean()


program("a harvested stock in two lists", lambda: harvest, 0.6, 100.0, 0.15, argnums=(0, 1, 2), step=1e-3)


def leslie(fecundity, survival):
    n = len(fecundity)
    L = np.zeros((n, n))
    L[0, :] = fecundity
    for i in range(n - 1):
        L[i + 1, i] = survival[i]
    N = np.ones((n, 8))
    for t in range(1, 8):
        N[:, t] = L @ N[:, t - 1]
    lam = N[:, -1].sum() / N[:, -2].sum()
    return np.log(lam)


F, S = np.array([0.0, 1.2, 1.5, 0.4]), np.array([0.5, 0.7, 0.3])
program("Leslie matrix, filled along its subdiagonal", lambda: leslie, F, S, argnums=(0, 1))


def sir(beta, gamma):
    s, i, r = np.array([0.99]), np.array([0.01]), np.array([0.0])
    for day in range(20):
        new = beta * s[-1] * i[-1]
        recovered = gamma * i[-1]
        s = np.append(s, s[-1] - new)
        i = np.append(i, i[-1] + new - recovered)
        r = np.append(r, r[-1] + recovered)
    peak = int(np.argmax(i))
    return i[peak] + r[-1]


program("SIR, with arrays grown by np.append", lambda: sir, 0.6, 0.2, argnums=(0, 1), step=1e-3)


def seir(params):
    def rhs(t, y):
        s, e, i, r = y
        beta, sigma, gamma = params["beta"], params["sigma"], params["gamma"]
        return [-beta * s * i, beta * s * i - sigma * e, sigma * e - gamma * i, gamma * i]

    sol = solve_ivp(rhs, (0.0, 12.0), [0.97, 0.02, 0.01, 0.0], rtol=1e-10, atol=1e-12)
    return sol.y[2, -1]


program("SEIR with solve_ivp", lambda: seir, {"beta": 0.9, "sigma": 0.4, "gamma": 0.25}, tolerance=1e-5, step=1e-3)


def rk4(f, y, t, dt, *args):
    k1 = f(t, y, *args)
    k2 = f(t + dt / 2, y + dt / 2 * k1, *args)
    k3 = f(t + dt / 2, y + dt / 2 * k2, *args)
    k4 = f(t + dt, y + dt * k3, *args)
    return y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def chemostat(t, y, mu_max, Ks):
    S, X = y
    mu = mu_max * S / (Ks + S)
    dydt = np.zeros(2)
    dydt[0] = 0.3 * (5.0 - S) - mu * X / 0.5
    dydt[1] = (mu - 0.3) * X
    return dydt


def run_chemostat(mu_max, Ks):
    y = np.array([5.0, 0.1])
    for t in np.arange(0, 4, 0.2):
        y = rk4(chemostat, y, t, 0.2, mu_max, Ks)
    return y[1]


program("chemostat with a general Runge-Kutta step", lambda: run_chemostat, 0.8, 0.5, argnums=(0, 1))

SPECIES = {
    "oak": {"growth": 0.08, "shade": 0.9, "start": 0.1},
    "birch": {"growth": 0.25, "shade": 0.3, "start": 0.25},
    "pine": {"growth": 0.15, "shade": 0.5, "start": 0.15},
}


def forest(light, competition):
    cover = {name: s["start"] for name, s in SPECIES.items()}
    for year in range(12):
        total = sum(cover.values())
        for name in sorted(cover):
            s = SPECIES[name]
            available = light * math.exp(-competition * (total - cover[name]) * (1 - s["shade"]))
            cover[name] += s["growth"] * cover[name] * available * (1 - total)
    shannon = -sum(c / sum(cover.values()) * math.log(c / sum(cover.values())) for c in cover.values())
    return shannon


program("a forest in a dictionary, with the math module", lambda: forest, 0.9, 1.5, argnums=(0, 1))


def day_degrees(base, temperature):
    total, flowering = 0.0, None
    for day, T in enumerate(temperature):
        if T <= base:
            continue
        total += T - base
        if total >= 60:
            flowering = day
            break
    else:
        return total
    overshoot = (total - 60) / (temperature[flowering] - base)
    return flowering + 1 - overshoot


TEMPERATURE = 8 + 7 * np.sin(np.arange(40) / 9)
program("day degrees until flowering", lambda: day_degrees, 5.0, TEMPERATURE, argnums=(0, 1), step=1e-3)


def metapopulation(distance_scale, extinction):
    rng = np.random.default_rng(3)
    xy = rng.uniform(0, 10, size=(6, 2))
    area = rng.lognormal(size=6)
    d = np.sqrt(((xy[:, None, :] - xy[None, :, :]) ** 2).sum(-1))
    M = np.exp(-d / distance_scale)
    np.fill_diagonal(M, 0.0)
    p = np.full(6, 0.5)
    for _ in range(10):
        C = M @ (area * p)
        p = p + 0.2 * (C * (1 - p) - extinction / area * p)
        p = np.clip(p, 0, 1)
    return p.mean()


program("incidence in patches, with a diagonal filled by zeros", lambda: metapopulation, 2.0, 0.4, argnums=(0, 1))


def food_web(interaction, dt=0.05):
    n = interaction.shape[0]
    abundance = np.linspace(1.0, 0.4, n)
    history = np.zeros((n, 20))
    for t in range(20):
        change = np.zeros(n)
        for i in range(n):
            for j in range(n):
                if i != j:
                    change[i] += interaction[i, j] * abundance[i] * abundance[j]
            change[i] += (0.5 - abundance[i]) * abundance[i]
        abundance += dt * change
        history[:, t] = abundance
    return history.std(axis=1).sum()


A = np.array([[0.0, -0.4, 0.1], [0.3, 0.0, -0.5], [0.2, 0.6, 0.0]])
program("a food web, pair by pair", lambda: food_web, A)


def ricker_fit(log_a, b, recruits, spawners):
    nll = 0.0
    for R, S in zip(recruits, spawners):
        predicted = math.exp(log_a) * S * math.exp(-b * S)
        nll += 0.5 * (math.log(R) - math.log(predicted)) ** 2 / 0.3**2 + math.log(0.3)
    return nll


RECRUITS, SPAWNERS = [120.0, 200.0, 180.0, 90.0], [30.0, 60.0, 110.0, 200.0]
program("Ricker's curve, fitted to lists", lambda: ricker_fit, 1.4, 0.01, RECRUITS, SPAWNERS, argnums=(0, 1), step=1e-4)


def reaction_diffusion(feed, kill):
    U, V = np.ones((8, 8)), np.zeros((8, 8))
    U[3:5, 3:5], V[3:5, 3:5] = 0.5, 0.25

    def laplacian(Z):
        return np.roll(Z, 1, 0) + np.roll(Z, -1, 0) + np.roll(Z, 1, 1) + np.roll(Z, -1, 1) - 4 * Z

    for _ in range(12):
        uvv = U * V * V
        U += 0.16 * laplacian(U) - uvv + feed * (1 - U)
        V += 0.08 * laplacian(V) + uvv - (feed + kill) * V
    return V.sum()


program("Gray and Scott, in place", lambda: reaction_diffusion, 0.035, 0.06, argnums=(0, 1))
