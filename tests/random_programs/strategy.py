"""The hypothesis strategy: inputs, then statements, each kept within a range where differences are reliable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from tests.helpers.finite_differences import replica
from tests.random_programs import blocks, statements
from tests.random_programs.program import LAYOUTS, RandomProgram
from tests.random_programs.workshop import Declined, Workshop

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


@st.composite
def programs(
    draw: Callable[[Any], Any], dtypes: tuple[type, ...] = (np.float64, np.float64, np.float32)
) -> RandomProgram:
    """Programs of up to about thirty lines on one or two arguments, which they may mutate."""
    dtype = draw(st.sampled_from(dtypes))
    count = draw(st.integers(1, 2))
    seed = draw(st.integers(0, 999))
    rng = np.random.default_rng(seed)
    inputs, layouts = [], []
    for _ in range(count):
        shape = draw(st.sampled_from(SHAPES))
        layouts.append(draw(st.sampled_from(LAYOUTS)))
        values = np.round(rng.uniform(-1.5, 1.5, shape), 2).astype(dtype)
        inputs.append(eval(layouts[-1].format("values"), {"np": np, "values": values}))
    program = RandomProgram(tuple(inputs), tuple(layouts), [])
    shop = Workshop(draw, {name: replica(x) for name, x in zip(program.parameters, inputs, strict=True)})
    for _ in range(draw(st.integers(2, MAX_LINES))):
        _add_statement(shop, draw(st.sampled_from(STATEMENTS)))
    program.lines, program.result = shop.lines, _result(shop)
    return program


def _add_statement(shop: Workshop, statement: Callable[[Workshop], None]) -> None:
    try:
        statement(shop)
    except Declined:
        return
    except FloatingPointError:
        assume(False)
    for size, name in shop.largest():
        if size <= LIMIT:
            break
        value = shop.scope[name]
        if isinstance(value, np.ndarray) and value.flags.writeable:
            shop.write(f"np.tanh({name}, out={name})")
        elif not isinstance(value, np.ndarray):
            shop.write(f"{name} = np.tanh({name})")
    assume(not shop.largest() or shop.largest()[0][0] < 1e3)


def _result(shop: Workshop) -> str:
    """A sum over live names, so that every write may matter."""
    names = shop.arrays() + shop.scalars()
    chosen = [name for name in names if shop.integer(0, 2)] or names[-1:]
    forms = ("np.sum({0} * {0})", "np.sum(np.sin({0}))", "np.sum({0} * np.cos({0}))", "np.sum(0.5 * {0})")
    return " + ".join(shop.choose(forms).format(name) for name in chosen[-6:])
