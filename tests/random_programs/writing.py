"""Writing a program: inputs, then statements, each kept within a range where differences are reliable."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from random import Random

import numpy as np

from tests.helpers.finite_differences import replica
from tests.random_programs import blocks, statements
from tests.random_programs.program import LAYOUTS, RandomProgram
from tests.random_programs.workshop import Declined, Workshop

Statement = Callable[[Workshop], None]

STATEMENTS = (
    statements.view,
    statements.view,
    statements.elementwise,
    statements.elementwise,
    statements.rearrangement,
    statements.reduction,
    statements.product,
    statements.less_common,
    statements.flat_update,
    statements.scratch,
    statements.whole_update,
    statements.region_update,
    statements.region_update,
    statements.element_update,
    statements.output_argument,
    statements.scatter,
    statements.filling,
    statements.overlap,
    statements.naming,
    statements.scalar,
    statements.constant,
    blocks.stencil_loop,
    blocks.swapping_loop,
    blocks.accumulating_loop,
    blocks.rows_loop,
    blocks.branch,
    blocks.helper,
)
SHAPES = ((4,), (3,), (5,), (2, 3), (3, 3), (2, 2, 2), (1,), (4, 1))
MAX_LINES = 24
LIMIT = 3.0
# Twice as many of double precision.
DTYPES = (np.float64, np.float64, np.float32)


class Unfit(Exception):
    """A program whose values nobody could check."""


def programs(count: int, first: int = 0, statements: Sequence[Statement] = STATEMENTS) -> Iterator[RandomProgram]:
    """`count` programs of the seeds from `first` on; the same ones in every run."""
    fit = filter(None, (program_of(seed, statements) for seed in itertools.count(first)))
    return itertools.islice(fit, count)


def program_of(seed: int, statements: Sequence[Statement] = STATEMENTS) -> RandomProgram | None:
    """A program of up to about thirty lines on one or two arguments, which it may change; None if values outgrow it."""
    dice = Random(seed)
    dtype = dice.choice(DTYPES)
    inputs, layouts = [], []
    for _ in range(dice.randint(1, 2)):
        shape = dice.choice(SHAPES)
        layouts.append(dice.choice(LAYOUTS))
        values = np.array([dice.randint(-150, 150) / 100 for _ in range(math.prod(shape))], dtype).reshape(shape)
        inputs.append(eval(layouts[-1].format("values"), {"np": np, "values": values}))
    program = RandomProgram(tuple(inputs), tuple(layouts), [])
    shop = Workshop(dice, {name: replica(x) for name, x in zip(program.parameters, inputs, strict=True)})
    try:
        for _ in range(dice.randint(2, MAX_LINES)):
            _add_statement(shop, dice.choice(statements))
    except Unfit:
        return None
    program.lines, program.result = shop.lines, _result(shop)
    return program


def _add_statement(shop: Workshop, statement: Statement) -> None:
    try:
        statement(shop)
    except Declined:
        return
    except (FloatingPointError, ValueError, TypeError):
        # Too steep, or a layout or dtype that NumPy does not take as `out=`.
        raise Unfit from None
    for size, name in shop.largest():
        if size <= LIMIT:
            break
        value = shop.scope[name]
        if isinstance(value, np.ndarray) and value.flags.writeable:
            shop.write(f"np.tanh({name}, out={name})")
        elif not isinstance(value, np.ndarray):
            shop.write(f"{name} = np.tanh({name})")
    if not shop.largest() or not shop.largest()[0][0] < 1e3:
        raise Unfit


def _result(shop: Workshop) -> str:
    """A sum over live names, so that every write may matter."""
    names = shop.arrays() + shop.scalars()
    chosen = [name for name in names if shop.integer(0, 2)] or names[-1:]
    forms = ("np.sum({0} * {0})", "np.sum(np.sin({0}))", "np.sum({0} * np.cos({0}))", "np.sum(0.5 * {0})")
    return " + ".join(shop.choose(forms).format(name) for name in chosen[-6:])
