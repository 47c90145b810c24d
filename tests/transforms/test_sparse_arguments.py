"""Sparse matrices of SciPy of which a gradient is asked: the error says what they are, and its remedy works."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import bridge
from bridge.errors import ArgumentError

DENSE = np.array([[1.0, 0, 2], [0, 3, 0]])
X = np.array([1.0, 2, 3])
FORMATS = ("csr", "csc", "coo", "bsr", "dia", "lil", "dok")
MATRIX = scipy.sparse.csr_array(DENSE)


def program(S: Any) -> Any:
    return np.sum((S @ X) ** 2)


def run(code: str, names: dict[str, Any], folder: Path) -> Any:
    """The value of the last part of a line, as a file has it."""
    *before, last = code.split("; ")
    file = folder / "remedy.py"
    file.write_text(
        "def value():\n" + "".join(f"    global S\n    {line}\n" for line in before) + f"    return {last}\n"
    )
    spec = importlib.util.spec_from_file_location("remedy", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.__dict__.update(names)
    return module.value()


@pytest.mark.parametrize("suffix", ["array", "matrix"])
@pytest.mark.parametrize("name", FORMATS)
def test_the_remedy_is_a_line_that_runs(name: str, suffix: str, tmp_path: Path) -> None:
    matrix = getattr(scipy.sparse, f"{name}_{suffix}")(DENSE)
    with pytest.raises(
        ArgumentError, match=rf"argument 0 is a {name}_{suffix} of shape \(2, 3\), of which a"
    ) as raised:
        bridge.grad(program)(matrix)
    code = raised.value.remedy.removeprefix("differentiate by its entries: ").removesuffix(
        "; or leave it out of argnums"
    )
    found = run(code, {"scipy": scipy, "grad": bridge.grad, "f": program, "S": matrix}, tmp_path)
    assert np.sort(found[found != 0]) == pytest.approx([14, 24, 42])


@pytest.mark.parametrize(
    "ask",
    [
        lambda: bridge.value_and_grad(program)(MATRIX),
        lambda: bridge.vjp(program, MATRIX),
        lambda: bridge.jvp(program, (MATRIX,), (MATRIX,)),
        lambda: bridge.hvp(program, (MATRIX,), (MATRIX,)),
        lambda: bridge.jacrev(program)(MATRIX),
        lambda: bridge.jacfwd(program)(MATRIX),
        lambda: bridge.hessian(program)(MATRIX),
        lambda: bridge.grad(program, allow_int=True)(MATRIX),
        lambda: bridge.crosscheck(program)(MATRIX),
        lambda: bridge.check_gradient(program)(MATRIX),
    ],
)
def test_every_transform_says_so(ask: Callable[[], Any]) -> None:
    with pytest.raises(ArgumentError, match=r"is a csr_array of shape \(2, 3\), of which a gradient is asked"):
        ask()


def test_in_containers_and_by_name() -> None:
    with pytest.raises(ArgumentError, match=r"argument 0\['S'\] is a csr_array"):
        bridge.grad(lambda p: np.sum(p["S"] @ p["x"]))({"S": MATRIX, "x": X})
    with pytest.raises(ArgumentError, match="argument 'S' is a csr_array"):
        bridge.grad(lambda S: np.sum(S @ X), argnums="S")(S=MATRIX)


def test_whole_numbers_are_none() -> None:
    with pytest.raises(ArgumentError, match="argument 0 has dtype int64, and a gradient is asked of it"):
        bridge.grad(program)(MATRIX.astype(np.int64))


def test_a_constant_beside_it() -> None:
    assert bridge.grad(lambda S, x: np.sum(S @ x), argnums=1)(MATRIX, X) == pytest.approx([1, 3, 2])


def test_what_is_compiled() -> None:
    pytest.importorskip("jax")
    for call in (bridge.grad(program, engine="xla"), bridge.xla(program), bridge.xla(bridge.grad(program))):
        with pytest.raises(ArgumentError, match=r"is a csr_array of shape \(2, 3\), and cannot be part of"):
            call(MATRIX)
    with pytest.raises(ArgumentError, match="argument 0 is a csr_array"):
        bridge.grad(program, engine="jax")(MATRIX)
