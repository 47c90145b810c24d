"""Statements at which gradients go wrong in silence: unbuffered overlaps, early aliases, other dtypes."""

from __future__ import annotations

import numpy as np

from tests.random_programs import expressions as e
from tests.random_programs.program import HELD
from tests.random_programs.workshop import Declined, Workshop


def unbuffered(shop: Workshop) -> None:
    """A write whose right-hand side is a view of its target: NumPy buffers some of them."""
    name = shop.choose(shop.writable(lambda a: a.ndim == 1 and a.size > 2))
    size = shop.scope[name].size
    count = shop.integer(1, size - 1)
    mask = [bool(shop.integer(0, 1)) for _ in range(size)]
    places = [shop.integer(-size, size - 1) for _ in range(count)]
    order = [shop.integer(0, size - 1) for _ in range(size)]
    options = [
        f"{name}[numpy.array({mask})] = {name}[::-1][:{sum(mask)}]",
        f"{name}[numpy.ones({size}, bool)] = {name}[::-1]",
        f"{name}[: {(size + 1) // 2}] = {name}[::2]",
        f"{name}[::2] = {name}[{size // 2} :]",
        f"{name}.flat[:] = {name}[::-1]",
        f"{name}.flat[1:] = {name}[:-1]",
        f"{name}.flat = {name}[::-1]",
        f"{name}[{places}] = {name}[:{count}]",
        f"{name}[{places}] = {name}[-{count}:]",
        f"{name}[::-1][{places}] = {name}[:{count}]",
        f"np.putmask({name}, numpy.array({mask}), {name}[::-1])",
        f"np.place({name}, numpy.array({mask}), {name}[::-1])",
        f"np.put({name}, {places}, {name}[:{count}])",
        f"np.copyto({name}, {name}[::-1], where=numpy.array({mask}))",
        f"np.concatenate([{name}[{count}:], {name}[:{count}]], out={name})",
        f"np.take({name}, {order}, out={name}, mode='{shop.choose(['clip', 'wrap', 'raise'])}')",
        f"np.cumsum({name}[::-1], out={name})",
        f"np.add.at({name}, {places}, {name}[:{count}])",
        f"np.multiply.at({name}, {places}, {name}[-{count}:])",
        f"np.add({name}[:-1], {name}[1:], out={name}[1:])",
        f"np.multiply({name}[::-1], {name}, out={name}, where=numpy.array({mask}))",
        f"{name}[1:], {name}[:-1] = {name}[:-1], {name}[1:]",
    ]
    shop.write(shop.choose(options))


def unbuffered_matrix(shop: Workshop) -> None:
    name = shop.choose(shop.writable(lambda a: a.ndim == 2 and a.shape[0] == a.shape[1] and a.size > 1))
    size = shop.scope[name].shape[0]
    rows = [shop.integer(0, size - 1) for _ in range(size)]
    options = [
        f"{name}[...] = {name}.T",
        f"{name}.flat = {name}.T",
        f"{name}[{rows}] = {name}[::-1]",
        f"{name}[:, {rows}] = {name}.T",
        f"np.dot({name}, {name}.T, out=np.empty_like({name}))",
        f"np.matmul({name}, 0.3 * {name}, out={name})",
        f"np.stack([{name}[k] for k in {rows}], out={name})",
        f"np.take({name}, {rows}, axis=0, out={name}, mode='clip')",
        f"{name}[numpy.triu_indices({size})] = {name}.T[numpy.triu_indices({size})]",
        f"{name}[numpy.array({np.eye(size, dtype=bool).tolist()})] = {name}[0]",
    ]
    shop.write(shop.choose(options))


def duplicates(shop: Workshop) -> None:
    """Index arrays of two axes, of any layout, that name elements more than once."""
    name = shop.choose(shop.writable(lambda a: a.ndim == 1 and a.size > 1))
    size = shop.scope[name].size
    index = [[shop.integer(-size, size - 1) for _ in range(2)] for _ in range(shop.integer(1, 3))]
    layout = shop.choose(["numpy.array({})", "numpy.asfortranarray({})", "numpy.array({}).T", "numpy.array({})[::-1]"])
    at = layout.format(index)
    shape = shop.value(f"{name}[{at}]").shape
    right = e.fitting(shop, shape)
    updates = [f"{name}[{at}] = {right}", f"{name}[{at}] += {right}"]
    # NumPy 2.4 reads beyond the memory of values that have fewer axes than their index.
    updates += [f"np.subtract.at({name}, {at}, np.broadcast_to({right}, {shape}))"]
    shop.write(shop.choose([*updates, f"{shop.fresh()} = {name}[{at}]"]))


def early_alias(shop: Workshop) -> None:
    """A second name for memory that carries no gradient yet."""
    name = shop.choose(shop.writable(lambda a: a.size > 1))
    shape, scratch, alias = shop.scope[name].shape, shop.fresh("b"), shop.fresh("w")
    shop.write(f"{scratch} = np.zeros({shape}, dtype=x.dtype)")
    aliases = [
        f"np.asarray({scratch})",
        f"np.ravel({scratch})",
        f"{scratch}[::-1]",
        f"{scratch}.T",
        f"np.atleast_2d({scratch})",
        f"np.broadcast_to({scratch}, (2, *{shape}))",
        f"np.ascontiguousarray({scratch})",
        f"np.array({scratch}, copy=None)",
        f"np.expand_dims({scratch}, 0)",
        f"np.require({scratch}, requirements='W')",
        f"np.frombuffer({scratch}, dtype=x.dtype)",
        f"np.lib.stride_tricks.as_strided({scratch}, ({shape[0]},), ({scratch}.strides[0],))",
    ]
    shop.write(f"{alias} = {shop.choose(aliases)}")
    shop.write(f"{scratch}[...] = {e.fitting(shop, shape)}")


def number_made_array(shop: Workshop) -> None:
    name, new = shop.choose(shop.writable()), shop.fresh("o")
    a = shop.scope[name]
    element = f"{name}[{e.full_index(shop, a.shape)}]"
    options = [f"{new} = np.array({element})", f"{new} = np.asarray({element} * 2)"]
    options += [f"{new} = np.empty((), dtype=x.dtype)\nnp.sum({name}, out={new})"]
    if a.ndim == 1:
        options += [f"{new} = np.empty((), dtype=x.dtype)\nnp.dot({name}, {name}, out={new})"]
    shop.write(shop.choose(options))
    shop.write(shop.choose([f"{new}[...] = {new} * 0.5", f"{new} += 0.5", f"{new} *= {element}"]))


def complex_memory(shop: Workshop) -> None:
    """A complex array, written as a whole, by its parts, and through a view of floats."""
    name = shop.choose(shop.writable(lambda a: a.ndim == 1 and a.dtype == np.float64))
    size, z = shop.scope[name].size, shop.fresh("z")
    other = shop.choose(shop.arrays(lambda a: a.shape == (size,)))
    shop.write(f"{z} = {name} + 1j * {other}")
    options = [
        f"{z}.real[...] = {other}",
        f"{z}.imag *= 0.5",
        f"{z}[::-1] *= {z}",
        f"{z}.view(float)[::2] += 0.25",
        f"{z}[...] = {z}.conj() * {z}",
        f"{z}[...] = {z}.view(float)[:{size}]",
        f"np.multiply({z}, 1j, out={z})",
    ]
    for _ in range(shop.integer(1, 2)):
        shop.write(shop.choose(options))
    shop.write(f"{shop.fresh()} = {shop.choose([f'{z}.real * {z}.imag', f'np.abs({z} + 3.0)', f'np.real({z} * {z})'])}")


def integers(shop: Workshop) -> None:
    """Integer memory cuts values off: what passes through it has no gradient."""
    name, new = shop.choose(shop.writable()), shop.fresh("c")
    shape = shop.scope[name].shape
    options = [
        f"{shop.fresh()} = {name} * np.floor(3.0 * {name})",
        f"{shop.fresh()} = {name} * (3.0 * {name}).astype(int)",
        f"{shop.fresh()} = {name}.ravel()[np.argsort({name}.ravel())]",
        f"{shop.fresh()} = np.where({name} > 0.123, {name}, 0.5)",
        f"{new} = np.zeros({shape}, dtype=int)\n{new}[...] = 3.0 * {name}\n{shop.fresh()} = {new} * {name}",
        f"{new} = np.zeros({shape}, dtype=int)\nnp.add.at({new}, [0, 0], 1)\n{shop.fresh()} = {new} * {name}",
    ]
    shop.write(shop.choose(options))


def held_by_caller(shop: Workshop) -> None:
    """The caller's first array under its global name, which is the argument's from its first write on."""
    x = shop.scope["x"]
    if x is not shop.scope[HELD] or not x.flags.writeable:
        raise Declined
    lines = [shop.choose(["x *= 0.9", "x[...] = np.sin(x)", "np.cos(x, out=x)"])]
    if shop.integer(0, 5) == 0:
        lines.append(shop.choose(["held *= 0.5", "np.sin(held, out=held)"]))
    lines.append(f"{shop.fresh()} = {shop.choose(['held * 0.5', 'np.sin(held)', 'held[::-1] + 0.0', 'np.sum(held)'])}")
    # Whole: without the write the other name would be a constant.
    shop.write("\n".join(lines))


HAZARDS = (
    unbuffered, unbuffered, unbuffered_matrix, duplicates, early_alias, early_alias, number_made_array, complex_memory,
    integers, held_by_caller,
)  # fmt: skip
