"""One traced program: what its arguments become, how it is run under a trace, and how its results are handed out."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bridge.arrays.buffer import Buffer, Scalar, WeakScalar
from bridge.engines.protocol import Settings
from bridge.errors import AliasError, ArgumentError, BridgeError, NoRuleError, RefusedError, TraceError
from bridge.rewind.interpreter import current_context
from bridge.rewind.lifetime import note_refusal
from bridge.rewind.values import describes, ground_floor, is_abstract
from bridge.source.programs import program
from bridge.source.staging.maybe import Maybe, check_error
from bridge.trees import leaves_of, paths_of, rebuilt
from bridge.xla.bounded.bounded import Bounded
from bridge.xla.captured import Captured
from bridge.xla.changes import say_what_is_asked_once, say_what_is_left
from bridge.xla.equations.simplified import simplified
from bridge.xla.equations.special_values import keeping
from bridge.xla.holders import classes_of
from bridge.xla.loops import flow
from bridge.xla.loops.trial_cache import mismatches_raised
from bridge.xla.lowering.lower import x64
from bridge.xla.outside import VALUES
from bridge.xla.signature import Dynamic, Signature, Static, in_memory
from bridge.xla.tracing.allowances import Allowances, Wishes
from bridge.xla.tracing.context import TraceContext
from bridge.xla.tracing.kernels import without_kernels

GIVEN: ContextVar[list[Any] | None] = ContextVar("bridge.xla.given", default=None)
"""The leaves of the arguments of the call that runs; None inside of a JAX program."""


@contextmanager
def given(leaves: list[Any]) -> Iterator[None]:
    """Inside, a call with these leaves runs."""
    token = GIVEN.set(leaves)
    try:
        yield
    finally:
        GIVEN.reset(token)


@contextmanager
def as_we_trace() -> Iterator[dict[str, str]]:
    """Inside, NumPy says nothing of numbers, and JAX looks for no leaks: outer frames know values of inner ones.

    Around it, JAX does look, and finds nothing that is kept. Gives what NumPy does about such numbers outside of it.
    """
    before: Any = np.geterr()
    with np.errstate(all="ignore"), jax.check_tracer_leaks(False):
        yield before


class Program:
    """One traced program: a function of JAX arrays, and what its inputs and results look like."""

    def __init__(
        self,
        function: Callable[..., Any],
        signature: Signature,
        settings: Settings,
        mends: bool,
        limits: dict[str, int] | None = None,
        in_kernels: bool = True,
    ) -> None:
        self.function = function
        self.in_kernels = in_kernels
        self.signature = signature
        self.settings = settings
        self.mends = mends
        self.limits = limits
        self.bounded_loops: dict[str, None] = {}
        # JAX traces it again for arrays that lie elsewhere, in whichever thread has them.
        self._tracing = threading.RLock()
        self.faults: Any = None
        self.structure: Any = None
        self.results: list[Any] = []
        self.left: tuple[str, ...] = ()
        self.asked: tuple[str, ...] = ()
        self.seconds: float | None = None
        # Whether loops look whether a signal has come.
        self.polls = False
        # Functions, classes and objects among the arguments are the same ones if their state has changed.
        static = [leaf.value for leaf in signature.leaves if isinstance(leaf, Static)]
        known = [value for value in static if not isinstance(value, VALUES)]
        known += classes_of(rebuilt(signature.structure, [_in_place_of_a_leaf] * len(signature.leaves)))
        self.captured = Captured(partial(function, *known) if known else function)
        self.shared: frozenset[tuple[int, int]] = frozenset()

    def shared_otherwise(self) -> str | None:
        """What is said if other arguments than when it was traced show memory of arrays that the program reads."""
        leaves = GIVEN.get()
        if leaves is None or self.captured.shared_with(leaves) == self.shared:
            return None
        return "which argument is an array that the program has under another name"

    def __call__(self, inputs: Any, values: list[Any]) -> tuple[list[Any], Any]:
        """The results that are traced; number and value of the first fault, and whether there was a NaN, if watched.

        In place of a NaN there may have been another number that only the program that mends computes with.
        """
        with self._tracing:
            if not self.in_kernels:
                return keeping(without_kernels(self._all))(inputs, values)
            bounded = self.settings.memory is not None
            run = simplified(
                self._all, bounded, tells=lambda: self.is_watched and not self.mends, polls=self._note_polls
            )
            return run(inputs, values)

    def _note_polls(self) -> None:
        self.polls = True

    def _all(self, inputs: Any, values: list[Any]) -> tuple[list[Any], Any]:
        plan: Wishes | None = None
        with self.captured.noting():
            while True:
                allowances = Allowances(self.settings.memory, plan)
                outputs, fault, nan = self._traced(inputs, values, allowances)
                plan = allowances.plan_for_another()
                if plan is None:
                    break
                self.captured.start_again()
        if not self.mends:
            say_what_is_left(dict.fromkeys((*self.left, *self.captured.left)))
            if not self.captured.changes:
                say_what_is_asked_once(self.asked)
        self.bounded_loops |= allowances.told
        self.shared = self.captured.shared_with(GIVEN.get() or ())
        if not self.is_watched:
            self.faults.close()
            return outputs, None
        self.faults.close()
        with x64():
            nan = nan & (self.faults.watches_nan and not self.mends)
            return outputs, jnp.append(fault, jnp.asarray(nan, fault.dtype))

    def _traced(self, inputs: Any, values: list[Any], allowances: Allowances) -> tuple[list[Any], Any, Any]:
        with x64(), as_we_trace() as errors:
            mode = self.settings.index_mode
            context = TraceContext(inputs[0], mode, self.mends, self.captured, flow, self.limits, allowances, inputs[1])
            context.errors = errors
            with context:
                context.faults.open()
                leaves = [
                    entered(context, leaf, is_array, contents)
                    for (leaf, is_array), contents in zip(self.inputs, values, strict=True)
                ]
                outputs = [context.read(ground_floor(leaf).place) for leaf in self.ran_on(leaves)]
                self.faults = context.faults
                if not self.mends:
                    context.length.warn()
            self.polls = self.polls or context.polls
            self.left, self.asked = tuple(context.left_behind), tuple(context.asked_once)
            return outputs, *context.faults.contents

    @property
    def is_watched(self) -> bool:
        """Whether it may have found out something when it ran."""
        return bool(self.faults.sites) or (self.faults.watches_nan and not self.mends)

    @property
    def inputs(self) -> list[tuple[Dynamic, bool]]:
        """The leaves that are inputs of the compiled program, and which of them are arrays."""
        both = zip(self.signature.leaves, self.signature.arrays, strict=True)
        return [(leaf, is_array) for leaf, is_array in both if isinstance(leaf, Dynamic) and leaf.same is None]

    def names_of_inputs(self) -> list[str]:
        """What the inputs are called: `args[0]`, `kwargs['x']`, and parts of these."""
        leaves = zip(self.signature.leaves, paths_of(self.signature.structure), strict=True)
        paths = [path for leaf, (path, _) in leaves if isinstance(leaf, Dynamic) and leaf.same is None]
        return [("args" if path.startswith("[0]") else "kwargs") + path[len("[0]") :] for path in paths]

    def ran_on(self, inputs: list[Any]) -> list[Any]:
        """Run the function on its inputs; the results that are traced, and a note of how to hand out all of them."""
        found = iter(inputs)
        leaves: list[Any] = []
        roots: dict[int, Any] = {}
        for number, leaf in enumerate(self.signature.leaves):
            if isinstance(leaf, Static):
                leaves.append(leaf.value)
            else:
                root = roots[number] = next(found) if leaf.same is None else roots[leaf.same]
                leaves.append(leaf.shown(root))
        args, kwargs = rebuilt(self.signature.structure, leaves)
        context = current_context()
        if context is not None:
            both = zip(GIVEN.get() or (), leaves, strict=False)
            context.originals = [(leaf, shown) for leaf, shown in both if isinstance(leaf, np.ndarray)]
        function = self.function if context is None else program(context, self.function, None)
        with _only_numpy(), mismatches_raised():
            results, structure = leaves_of(function(*args, **kwargs))
        if context is not None and context.home.trace.refused is not None:
            # The program has caught it, and gone on.
            raise context.home.trace.refused
        _check_results(results)
        self.structure = structure
        self.results = [_Traced(leaf) if is_abstract(leaf) else leaf for leaf in results]
        return [leaf for leaf in results if is_abstract(leaf)]

    def handed_out(self, outputs: list[Any], plain: bool = False) -> Any:
        """The function's result in its containers: JAX arrays, or NumPy's arrays and numbers if `plain`."""
        if len(outputs) == len(self.results):
            if plain:
                outputs = [result.plain(x) for result, x in zip(self.results, outputs, strict=True)]
            return rebuilt(self.structure, outputs)
        found = iter(outputs)
        leaves = []
        for result in self.results:
            if not isinstance(result, _Traced):
                leaves.append(result.copy() if isinstance(result, np.ndarray) else result)
            elif plain:
                leaves.append(result.plain(next(found)))
            else:
                leaves.append(next(found))
        return rebuilt(self.structure, leaves)


def entered(context: TraceContext, leaf: Dynamic, is_array: bool, contents: Any) -> Any:
    """What comes in for a leaf, as the traced program gets it."""
    contents = jnp.asarray(contents)
    if not is_array:
        return context.number(leaf.like_number(), contents)
    return context.entered(leaf.like(), contents)


def _note(error: BridgeError) -> None:
    """Take note of what cannot be compiled: a program that swallows that would be another one."""
    context = current_context()
    if context is not None and context.home.is_abstract and not context.is_walked:
        trace = context.home.trace
        trace.refused = trace.refused or error
    elif not isinstance(error, TraceError):
        note_refusal(error)


for _kind in (TraceError, RefusedError, NoRuleError, AliasError):
    _kind.noticed = staticmethod(_note)


def _check_results(results: list[Any]) -> None:
    """Raise if the shape of a result is known only when the program runs, or its text."""
    for one in results:
        if describes(one):
            raise TraceError(
                f"a compiled program returns the text {one!r}, in the place of one of a value that it computes",
                remedy="return the value, and write it as a text after the call",
            )
        if type(one) is Maybe:
            raise one.refused("may be unset where it is returned")
        if isinstance(one, Bounded):
            raise TraceError(
                f"a compiled program returns {one!r}: XLA's results have shapes that are known before",
                remedy="write it into an array of fixed shape, y[:len] = x[i:j], and return that with the length",
            )


@contextmanager
def _only_numpy() -> Iterator[None]:
    """Inside, JAX's errors about values that NumPy cannot have, or JAX not, name what to do."""
    try:
        yield
    except (jax.errors.TracerArrayConversionError, jax.errors.UnexpectedTracerError) as error:
        raise captured() from error
    except (NameError, AttributeError) as error:
        check_error(error)
        raise
    except TypeError as error:
        if isinstance(error, BridgeError) or not _met_in_jax(error):
            raise
        raise ArgumentError(
            "a compiled program gives one of its arrays to a function of JAX", remedy="write it with NumPy: np for jnp"
        ) from error


def _met_in_jax(error: BaseException) -> bool:
    """Whether an error came from a function of JAX that was given an array or a number of a traced program."""
    trace = error.__traceback__
    while trace is not None:
        frame, trace = trace.tb_frame, trace.tb_next
        if frame.f_globals.get("__name__", "").partition(".")[0] == "jax":
            for value in frame.f_locals.values():
                given = value if isinstance(value, (tuple, list)) else (value,)
                if any(isinstance(one, (Buffer, Scalar)) for one in given):
                    return True
    return False


def captured() -> ArgumentError:
    """The error of a program that uses a JAX value which nobody passed to it."""
    return ArgumentError(
        "a compiled program uses a JAX value that is not among its arguments: one of a transformation around it "
        "(jax.jit, jax.vmap, jax.grad), or what jax.numpy made inside of it",
        remedy="pass it as an argument, and write the program with NumPy",
    )


def _in_place_of_a_leaf() -> None:
    """What can stand anywhere: also where a function has to."""


class _Traced:
    """In the place of a result that the program computes."""

    def __init__(self, leaf: Any) -> None:
        self.is_array = hasattr(leaf, "view_as")
        self.is_weak = isinstance(leaf, WeakScalar)

    def plain(self, x: Any) -> Any:
        """The result as NumPy, or Python for its own numbers, would give it, in memory of its own."""
        found = in_memory(x)
        if self.is_weak:
            return found.item()
        return np.array(found) if self.is_array else found[()]
