"""What programs call first: what Julia compiles meanwhile goes into a system image. Run in a process of its own."""

from __future__ import annotations

import numpy as np

import bridge

FIRST = "bridge\tfirst gradient"


def main(everything: bool = True) -> None:
    """Get a first gradient, print `FIRST`, and get those of the other kinds of calls that programs begin with."""
    x, matrix = np.array([1.0, 2.0, 3.0]), np.arange(6.0).reshape(2, 3)
    square = bridge.julia.function("x -> sum(abs2, x .* 2)")
    bridge.grad(square)(x)
    print(FIRST, flush=True)
    if not everything:
        return
    square(x)
    layer = bridge.julia.function("(θ, x) -> sum(abs2, tanh.(θ * x))")
    for theta in (matrix, np.asfortranarray(matrix), matrix.astype(np.float32)):
        bridge.value_and_grad(layer, argnums=(0, 1))(theta, x.astype(theta.dtype))
        bridge.grad(lambda theta: layer(theta, x) + np.sum(theta[0] * 2))(theta)
    several = bridge.julia.function("(p, k) -> (p.w .* k, sum(p.b))")
    parameters = {"w": x, "b": matrix}
    bridge.grad(lambda p: np.sum(several(p, 2.0)[0]))(parameters)
    bridge.grad(bridge.julia.function("p -> sum(p.w) + sum(abs2, p.b)"))(parameters)
    scalar = bridge.julia.function("x -> sin(x) * exp(x)")
    bridge.grad(scalar)(0.5)
    recurrence = (
        "x -> (b = MutationBridge.Buffer(x); for i in 2:length(x) b[i] = b[i-1] * b[i] + x[i] end; sum(copy(b)))"
    )
    bridge.julia.eval("import MutationBridge")
    bridge.grad(bridge.julia.function(recurrence))(x)
    smooth = bridge.julia.function("(u, a) -> (for i in 2:length(u); u[i] += a * u[i-1]; end; nothing)", mutates=(0,))

    def program(u: np.ndarray) -> np.generic:
        smooth(u[1:], 0.5)
        return np.sum(u**2)

    bridge.grad(program)(x.copy())
    bridge.jvp(square, (x,), (x,))
    bridge.hessian(square)(x)
    bridge.grad(lambda x: np.sum(np.sin(x) * x[::-1]), engine="julia")(x)
    try:
        bridge.julia.function("x -> undefined_name(x)")(x)
    except bridge.errors.JuliaError as error:
        str(error)
