"""Minima: `scipy.optimize` finds them, and the equation that the gradient vanishes there gives their derivatives.

The minimiser moves by `-inv(H) @ d(gradient)`, with `H` the Hessian of the objective, both found by differentiating the
objective itself, with respect to everything tracked that it reaches. A bound that holds a variable back fixes it: the
others move as if it were a constant, which is right where its multiplier is not zero.
"""

from __future__ import annotations

import inspect

import numpy as np

from bridge.extend import Aside, as_array, as_left, carries_gradient, gradient, needs, refuse, solved, stand_in
from bridge.rules.optimize_results import bound, called_plainly, optimize, refuse_others, result_with
from bridge.rules.python_numbers import python_number

needs("scipy.optimize")

_ACTIVE = 1e-6
"""How near to a bound, relatively, a variable is taken to lie at it."""


def minimiser(search, objective, x, bounds=None):
    """The minimiser `x` of `objective(x)` as a value that has its derivative; bounds are pairs of arrays, or None."""
    search.tracked = search.tracked or carries_gradient(bounds)
    if not search.tracked:
        return x
    if bounds is None:
        return solved(search, lambda at: gradient(objective, at), x, definite=True)
    with search.running():
        slope = np.reshape(search.value_of(gradient(objective, x)), x.shape)
    held = _held(search, x, slope, bounds)
    if all(one is None for one in held):
        return solved(search, lambda at: gradient(objective, at), x, definite=True)
    # A variable at its bound is that bound, which may be tracked; the value stays SciPy's.
    fixed = np.stack([0.0 if one is None else one - search.value_of(one) + at for one, at in zip(held, x, strict=True)])
    free = [k for k, one in enumerate(held) if one is None]
    spread = np.eye(len(held))[:, free]
    if not free:
        return fixed

    def of_free(at):
        return gradient(lambda part: objective(fixed + spread @ part), at)

    return fixed + spread @ solved(search, of_free, x[free], definite=True)


def _held(search, x, slope, bounds):
    """For each variable, the bound that holds it back, or None."""
    held = []
    scale = 1 + np.max(np.abs(slope), initial=0)
    for k, (at, along) in enumerate(zip(x, slope, strict=True)):
        found = None
        for side, limits in zip((1, -1), bounds, strict=True):
            limit = search.value_of(limits[k])
            if abs(at - limit) <= _ACTIVE * (1 + abs(limit)):
                if abs(along) <= _ACTIVE * scale:
                    refuse(
                        f"{search.name} found variable {k} = {at} at its bound, where the objective is level in it "
                        f"(slope {along}): the minimiser has a kink there",
                        "move the bound, or take the result as a constant with bridge.detach",
                    )
                found = limits[k] if side * along > 0 else found
        held.append(found)
    return held


def limits(bounds, size):
    """Lower and upper bounds as two lists, from pairs or SciPy's `Bounds`."""
    if bounds is None:
        return None
    if isinstance(bounds, optimize.Bounds):
        return [list(np.broadcast_to(side, size)) for side in (bounds.lb, bounds.ub)]
    return [[end if one[side] is None else one[side] for one in bounds] for side, end in ((0, -np.inf), (1, np.inf))]


@stand_in(optimize.minimize, calls=True)
def minimize(
    fun, x0, args=(), method=None, jac=None, hess=None, hessp=None, bounds=None, constraints=(), tol=None,
    callback=None, options=None,
):  # fmt: skip
    search = Aside("scipy.optimize.minimize")
    whole = bound(fun, args)
    together = bool(jac) and not callable(jac) and not isinstance(jac, str)
    objective = (lambda x: whole(x)[0]) if together else whole
    slopes = {name: search.plain(_before(function, args)) if callable(function) else function
              for name, function in (("jac", jac), ("hess", hess), ("hessp", hessp))}  # fmt: skip
    plain_constraints = _plain_constraints(search, constraints)
    found = optimize.minimize(
        search.plain(whole),
        search.value_of(x0),
        method=method,
        **slopes,
        bounds=search.value_of(bounds),
        constraints=plain_constraints,
        tol=tol,
        callback=None if callback is None else _told(search, callback),
        options=None if options is None else called_plainly(search, options),
    )
    if constraints and search.tracked:
        refuse(
            "scipy.optimize.minimize with constraints of a tracked objective, or with tracked constraints, has no "
            "derivative here",
            "eliminate the constraint by a change of variables, or solve its optimality conditions with "
            "scipy.optimize.root",
        )
    passed_on = as_left(search, fun)
    x = minimiser(search, objective, found.x, limits(bounds, found.x.size))
    if x is found.x:
        return found
    value = as_array(objective(x))
    value = value[()] if not value.shape else np.reshape(value, np.shape(found.fun))
    # The gradient vanishes at the minimum whatever it depends on; it is a constant where no bound is active.
    return passed_on(result_with(found, {"x": x, "fun": value}, _WITHHELD), lambda: objective(x))


_WITHHELD = ("hess_inv", "hess", "final_simplex", "direc", "grad", "lagrangian_grad", "v", "multipliers", "allvecs")


def _before(function, args):
    further = args if isinstance(args, tuple) else (args,)
    return lambda x, *others: function(x, *others, *further)


def _told(search, callback):
    """A callback under its own signature, by which SciPy decides what it is given."""
    names = list(inspect.signature(callback).parameters)
    if names == ["intermediate_result"]:
        return lambda intermediate_result: search.plain(callback)(intermediate_result=intermediate_result)
    return search.plain(callback)


def _plain_constraints(search, constraints):
    several = constraints if isinstance(constraints, (list, tuple)) else [constraints]
    found = []
    for one in several:
        if isinstance(one, dict):
            args = one.get("args", ())
            given = {**one, "args": ()}
            given.update({key: bound(one[key], args) for key in ("fun", "jac") if callable(one.get(key))})
            search.tracked = search.tracked or carries_gradient(args)
            found.append(called_plainly(search, given))
        elif isinstance(one, optimize.NonlinearConstraint):
            parts = {key: value for key, value in vars(one).items()}
            found.append(optimize.NonlinearConstraint(**called_plainly(search, parts)))
        else:
            found.append(one)
    return found if isinstance(constraints, (list, tuple)) else found[0]


@stand_in(optimize.minimize_scalar, calls=True)
def minimize_scalar(fun, bracket=None, bounds=None, args=(), method=None, tol=None, options=None):
    search = Aside("scipy.optimize.minimize_scalar")
    objective = bound(fun, args)
    found = optimize.minimize_scalar(
        search.plain(objective), search.value_of(bracket), search.value_of(bounds), (), method, tol, options
    )
    if not search.tracked:
        return found
    passed_on = as_left(search, fun)
    x = solved(search, lambda at: gradient(objective, at), found.x, definite=True)
    if type(found.x) is float and hasattr(x, "place"):
        x = python_number(x)
    found.x, found.fun = x, as_array(objective(x))[()]
    return passed_on(found, lambda: objective(x))


@stand_in(optimize.fminbound, calls=True)
def fminbound(func, x1, x2, args=(), xtol=1e-5, maxfun=500, full_output=0, disp=1):
    search = Aside("scipy.optimize.fminbound")
    objective = bound(func, args)
    given = search.value_of((x1, x2))
    found = optimize.fminbound(search.plain(objective), *given, (), xtol, maxfun, 1, disp)
    if not search.tracked:
        return found if full_output else found[0]
    passed_on = as_left(search, func)
    x = solved(search, lambda at: gradient(objective, at), found[0], definite=True)
    value = as_array(objective(x))[()]
    return passed_on((x, value, *found[2:]) if full_output else x, lambda: objective(x))


def _by_name(solver):
    """`fmin` and its kin: the minimiser alone; what else they can hand out is withheld."""
    name = f"scipy.optimize.{solver.__name__}"
    signature = inspect.signature(solver)

    @stand_in(solver, calls=True)
    def minimised(*args, **kwargs):
        search = Aside(name)
        given = signature.bind(*args, **kwargs).arguments
        if given.get("full_output") or given.get("retall"):
            refuse(f"{name} of tracked values with full_output or retall", "use scipy.optimize.minimize")
        further = given.pop("args", ())
        first = next(iter(given))
        function = given.pop(first)
        objective = bound(function, further)
        for key, value in given.items():
            if key in ("fprime", "fhess", "fhess_p") and callable(value):
                given[key] = search.plain(_before(value, further))
        x = solver(search.plain(objective), **called_plainly(search, given))
        if not search.tracked:
            return x
        passed_on = as_left(search, function)
        x = minimiser(search, objective, x)
        objective(x)
        return passed_on(x, lambda: objective(x))

    return minimised


for _solver in (optimize.fmin, optimize.fmin_powell, optimize.fmin_bfgs, optimize.fmin_cg, optimize.fmin_ncg):
    _by_name(_solver)

refuse_others(
    "fmin_l_bfgs_b fmin_tnc fmin_cobyla fmin_slsqp brute basinhopping differential_evolution dual_annealing shgo "
    "direct golden brent bracket",
    "use scipy.optimize.minimize, from where it has ended (bridge.detach)",
    optimize,
)
refuse_others(
    "linprog milp lsq_linear nnls quadratic_assignment isotonic_regression",
    "solve the equations of the active constraints at its result: np.linalg.solve, np.linalg.lstsq",
    optimize,
)


@stand_in(optimize.linear_sum_assignment)
def linear_sum_assignment(cost_matrix, maximize=False):
    """Indices carry no derivative: that of the cost is that of the elements which they pick."""
    return optimize.linear_sum_assignment(Aside("scipy.optimize.linear_sum_assignment").value_of(cost_matrix), maximize)
