"""What a compiled program finds out while it runs: indices that lie outside, matrices, and gradients that hold NaNs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from bridge.code_position import Position, here, resolve
from bridge.rewind.tape import NOT_RECORDED, OPEN, recorded_in
from bridge.rulebook.facts import facts_of, parameters_of
from bridge.xla.lowering.calls import operand
from bridge.xla.regions.advanced import out_of_range
from bridge.xla.regions.affine import Affine
from bridge.xla.regions.region import Region
from bridge.xla.tracing.cells import Tracing
from bridge.xla.tracing.outlines import Outline
from bridge.xla.tracing.sites import (
    _MANY,
    FIRST_LIMIT,
    CaughtSite,
    EmptySite,
    ExponentSite,
    FitSite,
    IndexSite,
    LengthSite,
    LimitSite,
    MatrixSite,
    NegativeSite,
    NumberSite,
    RaiseSite,
    ReplaySite,
    Site,
    SliceSite,
    SpanSite,
    TurnsSite,
    WeightsSite,
    WideSite,
    slices_at,
)


def _on_tape(check: Callable[..., None]) -> Callable[..., None]:
    """A check that the program asks for, as an entry of its own of a tape."""

    def again(context: Any, *args: Any) -> None:
        checked(context.faults, *args)

    @wraps(check)
    def checked(self: Faults, *args: Any) -> None:
        if not OPEN or recorded_in(self.context, again, *args) is NOT_RECORDED:
            check(self, *args)

    return checked


class Faults:
    """Two cells of the program: which site saw an index outside first, and whether a gradient held a NaN."""

    def __init__(self, context: Tracing) -> None:
        self.context = context
        self.sites: list[Site] = []
        self.cells: tuple[Any, ...] = ()
        self.watches_nan = False
        self.is_cut = False
        self.slices: dict[Affine, dict[Position, None]] = {}

    def open(self) -> None:
        """Make the cells; called once the context is entered."""
        make = self.context.constant_buffer
        self.cells = (make(np.zeros(2, np.int64)).place, make(np.zeros((), bool)).place)

    def close(self) -> None:
        """Keep the sites only: what was traced is JAX's, and is not to be kept by whoever keeps the program."""
        del self.context
        self.slices = {}
        self.cells = ()

    @property
    def contents(self) -> tuple[Any, Any]:
        """What the program returns beside its results."""
        fault, nan = self.cells
        return fault.contents, nan.contents

    def check(self, region: Region) -> None:
        """Look at the starts of a region that may lie outside."""
        if self.context.index_mode != "error" or not region.dynamic:
            return
        if self.context.is_dry:
            self._expect(region.checks())
            return
        for check in region.checks():
            position, low, high = here(), check.low, check.high
            site = IndexSite(position, low, high, from_end=check.from_end)
            if check.is_slice and self.context.parts:
                lines = dict.fromkeys(map(str, map(resolve, self.slices.get(check.value, [position]))))
                site = SliceSite(position, low, high, from_end=check.from_end, lines=tuple(lines))
            self._note(check.fails(), site, check.value.value())

    def check_gather(self, key: Any, shape: tuple[int, ...]) -> None:
        """Look at the indices of a gather or scatter."""
        if self.context.index_mode != "error":
            return
        if self.context.is_dry:
            self._expect(True)
            return
        outside = out_of_range(key, shape)
        if outside is not None:
            self._note(outside, IndexSite(here(), -max(shape, default=0), max(shape, default=1) - 1, is_one=False))

    @_on_tape
    def check_limit(self, limit: int, wants_more: Any) -> None:
        """Look whether a loop that has reached its limit wants to go on."""
        if self.context.is_dry:
            self._expect(True)
            return
        self._note(self.context.truth(wants_more), LimitSite(here(), limit))

    def cuts_slices(self, start: Affine) -> bool:
        """Whether slices of the line that runs may reach beyond their arrays, as a run has shown.

        The line is kept by where they start: a slice is read elsewhere, perhaps.
        """
        if self.is_cut:
            return False
        position, limits = here(), self.context.limits
        self.slices.setdefault(start, {})[position] = None
        return bool(limits) and slices_at(str(resolve(position))) in limits

    @contextmanager
    def cut(self) -> Iterator[None]:
        """Slices inside of this have been cut to their arrays."""
        before, self.is_cut = self.is_cut, True
        try:
            yield
        finally:
            self.is_cut = before

    def limit(self) -> int:
        """How many turns a loop may make here whose length nobody knows."""
        return self.context.limits.get(str(resolve(here())), FIRST_LIMIT)

    @_on_tape
    def check_turns(self, limit: int, wants_more: Any, count: Affine) -> None:
        """Look whether a loop whose length nobody knows makes more turns than that; `count` is how many it makes."""
        if self.context.is_dry:
            self._expect(True)
            return
        self._note(self.context.truth(wants_more), TurnsSite(here(), limit), count.value())

    @_on_tape
    def check_lengths(self, length: Affine, wanted: Affine, repeats: tuple[bool, bool]) -> None:
        """Look whether two lengths go together: they are equal, or one that may be repeated is 1."""
        if self.context.is_dry:
            self._expect(True)
            return
        a, b = (jnp.asarray(one.value()) for one in (length, wanted))
        wrong = a != b
        for one, repeated in zip((a, b), repeats, strict=True):
            wrong = wrong & (one != 1) if repeated else wrong
        self._note(wrong, LengthSite(here()), a * _MANY + b)

    @_on_tape
    def check_place(self, counted: Affine, length: Affine, index: Affine, most: int) -> None:
        """Look at an index of an axis with this length, which is at `most` so many."""
        if self.context.index_mode != "error" or self.context.is_dry:
            self._expect(self.context.index_mode == "error")
            return
        value = jnp.asarray(counted.value())
        wrong = (value < 0) | (value >= jnp.asarray(length.value()))
        self._note(wrong, IndexSite(here(), -most, most - 1), index.value())

    @_on_tape
    def check_places(self, wrong: Any, most: int) -> None:
        """Look whether indices of an axis of at `most` so many places were wrong."""
        if self.context.index_mode != "error" or self.context.is_dry:
            self._expect(self.context.index_mode == "error")
            return
        self._note(self.context.truth(wrong), IndexSite(here(), -most, most - 1, is_one=False))

    @_on_tape
    def check_not_negative(self, length: Affine) -> None:
        """Look at the length of an array that is made."""
        if self.context.is_dry:
            self._expect(True)
            return
        value = jnp.asarray(length.value())
        self._note(value < 0, NegativeSite(here()), value)

    @_on_tape
    def check_empty(self, length: Affine, function: Any) -> None:
        """Look whether an axis has no places, for a function that needs some."""
        if self.context.is_dry:
            self._expect(True)
            return
        self._note(jnp.asarray(length.value()) == 0, EmptySite(here(), function))

    def check_replay(self, before: Any, now: Any, name: str, position: Position) -> None:
        """Look whether a checkpointed call has read other numbers when it was run again."""
        same = jnp.shape(before) == jnp.shape(now) and jnp.array_equal(before, now, equal_nan=True)
        self._note(~jnp.asarray(same), ReplaySite(position, name))

    @_on_tape
    def check_raises(self, test: Any, raised: BaseException) -> None:
        """Look whether the program takes a side of a branch that raises."""
        if self.context.is_dry:
            self._expect(True)
            return
        is_taken = self.context.truth(test)
        self._note(is_taken, RaiseSite(here(), raised))

    def check_exact(self, is_wide: Any) -> None:
        """Look whether one of Python's integers needs more than 64 bits."""
        if self.context.is_dry:
            self._expect(True)
            return
        self._note(jnp.asarray(is_wide), WideSite(here()))

    @_on_tape
    def check_whole(self, is_none: Any) -> None:
        """Look whether a float that is made one of Python's integers is none of 64 bits."""
        self.check_exact(False if self.context.is_dry else self.context.truth(is_none))

    def check_operator(self, error: ArithmeticError | ValueError, fails: Callable[[], Any]) -> None:
        """Raise `error` from the compiled call if `fails()` is true in the run: an operator of Python's numbers."""
        if self.context.is_dry:
            self._expect(True)
            return
        self._note(fails(), NumberSite(here(), error))

    @_on_tape
    def check_number(self, error: ArithmeticError | ValueError, test: Any) -> None:
        """Raise `error` from the compiled call if `test` is true in the run: a function of Python's numbers."""
        self.check_operator(error, lambda: self.context.truth(test))

    def check_fits(self, number: Any, dtype: np.dtype[Any]) -> None:
        """Look whether one of Python's numbers is one of an integer dtype, where NumPy raises."""
        if self.context.is_dry:
            self._expect(True)
            return
        limits = np.iinfo(dtype)
        number = jnp.asarray(number)
        if number.dtype.kind == "f":
            whole = jnp.trunc(number)
            inside = (whole >= float(limits.min)) & (whole < float(limits.max + 1))
        elif number.dtype == np.uint64:
            inside = number <= limits.max
        else:
            number = lax.convert_element_type(number, np.int64)
            inside = (number >= limits.min) & (number <= min(limits.max, _LARGEST))
        self._note(~inside, FitSite(here(), np.dtype(dtype)), number)

    def check_exponents(self, exponents: Any) -> None:
        """Look at the exponents of integers, none of which may be negative."""
        if self.context.is_dry:
            self._expect(True)
            return
        least = jnp.min(jnp.asarray(exponents), initial=0)
        self._note(least < 0, ExponentSite(here()), least)

    def check_matrix(self, function: Any, operands: Any, found: Any) -> None:
        """Look whether a matrix was singular, or not positive definite, where NumPy raises."""
        if not facts_of(function).fails_on:
            return
        if self.context.is_dry:
            self._expect(True)
            return
        arrays = [x for x in (*operands, found) if hasattr(x, "dtype") and x.dtype.kind in "fc"]
        *given, result = [is_finite(x) for x in arrays]
        self._note(~result & jnp.all(jnp.stack(given)), MatrixSite(here(), function))

    def check_weights(self, function: Any, operands: Any, named: Any) -> None:
        """Look whether the weights of a mean sum to zero, or one is negative, where NumPy raises."""
        facts = facts_of(function)
        if not facts.weights:
            return
        given = dict(zip(parameters_of(function), operands, strict=False)) | named
        weights = {name: operand(given[name]) for name in facts.weights if given.get(name) is not None}
        if not weights:
            return
        if self.context.is_dry:
            self._expect(True)
            return
        for name in weights.keys() & set(facts.not_negative):
            self._note(jnp.any(weights[name] < 0), WeightsSite(here(), function, name))
        product = math.prod(map(jnp.asarray, weights.values()))
        whole = operand(given[parameters_of(function)[0]])
        axis = given.get("axis") if jnp.shape(product) == jnp.shape(whole) else None
        self._note(jnp.any(jnp.sum(product, axis) == 0), WeightsSite(here(), function))

    def check_span(self, function: Any, operands: Any, named: Any) -> None:
        """Look whether data have a range, for a function that counts in equal parts of it."""
        spans = facts_of(function).spans
        if not spans:
            return
        given = dict(zip(parameters_of(function), operands, strict=False)) | named
        data = given[spans]
        if given.get("range") is not None or np.ndim(given.get("bins", 10)) or not np.size(data):
            return
        if self.context.is_dry:
            self._expect(True)
            return
        data = jnp.asarray(operand(data))
        if data.dtype.kind == "f":
            self._note(~jnp.isfinite(jnp.max(data) - jnp.min(data)), SpanSite(here(), function))

    def _tell_recorder(self) -> None:
        """Let a recorder know of a check that no operation makes."""
        if self.context.recorder is not None:
            self.context.recorder.unrecorded("a check")

    def _expect(self, something: Any) -> None:
        """In a dry run: there may be something to note when the body runs."""
        self._tell_recorder()
        if something:
            (fault, _) = self.cells
            fault.contents = Outline(fault.shape, fault.dtype)

    def _note(self, outside: Any, site: Site, value: Any = 0) -> None:
        """Remember the site, and the value found there, where it is the first at which something is `outside`."""
        self._tell_recorder()
        self.sites.append(CaughtSite(site.position, site) if self.context.tries else site)
        (fault, _) = self.cells
        found = jnp.stack([jnp.int64(len(self.sites)), lax.convert_element_type(value, np.int64)])
        before = fault.contents
        fault.contents = jnp.where(outside & (before[0] == 0), found, before)

    @_on_tape
    def note_nan(self, gradient: Any) -> None:
        """Remember whether a gradient, a value of the outermost context, holds a NaN."""
        self.watches_nan = True
        nan = self.cells[1]
        if self.context.is_dry:
            nan.contents = Outline(nan.shape, nan.dtype)
            return
        nan.contents = nan.contents | jax.jit(holds_nan)(jnp.asarray(self.context.read(gradient.place)))

    def raise_if_any(self, fault: Any) -> None:
        """Raise the error of the first site at which the program that has run found a fault."""
        number, value = (int(part) for part in np.asarray(fault))
        if number:
            raise self.sites[number - 1].error(value)


def is_finite(x: Any) -> Any:
    """Whether all elements of an array are finite: a sum, which XLA has ready where a search had to be compiled."""
    return jnp.isfinite(jnp.sum(x - x))


def holds_nan(gradient: Any) -> Any:
    """Whether an array holds a NaN; jitted by itself, so that `equations/watches.py` finds it.

    A sum is NaN where an element is; that of both infinities is a false alarm, which costs a second run.
    """
    return jnp.isnan(jnp.sum(gradient))


_LARGEST = (1 << 63) - 1
