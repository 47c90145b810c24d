"""User code with types, read by a type checker and never run; a line with a mistake names the error."""

from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import bridge

Array = NDArray[np.float64]
X = np.ones(3)


def loss(x: Array, n: int = 2) -> float:
    y = x.copy()
    y *= n
    return float(np.sum(y))


@bridge.grad(argnums="x")
def slope(x: Array, *, c: float) -> float:
    return float(np.sum(x) * c)


@bridge.xla(index_mode="clip")
def fast(x: Array) -> Array:
    return x


@bridge.checkpoint
def part(x: Array) -> Array:
    return x


value, gradient = bridge.value_and_grad(loss)(X, 2)
assert_type(bridge.xla(loss)(X), float)
assert_type(part(X), Array)
assert_type(fast(X), Array)
assert_type(fast.compile_seconds, list[float])
bridge.grad(loss)(X, n=3)
slope(X, c=1.0)
bridge.vmap(loss, in_axes=(0, None))(X, 2)
fast.lower(X)
bridge.hessian(loss, argnums=("x",), engine="xla")(X)
bridge.jacrev(argnums=0, source=False)(part)(X)
bridge.hvp(loss, (X,), (X,), argnums="x")

bridge.grad(loss)("text")  # error: arg-type
bridge.grad(loss)()  # error: call-arg
bridge.grad(loss, engine="navite")  # error: call-overload
bridge.grad(loss, zeros="weak")  # error: call-overload
bridge.vjp(loss, X, index_mode="wrap")  # error: arg-type
slope(X)  # error: call-arg
bridge.xla(loss, index_mode="wrap")  # error: call-overload
fast(1.0)  # error: arg-type
part()  # error: call-arg
bridge.vmap(loss)(X, k=1)  # error: call-arg
bridge.jacrev(argnum=1)  # error: call-overload
print(bridge.gard)  # error: attr-defined
