"""`out=` of functions that are no elementwise ufuncs: the result is computed, and written into what was given.

Where that may differ from what NumPy does (another dtype or shape, memory that is an operand's, a function that stops
with an error), NumPy is asked: it runs on copies, and says what it raises, what the memory holds and what it returns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bridge.arrays.operands import context_of, into_plain
from bridge.code_position import here, resolve
from bridge.errors import RefusedError
from bridge.rewind.escapes import noted
from bridge.rewind.interrupted import silently
from bridge.rewind.memory import ArrayMemory, Strides, address, grounded, owner
from bridge.rewind.values import concrete, is_abstract, known
from bridge.rulebook.facts import parameters_of
from bridge.signatures import operation_name

IN_PARTS: dict[Any, Callable[..., None]] = {}
"""Functions that write part of `out=` after part: what does so, with `out` among its keywords."""

_RETURNS_NUMBER: dict[tuple[Any, bool], bool] = {}
"""Whether a function returns a number where the memory given has no axes; and that it takes memory with gaps."""


class Into:
    """A call with `out=`.

    Parameters
    ----------
    function : what is called.
    args, kwargs : its operands, without `out`.
    out : what it writes into, or a tuple of that, None where it makes an array.
    compute : makes the result, tracked, with further keywords.
    """

    __slots__ = ("args", "compute", "function", "kwargs", "out", "targets")

    def __init__(self, function: Any, args: Any, kwargs: dict[str, Any], out: Any, compute: Callable[..., Any]) -> None:
        self.function = function
        self.args = args
        self.kwargs = kwargs
        self.out = out
        self.targets = out if type(out) is tuple else (out,)
        self.compute = compute

    def run(self) -> Any:
        """Compute and write; returns what NumPy returns."""
        try:
            results = _listed(self.compute())
        except (FloatingPointError, Warning) as complaint:
            self._after(complaint)
            raise
        key = self.function, any(grounded(x).shape == () for x in self.targets if x is not None)
        is_number = _RETURNS_NUMBER.get(key, False)
        found: tuple[Any, ...] | None = results
        if self._is_odd(results) or (key not in _RETURNS_NUMBER and self._is_special()):
            asked = Asked(self)
            found = self._as_asked(asked, results)
            is_number = asked.is_number
            if not asked.shares:
                _RETURNS_NUMBER[key] = is_number
        written = self.targets if found is None else self._written(found)
        if is_number:
            return written[0][()]
        return written if len(written) > 1 else written[0]

    def _written(self, results: tuple[Any, ...]) -> tuple[Any, ...]:
        context = context_of((*self.args, *self.kwargs.values(), *results, *self.targets))
        return tuple(
            result if target is None else store(context, self.function, target, result)
            for target, result in zip(self.targets, results, strict=True)
        )

    def _is_special(self) -> bool:
        """Whether memory has no axes, or gaps: not every function takes such, or returns it."""
        grounds = [grounded(x) for x in self.targets if x is not None]
        return any(not (x.shape and x.flags.c_contiguous) for x in grounds)

    def _is_odd(self, results: tuple[Any, ...]) -> bool:
        """Whether NumPy may do something else than to write the results into what was given."""
        for result, target in zip(results, self.targets, strict=True):
            if target is None:
                continue
            ours, theirs = grounded(target), grounded(result)
            if theirs.shape != ours.shape or theirs.dtype != ours.dtype or not ours.flags.writeable:
                return True
            if any(np.may_share_memory(ours, x) for x in _arrays_in((self.args, tuple(self.kwargs.values())))):
                return True
        return False

    def _as_asked(self, asked: Asked, results: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """Results that are what NumPy writes; None if they have been written."""
        if asked.holds():
            return results
        in_parts = IN_PARTS.get(self.function)
        if in_parts is not None and hasattr(self.out, "place") and asked.runs(in_parts):
            in_parts(*self.args, **self.kwargs, out=self.out)
            return None
        dtype = None if self.out is None or type(self.out) is tuple else grounded(self.out).dtype
        takes_dtype = dtype is not None and "dtype" in _keywords(self.function) and self.kwargs.get("dtype") is None
        if takes_dtype and asked.holds(dtype=dtype):
            return _listed(self.compute(dtype=dtype))
        if not asked.shares and asked.holds(nearly=True):
            return results
        shape = grounded(next(x for x in self.targets if x is not None)).shape
        raise noted(
            next(x for x in (*self.args, *self.targets) if hasattr(x, "place")),
            RefusedError(
                f"{operation_name(self.function)} with out= of shape {shape}"
                + (
                    ", in memory that it reads: NumPy reads elements that it has just overwritten"
                    if asked.shares
                    else f" and dtype {dtype}, in which NumPy computes other numbers"
                ),
                where=resolve(here()),
                remedy="leave out= away and write the result: y[...] = f(x)",
            ),
        )

    def _after(self, complaint: Exception) -> None:
        """NumPy's error has come while it computed: write what NumPy has written before it raised."""
        asked = Asked(self, complaint)
        if asked.is_untouched():
            return
        with silently():
            if asked.holds():
                self._written(_listed(self.compute()))
                return
        tracked = next(x for x in (*self.args, *self.targets) if hasattr(x, "place"))
        raise noted(
            tracked,
            RefusedError(
                f"{operation_name(self.function)} with out= raised {type(complaint).__name__} when NumPy had written "
                "some of it",
                where=resolve(here()),
                remedy="leave out= away and write the result: y[...] = f(x)",
            ),
        ) from complaint


class Asked:
    """What NumPy does in a call with `out=`, on copies of the memory that it writes."""

    def __init__(self, call: Into, complaint: Exception | None = None) -> None:
        self.call = call
        grounds = [grounded(x) for x in call.targets if x is not None]
        self.is_made_up = any(is_abstract(x) for x in _tracked_in((call.args, call.targets)))
        self.shares = any(np.may_share_memory(x, y) for x in grounds for y in _arrays_in((call.args,)))
        self.memories = {id(memory): memory for memory in map(owner, grounds)}
        self.is_number = False
        # What fits by chance with some numbers, of which two may be equal, does not with all of them.
        count = 8 if self.is_made_up else 4 if self.shares and complaint is None else 1
        self.written = [self._run(seed, complaint) for seed in range(count)]

    def _run(self, seed: int, complaint: Exception | None) -> Any:
        args, kwargs, out = self._copies(seed)
        if complaint is None:
            with silently():
                returned = self.call.function(*args, **kwargs, out=out)
            self.is_number = not isinstance(returned, (np.ndarray, tuple))
        else:
            try:
                self.call.function(*args, **kwargs, out=out)
            except type(complaint):
                pass
        return out

    def _copies(self, seed: int) -> tuple[Any, dict[str, Any], Any]:
        """Operands and memory, as they were before the call; what lies together still does."""
        copies = {key: self._filled(np.array(memory, subok=False), seed) for key, memory in self.memories.items()}

        def copied(x: Any) -> Any:
            if type(x) in (list, tuple):
                return type(x)(map(copied, x))
            ground = grounded(x)
            if not isinstance(ground, np.ndarray):
                return ground
            memory = owner(ground)
            if id(memory) in copies:
                like = Strides(ground.shape, ground.strides, ground.dtype)
                view = ArrayMemory().view(copies[id(memory)], address(ground) - address(memory), like)
                if not ground.flags.writeable:
                    view.flags.writeable = False
                return view
            if not is_abstract(x):
                return ground
            found = known(x)
            return self._filled(np.array(ground, subok=False), seed) if found is None else found

        args, out = copied(self.call.args), copied(self.call.out)
        return args, {name: copied(x) for name, x in self.call.kwargs.items()}, out

    def _filled(self, memory: np.ndarray, seed: int) -> np.ndarray:
        """Made-up numbers, in every run but the first, and in all where those that are there are not known."""
        if (self.is_made_up or seed) and memory.dtype.kind in "fc":
            memory[...] = np.random.default_rng(seed).uniform(-4.0, 7.0, memory.shape)
        return memory

    def holds(self, nearly: bool = False, **more: Any) -> bool:
        """Whether NumPy has written what the function returns without `out`, or `nearly`: in another order of rounding.

        `more` are further keywords.
        """
        for seed, written in enumerate(self.written):
            args, kwargs, _ = self._copies(seed)
            with silently():
                results = self.call.function(*args, **{**kwargs, **more})
            if not _are_cast(written, results, nearly):
                return False
        return True

    def is_untouched(self) -> bool:
        """Whether NumPy has written nothing."""
        return all(_are_cast(written, self._copies(seed)[2]) for seed, written in enumerate(self.written))

    def runs(self, in_parts: Callable[..., None]) -> bool:
        """Whether `in_parts` writes what NumPy has written."""
        for seed, written in enumerate(self.written):
            args, kwargs, out = self._copies(seed)
            with silently():
                in_parts(*args, **kwargs, out=out)
            if not _are_cast(written, out):
                return False
        return True


def _are_cast(targets: Any, results: Any, nearly: bool = False) -> bool:
    pairs = zip(_listed(targets), _listed(results), strict=True)
    return all(target is None or _is_cast(target, result, nearly) for target, result in pairs)


def _is_cast(target: np.ndarray, result: Any, nearly: bool) -> bool:
    with silently():
        cast = np.asarray(result).astype(target.dtype)
    if cast.ndim > target.ndim and cast.size == target.size:
        cast = cast.reshape(target.shape)
    cast = np.broadcast_to(cast, target.shape)
    if target.dtype.kind not in "fc":
        return bool(np.array_equal(cast, target))
    if nearly:
        few = 8 * float(np.finfo(np.result_type(result, 1.0)).eps)
        return bool(np.allclose(cast, target, few, few, equal_nan=True))
    return bool(np.array_equal(cast, target, equal_nan=True))


def _listed(results: Any) -> tuple[Any, ...]:
    return tuple(results) if isinstance(results, tuple) else (results,)


def _keywords(function: Any) -> tuple[str, ...]:
    owned = getattr(function, "__self__", None)
    return ("dtype",) if isinstance(owned, np.ufunc) else parameters_of(function)


def _tracked_in(nested: Any) -> list[Any]:
    if type(nested) in (list, tuple):
        return [x for part in nested for x in _tracked_in(part)]
    return [nested] if hasattr(nested, "place") else []


def _arrays_in(nested: Any) -> list[np.ndarray]:
    if type(nested) in (list, tuple):
        return [x for part in nested for x in _arrays_in(part)]
    ground = grounded(nested)
    return [ground] if isinstance(ground, np.ndarray) else []


def store(context: Any, function: Any, target: Any, result: Any) -> Any:
    """Write a result into `out=`, and return what was written into."""
    if np.dtype(target.dtype).kind not in "fc" and getattr(result, "dtype", target.dtype).kind == "f":
        # Memory of integers carries no gradient.
        with silently():
            result = result.astype(target.dtype)
    own = target if hasattr(target, "place") else into_plain(context, function, (result,), target)
    own[...] = result if hasattr(own, "place") else concrete(result, "a write into a plain array")
    return own
