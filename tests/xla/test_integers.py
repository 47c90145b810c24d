"""Integers of compiled programs: NumPy's value bit for bit where NumPy warns, NumPy's error where it raises."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bridge

pytest.importorskip("jax")

SIGNED = (np.int8, np.int16, np.int32, np.int64)
UNSIGNED = (np.uint8, np.uint16, np.uint32, np.uint64)
KINDS = (*SIGNED, *UNSIGNED)
BINARY = (
    np.add, np.subtract, np.multiply, np.floor_divide, np.remainder, np.fmod, np.divmod, np.power, np.left_shift,
    np.right_shift, np.gcd, np.lcm, np.maximum, np.bitwise_xor, np.less, np.equal,
)  # fmt: skip
UNARY = (np.negative, np.absolute, np.sign, np.invert, np.square, np.reciprocal, np.bitwise_count)
FLOATS = [
    0.0, -0.0, 0.9, -0.9, -1.0, 127.5, 128.0, 255.9, 256.0, 300.7, -129.0, -300.0, 32768.0, 65536.0, 70000.0,
    2.0**31 - 1, 2.0**31, -(2.0**31), 2.0**31 + 94,
]  # fmt: skip
BEYOND = [3e9 + 94, 2.0**32 + 4, 2.0**40 + 77, -(2.0**40) - 77, 2.0**62, 2.0**63, -(2.0**63), 1e19, -1e19, 1e30]
NO_NUMBERS = [np.inf, -np.inf, np.nan]


def edges(kind: Any) -> np.ndarray:
    limits = np.iinfo(kind)
    low = {limits.min, limits.min + 1, -1, -2, -7, -limits.bits} if limits.min else {0}
    return np.array(sorted(low | {0, 1, 2, 3, 7, 70, limits.bits, limits.max // 2, limits.max - 1, limits.max}), kind)


def same(found: Any, wanted: Any) -> None:
    for mine, numpys in zip(*(x if isinstance(x, tuple) else (x,) for x in (found, wanted)), strict=True):
        np.testing.assert_array_equal(mine, numpys)
        assert np.asarray(mine).dtype == np.asarray(numpys).dtype


@pytest.mark.ci
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("kinds", [*((k, k) for k in KINDS), (np.int8, np.uint8), (np.int32, np.uint8)])
def test_functions_of_two_integers(kinds: Any) -> None:
    a, b = map(np.ravel, np.meshgrid(*map(edges, kinds)))

    def everything(a: Any, b: Any) -> list[Any]:
        return [function(a, np.maximum(b, b.dtype.type(0)) if function is np.power else b) for function in BINARY]

    for function, found, wanted in zip(BINARY, bridge.xla(everything)(a, b), everything(a, b), strict=True):
        assert function, same(found, wanted)


@pytest.mark.ci
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_functions_of_an_integer(kind: Any) -> None:
    def everything(a: Any) -> list[Any]:
        return [function(a) for function in UNARY]

    for found, wanted in zip(bridge.xla(everything)(edges(kind)), everything(edges(kind)), strict=True):
        same(found, wanted)


@pytest.mark.ci
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("wide", [np.float64, np.float32, np.float16, np.complex128])
@pytest.mark.parametrize("kind", KINDS)
def test_floats_that_integers_do_not_hold(kind: Any, wide: Any) -> None:
    # NumPy's own answer for uint32 and what lies far beyond depends on the array's length.
    x = np.array(FLOATS + ([] if kind is np.uint32 else BEYOND + NO_NUMBERS)).astype(wide)

    def cast(x: Any) -> Any:
        held = np.zeros(x.shape, kind)
        held[:] = x.real
        turns = np.zeros(x.shape, kind)
        for i in range(len(x)):
            turns[i] = x[i : i + 1].astype(kind)[0]
        return x.astype(kind), held, turns

    same(bridge.xla(cast)(x), cast(x))


@pytest.mark.ci
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_quotients_of_floats() -> None:
    values = np.array([0.0, 1.0, -3.0, 0.1, 7.5, -7.5, 2.0**53 + 2, 1e300, np.inf, -np.inf, np.nan])
    a, b = map(np.ravel, np.meshgrid(values, values))
    same(bridge.xla(np.floor_divide)(a, b), np.floor_divide(a, b))


def stored(kind: Any, value: Any) -> Any:
    def store(x: Any) -> Any:
        held = np.zeros(2, kind)
        held[1] = value(x)
        return held

    return store


def added(kind: Any, value: Any) -> Any:
    return lambda x: np.ones(2, kind) + value(x)


def raised(kind: Any, value: Any) -> Any:
    return lambda x: np.full(2, 2, kind) ** x.astype(kind)


OFTEN: list[tuple[str, Any, Any, list[float]]] = [
    ("one of Python's integers into uint8", stored, np.uint8, [3.0, 255.0, 256.0, -1.0, 300.7]),
    ("one of Python's integers into int32", stored, np.int32, [3.0, 2.0**31, -(2.0**31)]),
    ("one of Python's integers with int8", added, np.int8, [3.0, 127.0, 128.0, -129.0]),
    ("one of Python's integers with uint64", added, np.uint64, [3.0, -1.0]),
    ("exponents", raised, np.int16, [3.0, 0.0, -1.0]),
]


@pytest.mark.ci
@pytest.mark.parametrize(("function", "kind", "values"), [row[1:] for row in OFTEN], ids=[row[0] for row in OFTEN])
def test_errors_of_numbers_at_run_time(function: Any, kind: Any, values: list[float]) -> None:
    run = function(kind, lambda x: int(x[0]))
    compiled = bridge.xla(run)
    for value in values:
        x = np.array([value, value])
        try:
            wanted = run(x)
        except (OverflowError, ValueError) as error:
            with pytest.raises(type(error), match=f"{error!s:.30}".partition(":")[0]) as found:
                compiled(x)
            assert "test_integers.py" in str(found.value)
        else:
            same(compiled(x), wanted)


@pytest.mark.ci
@pytest.mark.parametrize(("value", "error"), [(np.nan, ValueError), (np.inf, OverflowError), (1e19, OverflowError)])
def test_floats_that_are_no_integers(value: float, error: type[Exception]) -> None:
    for kind in (np.uint8, np.int64):
        with pytest.raises(error):
            stored(kind, lambda x: x)(value)
        with pytest.raises(error, match=r"NaN|out of bounds"):
            bridge.xla(stored(kind, lambda x: x))(value)
        with pytest.raises(error):
            bridge.xla(stored(kind, lambda x: value))(np.ones(2))


@pytest.mark.ci
def test_comparisons_with_wide_integers() -> None:
    def compared(a: Any, x: Any) -> Any:
        n = int(x[0])
        return a < n, a == n, n >= a, a < 300, a > 2**70

    for value in (44.0, 300.0, -1.0, 2.0**40):
        for kind in KINDS:
            a, x = np.array([1, 44, 100], kind), np.array([value])
            same(bridge.xla(compared)(a, x), compared(a, x))


ROUNDED: list[tuple[str, Any]] = [
    ("np.sum", lambda x: np.sum(x * 10, dtype=int)),
    ("np.prod", lambda x: np.prod(x * 10, dtype=int)),
    ("np.mean", lambda x: np.mean(x * 10, dtype=int)),
    ("np.trace", lambda x: np.trace(np.outer(x, x) * 10, dtype=int)),
    ("np.add.reduce", lambda x: np.add.reduce(x * 10, dtype=int)),
    ("np.einsum", lambda x: np.einsum("i->", x * 10, dtype=int, casting="unsafe")),
    ("np.multiply", lambda x: np.multiply(x, 10, dtype=int, casting="unsafe").sum()),
    ("a cast element", lambda x: (x * 10).astype(int)[0]),
    ("a write", lambda x: _written(x).sum()),
]


def _written(x: Any) -> Any:
    held = np.zeros(4, int)
    held[:3] = x * 10
    return held


@pytest.mark.ci
@pytest.mark.parametrize("function", [function for _, function in ROUNDED], ids=[name for name, _ in ROUNDED])
def test_no_gradient_passes_a_cast_to_integers(function: Any) -> None:
    def summed(x: Any) -> Any:
        return function(x) * x[0] + np.sum(x)

    x = np.array([0.313, -0.727, 1.131])
    value, gradient = bridge.value_and_grad(summed, engine="xla")(x)
    np.testing.assert_allclose(value, summed(x))
    np.testing.assert_allclose(gradient, [1.0 + function(x), 1.0, 1.0])
    np.testing.assert_allclose(bridge.jvp(summed, (x,), (np.ones(3),), engine="xla")[1], 3.0 + function(x))


WRITES: dict[str, Any] = {
    "place": lambda b, m, v: np.place(b, m, v),
    "putmask": lambda b, m, v: np.putmask(b, m, v),
    "put": lambda b, m, v: np.put(b, [0, 2], v),
    "copyto": lambda b, m, v: np.copyto(b, v, where=m),
    "fill_diagonal": lambda b, m, v: np.fill_diagonal(b[None], v),
}


@pytest.mark.ci
@pytest.mark.parametrize("values", [300, [300], -129, np.array([300]), 1.5, [1], np.int8(7), True], ids=repr)
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_what_does_not_fit_is_refused_as_by_numpy(write: Any, values: Any) -> None:
    def program(x: Any) -> Any:
        b = np.zeros(3, np.int8)
        write(b, np.array([True, False, True]), values)
        return b * x[0]

    def outcome(run: Any) -> Any:
        try:
            return run(np.array([1.0])).tolist()
        except (OverflowError, TypeError, ValueError) as error:
            return type(error)

    assert outcome(bridge.xla(program)) == outcome(program)
