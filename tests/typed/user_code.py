"""User code with types, read by a type checker and never run; a line with a mistake names the error."""

from typing import Any, assert_type

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


def with_aux(x: Array) -> tuple[float, str]:
    return loss(x), "note"


def cubed(x: Array, scale: float) -> Array:
    return scale * x**3


@bridge.rule(cubed)
def ruled(ct: Array, out: Array, x: Array, scale: float) -> tuple[Array, None]:
    return 3 * scale * x**2 * ct, None


@bridge.mutating_rule(mutates="x")
def kernel(x: Array, times: int) -> int:
    x *= times
    return times


def worded(i: int, x: float) -> str:
    return f"{i} {x}"


found, pull = bridge.vjp(loss, X)
assert_type(found, float)
assert_type(bridge.vjp(with_aux, X, has_aux=True)[2], str)
assert_type(bridge.jvp(part, (X,), (X,)), tuple[Array, Array])
assert_type(bridge.vmap(part)(X), Array)
assert_type(bridge.detach(loss(X)), float)
assert_type(bridge.fori_loop(0, 3, lambda i, x: x * i, 1.0), float)
assert_type(bridge.while_loop(lambda x: x < 3, lambda x: 2 * x, 1.0), float)
assert_type(bridge.cond(True, loss, loss, X), float)
assert_type(bridge.random.normal(bridge.random.key(0), (3,)), NDArray[Any])
assert_type(ruled(X, 2.0), Array)
assert_type(kernel(X, 2), int)
bridge.crosscheck(loss, engines=("native", "xla"))(X)
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
bridge.vjp(loss, X, index_mode="wrap")  # error: call-overload
slope(X)  # error: call-arg
bridge.xla(loss, index_mode="wrap")  # error: call-overload
fast(1.0)  # error: arg-type
part()  # error: call-arg
bridge.vmap(loss)(X, k=1)  # error: call-arg
bridge.jacrev(argnum=1)  # error: call-overload
bridge.vjp(cubed, X)  # error: arg-type
bridge.crosscheck(loss, engines=("nativ",))  # error: arg-type
ruled("text", 2.0)  # error: arg-type
kernel(X)  # error: call-arg
bridge.torch.function(loss, engine="navite")  # error: arg-type
bridge.fori_loop(0, 3, worded, 1.0)  # error: arg-type
print(bridge.gard)  # error: attr-defined
