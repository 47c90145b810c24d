"""Pieces of source: indices, smooth bounded expressions, right-hand sides that fit a shape."""

from __future__ import annotations

import numpy as np

from tests.random_programs.workshop import MAX_SIZE, Workshop

# All are analytic near the real axis, so that the complex step is exact, and bounded or slow to grow.
UNARY = (
    "np.sin({0})",
    "np.tanh({0})",
    "np.exp(-{0} * {0})",
    "{0} / (1.5 + {0} * {0})",
    "np.sqrt(1.5 + {0} * {0})",
    "np.log(2.0 + {0} ** 2)",
    "np.arctan({0})",
    "-{0}",
    "0.5 * {0} + 0.3",
    "np.square({0}) - 0.5",
    "1.0 / (2.0 + np.cos({0}))",
    "np.expm1(0.3 * {0})",
    "np.negative({0}) * 0.7",
    "{0}.copy()",
)
BINARY = (
    "{0} + {1}",
    "{0} - {1}",
    "{0} * {1}",
    "{0} * np.cos({1})",
    "np.sin({0} * {1})",
    "{0} / (2.0 + {1} * {1})",
    "np.add({0}, {1})",
    "np.multiply({0}, 0.5 * {1})",
)


def basic_index(shop: Workshop, shape: tuple[int, ...]) -> str:
    """An index of slices, integers, `None` and `...`, at least one of them a slice or an ellipsis."""
    parts = []
    for length in shape:
        kind = shop.integer(0, 7)
        if kind == 0:
            parts.append(str(shop.integer(-length, length - 1)))
        elif kind == 1:
            break
        else:
            parts.append(_slice(shop, length))
    if len(parts) == len(shape) and all(":" not in part for part in parts):
        parts[-1] = ":"
    if shop.integer(0, 7) == 0:
        parts.insert(shop.integer(0, len(parts)), "None")
    if len(parts) < len(shape) and (shop.integer(0, 1) or not parts):
        parts.append("...")
    return ", ".join(parts)


def advanced_index(shop: Workshop, shape: tuple[int, ...]) -> str:
    """An index with lists (duplicates and negative positions among them) or a boolean mask."""
    length = shape[0]
    kind = shop.integer(0, 4)
    if kind == 0:
        mask = [bool(shop.integer(0, 1)) for _ in range(length)]
        return f"numpy.array({mask})"
    if kind == 1:
        mask = np.array([shop.integer(0, 1) for _ in range(int(np.prod(shape)))], bool).reshape(shape)
        return f"numpy.array({mask.tolist()})"
    first = _positions(shop, length, shop.integer(1, 4))
    if kind == 2 or len(shape) == 1:
        return first
    if kind == 3:
        return f":, {_positions(shop, shape[1], shop.integer(1, 3))}"
    count = len(eval(first))
    return f"{first}, {_positions(shop, shape[1], count)}"


def any_index(shop: Workshop, shape: tuple[int, ...]) -> str:
    return basic_index(shop, shape) if shop.integer(0, 1) else advanced_index(shop, shape)


def full_index(shop: Workshop, shape: tuple[int, ...]) -> str:
    return ", ".join(str(shop.integer(-length, length - 1)) for length in shape)


def fitting(shop: Workshop, shape: tuple[int, ...]) -> str:
    """An expression that broadcasts to `shape` without making it larger."""
    names = shop.arrays(lambda a: _fits(a.shape, shape))
    names += shop.scalars()
    kind = shop.integer(0, 5)
    if names and kind <= 3:
        name = shop.choose(names)
        return shop.choose(UNARY).format(name) if kind else name
    plain = [name for name in shop.constants() if _fits(shop.scope[name].shape, shape)]
    if plain and kind == 4:
        return shop.choose(plain)
    name = shop.choose(shop.arrays())
    element = f"{name}[{full_index(shop, shop.scope[name].shape)}]"
    return f"{element} * {shop.number()}" if kind == 5 else f"np.sin({element})"


def pair(shop: Workshop) -> tuple[str, str]:
    """Two names whose arrays broadcast to a moderate size."""
    first = shop.choose(shop.arrays())
    shape = shop.scope[first].shape
    partners = shop.arrays(lambda a: _joint_size(a.shape, shape) is not None) + shop.scalars()
    return first, shop.choose(partners)


def mask_for(shop: Workshop, shape: tuple[int, ...]) -> str:
    """A boolean array of `shape`: a literal, or a comparison that no small change of the input flips."""
    names = shop.writable(lambda a: a.shape == shape)
    if names and shop.integer(0, 1):
        name = shop.choose(names)
        threshold = shop.number()
        if np.min(np.abs(shop.scope[name] - threshold)) > 0.05:
            return f"{name} > {threshold}"
    mask = np.array([shop.integer(0, 1) for _ in range(int(np.prod(shape)))], bool).reshape(shape)
    return f"numpy.array({mask.tolist()})"


def _slice(shop: Workshop, length: int) -> str:
    start = shop.choose(["", "", "1", "-2", str(length)])
    stop = shop.choose(["", "", "-1", "2"])
    step = shop.choose(["", "", "", ":2", ":-1", ":-2"])
    text = f"{start}:{stop}{step}"
    return text if len(range(length)[eval(f"slice({_parts(text)})")]) else ":"


def _parts(text: str) -> str:
    return ", ".join(part or "None" for part in text.split(":"))


def _positions(shop: Workshop, length: int, count: int) -> str:
    return str([shop.integer(-length, length - 1) for _ in range(count)])


def _fits(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    return _joint(shape, target) == target


def _joint_size(first: tuple[int, ...], second: tuple[int, ...]) -> int | None:
    shape = _joint(first, second)
    size = None if shape is None else int(np.prod(shape))
    return size if size is not None and size <= MAX_SIZE else None


def _joint(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...] | None:
    try:
        return np.broadcast_shapes(first, second)
    except ValueError:
        return None
