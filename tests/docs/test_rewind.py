"""`docs/rewind.py`, the rewind on a few pages: it says what the product says, and stays that short."""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import io
import tokenize
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import bridge

PATH = Path(__file__).parents[2] / "docs" / "rewind.py"
SOURCE = PATH.read_text(encoding="utf-8")


def _loaded() -> ModuleType:
    spec = importlib.util.spec_from_file_location("rewind_on_a_few_pages", PATH)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


rewind = _loaded()


def heat(u: Any) -> Any:
    u = u.copy()
    for _ in range(10):
        u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return np.sum(u**2)


def recurrence(x: Any) -> Any:
    for i in range(2, len(x)):
        x[i] = np.sin(x[i - 1]) * x[i] - x[i - 2] / 3
    return np.sum(x * x)


def overwritten_operands_and_outputs(x: Any) -> Any:
    y = np.exp(x)
    z = np.tanh(y * x)
    y *= 2
    z[1:] -= y[:-1] / 1.5 ** x[1:]
    y[:] = 0.5
    return np.sum(z * x + y)


def views_of_views(x: Any) -> Any:
    odd = x[1:][::2]
    odd[1:] *= odd[:-1]
    odd[:2][::-1][0] = 3 * x[0]
    return np.sum(x**3)


def transposes(x: Any) -> Any:
    a = np.zeros_like(x * x[:, None])
    a[:] = x
    a.T[1:] += a[0] * x
    a[::2].T[-1] = np.sin(a[0, ::2])
    return np.sum(np.sum(a * a.T, axis=0) * x)


def negative_strides(x: Any) -> Any:
    x[::-1][:4] *= x[:4]
    x[4:1:-1] += x[-3:]
    return np.sum(x**2)


def copies_onto_itself(x: Any) -> Any:
    x[1:4] = x[0:3]
    x[0:3] = x[1:4] * x[3:6]
    return np.sum(x**2)


def reused_scratch(x: Any) -> Any:
    scratch, total = np.zeros_like(x), np.zeros_like(x)
    for k in range(3):
        scratch[k:] = x[: len(x) - k]
        scratch *= scratch
        total += np.sin(scratch)
    return np.mean(total * x)


def two_names_of_one_array(x: Any) -> Any:
    before, now = x.copy(), x
    for _ in range(4):
        before[1:-1] = 2 * now[1:-1] - before[1:-1] + 0.25 * (now[2:] * now[:-2])
        now, before = before, now
    y = now
    y[0] = y[1] * x[1]
    return np.sum(now**2) + np.sum(x * before)


def product_in_place(x: Any) -> Any:
    for _ in range(3):
        x[1:] *= np.sin(x[:-1])
    return np.sum(x)


def read_before_and_after_a_write(x: Any) -> Any:
    before = np.sum(x[:3] * x[1:4])
    x[1:3] = x[3:5] * before
    return before + np.sum(x[:3] * x[1:4])


def branches(x: Any) -> Any:
    for i in range(len(x) - 1):
        if x[i] > 1:
            x[i + 1] -= x[i]
        elif x[i] < 0:
            x[i + 1] *= -x[i]
    while np.sum(x) > 0.1:
        x /= 2 + x[0] ** 2
    return np.sum(x)


def dot_products(x: Any) -> Any:
    a = np.zeros_like(x * x[:, None])
    for k in range(len(x)):
        a[k] = x * (k + 1)
    x[1:] = np.dot(a, x)[1:]
    x[:3] = (a[:3] @ a.T)[:, 0] / 1000
    return np.dot(x, x @ a) / x.dot(x)


def duplicate_indices(x: Any) -> Any:
    index = np.array([0, 2, 2, 5, 2])
    x[index] = x[index] * x[:5]
    index[:] = 1
    x[index] += np.exp(x[index])
    return np.sum(x[[3, 3, 0, 2]] ** 2) + np.sum(x)


def masks(x: Any) -> Any:
    x[x > 1] *= x[x > 1]
    x[x < 0] = -2 * x[0]
    return np.sum(x**2)


def plain_arrays_that_change(x: Any) -> Any:
    plain = np.arange(6.0)
    y = x * plain
    plain[:] = -1
    return np.sum(y * y) + np.sum(x * plain)


def an_argument_to_be_filled(x: Any, out: Any) -> Any:
    np.multiply(x, out, out=out)
    out[::2] = x[::2] ** 2
    return np.sum(out * x)


def numbers_are_copies(x: Any) -> Any:
    s = x[0]
    t = s
    s += x[1]
    x[0] = s * t
    return s * t * x[0] + x[1]


X = np.array([0.3, 1.7, -0.4, 2.2, 0.9, -1.1])
PROGRAMS: list[tuple[Callable[..., Any], tuple[np.ndarray, ...]]] = [
    (heat, (X,)),
    (recurrence, (X,)),
    (overwritten_operands_and_outputs, (X,)),
    (views_of_views, (X,)),
    (transposes, (X,)),
    (negative_strides, (X,)),
    (copies_onto_itself, (X,)),
    (reused_scratch, (X,)),
    (two_names_of_one_array, (X,)),
    (product_in_place, (X,)),
    (read_before_and_after_a_write, (X,)),
    (branches, (X,)),
    (dot_products, (X,)),
    (duplicate_indices, (X,)),
    (masks, (X,)),
    (plain_arrays_that_change, (X,)),
    (an_argument_to_be_filled, (X, X[::-1].copy())),
    (numbers_are_copies, (X,)),
]


@pytest.mark.parametrize(("program", "args"), PROGRAMS, ids=[program.__name__ for program, _ in PROGRAMS])
def test_it_is_the_product_and_leaves_the_callers_arrays_alone(
    program: Callable[..., Any], args: tuple[np.ndarray, ...]
) -> None:
    before = [x.tobytes() for x in args]
    expected = bridge.grad(program, engine="native")(*args)
    np.testing.assert_allclose(rewind.grad(program)(*args), expected, rtol=1e-12)
    assert [x.tobytes() for x in args] == before


def test_it_is_the_derivative() -> None:
    step = 1e-6
    differences = [(heat(X + e) - heat(X - e)) / (2 * step) for e in step * np.eye(len(X))]
    np.testing.assert_allclose(rewind.grad(heat)(X), differences, rtol=1e-8)


@pytest.mark.parametrize(
    "lose",
    [
        lambda x, plain: plain.__setitem__(0, x[0]),
        lambda x, plain: plain.__iadd__(x),
        lambda x, plain: float(x[0]),
        lambda x, plain: bool(x[0]),
        lambda x, plain: np.sort(x),
        lambda x, plain: np.nan_to_num(x, copy=False),
        lambda x, plain: np.add.at(x, [0], 1.0),
    ],
)
def test_what_it_cannot_do_raises(lose: Callable[..., Any]) -> None:
    def program(x: Any) -> Any:
        lose(x, np.zeros(6))
        return np.sum(x)

    with pytest.raises((TypeError, ValueError, AttributeError, KeyError)):
        rewind.grad(program)(X)


def test_its_example_prints_what_its_last_line_says() -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(SOURCE, str(PATH), "exec"), {"__name__": "__main__"})
    assert SOURCE.rstrip().rpartition("\n")[2].strip() == f"# {printed.getvalue().rstrip()}"


def test_it_is_about_a_hundred_lines_of_code() -> None:
    prose = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(SOURCE).readline):
        if token.type not in prose:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(SOURCE)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node):
            lines.difference_update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    assert len(lines) <= 120


def test_it_needs_nothing_but_numpy() -> None:
    names = {
        name
        for node in ast.walk(ast.parse(SOURCE))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in ([alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module])
    }
    assert names == {"copy", "numpy"}
