"""Statements that a random program is made of: each writes one or two lines in the workshop, or declines."""

from __future__ import annotations

import numpy as np

from tests.random_programs import expressions as e
from tests.random_programs.workshop import MAX_SIZE, Workshop


def view(shop: Workshop) -> None:
    name = shop.choose(shop.arrays())
    a = shop.scope[name]
    options = [f"{name}[{e.basic_index(shop, a.shape)}]", f"{name}.T", f"{name}[...]", f"np.expand_dims({name}, 0)"]
    options += [f"{name}.reshape(-1)", f"np.ravel({name})", f"np.flip({name}, 0)", f"{name}.reshape({_refold(a)})"]
    options += [f"np.broadcast_to({name}, (2, *{a.shape}))"] if 2 * a.size <= MAX_SIZE else []
    options += [f"np.swapaxes({name}, 0, -1)", f"np.rot90({name})", f"np.diagonal({name})"] if a.ndim == 2 else []
    options += [f"np.moveaxis({name}, 0, -1)", f"{name}.transpose(1, 2, 0)"] if a.ndim == 3 else []
    options += [f"np.split({name}, 2)[1]"] if a.shape[0] % 2 == 0 else []
    options += [f"np.lib.stride_tricks.sliding_window_view({name}, 2)"] if a.shape in {(3,), (4,), (5,)} else []
    shop.write(f"{shop.fresh()} = {shop.choose(options)}")


def elementwise(shop: Workshop) -> None:
    if shop.integer(0, 1):
        right = shop.choose(e.UNARY).format(shop.choose(shop.arrays()))
    else:
        right = shop.choose(e.BINARY).format(*e.pair(shop))
    shop.write(f"{shop.fresh()} = {right}")


def rearrangement(shop: Workshop) -> None:
    name = shop.choose(shop.writable())
    a = shop.scope[name]
    axis = shop.integer(-a.ndim, a.ndim - 1)
    options = [f"np.roll({name}, {shop.integer(-2, 2)}, axis={axis})"]
    options += [f"np.take({name}, {[shop.integer(-1, a.shape[axis] - 1) for _ in range(3)]}, axis={axis})"]
    options += [f"{name}[{e.advanced_index(shop, a.shape)}]"]
    if 2 * a.size <= MAX_SIZE:
        others = shop.arrays(lambda b: b.shape == a.shape)
        parts = f"[{name}, {shop.choose(others)}]"
        options += [f"np.concatenate({parts}, axis={axis})", f"np.stack({parts}, axis={axis})"]
        options += [f"np.repeat({name}, 2, axis={axis})", f"np.tile({name}, 2)"]
        options += [f"np.where({e.mask_for(shop, a.shape)}, {name}, {e.fitting(shop, a.shape)})"]
    shop.write(f"{shop.fresh()} = {shop.choose(options)}")


def reduction(shop: Workshop) -> None:
    name = shop.choose(shop.writable())
    a = shop.scope[name]
    axis = shop.integer(-a.ndim, a.ndim - 1)
    keep = shop.choose(["", ", keepdims=True"])
    options = [
        f"np.sum({name}, axis={axis}{keep})",
        f"{name}.mean(axis={axis}{keep})",
        f"np.cumsum({name}, axis={axis})",
    ]
    options += [f"np.add.reduce({name}, axis={axis})", f"np.add.accumulate({name}, axis={axis})"]
    options += [f"np.cumprod(0.8 * {name}, axis={axis})", f"np.prod(0.8 * {name}, axis={axis})"]
    options += [f"np.diff({name}, axis={axis})"] if a.shape[axis] > 1 else []
    shop.write(f"{shop.fresh()} = {shop.choose(options)}")


def less_common(shop: Workshop) -> None:
    """Functions of the long tail."""
    name = shop.choose(shop.writable())
    a = shop.scope[name]
    axis = shop.integer(-a.ndim, a.ndim - 1)
    order = np.argsort(np.argsort(a, axis=axis), axis=axis).tolist()
    element = f"{name}[{e.full_index(shop, a.shape)}]"
    options = [
        f"np.add.reduceat({name}, [0, {a.shape[axis] - 1}], axis={axis})",
        f"np.take_along_axis({name}, numpy.array({order}), axis={axis})",
        f"np.sum({name}, axis={axis}, where={e.mask_for(shop, a.shape)}, initial=0.5)",
        f"np.array([{element}, {e.fitting(shop, ())}], like=x)",
        f"np.delete({name}, {shop.integer(0, a.shape[axis] - 1)}, axis={axis})" if a.shape[axis] > 1 else name,
        f"{name}.flat[{[shop.integer(0, a.size - 1) for _ in range(3)]}]",
        f"np.append({name}, {element})",
        f"np.trapezoid({name}, dx=0.5, axis={axis})",
        f"np.triu({name})"
        if a.ndim == 2
        else f"np.convolve({name}, {name}[:2])"
        if a.ndim == 1
        else f"{name}.flatten()",
        f"np.subtract.outer({name}, {element})",
    ]
    if a.size <= 9 and a.ndim <= 2:
        mode = shop.choose(["edge", "wrap", "constant"])
        options += [f"np.pad({name}, 1, mode='{mode}')"] if max(a.shape) <= 3 else []
        options += [f"np.gradient({name}, axis={axis})"] if a.shape[axis] > 1 else []
    shop.write(f"{shop.fresh()} = {shop.choose(options)}")


def flat_update(shop: Workshop) -> None:
    name = shop.choose(shop.writable())
    a = shop.scope[name]
    mask, same = e.mask_for(shop, a.shape), shop.choose(shop.arrays(lambda b: b.shape == a.shape))
    options = [f"{name}.flat[{shop.integer(0, a.size - 1)}] = {e.fitting(shop, ())}"]
    options += [f"{name}.flat[[0, -1]] = {e.fitting(shop, (2,))}", f"np.putmask({name}, {mask}, {same})"]
    options += [f"np.fill_diagonal({name}, {e.fitting(shop, ())})"] if a.ndim == 2 else [f"{name}[:] = {same}[...]"]
    shop.write(shop.choose(options))


def product(shop: Workshop) -> None:
    name = shop.choose(shop.writable(lambda a: a.ndim <= 2))
    a = shop.scope[name]
    options = [f"np.einsum('i...,i...->...', {name}, {name})"]
    for other in shop.writable(lambda b: b.shape[0] == a.shape[-1] and b.ndim <= 2):
        options += [f"0.5 * ({name} @ {other})", f"np.dot({name}, {other})"]
    vectors = shop.writable(lambda b: b.ndim == 1 and b.size <= 4)
    if a.ndim == 1 and a.size <= 4 and vectors:
        options += [f"np.outer({name}, {shop.choose(vectors)})", f"np.multiply.outer({name}, {shop.choose(vectors)})"]
    shop.write(f"{shop.fresh()} = {shop.choose(options)}")


def scratch(shop: Workshop) -> None:
    """A preallocated array; an empty one is filled at once, because what it holds must not reach the result."""
    name = shop.choose(shop.writable())
    a, new = shop.scope[name], shop.fresh("t")
    create = [
        f"np.zeros_like({name})",
        f"np.zeros({a.shape}, dtype={name}.dtype, like={name})",
        f"np.full_like({name}, 0.5)",
    ]
    if shop.integer(0, 1):
        shop.write(f"{new} = {shop.choose(create)}")
    else:
        shop.write(f"{new} = np.empty_like({name}); np.multiply({name}, {e.fitting(shop, a.shape)}, out={new})")


def whole_update(shop: Workshop) -> None:
    name = shop.choose(shop.writable())
    right = e.fitting(shop, shop.scope[name].shape)
    shop.write(shop.choose(_updates(name, right)))


def region_update(shop: Workshop) -> None:
    name = shop.choose(shop.writable())
    region = f"{name}[{e.any_index(shop, shop.scope[name].shape)}]"
    right = e.fitting(shop, shop.value(region).shape)
    shop.write(shop.choose([f"{region} = {right}", *_updates(region, right)]))


def element_update(shop: Workshop) -> None:
    name = shop.choose(shop.writable())
    element = f"{name}[{e.full_index(shop, shop.scope[name].shape)}]"
    right = e.fitting(shop, ())
    shop.write(shop.choose([f"{element} = {right}", *_updates(element, right)]))


def output_argument(shop: Workshop) -> None:
    name = shop.choose(shop.writable())
    a = shop.scope[name]
    fits = [f"np.{f}({{0}}, out={name})" for f in ("sin", "tanh", "cos", "negative", "arctan")]
    masked = f", where={e.mask_for(shop, a.shape)}" if shop.integer(0, 1) else ""
    left, right = e.fitting(shop, a.shape), e.fitting(shop, a.shape)
    options = [text.format(left) for text in fits]
    options += [f"np.{f}({left}, {right}, out={name}{masked})" for f in ("add", "subtract", "multiply")]
    options += [f"np.cumsum({left if np.shape(shop.value(left)) == a.shape else name}, axis=0, out={name})"]
    for other in shop.writable(lambda b: b.ndim == a.ndim + 1 and b.shape[1:] == a.shape):
        options += [f"np.sum({other}, axis=0, out={name})", f"np.mean({other}, axis=0, out={name})"]
    shop.write(shop.choose(options))


def scatter(shop: Workshop) -> None:
    name = shop.choose(shop.writable())
    index = e.advanced_index(shop, shop.scope[name].shape)
    right = e.fitting(shop, shop.value(f"{name}[{index}]").shape)
    function = shop.choose(["add", "add", "subtract", "multiply"])
    shop.write(f"np.{function}.at({name}, numpy.s_[{index}], {right})")


def filling(shop: Workshop) -> None:
    name = shop.choose(shop.writable())
    a = shop.scope[name]
    right = e.fitting(shop, a.shape)
    options = [f"np.copyto({name}, {right}, where={e.mask_for(shop, a.shape)})", f"{name}.fill({e.fitting(shop, ())})"]
    options += [f"np.copyto({name}, {right})"]
    positions = [shop.integer(0, a.size - 1) for _ in range(2)]
    options += [f"np.put({name}, {positions}, {e.fitting(shop, (2,))})"]
    shop.write(shop.choose(options))


def overlap(shop: Workshop) -> None:
    """A write whose right-hand side reads the same memory at other places."""
    name = shop.choose(shop.writable(lambda a: a.shape[0] > 1))
    a = shop.scope[name]
    options = [
        f"{name}[1:] = {name}[:-1]",
        f"{name}[:-1] *= {name}[1:]",
        f"{name} += {name}[::-1]",
        f"{name} -= {name}[0]",
    ]
    options += [f"np.add({name}[1:], {name}[:-1], out={name}[1:])", f"{name}[0] = np.sum({name}, axis=0)"]
    options += [f"{name}[[0, -1]] = {name}[[-1, 0]]", f"{name}[0], {name}[-1] = {name}[-1], {name}[0]"]
    options += [f"{name} *= 0.5 * {name}.T"] if a.ndim == 2 and a.shape[0] == a.shape[1] else []
    shop.write(shop.choose(options))


def naming(shop: Workshop) -> None:
    names = shop.arrays()
    first, second = shop.choose(names), shop.choose(names)
    kind = shop.integer(0, 3)
    if kind == 0:
        shop.write(f"{shop.fresh()} = {first}")
    elif kind == 1 and len(names) > 3 and first not in {"x", "y", "z"}:
        shop.forget(first)
    else:
        shop.write(f"{first}, {second} = {second}, {first}")


def scalar(shop: Workshop) -> None:
    name = shop.choose(shop.writable())
    element = f"{name}[{e.full_index(shop, shop.scope[name].shape)}]"
    known = shop.scalars()
    if known and shop.integer(0, 1):
        shop.write(shop.choose(_updates(shop.choose(known), element)))
    else:
        right = shop.choose([element, f"np.sin({element})", f"np.mean({name})", f"{name}.sum()"])
        shop.write(f"{shop.fresh('s')} = {right}")


def constant(shop: Workshop) -> None:
    """A plain array: made, or changed after it was used."""
    known = shop.constants()
    if known and shop.integer(0, 2):
        name = shop.choose(known)
        shop.write(shop.choose([f"{name} *= {shop.number()}", f"{name}[0] = {shop.number()}", f"{name}[::-1] += 0.5"]))
        return
    shape = shop.scope[shop.choose(shop.writable())].shape
    name = shop.fresh("k")
    values = np.array([shop.number() for _ in range(int(np.prod(shape)))]).reshape(shape)
    shop.plain.add(name)
    shop.write(f"{name} = numpy.array({values.tolist()}, dtype=x.dtype)")


def _updates(target: str, right: str) -> list[str]:
    return [
        f"{target} += {right}",
        f"{target} -= {right}",
        f"{target} *= {right}",
        f"{target} /= 1.5 + ({right}) ** 2",
    ]


def _refold(a: np.ndarray) -> str:
    return "2, -1" if a.size and a.size % 2 == 0 else "1, -1"
