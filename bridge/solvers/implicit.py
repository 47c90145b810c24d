"""Values that equations define: their derivatives follow from the implicit function theorem.

Where `F(x, p) = 0`, a small change of `p` moves `x` by `-inv(J) @ dF`, with `J` the derivative of `F` in `x`. A step
of Newton's method from the solution, `x - inv(J) @ (F(x, p) - c)` with the constant `c` that `F` is there, has the
value of `x` and that derivative. Steps with `J` differentiated too have right derivatives up to order `2**steps - 1`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bridge.code_position import here, resolve
from bridge.errors import RefusedError
from bridge.rewind.context import Context
from bridge.rewind.forward import ForwardContext
from bridge.rewind.interpreter import ARRAYS, current_context
from bridge.rewind.left_behind import LeftBehind
from bridge.rewind.lifetime import suspended
from bridge.rewind.memory import grounded
from bridge.rewind.roots import Root
from bridge.solvers.search import Aside, carries_gradient, own_loan


def depth() -> int:
    """How many differentiations are open: the order of the derivatives that may be asked."""
    context = current_context()
    return 0 if context is None else context.level + 1


def as_array(value: Any) -> Any:
    """What a function returned as an array, tracked if a part of it is: numbers in nested lists are stacked."""
    if isinstance(value, (list, tuple)):
        parts = [as_array(part) for part in value]
        if any(hasattr(part, "place") for part in parts):
            return np.stack(parts)
        return np.asarray(parts)
    return value if hasattr(value, "place") else np.asarray(value)


def jacobian(function: Callable[[Any], Any], x: Any, elementwise: bool = False) -> Any:
    """The derivative of `function` at the real number or array `x`, as a value of the context that is open.

    Parameters
    ----------
    function : maps numbers to numbers, or arrays to arrays (or lists of numbers).
    elementwise : each element of the value depends on the same element of `x` alone; then the derivative has its shape.

    A number for a number, else of shape `(*value.shape, *x.shape)`.
    """
    with _inner() as context:
        entered = _entered(context, x)
        value = as_array(function(entered))
        flat: Any = np.reshape(value, (-1,))
    size, shape = grounded(flat).size, np.shape(grounded(value))
    if getattr(getattr(flat, "place", None), "context", None) is not context or not flat.place.active:
        found: Any = np.zeros(np.shape(x) if elementwise else (*shape, *np.shape(x)))
        return found if found.shape else 0.0

    def pulled(cotangent: np.ndarray) -> Any:
        return context.pull_back([(flat.place, cotangent.astype(flat.dtype))], [entered.place])[0]

    if elementwise:
        return pulled(np.ones(size))
    if not shape and not np.shape(x):
        return pulled(np.ones(1))[()]
    rows = [pulled(row) for row in np.eye(size)]
    return np.reshape(np.stack(rows), (*shape, *np.shape(x))) if rows else np.zeros((*shape, *np.shape(x)))


def gradient(function: Callable[[Any], Any], x: Any) -> Any:
    """The gradient of a function that returns one number, at the real number or array `x`."""

    def of_number(at: Any) -> Any:
        value = as_array(function(at))
        return value if not value.shape else np.sum(value)

    return jacobian(of_number, x)


def solved(
    search: Aside, residual: Callable[[Any], Any], x: Any, *, elementwise: bool = False, definite: bool = False
) -> Any:
    """`x`, where a search has found that `residual(x)` vanishes, with the derivative that this equation gives it.

    Parameters
    ----------
    residual : maps what is like `x` to its like; what it captures may be tracked.
    x : a real number or array, as found: the result has its value.
    elementwise : each element is an equation of its own.
    definite : the derivative of the residual must be positive definite, as at an isolated minimum. The residual is the
        gradient of what the program gave, then: who calls evaluates that at the result.

    RefusedError if the equation does not determine `x` there, or if `x` is far from where it holds.
    """
    order = depth()
    if order == 0 or not search.tracked:
        return x
    found, constant = x, None
    searched, once = LeftBehind(residual), None
    for _ in range(order.bit_length()):
        # The derivative in `x` comes first: its context is lent arrays that are not lent to others yet.
        with search.running():
            matrix = _constant_jacobian(search, residual, found, elementwise) if order == 1 else None
        with search.result():
            value = residual(found)
        if not carries_gradient(value):
            searched.put_back_plain()
            return x
        once = once or LeftBehind(residual)
        value = as_array(value)
        constant = search.value_of(value) if constant is None else constant
        if order > 1:
            matrix = jacobian(residual, found, elementwise)
        _check(search, search.value_of(matrix), constant, x, elementwise, definite)
        found = found - _divided(matrix, value - constant, elementwise)
    if not definite:
        # What the function has left in memory and in variables moves with the result, too.
        residual(found)
        _check_left(search, once)
    searched.put_back_plain()
    return found


def as_left(search: Aside, function: Callable[..., Any]) -> Callable[[Any, Callable[[], Any]], Any]:
    """What passes a result on, once plain values that a function leaves are as the search left them that has ended.

    It is given a call of the function, and raises if that adds to something which carries a gradient.
    """
    left = LeftBehind(function)

    def passed_on(result: Any, again: Callable[[], Any]) -> Any:
        if left.differing() is not None:
            again()
            once = LeftBehind(function)
            again()
            _check_left(search, once)
        left.put_back_plain()
        return result

    return passed_on


def _check_left(search: Aside, once: LeftBehind | None) -> None:
    """Raise if another call of the function at the result leaves something else that carries a gradient."""
    name = None if once is None else once.differing()
    if name is not None:
        raise RefusedError(
            f"a function that {search.name} calls adds to what it has left before, in {name}: what that holds, which "
            "is tracked, depends on how often the solver calls the function, and that is not differentiated",
            where=resolve(here()),
            remedy="compute it from the result, or keep a history of plain values: bridge.detach(value)",
        )


def _constant_jacobian(search: Aside, function: Callable[[Any], Any], x: Any, elementwise: bool) -> Any:
    """The plain derivative of `function` at the plain `x`, in a search, where no other differentiation is open.

    In reverse mode the open context itself finds it, so that the function may write memory of this context.
    """
    context: Any = current_context()
    if isinstance(context, ForwardContext) or context.home.is_abstract:
        return search.value_of(jacobian(function, x, elementwise))
    entered = _entered(context, x)
    value = as_array(function(entered))
    flat: Any = np.reshape(value, (-1,))
    root, size = entered.place.root, grounded(flat).size
    context.roots.remove(root)
    rows = np.zeros((1 if elementwise else size, np.size(x)))
    for number in range(rows.shape[0] if carries_gradient(flat) else 0):
        cotangent = np.ones(size) if elementwise else np.eye(size)[number]
        with suspended(context):
            try:
                context.rewind([(flat.place, cotangent.astype(flat.dtype))])
                rows[number] = 0 if root.shadow is None else np.ravel(root.shadow)
            finally:
                context.play_forward()
                root.shadow = None
                for entry in context.log:
                    for place in entry.reads():
                        place.root.shadow = None
    if np.any(np.isnan(rows)):
        # Perhaps of cotangents that do not exist, which a context of its own tells apart.
        return search.value_of(jacobian(function, x, elementwise))
    shape = np.shape(x) if elementwise else (*value.shape, *np.shape(x))
    return np.reshape(rows, shape)[()]


def _divided(matrix: Any, value: Any, elementwise: bool) -> Any:
    if elementwise or not np.shape(grounded(matrix)):
        return value / matrix
    shape = np.shape(grounded(value))
    size = grounded(value).size
    return np.reshape(np.linalg.solve(np.reshape(matrix, (size, size)), np.reshape(value, (-1,))), shape)


_FAR = 1e-2
"""A search ends near its result; the step from there to where the equation holds is smaller than this."""


def _check(search: Aside, matrix: Any, residual: Any, x: Any, elementwise: bool, definite: bool) -> None:
    matrix = np.asarray(matrix, float)
    if not elementwise:
        matrix = np.reshape(matrix, (np.size(x), np.size(x)))
        regular = np.all(np.isfinite(matrix)) and np.linalg.cond(matrix) < 1e-2 / np.finfo(float).eps
        definite_enough = not definite or (regular and np.min(np.linalg.eigvalsh((matrix + matrix.T) / 2)) > 0)
    else:
        regular = np.all(np.isfinite(matrix)) and np.all(matrix != 0)
        definite_enough = True
    if not regular or not definite_enough:
        raise _refused(
            search,
            f"the result {_short(x)} of {search.name} is not determined by its equation: the derivative of that in x "
            f"is {_short(matrix)}, which is {'not positive definite' if regular else 'singular'}",
            "the derivative of the result does not exist there; change the equation, or take the result as a constant "
            "with bridge.detach",
        )
    with np.errstate(all="ignore"):
        step = _divided(matrix, np.reshape(residual, -1) if not elementwise else residual, elementwise)
    if not np.max(np.abs(step), initial=0) <= _FAR * (1 + np.max(np.abs(x), initial=0)):
        raise _refused(
            search,
            f"{search.name} has ended at {_short(x)}, where its equation does not hold (a step of Newton's method "
            f"from there: {_short(step)})",
            "let it converge: other starting values, a smaller tolerance, more iterations",
        )


def _refused(search: Aside, what: str, remedy: str) -> RefusedError:
    return RefusedError(what, where=resolve(here()), remedy=remedy)


def _short(value: Any) -> str:
    return np.array2string(np.asarray(value), precision=6, threshold=9, edgeitems=2)


def _inner() -> Context:
    context = Context()
    outer = current_context()
    if outer is not None:
        context.engine = outer.engine
        context.loan = own_loan(context, outer)
    return context


def _entered(context: Context, x: Any) -> Any:
    if np.shape(grounded(x)):
        return context.buffer(x)
    if hasattr(x, "place"):
        value = context.own_copy(x)[()] if hasattr(x, "view_as") else x
    else:
        value = np.float64(x)
        value = value if context.outer is None else ARRAYS.scalar(value, Root(context.outer, value, False))
    return ARRAYS.scalar(value, context.entering(value, True))
