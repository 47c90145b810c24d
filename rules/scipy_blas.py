"""`scipy.linalg.blas` and `scipy.linalg.lapack`: the routines that programs call, under each of the four prefixes.

What would be overwritten is refused: whether SciPy writes into it depends on layout and dtype. Factors that
a LAPACK routine returns beside a solution are there to be passed on to LAPACK, and are refused when they are used.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from bridge.extend import as_array, conj, needs, refuse, stand_in
from bridge.rules.products import adjoint
from bridge.rules.scipy_arguments import inexact
from bridge.rules.scipy_banded import banded
from bridge.rules.scipy_factors import lu_compact, lu_solve
from bridge.rules.scipy_systems import as_columns, cho_solve, factor_beside, structured, triangular

sl = needs("scipy.linalg")

_KINDS = {"s": np.float32, "d": np.float64, "c": np.complex64, "z": np.complex128}


class Unavailable:
    """A result of a routine that has no derivative here; whoever computes with it is told so."""

    def __init__(self, what: str, remedy: str) -> None:
        self._message = (what, remedy)

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        refuse(*self._message)

    __array__ = __array_ufunc__ = __array_function__ = __getitem__ = __len__ = __iter__ = __float__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __matmul__ = _refuse
    __rmatmul__ = __pow__ = __neg__ = __bool__ = _refuse

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__") or name == "place":
            raise AttributeError(name)
        self._refuse()


def _factors(name: str) -> Unavailable:
    return Unavailable(f"a factor that {name} returned is used", "use scipy.linalg.lu_factor or cho_factor for factors")


def _routine(module: Any, names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function of the routine's prefix-free arguments as the stand-in of all routines of these names."""

    def register(compute: Callable[..., Any]) -> Callable[..., Any]:
        for name in names.split():
            if hasattr(module, name):
                _enter(getattr(module, name), name, compute)
        return compute

    return register


def _enter(routine: Any, name: str, compute: Callable[..., Any]) -> None:
    library = f"scipy.linalg.{'blas' if hasattr(sl.blas, name) else 'lapack'}"
    # Norms of complex vectors are real: dznrm2, scasum.
    dtype = np.dtype(_KINDS[name[1] if name in ("scnrm2", "dznrm2", "scasum", "dzasum") else name[0]])
    parameters = inspect.signature(compute)

    def cast(x: Any) -> Any:
        if x is None or isinstance(x, (bool, int, np.integer)):
            return x
        x = as_array(x)
        if x.dtype.kind in "iub":
            return x  # Trailing integers are options; arrays of integers are converted where they are computed with.
        if x.dtype.kind == "c" and dtype.kind != "c":
            refuse(f"{library}.{name} of complex numbers drops their imaginary part", "take np.real(...) of them")
        return x if x.dtype == dtype else x.astype(dtype)

    def run(*args: Any, **kwargs: Any) -> Any:
        for option in [one for one in kwargs if one.startswith("overwrite_")]:
            if kwargs.pop(option):
                refuse(f"{library}.{name} with {option}=True writes into its argument", "leave it out, use the result")
        try:
            bound = parameters.bind(f"{library}.{name}", *args, **kwargs)
        except TypeError as error:
            refuse(f"{library}.{name} with these arguments has no derivative here: {error}", "use NumPy's operators")
        return compute(bound.args[0], *map(cast, bound.args[1:]), **{key: cast(x) for key, x in bound.kwargs.items()})

    stand_in(routine)(run)


def _prefixed(names: str, prefixes: str = "sdcz") -> str:
    return " ".join(prefix + name for name in names.split() for prefix in prefixes)


def _turned(a: Any, form: int) -> Any:
    return (a, a.T, adjoint(a))[form]


def _column(x: Any) -> Any:
    return x[:, None] if x.ndim == 1 else x


@_routine(sl.blas, "sdot ddot cdotu zdotu")
def dot(name, x, y):
    return np.sum(x * y)


@_routine(sl.blas, "cdotc zdotc")
def dotc(name, x, y):
    return np.sum(conj(x) * y)


@_routine(sl.blas, "snrm2 dnrm2 scnrm2 dznrm2")
def nrm2(name, x):
    return np.linalg.norm(x)


@_routine(sl.blas, "sasum dasum scasum dzasum")
def asum(name, x):
    return np.sum(np.abs(np.real(x)) + (np.abs(np.imag(x)) if x.dtype.kind == "c" else 0))


@_routine(sl.blas, _prefixed("gemv"))
def gemv(name, alpha, a, x, beta=0.0, y=None, *, trans=0):
    product = alpha * np.matmul(_turned(a, trans), x)
    return product if y is None else product + beta * y


@_routine(sl.blas, _prefixed("gemm"))
def gemm(name, alpha, a, b, beta=0.0, c=None, trans_a=0, trans_b=0):
    product = alpha * np.matmul(_turned(_column(a), trans_a), _turned(_column(b), trans_b))
    return product if c is None else product + beta * c


@_routine(sl.blas, "sger dger cgeru zgeru")
def ger(name, alpha, x, y, *, a=None):
    product = alpha * x[:, None] * y
    return product if a is None else product + a


@_routine(sl.blas, "cgerc zgerc")
def gerc(name, alpha, x, y, *, a=None):
    return ger(name, alpha, x, conj(y), a=a)


@_routine(sl.blas, "ssymv dsymv chemv zhemv")
def symv(name, alpha, a, x, beta=0.0, y=None, *, lower=0):
    return gemv(name, alpha, structured(a, "her", lower), x, beta, y)


@_routine(sl.blas, _prefixed("trsm"))
def trsm(name, alpha, a, b, side=0, lower=0, trans_a=0, diag=0):
    if side == 0:
        return triangular(a, alpha * b, bool(lower), trans_a, bool(diag))
    # X op(A) = B is op(A)^T X^T = B^T; the transpose of an adjoint matrix is its conjugate.
    turned, form = (conj(a), 0) if trans_a == 2 else (a, 1 - trans_a)
    return triangular(turned, (alpha * b).T, bool(lower), form, bool(diag)).T


@_routine(sl.blas, _prefixed("trsv"))
def trsv(name, a, x, *, lower=0, trans=0, diag=0):
    return triangular(a, x[:, None], bool(lower), trans, bool(diag))[:, 0]


@_routine(sl.blas, _prefixed("axpy scal swap copy rot"))
def written(name, *args, **kwargs):
    refuse(f"{name} writes into its argument", "write it with NumPy: y += a * x, x *= a, y[:] = x")


@_routine(sl.lapack, _prefixed("gtsv"))
def gtsv(name, dl, d, du, b):
    zero = np.zeros(1, d.dtype)
    ab = np.stack([np.concatenate([zero, du]), d, np.concatenate([dl, zero])])
    return _factors(name), _factors(name), _factors(name), as_columns(lambda right: banded(1, 1, ab, right), b), 0


@_routine(sl.lapack, _prefixed("ptsv"))
def ptsv(name, d, e, b):
    zero = np.zeros(1, e.dtype)
    ab = np.stack([np.concatenate([zero, conj(e)]), d, np.concatenate([e, zero])])
    return _factors(name), _factors(name), as_columns(lambda right: banded(1, 1, ab, right), b), 0


@_routine(sl.lapack, _prefixed("gesv"))
def gesv(name, a, b):
    factors, pivots = lu_compact(a)
    return factors, pivots, lu_solve((factors, pivots), b), 0


@_routine(sl.lapack, _prefixed("getrf"))
def getrf(name, a):
    return (*lu_compact(a), 0)


@_routine(sl.lapack, _prefixed("getrs"))
def getrs(name, lu, piv, b, trans=0):
    return lu_solve((lu, piv), b, trans), 0


@_routine(sl.lapack, _prefixed("potrf"))
def potrf(name, a, lower=0, clean=1):
    return (np.linalg.cholesky(a, upper=not lower) if clean else factor_beside(a, lower)), 0


@_routine(sl.lapack, _prefixed("potrs"))
def potrs(name, c, b, lower=0):
    return cho_solve((c, lower), b), 0


@_routine(sl.lapack, _prefixed("posv"))
def posv(name, a, b, lower=0):
    factor = factor_beside(a, lower)
    return factor, cho_solve((factor, lower), b), 0


@_routine(sl.lapack, _prefixed("trtrs"))
def trtrs(name, a, b, lower=0, trans=0, unitdiag=0):
    return as_columns(lambda right: triangular(a, right, bool(lower), trans, bool(unitdiag)), b), 0


def _found(find: Callable[..., Any]) -> Callable[..., Any]:
    """SciPy's choice of routines, by the dtypes of arrays alone."""

    def funcs(names, arrays=(), dtype=None, ilp64=False):
        return find(names, tuple(np.empty(0, inexact(x).dtype) for x in arrays), dtype, ilp64)

    return funcs


stand_in(sl.get_blas_funcs)(_found(sl.get_blas_funcs))
stand_in(sl.get_lapack_funcs)(_found(sl.get_lapack_funcs))
