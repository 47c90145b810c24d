"""Initial value problems: `scipy.integrate.solve_ivp` and `odeint`.

SciPy chooses the steps, on plain values. On the steps that it has accepted, the same Runge-Kutta scheme is run again,
tracked: the derivative is that of the discrete solution with its steps held, with respect to initial values, `args`,
everything tracked that the right-hand side reaches, and the ends of the interval; times of `t_eval` and of events are
differentiated through the interpolant. For implicit methods, whose iterations are not followed, the derivative is that
of the solution itself: DOP853 computes it, and its value is compared with SciPy's.
"""

from __future__ import annotations

import inspect

import numpy as np

from bridge.extend import Aside, as_array, as_left, carries_gradient, needs, refuse, solved, stand_in
from bridge.rules.runge_kutta import METHODS, Trajectory, integrate

needs("scipy.integrate")

_EXACT = 1e-10
"""The tolerance to which a solution is computed that stands for that of an implicit method."""
_MANY = 5
"""How many steps such a solution may take for each evaluation that SciPy made: a stiff problem wants more."""


@stand_in(integrate.solve_ivp, calls=True)
def solve_ivp(
    fun, t_span, y0, method="RK45", t_eval=None, dense_output=False, events=None, vectorized=False, args=None, **options
):
    search = Aside("scipy.integrate.solve_ivp")
    solver = METHODS.get(method, method) if isinstance(method, str) else method
    explicit = inspect.isclass(solver) and issubclass(solver, integrate.RK23.__mro__[1])
    further = () if args is None else tuple(args)
    watched = _events(search, events, further)
    span = search.value_of((t_span[0], t_span[1]))
    plain_options = {
        key: search.plain(_with(value, further)) if key == "jac" and callable(value) else search.value_of(value)
        for key, value in options.items()
    }
    found = integrate.solve_ivp(
        search.plain(_with(fun, further)), span, search.value_of(y0), method,
        None if explicit else search.value_of(t_eval),
        dense_output=bool(watched) and explicit, events=watched, vectorized=vectorized, **plain_options,
    )  # fmt: skip
    passed_on = as_left(search, fun)
    tracked_times = carries_gradient([t_span, t_eval])
    if not (search.tracked or tracked_times or carries_gradient(y0)):
        found = integrate.solve_ivp(
            search.plain(_with(fun, further)), span, search.value_of(y0), method, search.value_of(t_eval),
            dense_output, watched, vectorized, **plain_options,
        )  # fmt: skip
        return passed_on(found, lambda: None)
    search.tracked = True
    own = fun if solver is integrate.LSODA else _each_in_its_own_memory(search, fun)
    slope = _slope(own, further, vectorized, complex if np.iscomplexobj(found.y) else float)
    start = as_array(y0)
    start = start if start.dtype == found.y.dtype else start.astype(found.y.dtype)
    if not explicit:
        more = dense_output or events is not None
        found = _implicit(search, found, slope, span, t_span, start, t_eval, more, method)
        return passed_on(found, lambda: slope(span[1], found.y[:, -1]))
    mesh = _mesh(found)
    with search.result():
        trajectory = Trajectory(solver, slope, _times(search, mesh, t_span), start, mesh, bool(dense_output or watched))
    if watched:
        _differentiate_events(search, found, trajectory, events, further)
    elif found.t_events is not None:
        found.t_events, found.y_events = [], []
    _differentiate_times(search, found, trajectory, t_span, t_eval)
    found.sol = trajectory if dense_output else None
    return passed_on(found, lambda: slope(mesh[-1], trajectory.states[-1]))


def _with(function, args):
    return (lambda *own: function(*own, *args)) if args else function


def _slope(fun, args, vectorized, dtype):
    """The right-hand side on tracked values, as a vector of the solution's dtype, and no memory of the program's."""

    def slope(t, y):
        if vectorized:
            value = np.reshape(as_array(fun(t, np.expand_dims(y, -1), *args)), (-1,))
        else:
            value = as_array(fun(t, y, *args))
        return value.astype(dtype)

    return slope


def _each_in_its_own_memory(search, function):
    """A right-hand side that does not write one value into the memory of another.

    SciPy keeps the value that a step ends with as it was returned, and computes the next step from it.
    """
    root_of_last = last = None

    def checked(*args):
        nonlocal root_of_last, last
        value = function(*args)
        root, before = getattr(getattr(value, "place", None), "root", None), last
        last = np.array(search.value_of(value))
        if root is not None and root is root_of_last and not np.array_equal(last, before, equal_nan=True):
            refuse(
                f"a function that {search.name} calls returns the same array again with other contents, while SciPy "
                "still computes with those that it had",
                "return a copy: d.copy()",
            )
        root_of_last = root
        return value

    return checked


def _mesh(found):
    """The times between which steps were taken; behind a terminal event the last step goes on."""
    if found.sol is None:
        return found.t
    return np.array([found.sol.interpolants[0].t_old, *(one.t for one in found.sol.interpolants)])


def _times(search, mesh, t_span):
    """The mesh with the ends that carry a gradient in their places."""
    times = list(mesh)
    for place, end in ((0, t_span[0]), (-1, t_span[1])):
        if carries_gradient(end) and mesh[place] == search.value_of(end):
            times[place] = end
    return times


def _differentiate_times(search, found, trajectory, t_span, t_eval):
    """Exchange the solution at the times that were asked for by the tracked one."""
    if t_eval is not None:
        inside = _reached(search, found, t_eval)
        found.t = (
            as_array(t_eval)[:inside] if carries_gradient(t_eval) else np.asarray(search.value_of(t_eval))[:inside]
        )
        found.y = trajectory(found.t)
        return
    times, states = list(found.t), trajectory.states
    if found.status == 1:
        last = max((one for one in found.t_events if len(one)), key=lambda one: _order(search, one[-1], trajectory))[-1]
        times[-1], states = last, [*states[:-1], trajectory(last)]
    for place, end in enumerate(_times(search, trajectory.ts, t_span)):
        if hasattr(end, "place") and place < len(times) and found.status != 1:
            times[place] = end
    found.t = as_array(times) if any(hasattr(t, "place") for t in times) else np.asarray(times)
    found.y = np.stack(states, axis=-1)


def _order(search, time, trajectory):
    return search.value_of(time) * (1 if trajectory.ts[-1] >= trajectory.ts[0] else -1)


def _reached(search, found, t_eval):
    """How many of the times were reached: a terminal event, or a failure, ends the solution."""
    times = np.asarray(search.value_of(t_eval), float)
    last = found.t[-1]
    return int(np.sum(times <= last if found.t[-1] >= found.t[0] else times >= last))


def _events(search, events, args):
    """Events as SciPy gets them, which reads their attributes."""
    if events is None:
        return None
    several = [events] if callable(events) else list(events)
    found = []
    for event in several:
        plain = search.plain(_with(event, args))
        plain.terminal, plain.direction = getattr(event, "terminal", None), getattr(event, "direction", 0)
        found.append(plain)
    return found


def _differentiate_events(search, found, trajectory, events, args):
    """An event is a root of its function along the solution, and moves as that does."""
    several = [events] if callable(events) else list(events)
    for number, event in enumerate(several):
        times = [
            solved(search, lambda t, event=event: event(t, trajectory(t), *args), float(t))
            for t in found.t_events[number]
        ]
        if times:
            found.t_events[number] = as_array(times)
            found.y_events[number] = np.stack([trajectory(t) for t in times])


def _implicit(search, found, slope, span, t_span, start, t_eval, more, method):
    """The solution of an implicit method: its value, with the derivative of the exact solution."""
    if more:
        refuse(
            f"{search.name}(method={_named(method)}) of tracked values with dense_output or events",
            'use method="RK45", "RK23" or "DOP853", or t_eval',
        )
    times = as_array(t_eval)[: found.t.size] if carries_gradient(t_eval) else as_array(
        _times(search, found.t, t_span) if t_eval is None else found.t
    )  # fmt: skip
    found.y = exact(search, slope, span, t_span, start, times, found.y, _named(method), found.nfev)
    found.t = times
    return found


def exact(search, slope, span, t_span, start, times, value, method, evaluations):
    """The solution at `times`, computed to `_EXACT`, with SciPy's `value`, from which it must not be far."""
    mesh, tolerance = [span[0]], _EXACT * max(1e-10, float(np.max(np.abs(search.value_of(start)), initial=0)))
    limit = max(1000, _MANY * int(evaluations))
    solver = integrate.DOP853(
        search.plain(slope), span[0], search.value_of(start), span[1], rtol=_EXACT, atol=tolerance
    )
    while solver.status == "running" and len(mesh) <= limit:
        solver.step()
        mesh.append(solver.t)
    if solver.status != "finished":
        refuse(
            f"{search.name} solved this problem by {method}, an implicit method, through which no derivative is "
            f"followed; an explicit one did not solve it in {len(mesh) - 1} steps: it is stiff",
            "scale the problem so that it is less stiff, integrate over a shorter time, or write the implicit step "
            "with scipy.optimize.root, which is differentiated",
        )
    mesh = np.array(mesh)
    with search.result():
        trajectory = Trajectory(integrate.DOP853, slope, _times(search, mesh, t_span), start, mesh)
    solution = trajectory(times)
    plain = search.value_of(solution)
    apart = np.max(np.abs(plain - value), initial=0)
    if not apart <= _NEAR * (1e-3 + np.max(np.abs(value), initial=0)):
        refuse(
            f"{search.name} by {method} is {apart:.2g} away from the solution computed to a relative {_EXACT}",
            'ask for smaller tolerances (rtol, atol), or use solve_ivp with method="RK45" or "DOP853", whose own steps '
            "are differentiated",
        )
    return solution + (value - plain)


_NEAR = 2e-2


def _named(method):
    return repr(method if isinstance(method, str) else method.__name__)


@stand_in(integrate.odeint, calls=True)
def odeint(
    func, y0, t, args=(), Dfun=None, col_deriv=0, full_output=0, ml=None, mu=None, rtol=None, atol=None, tcrit=None,
    h0=0.0, hmax=0.0, hmin=0.0, ixpr=0, mxstep=0, mxhnil=0, mxordn=12, mxords=5, printmessg=0, tfirst=False,
):  # fmt: skip
    search = Aside("scipy.integrate.odeint")
    further = args if isinstance(args, tuple) else (args,)
    plain_times = np.asarray(search.value_of(t), float)
    found, about = integrate.odeint(
        search.plain(_with(func, further)), search.value_of(y0), plain_times, (),
        None if Dfun is None else search.plain(_with(Dfun, further)), col_deriv, 1, ml, mu, rtol, atol, tcrit, h0, hmax,
        hmin, ixpr, mxstep, mxhnil, mxordn, mxords, printmessg, tfirst,
    )  # fmt: skip
    if not (search.tracked or carries_gradient([y0, t])):
        return (found, about) if full_output else found
    passed_on = as_left(search, func)
    start = np.reshape(as_array(y0), (-1,)).astype(float)
    slope = _slope(func if tfirst else lambda at, y, *rest: func(y, at, *rest), further, False, float)
    steps = np.diff(plain_times)
    if plain_times.size < 2 or not (np.all(steps > 0) or np.all(steps < 0)):
        refuse(f"{search.name} of tracked values at times that do not all rise, or fall", "sort them")
    ends = (plain_times[0], plain_times[-1])
    span = (t[0], t[-1]) if carries_gradient(t) else ends
    solution = exact(search, slope, ends, span, start, as_array(t), found.T, "LSODA", about["nfe"][-1])
    solution = passed_on(np.transpose(solution), lambda: slope(ends[1], solution[:, -1]))
    return (solution, about) if full_output else solution


def _refuse(name):
    def refused(*args, **kwargs):
        refuse(f"scipy.integrate.{name} of tracked values has no derivative here", _REMEDY)

    return refused


_REMEDY = "use scipy.integrate.solve_ivp"
for _name in ("RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA", "ode", "complex_ode", "solve_bvp"):
    stand_in(getattr(integrate, _name))(_refuse(_name))
