"""`crosscheck`: one program under every engine, beside finite differences, and the operation to blame."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from bridge.engines import registry
from bridge.errors import AliasError, ArgumentError, choice
from bridge.options import Engine
from bridge.proof.generators import preserved
from bridge.proof.numerics.arrays import describe_call
from bridge.proof.numerics.tolerances import alike, check_tolerances
from bridge.proof.programs import jax_functions, julia_functions, numpy_programs
from bridge.proof.programs.evidence import Options, quiet
from bridge.proof.report.model import Report
from bridge.proof.subject import Subject, name_of
from bridge.random import held
from bridge.transforms.chosen import Argnums
from bridge.transforms.kinds import by_entries, is_sparse
from bridge.trees import leaves_of


def crosscheck(
    f: Callable[..., Any],
    engines: Engine | Sequence[Engine] | None = None,
    fd: bool = True,
    argnums: Argnums | None = None,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    twin: Callable[..., Any] | None = None,
    shrink: bool = True,
    seed: int = 0,
    seconds: float | None = None,
    progress: Callable[[str], None] = quiet,
) -> Callable[..., Report]:
    """A function that runs `f` under every engine and reports where, why and by whose fault answers differ.

    Parameters
    ----------
    f : a NumPy program as for `bridge.grad`, whose values may also be arrays or containers (they are contracted with a
        fixed random cotangent); a Julia function (`bridge.julia.function`); or a JAX function, with `twin`. Under an
        engine a NumPy program is read from its source, as transforms read it (docs/your_program.md); the plain runs and
        the differences run it as it is, so that what it keeps between calls must not change what it returns.
    engines : which of "native", "julia", "jax", "xla" and those registered from outside to run; a report is not ok
        unless each of them gives a gradient. None for all that are there, of which "native" must give one. Those that
        refuse, or are not there, are in the report, with why.
    fd : whether gradients are held against finite differences, and the complex step where the program is analytic.
    argnums : arguments to differentiate, by position or name; None for all that hold float or complex arrays.
    rtol, atol : what counts as equal; None for what the coarsest dtype allows.
    twin : the same program as NumPy code for a JAX function, as JAX function for a Julia function.
    shrink : whether a small input that still shows the first difference is looked for.
    seed : of the random cotangents and directions.
    seconds : after so long no other engine of a NumPy program begins, and its input is not made smaller; the report
        says what was left out. The first engine runs in any case, and what has begun ends. None: no limit.
    progress : is called with what begins ("finite differences", "xla", "the operation to blame", ...): `print` will do.

    Returns
    -------
    Callable : of the arguments of `f`, which it leaves, with the global generators, as they are; it returns a `Report`.
        Values are compared before gradients; a report is ok where no engine gives a wrong one, and each that was asked
        for has given one that was compared with another answer.

    Raises
    ------
    ArgumentError : nothing to differentiate, an engine that does not exist, or a tolerance that is no number.
    Exception : what `f` itself raises, if every engine raises it too.
    """
    known = registry.compared()
    names: tuple[str, ...] = (engines,) if isinstance(engines, str) else known if engines is None else tuple(engines)
    unknown = next((name for name in names if name not in known), None)
    if unknown is not None:
        raise ArgumentError(f"engines={names!r}", remedy=choice(unknown, known, "choose among"))
    check_tolerances(rtol=rtol, atol=atol)
    asked = ("native",) if engines is None else names
    options = Options(names, asked, fd, argnums, rtol, atol, twin, shrink, seed)

    def checked(*args: Any, **kwargs: Any) -> Report:
        report = Report(name_of(f), describe_call("", args, kwargs)[1:-1])
        limited = options if seconds is None else replace(options, until=perf_counter() + seconds)
        limited = replace(limited, progress=progress)
        before = [np.array(x) for x in _arrays(args, kwargs)]
        with preserved(f) as generators, held(), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            subject = Subject(f, args, kwargs, argnums, generators)
            if not subject.points:
                for leaf in filter(is_sparse, leaves_of((args, kwargs))[0]):  # their entries may be floats
                    raise by_entries(leaf, "an argument", "of which a gradient is asked")
                raise ArgumentError(
                    "crosscheck of a program without a float or complex argument",
                    remedy="pass float arrays, or name the arguments to differentiate with argnums",
                )
            report.differentiated, report.left_out = list(subject.labels), subject.left_out()
            _checker(f, twin)(report, subject, limited)
            if len(names) < len(known) and not hasattr(f, "differentiators"):
                report.remarks.append(f"not asked: {', '.join(name for name in known if name not in names)}")
        if not alike(before, _arrays(args, kwargs)):
            raise AliasError(
                f"{name_of(f)} wrote into a caller's array under a global or captured name while it was cross-checked",
                remedy="write into the argument under its own name, or pass a copy (x.copy())",
            )
        # One line for each, also of an error that has more.
        report.remarks = [" ".join(map(str.strip, text.splitlines())) for text in report.remarks]
        return report

    checked.__name__ = checked.__qualname__ = f"crosscheck({name_of(f)})"
    return checked


def _arrays(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[np.ndarray]:
    return [x for x in leaves_of((args, kwargs))[0] if type(x) is np.ndarray]


def _checker(f: Any, twin: Any) -> Callable[[Report, Subject, Options], None]:
    """Who checks this kind of function."""
    if hasattr(f, "differentiators"):
        return julia_functions.check
    return numpy_programs.check if twin is None else jax_functions.check
