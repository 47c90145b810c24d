"""`grad` and `value_and_grad`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, Unpack, overload

from bridge.engines import registry
from bridge.errors import ArgumentError, with_article
from bridge.options import Engine, IndexMode, Loops, Zeros
from bridge.rewind import strong_zeros
from bridge.rewind.context import Context
from bridge.rewind.diagnosis import Diagnosis
from bridge.rewind.lifetime import COLLECTING_RARELY
from bridge.source import looping
from bridge.source.programs import is_read, program, returned
from bridge.transforms.arguments import Arguments, handed_out, number
from bridge.transforms.chosen import Argnums, has_names
from bridge.transforms.kinds import of_numpy
from bridge.transforms.transformed import GradOptions, Transformed, configurable

P = ParamSpec("P")


@overload
def value_and_grad(
    f: Callable[P, Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    engine: Engine = "eager",
    zeros: Zeros = "strong",
    allow_int: bool = False,
    index_mode: IndexMode = "error",
    source: bool | None = None,
    memory: str | int | None = None,
    loops: Loops | None = None,
    debug: bool = False,
) -> Callable[P, tuple[Any, Any]]: ...
@overload
def value_and_grad(**options: Unpack[GradOptions]) -> Callable[[Callable[P, Any]], Callable[P, tuple[Any, Any]]]: ...
@configurable
def value_and_grad(
    f: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    engine: Engine = "eager",
    zeros: Zeros = "strong",
    allow_int: bool = False,
    index_mode: IndexMode = "error",
    source: bool | None = None,
    memory: str | int | None = None,
    loops: Loops | None = None,
    debug: bool = False,
) -> Callable[..., tuple[Any, Any]]:
    """A function that returns `f(*args)` and its gradient.

    Parameters
    ----------
    f : returns one real number; NumPy code that may write into its arguments and its own arrays. Without it, what is
        returned waits for it: `@bridge.value_and_grad(argnums=1)`.
    argnums : position or name, or a tuple of these, of the arguments to differentiate: float or complex arrays or
        numbers, or containers of them (tuples, lists, dicts, named tuples, what optree or JAX knows), or objects of
        your own classes that hold such (docs/objects.md).
    has_aux : `f` returns `(number, anything)`; the second is handed out with the value, untracked.
    engine : who supplies the pulls. "eager": the rule book, and for what it lacks Julia, if one is set up, and JAX.
        "native": the rule book alone. "julia": ChainRules and Zygote, for every operation. "jax": JAX, for every
        operation. "xla": the whole program, value and gradient, is compiled once for each signature (docs/xla.md).
        "auto": "eager" first, and compiled where that pays and can be done; `.explain()` says of which (docs/xla.md).
    zeros : "strong" or "ieee", what becomes of absent cotangents at non-finite partials (docs/conventions.md).
    allow_int : integer and boolean leaves get None instead of an error, as they always do in objects.
    index_mode : what a run-time index outside its array means under "xla" (see `bridge.xla`); elsewhere only "error".
    source : whether `f`, and the functions of the program that it calls, are read from their source, so that plain
        arrays that they write into, and objects that hold them, are followed (docs/your_program.md). None: yes, unless
        the environment variable BRIDGE_SOURCE is 0.
    memory : "2GB", "512MB", or a number of bytes: how much may be kept for the way back. Under "xla" that is of each
        program's loops; one that would keep more keeps snapshots, and is run again from these (see `bridge.xla`).
        Elsewhere it is of the log: arrays that only the log holds go to a temporary file, and loops in C are run again
        from snapshots (docs/transforms.md).
    loops : "auto": loops over numbers and slices that take long run in C, once a compiler has made code of them in the
        background. "c": from the beginning, and `RefusedError` says what does not fit. "python": never. None: what the
        environment variable BRIDGE_LOOPS says, else "auto" (docs/loops.md).
    debug : whether the backward pass is watched, operation by operation, which is slow: a `BridgeWarning` reports how
        much it amplifies cotangents, if that is 1e8 times or more, and which line contributes most. Engines "eager",
        "native", "jax" and "julia". A NaN in a gradient is reported without it.

    Returns
    -------
    Callable : of the arguments of `f`; the gradient has their containers, shapes and dtypes: ∂f/∂re + i·∂f/∂im for
        complex ones. The arguments keep their bits, also where `f` writes into them or raises.

    Raises
    ------
    ArgumentError, EscapeError, AliasError, NoRuleError, RuleError, ContextError : see `bridge.errors`.
    """
    looping.check(loops, engine, source)
    compiler = registry.compiler(engine, index_mode, memory)
    _check(debug, engine)
    if compiler is not None:
        return compiler.compiled(value_and_grad(f, argnums, has_aux, "eager", zeros, allow_int, source=source))
    direct = shortcut(f, "value_and_grad")
    reads, mode = is_read(source), looping.chosen(loops)

    def differentiated(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        if direct is not None and (type(argnums) is int or not has_names(argnums)):
            found = direct(args, kwargs, argnums, has_aux, allow_int)
            if found is not NotImplemented:
                return found
        with COLLECTING_RARELY, registry.context(engine, zeros, memory) as context:
            context.borrows_arguments = True
            arguments = Arguments(context, args, kwargs, argnums, allow_int, f)
            result = program(context, f, reads, mode)(*arguments.args, **arguments.kwargs)
            value, aux = with_aux(result, has_aux)
            value = number(value)
            tracked = belongs(context, value)
            out = (handed_out(value), handed_out(aux)) if has_aux else handed_out(value)
            gradients = (
                context.pull_back([(value.place, value.place.dtype.type(1))], arguments.places, once=True)
                if tracked
                else None
            )
            arguments.check_originals(rewound=tracked)
            returned(context, out, gradients)
            if gradients is None or not strong_zeros.may_be_born_inside(context, gradients):
                return out, arguments.in_containers(gradients)
        with strong_zeros.inner_sweeps_mend():
            return differentiated(*args, **kwargs)

    def watched(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        diagnosis = Diagnosis()
        with diagnosis.observing():
            found = differentiated(*args, **kwargs)
        diagnosis.warn_of_growth()
        return found

    options = argnums, has_aux, engine, zeros, allow_int, index_mode, source, memory, loops, debug
    return renamed(Transformed.of(watched if debug else differentiated, value_and_grad, f, *options))


@overload
def grad(
    f: Callable[P, Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    engine: Engine = "eager",
    zeros: Zeros = "strong",
    allow_int: bool = False,
    index_mode: IndexMode = "error",
    source: bool | None = None,
    memory: str | int | None = None,
    loops: Loops | None = None,
    debug: bool = False,
) -> Callable[P, Any]: ...
@overload
def grad(**options: Unpack[GradOptions]) -> Callable[[Callable[P, Any]], Callable[P, Any]]: ...
@configurable
def grad(
    f: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    engine: Engine = "eager",
    zeros: Zeros = "strong",
    allow_int: bool = False,
    index_mode: IndexMode = "error",
    source: bool | None = None,
    memory: str | int | None = None,
    loops: Loops | None = None,
    debug: bool = False,
) -> Callable[..., Any]:
    """A function that returns the gradient of `f`.

    Parameters
    ----------
    f : returns one real number; NumPy code that may write into its arguments and its own arrays. Without it, what is
        returned waits for it: `@bridge.grad(argnums=1)`.
    argnums : position or name, or a tuple of these, of the arguments to differentiate.
    has_aux : `f` returns `(number, anything)`, and the gradient comes with the second: `(gradient, aux)`.
    engine, zeros, allow_int, index_mode, source, memory, loops, debug : as in `value_and_grad`, which says more.

    Returns
    -------
    Callable : of the arguments of `f`; the gradient has the containers, shapes and dtypes of what is differentiated,
        and is a tuple where `argnums` is one. The arguments keep their bits.

    Raises
    ------
    ArgumentError : an argument that is asked for holds no floats.
    CotangentError : `f` returns something else than one real number.
    EscapeError, AliasError, NoRuleError, RuleError, ContextError : see `bridge.errors`.
    """
    looping.check(loops, engine, source)
    _check(debug, engine)
    compiler = registry.compiler(engine, index_mode, memory)
    if compiler is not None:
        return compiler.compiled(grad(f, argnums, has_aux, "eager", zeros, allow_int, source=source))
    both = value_and_grad(f, argnums, has_aux, engine, zeros, allow_int, index_mode, source, memory, loops, debug)

    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, gradients = both(*args, **kwargs)
        return (gradients, value[1]) if has_aux else gradients

    options = argnums, has_aux, engine, zeros, allow_int, index_mode, source, memory, loops, debug
    return renamed(Transformed.of(gradient, grad, f, *options))


def shortcut(f: Any, transform: str) -> Any:
    """What a function that knows its own derivatives offers for a transform; None for any other function.

    It returns NotImplemented where it leaves the arguments at hand to a context.
    """
    return getattr(getattr(f, "__bridge_derivatives__", None), transform, None)


def with_aux(result: Any, has_aux: bool) -> tuple[Any, Any]:
    """What a function returned, as value and aux."""
    result = of_numpy(result)
    if not has_aux:
        return result, None
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise ArgumentError(
            f"has_aux=True, and the function returned {with_article(type(result).__name__)}",
            remedy="return (value, aux)",
        )
    return result[0], result[1]


def belongs(context: Context, value: Any) -> bool:
    """Whether a value carries a derivative in this context."""
    place = getattr(value, "place", None)
    return place is not None and place.context is context and place.dtype.kind in "fc"


def renamed(made: Transformed) -> Transformed:
    """A transformed function with a name that says what it is."""
    f, transform = made.function, made.transform.__name__
    name = getattr(f, "__name__", type(f).__name__)
    made.__name__ = made.__qualname__ = f"{transform}({name})"
    made.__doc__ = f"{transform} of {name}.\n\n{getattr(f, '__doc__', None) or ''}"
    return made


def _check(debug: bool, engine: Engine) -> None:
    if debug and engine in ("auto", "xla"):
        raise ArgumentError(
            f"debug=True with engine={engine!r}, whose backward pass is compiled", remedy='use engine="native"'
        )
