"""How fast does the Nile change? A Julia log-density of Distributions.jl's, sampled by NumPyro.

A hundred years of flow at Aswan: a level that drifts, and what is measured around it. Kalman's filter runs in Julia and
writes the level, year by year, into a Buffer; its log-likelihood and priors are Distributions.jl's. `to_jax` makes it
one operation of JAX, whose gradient NumPyro's sampler takes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import bridge

LOG_DENSITY = """
using Distributions
using MutationBridge: Buffer

function nile(p, flow)
    noise, drift = exp(p[1]), exp(p[2])
    level, spread = Buffer(zeros(eltype(p), length(flow))), noise^2
    level[1] = flow[1]
    # The densities of noise and drift, and what their logarithms add.
    total = logpdf(LogNormal(log(100), 1), noise) + logpdf(LogNormal(log(50), 1), drift) + p[1] + p[2]
    for t in 2:length(flow)
        spread += drift^2
        total += logpdf(Normal(level[t-1], sqrt(spread + noise^2)), flow[t])
        gain = spread / (spread + noise^2)
        level[t] = level[t-1] + gain * (flow[t] - level[t-1])
        spread *= 1 - gain
    end
    return total
end
"""
FIRST_YEAR = 1871
FLOW = np.array([
    1120, 1160, 963, 1210, 1160, 1160, 813, 1230, 1370, 1140, 995, 935, 1110, 994, 1020, 960, 1180, 799, 958, 1140,
    1100, 1210, 1150, 1250, 1260, 1220, 1030, 1100, 774, 840, 874, 694, 940, 833, 701, 916, 692, 1020, 1050, 969,
    831, 726, 456, 824, 702, 1120, 1100, 832, 764, 821, 768, 845, 864, 862, 698, 845, 744, 796, 1040, 759,
    781, 865, 845, 944, 984, 897, 822, 1010, 771, 676, 649, 846, 812, 742, 801, 1040, 860, 874, 848, 890,
    744, 749, 838, 1050, 918, 986, 797, 923, 975, 815, 1020, 906, 901, 1170, 912, 746, 919, 718, 714, 740,
], float)  # fmt: skip
"""Of each year, in 10^8 cubic metres: Cobb, Biometrika 65 (1978); Durbin and Koopman's first example."""
NAMES = ("noise", "drift")


def run(draws: int = 500) -> tuple[str, Any]:
    """Sample the posterior; what was found, in words, and a picture."""
    import jax
    import jax.numpy as jnp
    from numpyro.infer import MCMC, NUTS

    jax.config.update("jax_enable_x64", True)
    density = bridge.julia.function(LOG_DENSITY)
    of_jax = bridge.julia.to_jax(density)
    sampler = MCMC(
        NUTS(potential_fn=lambda p: -of_jax(p, FLOW)), num_warmup=draws // 2, num_samples=draws, progress_bar=False
    )
    sampler.run(jax.random.key(0), init_params=jnp.log(jnp.array([150.0, 20.0])))
    kept = np.exp(np.asarray(sampler.get_samples()))
    lines = [f"{'':6} {'mean':>6} {'5 %':>6} {'95 %':>6}"]
    for k, name in enumerate(NAMES):
        low, high = np.quantile(kept[:, k], (0.05, 0.95))
        lines.append(f"{name:6} {kept[:, k].mean():6.1f} {low:6.1f} {high:6.1f}")
    lines.append(f"{draws} draws; gradients are Zygote's, over a filter that writes {len(FLOW)} levels")
    return "\n".join(lines), _picture(kept)


def levels(noise: float, drift: float) -> np.ndarray:
    """The filter's level of each year, in Python."""
    level, spread = FLOW.copy(), noise**2
    for t in range(1, len(FLOW)):
        spread += drift**2
        gain = spread / (spread + noise**2)
        level[t] = level[t - 1] + gain * (FLOW[t] - level[t - 1])
        spread *= 1 - gain
    return level


def _picture(kept: np.ndarray) -> Any:
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained", width_ratios=(2, 1))
    years = FIRST_YEAR + np.arange(len(FLOW))
    for noise, drift in kept[:: max(1, len(kept) // 60)]:
        left.plot(years, levels(noise, drift), color="C0", alpha=0.08)
    left.plot(years, FLOW, "k.", label="measured")
    left.set(xlabel="year", ylabel=r"flow, $10^8$ m³", title="The level, by 60 draws")
    left.legend()
    right.plot(kept[:, 0], kept[:, 1], ".", markersize=3)
    right.set(xlabel="noise", ylabel="drift", title="The posterior")
    return figure
