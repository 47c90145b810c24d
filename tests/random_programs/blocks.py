"""Statements with a body: loops that carry arrays, branches on values, calls of helpers."""

from __future__ import annotations

import numpy as np

from tests.random_programs import expressions as e
from tests.random_programs.workshop import Workshop


def stencil_loop(shop: Workshop) -> None:
    name = shop.choose(shop.writable(lambda a: a.shape[0] > 2))
    steps = [
        f"{name}[1:-1] += 0.1 * ({name}[2:] - 2.0 * {name}[1:-1] + {name}[:-2])",
        f"{name}[k] = np.sin({name}[k - 1]) + {name}[k] * 0.5",
        f"{name}[k] *= {name}[-1 - k]",
        f"np.tanh({name}, out={name})",
        f"{name} -= 0.2 * {name}[::-1]",
    ]
    shop.write(f"for k in range({shop.integer(1, 3)}):", [shop.choose(steps) for _ in range(shop.integer(1, 3))])


def swapping_loop(shop: Workshop) -> None:
    first = shop.choose(shop.writable())
    shape = shop.scope[first].shape
    second = shop.choose(shop.writable(lambda a: a.shape == shape))
    body = [f"{first}[...] = 0.5 * {second} + np.sin({first})", f"{first}, {second} = {second}, {first}"]
    shop.write(f"for k in range({shop.integer(1, 4)}):", body)


def accumulating_loop(shop: Workshop) -> None:
    name = shop.choose(shop.writable())
    total, length = shop.fresh("s"), shop.scope[name].shape[0]
    factor = e.fitting(shop, ())
    shop.write(f"{total} = 0.0 * {name}[{', '.join('0' * shop.scope[name].ndim)}]")
    step = shop.choose([f"{total} = {total} + np.sum({name}[k] ** 2)", f"{total} += np.sum({name}[k - 1] * {name}[k])"])
    change = shop.choose([f"{name}[k] *= {factor}", f"{name}[k] = np.cos({name}[k - 1])"])
    shop.write(f"for k in range({length}):", [step, change])


def rows_loop(shop: Workshop) -> None:
    name = shop.choose(shop.writable(lambda a: a.ndim > 1))
    change = shop.choose(["row /= 1.5 + np.sum(row * row)", "row[0] = np.sum(row)", "row *= row[-1]"])
    shop.write(f"for row in {name}:", [change])
    del shop.scope["row"]


def branch(shop: Workshop) -> None:
    """A branch on a value that is far enough from its threshold."""
    name, target = shop.choose(shop.writable()), shop.choose(shop.writable())
    threshold = shop.number()
    if abs(np.sum(shop.scope[name]) - threshold) > 0.1:
        change = shop.choose([f"{target} *= {shop.number()}", f"{target}[0] += {e.fitting(shop, ())}"])
        shop.write(f"if np.sum({name}) {shop.choose('<>')} {threshold}:", [change])


def helper(shop: Workshop) -> None:
    """A function that writes its argument and returns a view of it."""
    called = shop.fresh("h")
    name = shop.choose(shop.writable())
    inner = shop.choose(["v[0] *= 2.0", "v *= np.cos(v)", "v[::2] -= 0.3", "np.sin(v, out=v)"])
    back = shop.choose(["return v[::-1]", "return v[:1]", "return np.sum(v)", "return v"])
    shop.write(f"def {called}(v):", [inner, back])
    shop.write(f"{shop.fresh()} = {called}({name})")
