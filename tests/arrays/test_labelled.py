"""Arrays of pandas and xarray: what their labels and NaNs would change is named, and all else is as they have it."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import ArgumentError, EscapeError, RefusedError

pandas = pytest.importorskip("pandas")
xarray = pytest.importorskip("xarray")

S = pandas.Series([1.0, 2.0, 4.0])
TEXT = pandas.Series([1.0, 2.0, 4.0], index=list("abc"))
TWICE = pandas.Series([1.0, 2.0, 4.0], index=[0, 0, 1])
A = xarray.DataArray(np.array([[1.0, 2.0], [3.0, 4.0]]), dims=("p", "q"))
AT = xarray.DataArray(np.array([[1.0, 2.0], [3.0, 4.0]]), dims=("p", "q"), coords={"p": [0, 1], "q": [5, 6]})

Program = Callable[[Any], Any]


def shifted(s: Any) -> Any:
    s[1:] += s[:-1]
    return np.sum(s)


def written_with_other_labels(s: Any) -> Any:
    s[1:] = s[:-1]
    return np.sum(s)


def renamed(s: Any) -> Any:
    t = s * 2.0
    t.index = [2, 1, 0]
    return np.sum(s * t)


def written_where_numbers_were_taken_out(s: Any) -> Any:
    numbers = s.values
    s += 1.0
    return np.sum(numbers * s)


def added_to_an_array(s: Any) -> Any:
    x = np.zeros(3)
    np.add(x, s, out=x)
    return np.sum(x)


def added_to_a_series(k: Any) -> Any:
    s = pandas.Series(np.ones(3))
    s *= k
    return s.sum()


def element_of_a_series(k: Any) -> Any:
    s = pandas.Series(np.ones(3))
    s.iloc[1] = k
    return s.sum()


def column_of_a_table(k: Any) -> Any:
    table = pandas.DataFrame({"a": np.ones(3)})
    table["a"] = k
    return table["a"].sum()


SILENT: dict[str, tuple[Any, Program, str]] = {
    "parts of one series": (
        S, lambda s: np.sum((s[1:] - s[:-1]) ** 2),
        "`-` of a pandas.Series, or of what comes of it: labels, or NaNs, which it skips, or defaults of its own "
        "count: it gives [nan  0. nan] of shape (3,), without labels [1. 2.] of shape (2,)",
    ),
    "the other way round": (S, lambda s: np.sum(s[::-1] * s), "`*` of a pandas.Series"),
    "flipped": (S, lambda s: np.sum(np.flip(s) * s), "`*` of a pandas.Series"),
    "through a ufunc": (S, lambda s: np.sum(np.maximum(s[:2], s[1:])), "np.maximum of a pandas.Series"),
    "sorted": (-S, lambda s: np.sum(np.sort(s) * s) + np.sum(s[s.argsort()] * s), "`*` of a pandas.Series"),
    "chosen": (S, lambda s: np.sum(s[s > 1] * s), "`*` of a pandas.Series"),
    "in place": (S, shifted, "`+=` of a pandas.Series"),
    "written": (AT, written_with_other_labels, "[slice(1, None, None)] = ... of a xarray.DataArray"),
    "other labels by hand": (S, renamed, ".index = ... of a pandas.Series"),
    "numbers taken out, and written": (
        S, written_where_numbers_were_taken_out, "`+=` of a pandas.Series whose numbers were taken out before",
    ),
    "added to a series of the program's own": (2.0, added_to_a_series, "is written into a pandas.Series, which holds"),
    "an element of a series of its own": (2.0, element_of_a_series, "is written into a pandas._iLocIndexer"),
    "a column of a table of its own": (2.0, column_of_a_table, "is written into a pandas.DataFrame, which holds"),
    "out=": (S, added_to_an_array, "`+` with out="),
    "in": (S, lambda s: np.sum(s) if 1.0 in s else 0.0 * np.sum(s), "`in` a pandas.Series"),
    "a number of text labels": (TEXT, lambda s: s[0] ** 2, "[0] of a pandas.Series, or of what comes of it: it raises"),
    "from the end": (S, lambda s: s[-1] ** 2, "[-1] of a pandas.Series, or of what comes of it: it raises KeyError"),
    "from the end of a part": (S, lambda s: s[1:][0] ** 2, "[0] of a pandas.Series"),
    "one label, two numbers": (TWICE, lambda s: np.sum(s[0]), "[0] of a pandas.Series"),
    "NaNs that arise": (
        S, lambda s: np.mean(np.where(s > 1, 1.0, 1.0) * (s / (s - 1.0) * (s - 1.0))),
        "np.mean of a pandas.Series, or of what comes of it: labels, or NaNs, which it skips, or defaults of its own "
        "count: it gives 3., without labels nan",
    ),
    "deviation": (S, lambda s: s.std(), ".std() of a pandas.Series"),
    "rows": (A, lambda a: (a.sum(axis=1) * a).sum(), "`*` of a xarray.DataArray"),
    "columns": (A, lambda a: (a[:, 0] * a).sum(), "`*` of a xarray.DataArray"),
    "transposed": (A, lambda a: (a + a.T).sum(), "`+` of a xarray.DataArray"),
    "product": (A, lambda a: (a @ a.T).sum(), "`@` of a xarray.DataArray"),
    "with coordinates": (AT, lambda a: np.sum(a[:, 1:] - a[:, :-1]), "`-` of a xarray.DataArray"),
    "of a variable": (A.variable, lambda a: (a + a.T).sum(), "`+` of a xarray.Variable"),
    "NaNs of a grid": (A, lambda a: ((a - 1.0) / (a - 1.0)).sum(), ".sum() of a xarray.DataArray"),
    "a grid on the left": (A, lambda a: (AT * a).sum(), "xarray does something with what comes of an argument"),
    "captured": (2.0, lambda k: np.sum((k * S)[1:] * (k * S)[:-1]), "`*` of a pandas.Series"),
    "captured, on the left": (2.0, lambda k: np.sum((S * k)[1:] * (S * k)[:-1]), "`*` of a pandas.Series"),
    "in a list beside an array": (
        S, lambda s: np.sum(np.select([np.asarray(s) > 1], [s * S], 0)), "a pandas.Series beside a tracked array, or",
    ),
    "beside an array, with keywords": (
        S, lambda s: np.sum(np.add(np.asarray(s), s, dtype=float)), "a pandas.Series beside a tracked array, or",
    ),
    "through a checkpoint": (
        S, lambda s: np.sum(bridge.checkpoint(lambda t: t * t)(s)[1:] * s[:-1]), "`*` of a pandas.Series",
    ),
    "through a derivative": (
        S, lambda s: np.sum(bridge.grad(lambda t: np.sum(t * t * t))(s)[1:] * s[:-1]), "`*` of a pandas.Series",
    ),
}  # fmt: skip


@pytest.mark.parametrize("engine", ["native", "jax"])
@pytest.mark.parametrize("name", SILENT)
def test_what_labels_would_change_is_named(name: str, engine: Any) -> None:
    if engine == "jax":
        pytest.importorskip("jax")
    given, program, message = SILENT[name]
    with pytest.raises(RefusedError, match=re.escape(message)) as caught, np.errstate(all="ignore"):
        bridge.value_and_grad(program, engine=engine)(copy.deepcopy(given))
    assert "test_labelled.py" in caught.value.where and caught.value.remedy


def overwritten(s: Any) -> Any:
    s[1:] *= 3.0
    s += 1.0
    s *= s
    return np.sum(s)


def other_names(s: Any) -> Any:
    """Parts of a series are copies, and those of a grid are views."""
    part, same = s[1:], s
    part *= 2.0
    same += 1.0
    turned = s.T
    turned += 1.0
    return np.sum(s * s) + np.sum(part)


def into_an_array(s: Any) -> Any:
    x = np.zeros(3)
    x[:] = s
    x[1:] *= x[:-1]
    return np.sum(x)


def an_element_in_place(a: Any) -> Any:
    one = a[1, 0]
    one *= 3.0
    return (a * a).sum()


def if_it_is_a_series(s: Any) -> Any:
    return np.sum(s * s) if isinstance(s, pandas.Series) else 0.0 * np.sum(s)


SAME: dict[str, tuple[Any, Program]] = {
    "a sum": (S, lambda s: np.sum(s * s) + s.sum()),
    "parts with the same labels": (S, lambda s: np.sum(s[1:] * s[1:])),
    "a mask": (S, lambda s: np.sum(s[s > 1.5] ** 2) + np.sum(np.where(s > 1.5, s, 0.0))),
    "a label that is the position": (S, lambda s: s[1] ** 2),
    "numbers": (TEXT, lambda s: np.sum(s.to_numpy()[1:] * s.values[:-1])),
    "as an array": (TEXT, lambda s: np.sum(np.asarray(s)[1:] * np.array(s)[:-1])),
    "stacked": (S, lambda s: np.sum(np.stack([s, s]) ** 2)),
    "functions": (S, lambda s: np.linalg.norm(s) + np.dot(s, s) + np.sum(np.cumsum(s) ** 2)),
    "overwritten": (S, overwritten),
    "overwritten grid": (A, overwritten),
    "other names": (S, other_names),
    "other names of a grid": (A, other_names),
    "into an array": (S, into_an_array),
    "an element in place": (A, an_element_in_place),
    "an element by an ellipsis": (A, lambda a: a[..., 1, 0] * a[1, ..., 0]),
    "its class": (S, if_it_is_a_series),
    "no NaNs": (S, lambda s: np.mean(np.sqrt(s))),
    "one by one": (S, lambda s: sum([v * v for v in s])),
    "row by row": (AT, lambda a: sum([(row * row).sum() for row in a])),
    "rows from the end": (A, lambda a: ((a - a.mean(axis=0)) ** 2).sum() * float(a.sum())),
    "deviation of a grid": (A, lambda a: (a - a.mean()).std()),
    "a grid on the right": (A, lambda a: (a * A).sum()),
    "a truth": (A, lambda a: (a * (a.any() * A)).sum() + a[0, 0] * (7.0 in a)),
    "captured": (2.0, lambda k: np.sum(S * k) + np.sum(k * S * S) + (k * A).sum()),
    "a checkpoint": (S, lambda s: np.sum(bridge.checkpoint(lambda t: t * t)(s) * s)),
    "a loop": (S, lambda s: np.sum(bridge.fori_loop(0, 3, lambda k, x: x * s, s))),
}


@pytest.mark.parametrize("source", [True, False])
@pytest.mark.parametrize("name", SAME)
def test_what_labels_do_not_change(name: str, source: bool) -> None:
    given, program = SAME[name]
    if not source and name in ("as an array", "into an array", "rows from the end"):
        with pytest.raises(bridge.errors.BridgeError):
            bridge.value_and_grad(program, source=source)(copy.deepcopy(given))
        return
    value, gradient = bridge.value_and_grad(program, source=source)(copy.deepcopy(given))
    assert float(value) == pytest.approx(float(program(copy.deepcopy(given))))
    size = np.size(given)
    steps = 1e-6 * np.eye(size).reshape(size, *np.shape(given)) if size > 1 else [1e-6]
    expected = [float(program(given + step) - program(given - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(np.ravel(gradient), expected, rtol=1e-6)


def test_a_detached_one_has_its_labels() -> None:
    found = bridge.grad(lambda s: np.sum(s * bridge.detach(s)))(TEXT)
    pandas.testing.assert_series_equal(found, TEXT)


def test_results_are_numbers_without_labels() -> None:
    value, pull = bridge.vjp(lambda s: s * 2.0, TEXT)
    assert type(value) is np.ndarray
    pandas.testing.assert_series_equal(pull(np.ones(3))[0], TEXT * 0.0 + 2.0)
    np.testing.assert_array_equal(bridge.jacrev(lambda s: s * s)(TEXT), np.diag(2 * TEXT.to_numpy()))


def test_what_pandas_locks_is_locked() -> None:
    def program(s: Any) -> Any:
        s.to_numpy()[0] = 5.0
        return np.sum(s)

    if not S.to_numpy().flags.writeable:
        with pytest.raises(ValueError, match="read-only"):
            bridge.grad(program)(S)


def test_arguments_that_share_memory() -> None:
    def program(a: Any, b: Any) -> Any:
        a[...] = 2.0 * b
        return (a * b).sum()

    assert bridge.value_and_grad(lambda a, b: (a * b).sum(), (0, 1))(A, A)[0] == 30.0
    with pytest.raises(RefusedError, match=r"of a xarray\.DataArray that shares memory with another argument"):
        bridge.grad(program, (0, 1))(A, A)
    with pytest.raises(ArgumentError, match=r"a xarray\.DataArray, and .*, an array of NumPy's, share memory"):
        bridge.grad(lambda a, b: np.sum(a) * np.sum(b))(A, A.values)


def test_numbers_of_what_xarray_has_around_a_tracked_one() -> None:
    assert bridge.value_and_grad(lambda k: np.sum((k * A).data[0]))(2.0) == (6.0, 3.0)
    with pytest.raises(EscapeError, match=r"remedy: take the numbers of what xarray has by \.data"):
        bridge.grad(lambda k: np.sum((k * A).values))(2.0)


@pytest.mark.parametrize("label", ["label", "array", "note", "number", "shared", "handed_out", "compress"])
def test_labels_are_not_its_own_names(label: str) -> None:
    with pytest.raises((RefusedError, AttributeError)):
        bridge.grad(lambda s: getattr(s, label) ** 2)(pandas.Series([3.0, 1.0], index=[label, "b"]))


def twice_or_thrice(x: Any) -> Any:
    return x * 2.0


def test_a_function_with_a_rule_gets_numbers() -> None:
    def pull(ct: Any, out: Any, x: Any) -> Any:
        return 3.0 * ct

    bridge.rule(twice_or_thrice)(pull)
    with pytest.raises(RefusedError, match=r"a pandas\.Series beside a tracked array, or as one, in a function"):
        bridge.grad(lambda s: np.sum(twice_or_thrice(s)))(S)
    np.testing.assert_array_equal(bridge.grad(lambda s: np.sum(twice_or_thrice(s.to_numpy())))(S), np.full(3, 3.0))


def test_what_is_captured_and_meets_nothing_tracked_is_pandas_own() -> None:
    assert bridge.grad(lambda k: k * np.sum(np.where(S > 1.0, S, 0.0)) * np.sum(S[1:] - S[:-1]) * S.std())(2.0) == 0.0
