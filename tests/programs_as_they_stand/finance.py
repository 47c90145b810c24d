"""Finance: trees rolled back in place, cash flows in lists, likelihoods of returns, root finding."""

import math
from collections import OrderedDict, defaultdict, namedtuple
from datetime import date, timedelta

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

from tests.programs_as_they_stand.record import Field

program = Field("finance")


def american_put(S, K, r, sigma, T=1.0, N=12):
    dt = T / N
    u = np.exp(sigma * np.sqrt(dt))
    d = 1 / u
    p = (np.exp(r * dt) - d) / (u - d)
    disc = np.exp(-r * dt)
    ST = np.zeros(N + 1)
    for j in range(N + 1):
        ST[j] = S * u**j * d ** (N - j)
    C = np.maximum(K - ST, 0)
    for i in range(N - 1, -1, -1):
        for j in range(0, i + 1):
            price = S * u**j * d ** (i - j)
            C[j] = disc * (p * C[j + 1] + (1 - p) * C[j])
            C[j] = max(C[j], K - price)
    return C[0]


program("an American put on a tree", lambda: american_put, 100.0, 103.0, 0.05, 0.3, argnums=(0, 1, 2, 3), step=1e-4)


def black_scholes(S, K, T, r, sigma):
    d1 = (math.log(S / K) + (r + 0.5 * sigma**2) * T) / (sigma * math.sqrt(T))
    d2 = d1 - sigma * math.sqrt(T)

    def N(x):
        return 0.5 * (1.0 + math.erf(x / math.sqrt(2.0)))

    return S * N(d1) - K * math.exp(-r * T) * N(d2)


program(
    "Black and Scholes with the math module",
    lambda: black_scholes,
    100.0,
    95.0,
    0.5,
    0.02,
    0.25,
    argnums=(0, 1, 2, 3, 4),
)


def strip_of_options(spot, vol):
    strikes = range(80, 121, 10)
    prices = []
    for K in strikes:
        d1 = (np.log(spot / K) + 0.5 * vol**2) / vol
        prices.append(spot * norm.cdf(d1) - K * norm.cdf(d1 - vol))
    return np.dot(prices, [1, -2, 3, -2, 1])


program("a butterfly of options with scipy.stats.norm", lambda: strip_of_options, 101.0, 0.2, argnums=(0, 1))


def heston(kappa, theta, xi, n_paths=20, n_steps=8):
    rng = np.random.default_rng(11)
    S = np.full(n_paths, 100.0)
    v = np.full(n_paths, 0.04)
    dt = 1.0 / n_steps
    running_max = S.copy()
    for _ in range(n_steps):
        z1, z2 = rng.standard_normal((2, n_paths))
        z2 = -0.7 * z1 + np.sqrt(1 - 0.49) * z2
        vp = np.maximum(v, 1e-8)
        S *= np.exp(-0.5 * vp * dt + np.sqrt(vp * dt) * z1)
        v += kappa * (theta - vp) * dt + xi * np.sqrt(vp * dt) * z2
        np.maximum(running_max, S, out=running_max)
    return np.mean(running_max - S)


program("a lookback option under Heston", lambda: heston, 2.0, 0.05, 0.2, argnums=(0, 1, 2), step=1e-4)


def bond_yield(price, coupon, years=6):
    flows = [coupon] * (years - 1) + [100 + coupon]
    y = 0.03
    for _ in range(50):
        pv = sum(c / (1 + y) ** (t + 1) for t, c in enumerate(flows))
        slope = -sum((t + 1) * c / (1 + y) ** (t + 2) for t, c in enumerate(flows))
        step = (pv - price) / slope
        y -= step
        if abs(step) < 1e-14:
            break
    return y


program("a bond's yield by Newton's method", lambda: bond_yield, 96.0, 4.0, argnums=(0, 1))


def garch(params, returns):
    omega, alpha, beta = params
    T = len(returns)
    sigma2 = np.zeros(T)
    sigma2[0] = np.var(returns)
    for t in range(1, T):
        sigma2[t] = omega + alpha * returns[t - 1] ** 2 + beta * sigma2[t - 1]
    return 0.5 * np.sum(np.log(2 * np.pi) + np.log(sigma2) + returns**2 / sigma2)


RETURNS = np.random.default_rng(5).standard_normal(20) * 0.02
program("GARCH likelihood", lambda: garch, np.array([1e-4, 0.1, 0.6]), RETURNS, step=1e-5)


def shortfall(weights, scenarios):
    losses = -(scenarios @ weights)
    losses.sort()
    tail = losses[int(0.8 * len(losses)) :]
    return tail.mean() + 0.1 * np.abs(np.diff(weights)).sum()


SCENARIOS = np.random.default_rng(2).normal(0.01, 0.1, (15, 3))
program("expected shortfall of a portfolio", lambda: shortfall, np.array([0.5, 0.3, 0.2]), SCENARIOS, step=1e-4)


def bootstrap_curve(par_rates):
    discount = OrderedDict()
    for year, rate in enumerate(par_rates, start=1):
        annuity = sum(discount.values())
        discount[year] = (1 - rate * annuity) / (1 + rate)
    zero = {y: -math.log(df) / y for y, df in discount.items()}
    forwards = [discount[y] / discount[y + 1] - 1 for y in list(discount)[:-1]]
    return 100 * (zero[len(par_rates)] + max(forwards))


program("bootstrapping a yield curve", lambda: bootstrap_curve, [0.02, 0.024, 0.027, 0.029], step=1e-3)

Flow = namedtuple("Flow", ["when", "amount"])


def mortgage(principal, annual_rate):
    start, payments, balance = date(2024, 1, 31), [], principal
    monthly = annual_rate / 12
    payment = principal * monthly / (1 - (1 + monthly) ** -12)
    by_quarter = defaultdict(float)
    for month in range(12):
        interest = balance * monthly
        balance -= payment - interest
        when = start + timedelta(days=30 * month)
        payments.append(Flow(when, interest))
        by_quarter[(when.month - 1) // 3] += interest
    assert abs(balance) < 1e-6
    late = sum(flow.amount for flow in payments if flow.when > date(2024, 6, 1))
    return late + by_quarter[0] ** 2 / 1000


program("a mortgage, flow by flow", lambda: mortgage, 1000.0, 0.06, argnums=(0, 1), step=1e-3)


def implied_vol(price, spot):
    def objective(sigma):
        d1 = np.log(spot / 100.0) / sigma + 0.5 * sigma
        return spot * norm.cdf(d1) - 100.0 * norm.cdf(d1 - sigma) - price

    return brentq(objective, 1e-3, 3.0, xtol=1e-14)


program("implied volatility with brentq", lambda: implied_vol, 9.0, 102.0, argnums=(0, 1), step=1e-3)


def explicit_option_pde(sigma, rate):
    M, N, S_max = 12, 40, 200.0
    dS, dt = S_max / M, 0.5 / N
    grid = np.zeros((M + 1, N + 1))
    S = np.linspace(0, S_max, M + 1)
    grid[:, -1] = np.clip(S - 100, 0, None)
    grid[-1, :] = S_max - 100 * np.exp(-rate * dt * np.arange(N, -1, -1))
    for j in reversed(range(N)):
        for i in range(1, M):
            delta = (grid[i + 1, j + 1] - grid[i - 1, j + 1]) / (2 * dS)
            gamma = (grid[i + 1, j + 1] - 2 * grid[i, j + 1] + grid[i - 1, j + 1]) / dS**2
            theta = -0.5 * sigma**2 * S[i] ** 2 * gamma - rate * S[i] * delta + rate * grid[i, j + 1]
            grid[i, j] = grid[i, j + 1] - dt * theta
    return np.interp(105.0, S, grid[:, 0])


program("an option by explicit differences, read by interp", lambda: explicit_option_pde, 0.3, 0.05, argnums=(0, 1))


def trade_ledger(fee, prices):
    cash, position, log = 1000.0, 0.0, []
    for yesterday, today in zip(prices[:-1], prices[1:]):
        signal = "buy" if today > yesterday and cash > 0 else "sell" if position else None
        if signal == "buy":
            amount = 0.5 * cash
            cash, position = cash - amount, position + amount * (1 - fee) / today
        elif signal == "sell":
            cash, position = cash + position * today * (1 - fee), 0.0
        log.append((signal, cash))
    return cash + position * prices[-1]


PRICES = np.array([10.0, 10.4, 10.9, 10.2, 9.9, 10.5, 11.0, 10.8])
program("a backtest with a ledger", lambda: trade_ledger, 0.002, PRICES, argnums=(0, 1), step=1e-3)
