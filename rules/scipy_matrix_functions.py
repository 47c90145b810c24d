"""Functions of matrices (exponential, logarithm, roots, sines) and matrix equations of `scipy.linalg`.

The derivative of a function of a matrix `a` in direction `e` is a corner of the function of `[[a, e], [0, a]]`
(Higham, "Functions of Matrices", 2008, theorem 3.6); its adjoint is the derivative at the adjoint of `a`, as
all of these functions commute with conjugation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bridge.extend import Case, Facts, known, needs, refuse, rule, stand_in, zeros
from bridge.rules.contractions import fitted
from bridge.rules.decompositions import INEXACT
from bridge.rules.products import adjoint
from bridge.rules.scipy_arguments import must_be_matrices, same_type, square

sl = needs("scipy.linalg")


def _blocks(a, e):
    """`[[a, e], [0, a]]`."""
    a, e = same_type(a, e)
    upper = np.concatenate([a, e], axis=-1)
    lower = np.concatenate([zeros(a.shape, like=a), a], axis=-1)
    return np.concatenate([upper, lower], axis=-2)


def _corner(blocks):
    n = blocks.shape[-1] // 2
    return blocks[..., :n, n:]


def _primitive(name: str) -> Any:
    """SciPy's function of this name, of one matrix or several, with its rule."""
    of_matrix = getattr(sl, name)

    def compute(a):
        must_be_matrices(a)
        return of_matrix(a)

    compute.__name__ = compute.__qualname__ = name

    def pull(ct, out, a):
        return fitted(_corner(made(_blocks(adjoint(a), ct))), a.shape, a.dtype)

    made = rule(compute, facts=INEXACT)(pull)
    return made


expm = _primitive("expm")
logm = _primitive("logm")
_OTHERS = {name: _primitive(name) for name in ("sinm", "cosm", "tanm", "sinhm", "coshm", "tanhm")}


def _register(function: Any, made: Any, one_matrix: bool) -> None:
    def of_matrix(A, **options):
        if options:
            refuse(f"scipy.linalg.{function.__name__} with {', '.join(options)}", "leave it out: it is deprecated")
        A = square(A, False)
        if one_matrix and A.ndim != 2:
            raise ValueError("expected square array_like input")
        return _off_the_cut(function, A, made(A)) if made is logm else made(A)

    stand_in(function)(of_matrix)


def _off_the_cut(function, a, result):
    """The result, if no eigenvalue of a real matrix lies on the branch cut: there rounding decides about the pull."""
    if a.dtype.kind != "c" and result.dtype.kind == "c":
        refuse(
            f"scipy.linalg.{function.__name__} of a real matrix with a negative eigenvalue lies on the branch cut",
            "keep the eigenvalues away from it, or give a complex matrix that lies beside it",
        )
    return result


for _name, _made in _OTHERS.items():
    _register(getattr(sl, _name), _made, False)
_register(sl.expm, expm, False)
_register(sl.logm, logm, False)


@stand_in(sl.expm_frechet)
def expm_frechet(A, E, method=None, compute_expm=True, check_finite=True):
    A, E = same_type(square(A, check_finite), square(E, check_finite))
    blocks = expm(_blocks(A, E))
    return (expm(A), _corner(blocks)) if compute_expm else _corner(blocks)


def power_of_matrix(a, t):
    """The matrix to a power that need not be whole."""
    must_be_matrices(a)
    return sl.fractional_matrix_power(a, t)


@rule(power_of_matrix, facts=Facts(precision="inexact", static=("t",)))
def power_of_matrix(ct, out, a, t):
    return fitted(_corner(power_of_matrix(_blocks(adjoint(a), ct), t)), a.shape, a.dtype)


@stand_in(sl.fractional_matrix_power)
def fractional_matrix_power(A, t):
    if hasattr(t, "place"):
        refuse("scipy.linalg.fractional_matrix_power with a tracked power", "use scipy.linalg.expm(t * logm(A))")
    A = square(A, False)
    return (
        np.linalg.matrix_power(A, int(t))
        if t == int(t)
        else _off_the_cut(sl.fractional_matrix_power, A, power_of_matrix(A, t))
    )


def root(a):
    """The principal square root."""
    must_be_matrices(a)
    return sl.sqrtm(a)


@rule(root, reads=("out",), facts=INEXACT)
def root(ct, out, a):
    """From X dX + dX X = dA."""
    if out.size == 0:
        return np.zeros(a.shape, a.dtype)
    if known(out) is not None and not np.all(np.isfinite(known(out))):
        return np.full(a.shape, np.nan, a.dtype)
    if out.ndim > 2:
        parts = [sylvester(adjoint(x), adjoint(x), c) for x, c in zip(_flat(out), _flat(ct), strict=True)]
        found = np.reshape(np.stack(parts), out.shape)
    else:
        found = sylvester(adjoint(out), adjoint(out), ct)
    return fitted(found, a.shape, a.dtype)


def _flat(x):
    return [one for one in np.reshape(x, (-1, *x.shape[-2:]))]


_register(sl.sqrtm, root, False)


def sylvester(a, b, q):
    """The solution X of `a @ X + X @ b = q`."""
    must_be_matrices(a, b, q)
    if q.shape != (*a.shape[:1], *b.shape[1:]) or a.shape[0] != a.shape[1] or b.shape[0] != b.shape[1]:
        raise ValueError(f"matrices of shapes {a.shape}, {b.shape} and {q.shape} make no Sylvester equation")
    return sl.solve_sylvester(a, b, q)


@rule(sylvester, reads=("out", "a", "b"), facts=Facts(precision="inexact", fails_on="singular"))
def sylvester(ct, out, a, b, q):
    by_q = sylvester(adjoint(a), adjoint(b), ct)
    by_a, by_b = -np.matmul(by_q, adjoint(out)), -np.matmul(adjoint(out), by_q)
    return tuple(fitted(by, x.shape, x.dtype) for by, x in ((by_a, a), (by_b, b), (by_q, q)))


def _matrices(*arrays: Any) -> tuple[Any, ...]:
    arrays = tuple(square(x) for x in arrays)
    for x in arrays:
        if x.ndim != 2:
            refuse("a matrix equation of scipy.linalg with a batch of tracked matrices", "call it for each matrix")
    return same_type(*arrays)


@stand_in(sl.solve_sylvester)
def solve_sylvester(a, b, q):
    q = np.atleast_2d(q)
    a, b = _matrices(a, b)
    if q.shape != (a.shape[0], b.shape[0]):
        raise ValueError(f"q of shape {q.shape} fits neither a {a.shape} nor b {b.shape}")
    return sylvester(*same_type(a, b, q))


@stand_in(sl.solve_continuous_lyapunov, sl.solve_lyapunov)
def solve_continuous_lyapunov(a, q):
    a, q = _matrices(a, q)
    return sylvester(a, adjoint(a), q)


@stand_in(sl.solve_discrete_lyapunov)
def solve_discrete_lyapunov(a, q, method=None):
    """As a linear system in all elements, or by a bilinear map: Gajic and Qureshi, "Lyapunov Matrix Equation", 1995."""
    a, q = _matrices(a, q)
    n = a.shape[0]
    method = ("bilinear" if n >= 10 else "direct") if method is None else method.lower()
    if method == "direct":
        system = np.eye(n * n) - np.kron(a, np.conj(a))
        return np.reshape(np.linalg.solve(system, np.reshape(q, -1)), q.shape)
    if method != "bilinear":
        raise ValueError(f"Unknown solver {method}")
    inverse = np.linalg.inv(adjoint(a) + np.eye(n))
    b = np.matmul(adjoint(a) - np.eye(n), inverse)
    c = 2 * np.matmul(np.matmul(np.linalg.inv(a + np.eye(n)), q), inverse)
    return sylvester(adjoint(b), b, -c)


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    a, b, q = (rng.normal(size=(3, 3)) for _ in range(3))
    positive = a @ a.T + np.eye(3)
    yield Case(logm.function, (positive[:2, :2] / 3,))
    for function in (expm, *_OTHERS.values(), root):
        yield Case(function.function, (positive / 3,))
        yield Case(function.function, (positive / 3 + 0.2j * b,))
    yield Case(expm.function, (np.stack([a, b]),))
    yield Case(root.function, (np.stack([positive, positive.T + 2 * np.eye(3)]),))
    yield Case(power_of_matrix.function, (positive, 0.3))
    yield Case(sylvester.function, (positive, positive, q))
    yield Case(sylvester.function, (positive, positive[:2, :2] * (1 + 0.5j), q[:, :2]))
