"""Integers known only at run time, as linear forms: `s` and `s + 3` are known to lie 3 apart."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

Bound = int | None
"""A static bound of a run-time integer, inclusive; None if nothing is known."""

_serials = itertools.count()


def serial_of_now() -> int:
    """A serial number for an integer that is there from now on, and may be asked for as a linear form later."""
    return next(_serials)


class Between(NamedTuple):
    """Other integers that say more of one than static bounds do.

    `least` are not above it, `most` not below; if it is `one_of` them, it is the greatest of `least`, or the least of
    `most`, whichever there are.
    """

    least: tuple[Affine, ...] = ()
    most: tuple[Affine, ...] = ()
    one_of: bool = False


class Atom:
    """An integer known only at run time, compared by identity.

    Parameters
    ----------
    value : integer scalar of JAX.
    low, high : static bounds, inclusive, where they are known.
    between : what else is known of it.
    serial : since when it is there; now, if None.
    """

    __slots__ = ("_value", "between", "high", "low", "serial", "wrapped")

    def __init__(
        self,
        value: Any,
        low: Bound = None,
        high: Bound = None,
        between: Between | None = None,
        serial: int | None = None,
    ) -> None:
        self._value, self.low, self.high, self.between = value, low, high, between
        self.serial = next(_serials) if serial is None else serial
        self.wrapped: dict[tuple[Affine, int], Atom] = {}

    @property
    def value(self) -> Any:
        """The integer, in JAX's default integer dtype; the largest of these for what is larger."""
        value = jnp.asarray(self._value) if not isinstance(self._value, jax.Array) else self._value
        if value.dtype == np.int64 and not value.weak_type:
            return value
        return jnp.minimum(value, np.iinfo(np.int64).max).astype(int) if value.dtype == np.uint64 else value.astype(int)

    def __repr__(self) -> str:
        return f"n{self.serial}"


class Wrapped(Atom):
    """A run-time index of an axis, counted from the end where it is negative.

    Computed anew at each use: a loop body's tracer must not outlive the body.
    """

    __slots__ = ("index", "length")

    def __init__(self, index: Affine, length: int) -> None:
        low, high = index.bounds()
        known = low is not None and high is not None and -length <= low and high < length
        super().__init__(None, 0 if known else None, length - 1 if known else None)
        self.index, self.length = index, length

    @property
    def value(self) -> Any:
        value = self.index.value()
        return lax.select(value < 0, value + self.length, value)


class _Same(NamedTuple):
    """An atom from before a tape."""

    atom: Atom

    def value(self, values: Any) -> Affine:
        """Itself."""
        return Affine(0, ((self.atom, 1),))


class WrappedOperand(NamedTuple):
    """An index counted from the end where it is negative, as an operand of a tape."""

    counted: Linear
    length: int

    def value(self, values: Any) -> Affine:
        """The index in a replay."""
        return self.counted.value(values).wrapped(self.length)


class Linear(NamedTuple):
    """A linear form as an operand of a tape."""

    constant: int
    terms: tuple[tuple[Any, int], ...]

    def value(self, values: Any) -> Affine:
        """The form in a replay."""
        form = Affine(self.constant)
        for operand, coefficient in self.terms:
            found = operand.value(values)
            form = (
                form
                + (found if isinstance(found, Affine) else found.place.context.home.trace.form(found)) * coefficient
            )
        return form


@dataclass(frozen=True)
class Affine:
    """A constant plus integer multiples of atoms; immutable, compared by content.

    `terms` holds pairs of an atom and its coefficient, none of them 0, in the atoms' order of birth.
    """

    constant: int
    terms: tuple[tuple[Atom, int], ...] = field(default=())

    @staticmethod
    def of(x: Any) -> Affine:
        """`x` as a linear form; TypeError if it is neither an integer nor one already."""
        if isinstance(x, Affine):
            return x
        if isinstance(x, (int, np.integer)) and not isinstance(x, (bool, np.bool_)):
            return Affine(int(x))
        raise TypeError(f"{x!r} is neither an integer nor an Affine")

    @staticmethod
    def unknown(
        value: Any,
        low: Bound = None,
        high: Bound = None,
        between: Between | None = None,
        serial: int | None = None,
    ) -> Affine:
        """A fresh atom with this run-time value, as a linear form."""
        return Affine(0, ((Atom(value, low, high, between, serial), 1),))

    def __add__(self, other: Any) -> Affine:
        try:
            other = Affine.of(other)
        except TypeError:
            return NotImplemented
        if not other.terms:
            return Affine(self.constant + other.constant, self.terms)
        total = dict(self.terms)
        for atom, coefficient in other.terms:
            total[atom] = total.get(atom, 0) + coefficient
        return Affine(self.constant + other.constant, _ordered(total))

    __radd__ = __add__

    def __neg__(self) -> Affine:
        return self * -1

    def __sub__(self, other: Any) -> Affine:
        return NotImplemented if not _is_linear(other) else self + -Affine.of(other)

    def __rsub__(self, other: Any) -> Affine:
        return NotImplemented if not _is_linear(other) else Affine.of(other) + -self

    def __mul__(self, factor: Any) -> Affine:
        if isinstance(factor, Affine) and not factor.terms:
            factor = factor.constant
        if isinstance(factor, (bool, np.bool_)) or not isinstance(factor, (int, np.integer)):
            return NotImplemented
        factor = int(factor)
        return Affine(self.constant * factor, tuple((atom, k * factor) for atom, k in self.terms) if factor else ())

    __rmul__ = __mul__

    def as_operand(self, recorder: Any) -> Linear:
        """The form as an operand of a tape: with the numbers that its atoms are there."""
        terms: list[tuple[Any, int]] = []
        for atom, coefficient in self.terms:
            if isinstance(atom, Wrapped):
                terms.append((WrappedOperand(atom.index.as_operand(recorder), atom.length), coefficient))
            else:
                terms.append((recorder.atom(atom) or _Same(atom), coefficient))
        return Linear(self.constant, tuple(terms))

    def grounds(self) -> Iterator[Atom]:
        """The atoms that it follows from: of an index counted from the end, those of the index as it was given.

        Such an atom is made where it is first needed, be that inside of a loop's body or before it.
        """
        for atom, _ in self.terms:
            yield from atom.index.grounds() if isinstance(atom, Wrapped) else (atom,)

    @property
    def youngest(self) -> int:
        """The serial number of the youngest integer in it."""
        return max([atom.serial for atom, _ in self.terms], default=-1)

    @property
    def is_constant(self) -> bool:
        return not self.terms

    def value(self) -> Any:
        """The integer: Python's if it is constant, else a scalar in JAX's default integer dtype."""
        if not self.terms:
            return self.constant
        total: Any = None
        for atom, coefficient in self.terms:
            part = atom.value if coefficient == 1 else lax.mul(atom.value, np.int64(coefficient))
            total = part if total is None else lax.add(total, part)
        return lax.add(total, np.int64(self.constant)) if self.constant else total

    def bounds(self, depth: int = 3) -> tuple[Bound, Bound]:
        """Static bounds, inclusive; None where nothing is known.

        They are those of the atoms, and those of the forms in which an atom is replaced by what it lies between; these
        are looked at `depth` times one after the other.
        """
        low: Bound = self.constant
        high: Bound = self.constant
        for atom, coefficient in self.terms:
            ends = (atom.low, atom.high) if coefficient > 0 else (atom.high, atom.low)
            low = None if low is None or ends[0] is None else low + coefficient * ends[0]
            high = None if high is None or ends[1] is None else high + coefficient * ends[1]
        for atom, coefficient in self.terms if depth else ():
            if atom.between is not None:
                least, most = self._bounds_between(atom, coefficient, atom.between, depth - 1)
                low = least if low is None or (least is not None and least > low) else low
                high = most if high is None or (most is not None and most < high) else high
        return low, high

    def _bounds_between(self, atom: Atom, coefficient: int, between: Between, depth: int) -> tuple[Bound, Bound]:
        """Bounds by what one of the atoms lies between."""
        rest = self - Affine(0, ((atom, coefficient),))
        below, above = (
            [(rest + form * coefficient).bounds(depth) for form in forms]
            for forms in (between[:2] if coefficient > 0 else between[1::-1])
        )
        lows, highs = [low for low, _ in below], [high for _, high in above]
        low = max((one for one in lows if one is not None), default=None)
        high = min((one for one in highs if one is not None), default=None)
        if between.one_of and above and not below:
            low = _least([one for one, _ in above])
        if between.one_of and below and not above:
            high = _most([one for _, one in below])
        return low, high

    def is_within(self, low: int, high: int) -> bool:
        """Whether the bounds prove that the integer lies in [low, high]."""
        least, most = self.bounds()
        return least is not None and most is not None and low <= least and most <= high

    def wrapped(self, length: int) -> Affine:
        """The same index of an axis, counted from the end where it is negative, as NumPy does."""
        low, high = self.bounds()
        if low is not None and low >= 0:
            return self
        if high is not None and high < 0:
            return self + length
        memo = self.terms[0][0].wrapped
        atom = memo.get((self, length))
        if atom is None:
            atom = memo[self, length] = Wrapped(self, length)
        return Affine(0, ((atom, 1),))


def difference(a: Any, b: Any) -> int | None:
    """`a - b`, if it is known now; None if it depends on the run."""
    apart = Affine.of(a) - Affine.of(b)
    return apart.constant if apart.is_constant else None


def _least(bounds: list[Bound]) -> Bound:
    return None if None in bounds else min(bounds)  # type: ignore[type-var]


def _most(bounds: list[Bound]) -> Bound:
    return None if None in bounds else max(bounds)  # type: ignore[type-var]


def _ordered(total: dict[Atom, int]) -> tuple[tuple[Atom, int], ...]:
    return tuple(sorted(((atom, k) for atom, k in total.items() if k), key=lambda term: term[0].serial))


def _is_linear(x: Any) -> bool:
    return isinstance(x, (Affine, int, np.integer)) and not isinstance(x, (bool, np.bool_))
