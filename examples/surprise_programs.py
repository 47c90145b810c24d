"""The programs of `surprises.py`: each written for NumPy, for JAX and for PyTorch, and why the answers part.

The functions take the library as their first argument. Zygote's spellings are in `surprises.jl`, under the same keys.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy

Program = Callable[[Any, Any], Any]


@dataclass(frozen=True)
class Surprise:
    """One program in the spellings of the systems, where it is asked, and what there is to know."""

    key: str
    text: str
    at: Any
    numpy: Program
    jax: Program
    torch: Program
    why: str
    dtype: str = "float64"
    expected: Program | None = None
    """What the gradient is expected to be that of, where it is not the program itself: its mean over the draws."""


def _overwritten(np: Any, x: Any) -> Any:
    y = np.exp(x)
    z = np.sum(y * y)
    y[:] = 0.0
    return z + np.sum(y)


def _overwritten_in_jax(jnp: Any, x: Any) -> Any:
    y = jnp.exp(x)
    z = jnp.sum(y * y)
    y[:] = 0.0
    return z + jnp.sum(y)


def _overwritten_in_torch(torch: Any, x: Any, behind: bool = False) -> Any:
    y = torch.exp(x)
    z = torch.sum(y * y)
    (y.data if behind else y)[:] = 0.0
    return z + torch.sum(y)


def _written_twice(np: Any, x: Any) -> Any:
    y = np.zeros_like(x)
    y[numpy.array([0, 0])] = x
    return np.sum(y)


def _written_twice_in_torch(torch: Any, x: Any) -> Any:
    return torch.zeros_like(x).index_put((torch.tensor([0, 0]),), x).sum()


def _copied_twice(np: Any, x: Any) -> Any:
    b = np.zeros_like(x)
    b[0], b[1] = x[0], x[1]
    return np.sum(b.copy()) + np.sum(b.copy() ** 2)


def _copied_twice_in_jax(jnp: Any, x: Any) -> Any:
    b = jnp.zeros_like(x).at[0].set(x[0]).at[1].set(x[1])
    return jnp.sum(b) + jnp.sum(b**2)


def _copied_twice_in_torch(torch: Any, x: Any) -> Any:
    b = torch.zeros_like(x)
    b[0], b[1] = x[0], x[1]
    return b.clone().sum() + (b.clone() ** 2).sum()


def _coin(np: Any, p: Any) -> Any:
    from bridge import random

    return np.sum(random.bernoulli(random.key(0), p, (2,)))


def _coin_in_jax(jnp: Any, p: Any) -> Any:
    import jax

    return jax.random.bernoulli(jax.random.PRNGKey(0), p, (2,)).sum().astype(float)


def _cancelling(np: Any, x: Any) -> Any:
    return np.sum((1 - np.cos(x)) / x**2)


OUTSIDE = numpy.array([0, 5])
POWERS = numpy.array([0.0, 2.0])

SURPRISES = (
    Surprise(
        "where", "where(x > 0, sqrt(x), 0)", [-1.0, 4.0],
        lambda np, x: np.sum(np.where(x > 0, np.sqrt(x), 0.0)),
        lambda jnp, x: jnp.sum(jnp.where(x > 0, jnp.sqrt(x), 0.0)),
        lambda torch, x: torch.where(x > 0, torch.sqrt(x), 0.0).sum(),
        "The branch that was not taken has the slope NaN, and 0 times NaN is NaN. `bridge` knows that no cotangent "
        "came, and does not multiply.",
    ),
    Surprise(
        "gather", "sqrt(x)[1]", [0.0, 4.0],
        lambda np, x: np.sqrt(x)[1], lambda jnp, x: jnp.sqrt(x)[1], lambda torch, x: torch.sqrt(x)[1],
        "The same with an index: the first element was not read, and its slope is infinite.",
    ),
    Surprise(
        "norm", "norm(x)", [0.0, 0.0],
        lambda np, x: np.linalg.norm(x), lambda jnp, x: jnp.linalg.norm(x), lambda torch, x: torch.linalg.norm(x),
        "Slopes in all directions are between -1 and 1; 0 is their middle.",
    ),
    Surprise(
        "outside", "sum(x[[0, 5]] ** 2) of five elements", [1.0, 2.0, 3.0, 4.0, 5.0],
        lambda np, x: np.sum(x[OUTSIDE] ** 2),
        lambda jnp, x: jnp.sum(x[jnp.asarray(OUTSIDE) + 0] ** 2),
        lambda torch, x: (x[torch.tensor(OUTSIDE)] ** 2).sum(),
        "Compiled JAX reads the last element for index 5 and drops its gradient (its forward mode keeps it). "
        "`bridge` raises; `engine=\"xla\"` also, unless `index_mode` says what is meant.",
    ),
    Surprise(
        "ties", "max(x)", [2.0, 2.0, 1.0],
        lambda np, x: np.max(x), lambda jnp, x: jnp.max(x), lambda torch, x: torch.max(x),
        "Any share is a subgradient. Equal shares do not depend on the order of the elements.",
    ),
    Surprise(
        "abs", "abs(x)", [0.0],
        lambda np, x: np.sum(np.abs(x)), lambda jnp, x: jnp.sum(jnp.abs(x)), lambda torch, x: torch.abs(x).sum(),
        "Slopes -1 and 1; the mean treats both sides alike, and an optimum of a symmetric loss is a stationary point.",
    ),
    Surprise(
        "relu", "maximum(x, 0)", [0.0],
        lambda np, x: np.sum(np.maximum(x, 0.0)), lambda jnp, x: jnp.sum(jnp.maximum(x, 0.0)),
        lambda torch, x: torch.relu(x).sum(),
        "The spellings of a rectifier differ at 0: here PyTorch's is `torch.relu`. With one half, "
        "`maximum(x, 0) + minimum(x, 0)` has the slope of `x`.",
    ),
    Surprise(
        "overwritten", "y = exp(x); z = sum(y * y); y[:] = 0; z + sum(y)", [0.0, 1.0],
        _overwritten, _overwritten_in_jax, _overwritten_in_torch,
        "An operand is overwritten after it was used. PyTorch and Zygote refuse, JAX has no writes; `bridge` puts the "
        "old bytes back before it asks for the slope.",
    ),
    Surprise(
        "behind", "the same; PyTorch writes into y.data, Zygote in a rule for an Array", [0.0, 1.0],
        _overwritten, _overwritten_in_jax, lambda torch, x: _overwritten_in_torch(torch, x, behind=True),
        "Behind the back of the version counter the slope is taken where the zeros are now: silently wrong.",
    ),
    Surprise(
        "copies", "b[0], b[1] = x; sum(copy(b)) + sum(copy(b) ** 2)", [1.0, 2.0],
        _copied_twice, _copied_twice_in_jax, _copied_twice_in_torch,
        "Zygote's Buffer hands out one array however often it is copied, and the second gradient replaces the first.",
    ),
    Surprise(
        "twice", "y[[0, 0]] = x; sum(y)", [1.0, 2.0],
        _written_twice, lambda jnp, x: jnp.zeros_like(x).at[jnp.array([0, 0])].set(x).sum(), _written_twice_in_torch,
        "The last write survives, so only it has a gradient.",
    ),
    Surprise(
        "complex", "real(z * z)", [1.0 + 2.0j],
        lambda np, x: np.sum(np.real(x * x)), lambda jnp, x: jnp.sum(jnp.real(x * x)),
        lambda torch, x: torch.real(x * x).sum(),
        "`bridge`, PyTorch and Zygote return df/dx + i df/dy, the direction of ascent; JAX returns its conjugate.",
        dtype="complex128",
    ),
    Surprise(
        "power", "x ** p, p = [0, 2]", [0.0, 0.0],
        lambda np, x: np.sum(x**POWERS), lambda jnp, x: jnp.sum(x ** jnp.asarray(POWERS)),
        lambda torch, x: (x ** torch.tensor(POWERS)).sum(),
        "`p * x ** (p - 1)` is 0 times infinity for the exponent 0, where the power is the constant 1.",
    ),
    Surprise(
        "coin", "sum of 2 coins with probability p", 0.5,
        _coin, _coin_in_jax, lambda torch, p: torch.bernoulli(p.expand(2)).sum(),
        "The draw is flat in `p` almost everywhere, its expectation `2 p` is not. A silent 0 stops learning; "
        '`bridge` asks what is meant (docs/random.md).',
        expected=lambda np, p: 2 * p,
    ),
    Surprise(
        "cancelling", "(1 - cos(x)) / x ** 2 in float32", [1e-2],
        _cancelling, _cancelling, lambda torch, x: ((1 - torch.cos(x)) / x**2).sum(),
        "The value has lost its digits before anybody differentiates: every system returns the slope of rounding "
        "errors. `bridge.crosscheck` says so (`precision`); write `2 * sin(x / 2) ** 2`.",
        dtype="float32",
    ),
    Surprise(
        "triangle", "eigvalsh(x)[0]", [[1.0, 9.0], [2.0, 3.0]],
        lambda np, x: np.linalg.eigvalsh(x)[0], lambda jnp, x: jnp.linalg.eigvalsh(x)[0],
        lambda torch, x: torch.linalg.eigvalsh(x)[0],
        "Only the lower triangle is read, so the upper one has no gradient. JAX averages the two triangles first.",
    ),
)  # fmt: skip
