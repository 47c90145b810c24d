"""What the stand-ins for `scipy.optimize` share: results that withhold what is not known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bridge.extend import Aside, needs, refuse

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
        if callable(value) and not isinstance(value, type):
            found[name] = search.plain(value)
        elif isinstance(value, dict):
            found[name] = called_plainly(search, value)
        elif isinstance(value, (list, tuple)) and any(isinstance(part, dict) for part in value):
            found[name] = type(value)(called_plainly(search, part) for part in value)
        else:
            found[name] = search.value_of(value)
    return found


def refuse_others(names: str, remedy: str, register: Callable[..., Any], module: Any, prefix: str) -> None:
    """Register a refuse for each of the functions of a module, as far as it has them."""
    for name in names.split():
        if hasattr(module, name):
            register(getattr(module, name))(_refusing(f"{prefix}.{name}", remedy))


def _refusing(name: str, remedy: str) -> Callable[..., Any]:
    def refused(*args, **kwargs):
        refuse(f"{name} of tracked values has no derivative here", remedy)

    return refused
