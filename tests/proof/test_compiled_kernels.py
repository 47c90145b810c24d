"""`check_rule` of rules over compiled kernels: what they declare is proved, and nothing else is asked for."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bridge.errors import ArgumentError, CheckError, RuleError
from bridge.extend import mutating_rule, rule
from bridge.proof.rules.check_rule import check_rule
from tests.helpers.kernels import KERNEL, scale, scale_adjoint, square, square_adjoint, strict

X = np.array([0.7, -1.3, 2.1])

SOURCE = """
void square(long n, const double *x, double *y) { for (long i = 0; i < n; i++) y[i] = x[i] * x[i]; }
void square_adjoint(long n, const double *ct, const double *x, double *dx)
{ for (long i = 0; i < n; i++) dx[i] = 2 * x[i] * ct[i]; }
void scale(double *a, long n, double factor) { for (long i = 0; i < n; i++) a[i] *= factor; }
"""


def of_stand_ins(**declared: Any) -> Any:
    return rule(lambda x: square(x), **declared)(lambda ct, out, x: square_adjoint(ct, x))


def writing(**declared: Any) -> Any:
    made = mutating_rule(mutates="a", **declared)(lambda a, factor: scale(a, factor))
    return made.pull(lambda ct, a, factor: scale_adjoint(ct, factor))


UNPROVED = "not differentiated: factor; the pull has no cotangent for it, and a gradient by it is an error"


def test_a_kernel_that_declares_what_it_takes_passes() -> None:
    for report in (check_rule(of_stand_ins(**KERNEL), X), check_rule(writing(**KERNEL), X, 2.5)):
        names = {check.name for check in report.checks}
        assert {"gradient", "in context", "memory after undo", "0-d arrays", "called twice on the same arrays"} <= names
        assert not names & {"second order", "forward mode", "float32", "complex arguments", "empty arrays"}
        said = "supports first derivatives only, float64, C-contiguous arrays, arrays with elements; nothing else was"
        assert said in report.notes[-1]
        assert report.notes[:-1] in ([], [UNPROVED])
    assert "on views" in names and "on strided views" not in names


def test_what_is_declared_is_proved() -> None:
    def wide(x):
        if x.dtype.kind != "f":
            raise TypeError("no complex numbers")
        return x * 2

    report = check_rule(rule(wide, orders=1, dtypes=(np.float32, np.float64))(lambda ct, out, x: ct * 2), X)
    assert {"float32", "empty arrays", "non-contiguous"} <= {check.name for check in report.checks}


def test_a_wrong_adjoint_is_found_all_the_same() -> None:
    wrong = rule(lambda x: square(x), **KERNEL)(lambda ct, out, x: 3 * square_adjoint(ct, x))
    with pytest.raises(CheckError) as caught:
        check_rule(wrong, X)
    assert caught.value.report.codes == ["wrong-gradient"]


def test_a_kernel_that_declares_too_little_is_told_what_to_declare() -> None:
    with pytest.raises(CheckError, match="says orders=1 where the rule is registered"):
        check_rule(of_stand_ins(layouts="C", dtypes=np.float64, empty=False), X)
    with pytest.raises(CheckError) as caught:
        check_rule(of_stand_ins(orders=1, dtypes=np.float64), X)
    assert caught.value.report.codes == ["wrong-noncontiguous"]
    assert "for a cotangent in strided memory the pull raises TypeError" in str(caught.value)
    assert 'say layouts="C"' in str(caught.value)


def test_an_adjoint_that_does_not_heed_strides_is_found() -> None:
    def as_the_pointer_sees_it(x):
        return np.lib.stride_tricks.as_strided(x, x.shape, np.empty(x.shape).strides)

    def registered(**declared):
        return rule(lambda x: x * 2, orders=1, dtypes=np.float64, **declared)(
            lambda ct, out, x: 2 * as_the_pointer_sees_it(ct)
        )

    with pytest.raises(CheckError) as caught:
        check_rule(registered(), X)
    assert caught.value.report.codes == ["wrong-noncontiguous"]
    assert "gives another result" in str(caught.value)
    assert check_rule(registered(layouts="C"), X).ok


def test_arguments_that_the_rule_does_not_support() -> None:
    for x, words in ((X.astype(np.float32), "dtype float32"), (X[::2], "strides (16,)"), (X[:0], "shape (0,)")):
        with pytest.raises(CheckError) as caught:
            check_rule(of_stand_ins(**KERNEL), x)
        assert caught.value.report.codes == ["not-supported"] and words in str(caught.value)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ctypes.CDLL]:
    """The kernels of `SOURCE`, compiled."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler: apt-get install gcc")
    folder: Path = tmp_path_factory.mktemp("kernels")
    (folder / "kernels.c").write_text(SOURCE, encoding="utf-8")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", folder / "kernels.so", folder / "kernels.c"], check=True)
    made = ctypes.CDLL(str(folder / "kernels.so"))
    array, number = np.ctypeslib.ndpointer(np.float64, flags="C_CONTIGUOUS"), ctypes.c_long
    made.square.argtypes, made.square_adjoint.argtypes = [number, array, array], [number, array, array, array]
    made.scale.argtypes = [array, number, ctypes.c_double]
    for function in (made.square, made.square_adjoint, made.scale):
        function.restype = None
    yield made


def test_kernels_in_c_with_adjoints_in_c(library: ctypes.CDLL) -> None:
    def squared(x):
        y = np.empty_like(x)
        library.square(x.size, x, y)
        return y

    @rule(squared, **KERNEL)
    def squares(ct, out, x):
        of_x = np.empty_like(x)
        library.square_adjoint(x.size, ct, x, of_x)
        return of_x

    assert check_rule(squares, X).ok


def test_a_handle_of_ctypes_is_a_function_with_named_parameters(library: ctypes.CDLL) -> None:
    with pytest.raises(RuleError, match="parameters=\\(") as caught:
        mutating_rule(mutates="a")(library.scale)
    assert "Python cannot read the parameters" in str(caught.value)
    scaled = mutating_rule(mutates="a", parameters=("a", "n", "factor"), **KERNEL)(library.scale)

    @scaled.pull
    def _(ct, a, n, factor):
        of_a = ct.copy()
        library.scale(of_a, n, factor)
        return of_a

    assert check_rule(scaled, X, 3, 2.5).ok
    for wrong in ((X, 3), (X, 3, 2.5, 1), (X, 3, 2.5)[:1]):
        with pytest.raises(RuleError, match="its rule says that its parameters are \\(a, n, factor\\)"):
            check_rule(scaled, *wrong)
    assert check_rule(library.scale, X, 3, 2.5).ok
    with pytest.raises(ArgumentError, match="'square' has no rule to check"):
        check_rule(library.square, 3, X, X)


def test_stand_ins_refuse_what_kernels_refuse() -> None:
    frozen = X.copy()
    frozen.flags.writeable = False
    for x in ([1.0], X.astype(np.float32), X[::2], frozen, X[:0]):
        with pytest.raises((TypeError, ValueError)):
            strict(x)
