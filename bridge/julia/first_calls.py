"""What programs call first: what Julia compiles meanwhile goes into a system image. Run in a process of its own."""

from __future__ import annotations

import numpy as np

from bridge import julia
from bridge.errors import JuliaError
from bridge.transforms.grad import grad, value_and_grad
from bridge.transforms.jacobians import hessian
from bridge.transforms.jvp import jvp

FIRST = "bridge\tfirst gradient"


def main(everything: bool = True) -> None:
    """Get a first gradient, print `FIRST`, and get those of the other kinds of calls that programs begin with."""
    x, matrix = np.array([1.0, 2.0, 3.0]), np.arange(6.0).reshape(2, 3)
    square = julia.function("x -> sum(abs2, x .* 2)")
    grad(square)(x)
    print(FIRST, flush=True)
    if not everything:
        return
    square(x)
    layer = julia.function("(θ, x) -> sum(abs2, tanh.(θ * x))")
    for theta in (matrix, np.asfortranarray(matrix), matrix.astype(np.float32)):
        value_and_grad(layer, argnums=(0, 1))(theta, x.astype(theta.dtype))
        grad(lambda theta: layer(theta, x) + np.sum(theta[0] * 2))(theta)
    several = julia.function("(p, k) -> (p.w .* k, sum(p.b))")
    parameters = {"w": x, "b": matrix}
    grad(lambda p: np.sum(several(p, 2.0)[0]))(parameters)
    grad(julia.function("p -> sum(p.w) + sum(abs2, p.b)"))(parameters)
    scalar = julia.function("x -> sin(x) * exp(x)")
    grad(scalar)(0.5)
    recurrence = (
        "x -> (b = MutationBridge.Buffer(x); for i in 2:length(x) b[i] = b[i-1] * b[i] + x[i] end; sum(copy(b)))"
    )
    julia.eval("import MutationBridge")
    grad(julia.function(recurrence))(x)
    smooth = julia.function("(u, a) -> (for i in 2:length(u); u[i] += a * u[i-1]; end; nothing)", mutates=(0,))

    def program(u: np.ndarray) -> np.generic:
        smooth(u[1:], 0.5)
        return np.sum(u**2)

    grad(program)(x.copy())
    jvp(square, (x,), (x,))
    hessian(square)(x)
    grad(lambda x: np.sum(np.sin(x) * x[::-1]), engine="julia")(x)
    try:
        julia.function("x -> undefined_name(x)")(x)
    except JuliaError as error:
        str(error)
