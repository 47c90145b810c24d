"""Integrals of functions: `scipy.integrate.quad`, `quad_vec`, and the multiple integrals over `quad`.

The value is SciPy's. The derivative is that of a Gauss-Kronrod sum (`quadrature_mesh`), with respect to everything
tracked that the integrand reaches, and in the limits that of the fundamental theorem of calculus: the integrand there.
A jump inside of the range, which may move with a parameter, is refused.
"""

from __future__ import annotations

import numpy as np

from bridge.extend import Aside, as_array, as_left, carries_gradient, depth, needs, refuse, stand_in
from bridge.rules.python_numbers import python_number
from bridge.rules.quadrature_mesh import at_limit, mesh, pieces, summed

integrate = needs("scipy.integrate")


@stand_in(integrate.quad, calls=True)
def quad(
    func, a, b, args=(), full_output=0, epsabs=1.49e-8, epsrel=1.49e-8, limit=50, points=None, weight=None, wvar=None,
    wopts=None, maxp1=50, limlst=50, complex_func=False,
):  # fmt: skip
    search = Aside("scipy.integrate.quad")
    further = args if isinstance(args, tuple) else (args,)
    integrand = _of_number(func, further)
    plain_a, plain_b, plain_points = search.value_of((a, b, points))
    found, *about = integrate.quad(
        search.plain(integrand), plain_a, plain_b, (), full_output, *search.value_of((epsabs, epsrel)), limit,
        plain_points, weight, search.value_of(wvar), wopts, maxp1, limlst, complex_func,
    )  # fmt: skip
    if not search.tracked and not carries_gradient([a, b, wvar]):
        return (found, *about)
    if weight is not None:
        refuse(
            f"{search.name}(weight={weight!r}) of tracked values has no derivative here",
            "write the weight into the function that is integrated",
        )
    passed_on = as_left(search, func)
    value = passed_on(_integral(search, integrand, a, b, plain_points, found), _inside(integrand, plain_a, plain_b))
    return (python_number(value) if type(found) in (float, complex) and hasattr(value, "place") else value, *about)


def _of_number(func, args):
    def integrand(x):
        value = func(x, *args)
        return np.reshape(value, ())[()] if getattr(value, "shape", ()) else value

    return integrand


def _inside(integrand, a, b):
    """A call of an integrand between its limits."""
    low, high = sorted((a, b))
    finite = [x for x in (low, high) if np.isfinite(x)]
    x = sum(finite) / 2 if len(finite) == 2 else low + 1.0 if np.isfinite(low) else high - 1.0 if finite else 0.0
    return lambda: integrand(x)


def _integral(search, integrand, a, b, points, found):
    """The integral, of SciPy's value `found`."""
    plain_a, plain_b = search.value_of((a, b))
    nodes = mesh(search, integrand, pieces(float(plain_a), float(plain_b), points)) if search.tracked else []
    with search.result():
        total = summed(integrand, nodes)
        for sign, limit, plain in ((1, b, plain_b), (-1, a, plain_a)):
            if carries_gradient(limit) and np.isfinite(plain):
                total = total + sign * at_limit(integrand, limit, plain, depth())
    own = search.value_of(total)
    if not np.all(np.isfinite(own)):
        refuse(f"the integrand of {search.name} is infinite at a limit that is tracked", "move the limit, or detach it")
    largest = np.max(np.abs(found), initial=0)
    if nodes and not np.max(np.abs(own - found), initial=0) <= 1e-5 * largest + 1e-7:
        refuse(
            f"{search.name} gave {found}, and Gauss and Kronrod's rule {own}: they do not agree on this integrand",
            "split the range where the integrand is not smooth (points=), or substitute a variable",
        )
    return total + (found - own)


@stand_in(integrate.quad_vec, calls=True)
def quad_vec(
    f, a, b, epsabs=1e-200, epsrel=1e-8, norm="2", cache_size=100e6, limit=10000, workers=1, points=None,
    quadrature=None, full_output=False, *, args=(),
):  # fmt: skip
    search = Aside("scipy.integrate.quad_vec")

    def integrand(x):
        return np.copy(as_array(f(x, *args)))  # it may write each value into the same array

    plain_a, plain_b, plain_points = search.value_of((a, b, points))
    found, *about = integrate.quad_vec(
        search.plain(integrand), plain_a, plain_b, epsabs, epsrel, norm, cache_size, limit, 1, plain_points, quadrature,
        full_output,
    )  # fmt: skip
    if not search.tracked and not carries_gradient([a, b]):
        return (found, *about)
    passed_on = as_left(search, f)
    value = _integral(search, integrand, a, b, plain_points, found)
    return (passed_on(value, _inside(integrand, plain_a, plain_b)), *about)


@stand_in(integrate.nquad, calls=True)
def nquad(func, ranges, args=None, opts=None, full_output=False):
    return _multiple(integrate.nquad, func, ranges, () if args is None else tuple(args), opts, full_output)


@stand_in(integrate.dblquad, calls=True)
def dblquad(func, a, b, gfun, hfun, args=(), epsabs=1.49e-8, epsrel=1.49e-8):
    return _multiple(
        integrate.dblquad, func, [_range(gfun, hfun), (a, b)], args, {"epsabs": epsabs, "epsrel": epsrel}, False
    )


@stand_in(integrate.tplquad, calls=True)
def tplquad(func, a, b, gfun, hfun, qfun, rfun, args=(), epsabs=1.49e-8, epsrel=1.49e-8):
    def inner(y, x):
        return qfun(x, y) if callable(qfun) else qfun, rfun(x, y) if callable(rfun) else rfun

    ranges = [inner, _range(gfun, hfun), (a, b)]
    return _multiple(integrate.tplquad, func, ranges, args, {"epsabs": epsabs, "epsrel": epsrel}, False)


def _range(low, high):
    return lambda x, *args: (low(x) if callable(low) else low, high(x) if callable(high) else high)


def _multiple(solver, func, ranges, args, opts, full_output):
    """An integral over several variables: one integral inside of another, the first variable innermost."""
    name = f"scipy.integrate.{solver.__name__}"
    several = isinstance(opts, (list, tuple)) or callable(opts)
    options = [*opts] if several and not callable(opts) else [opts] * len(ranges)
    if any(callable(one) for one in options):
        refuse(f"{name} with functions in opts", "give one dictionary of options")
    if full_output:
        refuse(f"{name} of tracked values with full_output", "leave it out")
    errors = []

    def over(number, outer):
        low, high = ranges[number](*outer, *_for_range(solver, args)) if callable(ranges[number]) else ranges[number]

        def integrand(x):
            return over(number - 1, (x, *outer)) if number else func(x, *outer, *args)

        value, error, *_ = quad(integrand, low, high, **(options[number] or {}))
        errors.append(error)
        return value

    value = over(len(ranges) - 1, ())
    return value, max(errors)


def _for_range(solver, args):
    return args if solver is integrate.nquad else ()


def _refuse(name):
    def refused(*args, **kwargs):
        refuse(f"scipy.integrate.{name} of tracked values has no derivative here", "use scipy.integrate.quad")

    return refused


for _name in ("cubature", "qmc_quad", "tanhsinh", "nsum"):
    if hasattr(integrate, _name):
        stand_in(getattr(integrate, _name))(_refuse(_name))
