"""What the stand-ins for `scipy.optimize` share: results that withhold what is not known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bridge.extend import Aside, is_tracked, needs, refuse, stand_in

optimize = needs("scipy.optimize")


class _Withheld:
    """In place of a number that depends on what is differentiated, in a way that is not followed."""


class Result(optimize.OptimizeResult):
    """SciPy's result, in which some numbers may not be asked for: they would be taken for constants."""

    def __getitem__(self, name):
        value = super().__getitem__(name)
        if isinstance(value, _Withheld):
            refuse(
                f"{name!r} of this result of scipy.optimize depends on what is differentiated, and its derivative is "
                "not computed",
                "compute it from the result's x, which carries its derivative (bridge.hessian(objective)(result.x)), "
                "or run the solver again on bridge.detach(...) values",
            )
        return value

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __repr__(self):
        return repr(optimize.OptimizeResult({k: v for k, v in self.items() if not isinstance(v, _Withheld)}))


def result_with(plain: Any, tracked: dict[str, Any], withheld: tuple[str, ...]) -> Result:
    """SciPy's result with tracked values in it, and without those named in `withheld`."""
    hidden = {name: _Withheld() for name in withheld if name in plain}
    return Result({**plain, **tracked, **hidden})


def bound(function: Callable[..., Any], args: Any) -> Callable[[Any], Any]:
    """A function of the unknown alone: `args` follow it, or one argument that is no tuple."""
    further = args if isinstance(args, tuple) else (args,)
    return (lambda x: function(x, *further)) if further else (lambda x: function(x))


def called_plainly(search: Aside, given: dict[str, Any]) -> dict[str, Any]:
    """Keywords of a solver with tracked values as plain ones, and functions that give such."""
    found = {}
    for name, value in given.items():
        found[name] = _plainly(search, value)
    return found


def _plainly(search: Aside, value: Any) -> Any:
    if callable(value) and not isinstance(value, type):
        return search.plain(value)
    if isinstance(value, dict):
        return called_plainly(search, value)
    if type(value) in (list, tuple):
        return type(value)(_plainly(search, part) for part in value)
    return search.value_of(value)


def refuse_others(names: str, remedy: str, module: Any) -> None:
    """Refuse tracked values to the functions of a module that it has of these names, also to what they call."""
    for name in names.split():
        if hasattr(module, name):
            stand_in(getattr(module, name), calls=True)(_refusing(module, name, remedy))


def _refusing(module: Any, name: str, remedy: str) -> Callable[..., Any]:
    def refused(*args, **kwargs):
        search = Aside(f"{module.__name__}.{name}")
        given = called_plainly(search, {"args": list(args), **kwargs})
        found = None if is_tracked([args, kwargs]) else getattr(module, name)(*given.pop("args"), **given)
        if found is None or search.tracked:
            refuse(f"{search.name} of tracked values has no derivative here", remedy)
        return found

    return refused
