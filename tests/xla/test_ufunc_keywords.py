"""Keywords of ufuncs and of `np.clip` in compiled programs: NumPy's numbers, dtypes and layouts, or NumPy's errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import BridgeError, EscapeError, NoRuleError, RefusedError

pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

A = np.array([[0.3, -0.7, 1.1], [0.5, 0.9, -0.2]])
WRITES: dict[str, Callable[..., Any]] = {
    "add": lambda x, b, casting: np.add(x, x, out=b, casting=casting),
    "itself": lambda x, b, casting: np.add(b, x, out=b, casting=casting),
    "clip": lambda x, b, casting: np.clip(x, -0.5, 0.6, out=b, casting=casting),
    "less": lambda x, b, casting: np.less(x, 0.4, out=b, casting=casting),
    "masked": lambda x, b, casting: np.multiply(x, 3.0, out=b, casting=casting, where=x > 0.4),
}


def programs() -> Iterator[Any]:
    for dtype in (np.int64, np.uint8, bool, np.float32, np.float64, complex):
        for casting in ("unsafe", "same_kind", "no", "equiv", "safe"):
            for name, write in WRITES.items():

                def written(x: Any, write: Any = write, dtype: Any = dtype, casting: str = casting) -> Any:
                    b = np.zeros(x.shape, dtype)
                    write(x, b, casting)
                    return b

                yield pytest.param(written, id=f"{name} into {np.dtype(dtype)} {casting}")
        yield pytest.param(
            lambda x, dtype=dtype: np.multiply(x, x, out=np.zeros(x.shape), dtype=dtype, casting="unsafe"),
            id=f"computed in {np.dtype(dtype)}",
        )
        yield pytest.param(
            lambda x, dtype=dtype: np.clip(x, -0.5, 0.6, dtype=dtype, casting="unsafe"),
            id=f"clipped in {np.dtype(dtype)}",
        )
    for signature in ("ff->f", "dd->d", (np.float32,) * 3, (None, None, np.float32), "qq->q", "f"):
        yield pytest.param(lambda x, s=signature: np.multiply(x, x, signature=s), id=f"signature {signature}")
    for order in "CFAK":
        yield pytest.param(lambda x, order=order: np.multiply(x, x, order=order).ravel("K"), id=f"order {order}")
        yield pytest.param(lambda x, order=order: np.sin(x.T, order=order).ravel("K"), id=f"order {order} of x.T")


@pytest.mark.ci
@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("program", [*programs()])
def test_a_compiled_program_does_what_numpy_does(program: Any) -> None:
    try:
        with np.errstate(all="ignore"):
            wanted = program(A.copy())
    except (TypeError, ValueError) as error:
        with pytest.raises((type(error), BridgeError)):
            bridge.xla(program)(A.copy())
        return
    found = bridge.xla(program)(A.copy())
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=3e-7 if wanted.dtype == np.float32 else 1e-15)


@pytest.mark.ci
@pytest.mark.parametrize("engine", ["native", "xla"])
def test_a_gradient_through_keywords(engine: str) -> None:
    def clipped(x: Any) -> Any:
        b = x.copy()
        np.clip(b, -0.5, 0.8, out=b, casting="unsafe", order="C", subok=False)
        return np.sum(b * b)

    inside = (A > -0.5) & (A < 0.8)
    np.testing.assert_allclose(bridge.grad(clipped, engine=engine)(A), np.where(inside, 2 * A, 0))
    np.testing.assert_allclose(
        bridge.grad(lambda x: np.sum(np.multiply(x, x, signature="dd->d", order="F")), engine=engine)(A), 2 * A
    )


@pytest.mark.ci
def test_what_has_no_gradient_or_no_rule_is_named() -> None:
    def truncated(x: Any) -> Any:
        counts = np.zeros(x.shape, int)
        np.add(counts, x, out=counts, casting="unsafe")
        return np.sum(counts * x)

    with pytest.raises(EscapeError, match="int64, which carries no gradient"):
        bridge.grad(truncated)(A)
    with pytest.raises(NoRuleError, match=r"np\.clip as it is called here, with where: .*\n  remedy: leave"):
        bridge.grad(lambda x: np.sum(np.clip(x, 0, 1, out=np.ones(x.shape), where=x > 0)))(A)
    with pytest.raises(RefusedError, match=r"np\.ldexp with signature=(.|\n)*\n  remedy: convert the operands"):
        bridge.xla(lambda x: np.ldexp(x, np.array([1, 2, 3]), signature="di->d", casting="unsafe"))(A)
