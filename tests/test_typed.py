"""What a type checker says of user code, and what a reader of names and signatures is shown."""

from __future__ import annotations

import inspect
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bridge
from bridge import errors

USER_CODE = Path(__file__).parent / "typed" / "user_code.py"
X = np.array([1.0, 2.0])


@pytest.mark.ci
def test_a_type_checker_finds_the_mistakes_and_nothing_else() -> None:
    pytest.importorskip("mypy", reason='pip install -e ".[dev]"')
    command = [sys.executable, "-m", "mypy", "--strict", "--no-pretty", "--no-error-summary", str(USER_CODE)]
    said = subprocess.run(command, capture_output=True, text=True, cwd=USER_CODE.parents[2], check=False)
    found = {(int(line), kind) for line, kind in re.findall(r"user_code\.py:(\d+): error: .*\[([\w-]+)\]", said.stdout)}
    planted = planted_mistakes()
    assert len(planted) > 10 and found == planted, said.stdout + said.stderr


@pytest.mark.ci
def test_pyright_finds_them_too() -> None:
    pyright = shutil.which("pyright")
    if pyright is None:
        pytest.skip("pyright is not on the path: npm install -g pyright")
    command = [pyright, "--pythonpath", sys.executable, str(USER_CODE)]
    said = subprocess.run(command, capture_output=True, text=True, cwd=USER_CODE.parents[2], check=False)
    found = {int(line) for line in re.findall(r"user_code\.py:(\d+):\d+ - error", said.stdout)}
    assert found == {line for line, _ in planted_mistakes()}, said.stdout + said.stderr


def planted_mistakes() -> set[tuple[int, str]]:
    """Lines that are wrong on purpose, and what mypy calls that."""
    lines = enumerate(USER_CODE.read_text().splitlines(), 1)
    return {(number, line.split("# error: ")[1]) for number, line in lines if "# error: " in line}


def program(x: Any, c: float = 1.0, *, power: int = 2) -> Any:
    """Sum of powers."""
    return np.sum(c * x**power)


MADE: dict[str, Callable[..., Any]] = {
    "grad": bridge.grad(program),
    "value_and_grad": bridge.value_and_grad(program, "c"),
    "jacrev": bridge.jacrev(program),
    "hessian": bridge.hessian(program),
    "checkpoint": bridge.checkpoint(program),
    "grad of grad": bridge.grad(bridge.grad(program, "c")),
    "waiting": bridge.grad(argnums="c")(program),
}


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
def test_a_transform_has_the_signature_of_its_function(made: Any) -> None:
    assert str(inspect.signature(made)) == "(x: 'Any', c: 'float' = 1.0, *, power: 'int' = 2) -> 'Any'"


@pytest.mark.parametrize("transform", [bridge.grad, bridge.jacfwd, bridge.jacrev, bridge.hessian])
def test_transforms_with_options_wait_for_their_function(transform: Any) -> None:
    @transform(argnums="b", engine="native")
    def f(a: Any, b: Any) -> Any:
        return np.sum(a * b**2)

    def plain(a: Any, b: Any) -> Any:
        return np.sum(a * b**2)

    np.testing.assert_allclose(f(3 * X, X), transform(plain, 1)(3 * X, X))
    assert "f" in f.__name__


def test_a_method_by_a_transform_with_options() -> None:
    class Spring:
        stiffness = 3.0

        @bridge.grad(argnums=1)
        def force(self, x: Any) -> Any:
            return 0.5 * self.stiffness * np.sum(x**2)

    np.testing.assert_allclose(Spring().force(X), 3.0 * X)


def test_options_that_there_are_not() -> None:
    with pytest.raises(TypeError, match="argnum"):
        bridge.grad(argnum=1)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="indexmode"):
        bridge.xla(indexmode="clip")  # type: ignore[call-overload]


def test_functions_say_what_they_are() -> None:
    pytest.importorskip("jax")
    assert repr(bridge.xla(program)) == f"<xla(program) of {__name__}>"
    assert repr(bridge.grad(program, engine="xla")) == f"<xla(grad(program)) of {__name__}>"
    assert repr(bridge.objective(program, X)) == "<objective(program) of 2 numbers>"
    assert "Sum of powers" in (bridge.xla(program).__doc__ or "")
    assert "one program that XLA compiles" in (bridge.xla(lambda x: x).__doc__ or "")
    for section in ("Parameters", "Returns", "Raises"):
        assert section in (bridge.grad.__doc__ or "")
    with pytest.raises(errors.ArgumentError, match=r"bridge.xla has no option foo= \(1\)"):
        bridge.xla(program, foo=1)  # type: ignore[call-overload]


def test_names_of_several_arguments_are_no_argnums() -> None:
    def f(*rows: Any, **k: Any) -> Any:
        return np.sum(k["b"]) + len(rows)

    with pytest.raises(errors.ArgumentError, match=r"\*\*k of f is several arguments\n  remedy: use the name that"):
        bridge.grad(f, "k")(b=X)
    with pytest.raises(errors.ArgumentError, match=r"\*rows of f is several arguments\n  remedy: use their positions"):
        bridge.grad(f, "rows")(X)
    np.testing.assert_allclose(bridge.grad(f, "b")(b=X), np.ones(2))


@pytest.mark.parametrize("transform", [bridge.grad, bridge.value_and_grad, bridge.jacrev, bridge.hessian])
def test_what_is_no_function_has_no_gradient(transform: Any) -> None:
    with pytest.raises(errors.ArgumentError, match=rf"{transform.__name__} of a float.*\n.*give a function"):
        transform(2.0)


def test_names_of_the_package() -> None:
    shown = [name for name in dir(bridge) if not name.startswith("_")]
    assert sorted(shown) == sorted([*bridge.__all__, "strategies", "torch"])
    assert all(hasattr(bridge, name) for name in bridge.__all__)
    with pytest.raises(AttributeError, match="no attribute 'jacref'; did you mean 'jacrev'"):
        bridge.jacref  # type: ignore[attr-defined] # noqa: B018
    with pytest.raises(AttributeError, match=r"no attribute .zzz.$"):
        bridge.zzz  # type: ignore[attr-defined] # noqa: B018
