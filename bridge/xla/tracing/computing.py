"""What operations of a traced program compute: JAX's values, in Buffers and numbers that look as NumPy's would."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bridge.arrays.buffer import Buffer, Scalar, WeakScalar
from bridge.code_position import here, resolve
from bridge.errors import RefusedError
from bridge.rewind.fingerprint import Fingerprint
from bridge.rewind.interpreter import Call
from bridge.rewind.places import Place
from bridge.rewind.snapshots import Snapshots
from bridge.rulebook.facts import facts_of
from bridge.signatures import operation_name
from bridge.xla.lowering.lower import lower
from bridge.xla.regions.affine import Affine
from bridge.xla.regions.gathers import gather
from bridge.xla.tracing.accessing import known_at, promoting_as
from bridge.xla.tracing.cells import Cell, in_dtype
from bridge.xla.tracing.faults import Faults
from bridge.xla.tracing.folding import Folding
from bridge.xla.tracing.integers import affine_result, consecutive, form_of
from bridge.xla.tracing.memos import COSTLY, Memo
from bridge.xla.tracing.outlines import Outline, outline_of
from bridge.xla.tracing.outside import picked, picks
from bridge.xla.tracing.products import product_of_transposed


class Computing(Folding):
    """What dispatch reports, computed."""

    comparisons: dict[Any, Any]
    constant_buffer: Callable[..., Any]
    entered: Callable[..., Any]
    faults: Faults
    fingerprint: Fingerprint | None
    index_mode: str
    is_dry: bool
    memo: Memo | None
    number: Callable[..., Any]
    read: Callable[..., Any]
    snapshots: Snapshots

    def result(self, call: Call, value: Any) -> Any:
        made = self.folding(call, value)
        if self.fingerprint is not None and hasattr(made, "place"):
            made.place.root.origin = self.fingerprint.recipe(call)
        return made

    def _result(self, call: Call, value: Any) -> Any:
        if facts_of(call.function).describes == "types":
            return value  # what NumPy says of abstract arrays, which have the dtypes of those that they stand for
        product = None if self.is_dry else product_of_transposed(self, call, value)
        if product is not None:
            self.count()
            return self.wrapped(value, product, call.function)
        operands = self.operands(call.args, call.inputs)
        if call.rule is None and not call.kwargs and _is_mask(call.function, value):
            return self._compared(call, value, operands)
        args, kwargs = call.spelled(operands)
        if call.names and call.rule is not None:
            kwargs = {**call.kwargs, **call.rule.given({name: kwargs[name] for name in call.names})}
        return self._computed(call, value, args, kwargs)

    def _compared(self, call: Call, value: Any, operands: tuple[Any, ...]) -> Any:
        """A comparison; asked twice of the same values it has the same contents, so that masks may be recognised."""
        key = (call.function, *map(_identity, operands, call.inputs))
        frame, _, made = self.comparisons.get(key, (None, None, None))
        if frame is self.frames[-1] and made is not None:
            return self.entered(value, made) if isinstance(value, np.ndarray) else self.number(value, made)
        result = self._computed(call, value, operands, {})
        self.comparisons[key] = (self.frames[-1], operands, result.place.contents)
        return result

    def operands(self, args: Any, inputs: Any) -> tuple[Any, ...]:
        """Operands as the lowering of a function takes them: contents, or what is known now."""
        return tuple([self.operand(x, place) for x, place in zip(args, inputs, strict=True)])

    def operand(self, x: Any, place: Any) -> Any:
        """One operand, given its place if it is tracked."""
        if isinstance(place, (list, tuple)):
            return type(x)([self.operand(part, inner) for part, inner in zip(x, place, strict=True)])
        if place is not None:
            known = known_at(place)
            return self.read(place) if known is None else promoting_as(x, known)
        if isinstance(x, np.ndarray) and x.ndim:
            return self.snapshots.of(x)
        return x

    def _computed(self, call: Call, value: Any, operands: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        function = call.function
        self.count()
        if function is np.power and type(value) is int and self._may_be_negative(call):
            # Python's integers: such a power is a float.
            value, operands = 0.0, tuple([float(x) if type(x) is int else x.astype(float) for x in operands])
        if _is_known(value, (operands, kwargs)):
            return self._as_known(function(*operands, **kwargs))
        if isinstance(function, np.ufunc) and not isinstance(value, tuple):
            self.check_operands(call, operands, np.result_type(value))
        if picks(function, kwargs):
            array, key = (0, ()) if self.is_dry else picked(function, operands, kwargs)
            self.faults.check_gather(key, np.shape(array))
            found = outline_of(value) if self.is_dry else gather(array, key, self.index_mode)
        else:
            found = self._found(function, operands, kwargs, value)
        self.faults.check_matrix(function, operands, found)
        self.faults.check_weights(function, operands, kwargs)
        self.faults.check_span(function, operands, kwargs)
        result = self.wrapped(value, found, function)
        if type(result) in (Scalar, WeakScalar) and result.dtype.kind in "iu":
            result.place.affine = self._form_of_result(function, tuple(map(_form, call.args, call.inputs)), result)
            if type(result) is WeakScalar and function in _WIDENS:
                self._check_exact(function, operands, result)
        elif type(result) is Buffer and len(result.shape) == 1 and result.dtype.kind in "iu":
            result.place.run = consecutive(function, call.args, call.inputs, result.dtype)
        return result

    def check_operands(self, call: Call, operands: tuple[Any, ...], dtype: np.dtype[Any]) -> None:
        """Look at operands for which NumPy raises where integers are computed: Python's integers, and exponents."""
        if dtype.kind not in "iu":
            return
        limits = np.iinfo(dtype)
        for x, place, known in zip(call.args, call.inputs, operands, strict=False):
            if type(x) is int and place is not None and dtype != np.int64:
                low, high = _form(x, place).bounds()
                if low is None or high is None or low < limits.min or high > limits.max:
                    self.faults.check_fits(known, dtype)
        is_shift = call.function in (np.left_shift, np.right_shift) and all(type(x) is int for x in call.args)
        if is_shift and self._may_be_negative(call):
            error = ValueError("negative shift count")
            self.faults.check_operator(error, lambda: jnp.asarray(operands[1]) < 0)
        if call.function is np.power and np.result_type(call.args[1]).kind == "i" and self._may_be_negative(call):
            self.faults.check_exponents(operands[1])

    def _may_be_negative(self, call: Call) -> bool:
        """Whether the second operand may be."""
        form = _form(call.args[1], call.inputs[1])
        low: int | None = None if form is None else form.bounds()[0]
        return low is None or low < 0

    def _check_exact(self, function: Any, operands: tuple[Any, ...], result: Any) -> None:
        """Look whether one of Python's integers, which have no bounds, leaves those of 64 bits."""
        if None not in result.place.affine.bounds():
            return
        if function in (np.add, np.subtract) and any(map(_is_small, operands)):
            return
        exact = 0.0 if self.is_dry else _WIDENS[function](*[jnp.asarray(x, float) for x in operands])
        self.faults.check_exact(abs(exact) >= _WIDEST)

    def _found(self, function: Any, operands: tuple[Any, ...], kwargs: dict[str, Any], value: Any) -> Any:
        """What a function gives; of a costly call that a loop's way back repeats, what it gave."""

        def compute() -> Any:
            if self.is_dry:
                return outline_of(value)
            return self._lowered(function, operands, kwargs, value)

        memo = self.memo
        if memo is None or function not in COSTLY or memo.frame is not self.frames[-1] or np.ndim(value) == 0:
            return compute()
        return memo.result(value, compute)

    def _lowered(self, function: Any, operands: tuple[Any, ...], kwargs: dict[str, Any], value: Any) -> Any:
        try:
            return lower(function, operands, kwargs, like=value)
        except Exception as error:
            if hasattr(error, "add_place"):
                error.add_place(resolve(here()))
            raise

    def _form_of_result(self, function: Any, forms: tuple[Any, ...], result: Any) -> Affine:
        """What is known of an integer that was computed; the same operation on the same integers gives the same one."""
        key = (function, forms, result.dtype)
        if None not in forms:
            for frame in reversed(self.frames):
                known = frame.integers.get(key)
                if known is not None and known.youngest <= frame.settled:
                    return known
        form = affine_result(function, forms, result.place.contents, result.dtype)
        if None not in forms:
            self.frames[-1].integers[key] = form
        return form

    def _as_known(self, value: Any) -> Any:
        """Integers and booleans that follow from what is known while the program is traced."""
        if isinstance(value, (list, tuple)):
            parts = list(map(self._as_known, value))
            return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
        if isinstance(value, np.ndarray):
            return self.constant_buffer(np.array(value))
        form = Affine.of(value) if np.result_type(value).kind in "iu" else None
        result = self.number(value, outline_of(value) if self.is_dry else jnp.asarray(value), form)
        result.place.known = np.asarray(value)[()]
        return result

    def wrapped(self, value: Any, found: Any, function: Any = None) -> Any:
        """What a function returned, as Buffers and Scalars: NumPy's `value` says how it looks, `found` what it is."""
        if isinstance(value, (list, tuple)):
            parts = [self.wrapped(v, f, function) for v, f in zip(value, found, strict=True)]
            return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
        if value is None or isinstance(value, (str, bytes)):
            return value
        contents = found if type(found) is Outline else jnp.asarray(found)
        shape, dtype = np.shape(value), np.result_type(value)
        if contents.shape != shape:
            raise RefusedError(
                f"the shape of what {operation_name(function)} returns depends on values (it may be {shape})",
                where=resolve(here()),
                remedy="use np.where or a mask, whose shapes are known while the program is compiled",
            )
        contents = in_dtype(contents, dtype)
        if isinstance(value, np.ndarray):
            return self.entered(value, contents)
        return self.number(value, contents)

    def copied(self, value: Any, source: Place) -> Any:
        made = self._copied(value, source)
        self.fold_copy(made, source)
        if self.fingerprint is not None:
            made.place.root.origin = self.fingerprint.origin_of_copy(source)
        return made

    def _copied(self, value: Any, source: Place) -> Any:
        self.count()
        known = known_at(source)
        if known is not None and value.dtype.kind in "iub":
            if isinstance(value, np.ndarray):
                laid_out = np.empty_like(value, subok=False)
                laid_out[...] = known
                return self._as_known(laid_out)
            return self._as_known(known.astype(value.dtype))
        contents = in_dtype(self.read(source), np.result_type(value))
        if isinstance(value, np.ndarray):
            copy = self.entered(value, contents)
            copy.place.run = getattr(source, "run", None) if value.dtype.kind in "iu" else None
            return copy
        return self.number(value, contents)


_WIDENS: dict[Any, Callable[[Any, Any], Any]] = {
    np.add: jnp.add,
    np.subtract: jnp.subtract,
    np.multiply: jnp.multiply,
    np.power: jnp.power,
    np.left_shift: lambda x, y: x * 2.0**y,
}
"""Functions of integers whose results may be wider than their operands, as functions of floats."""

_SMALL = 1 << 32
"""What nobody adds so often that 64 bits are not enough."""

_WIDEST = 2.0**63


def _is_small(x: Any) -> bool:
    """Whether an operand is a plain integer that is added so often by nobody."""
    return isinstance(x, (int, np.integer)) and -_SMALL < int(x) < _SMALL


def _is_mask(function: Any, value: Any) -> bool:
    """Whether a function answers element by element with yes or no."""
    return isinstance(function, np.ufunc) and np.result_type(value) == np.bool_


def _identity(x: Any, place: Any) -> Any:
    """What two operands share that hold the same values; the operand must be kept alive."""
    if place is not None or np.ndim(x):
        return id(x)
    return type(x), np.asarray(x).tobytes()


def _form(x: Any, place: Any) -> Any:
    """An integer operand as a linear form; None for anything else."""
    if isinstance(place, Cell) and place.shape == () and place.dtype.kind in "iu":
        return form_of(place)
    plain = place is None and isinstance(x, (int, np.integer)) and not isinstance(x, (bool, np.bool_))
    return Affine.of(x) if plain else None


def _is_known(value: Any, operands: Any) -> bool:
    """Whether a result holds integers or booleans only, and nothing that it comes from is traced."""
    if isinstance(value, (list, tuple)):
        return bool(value) and all(_is_known(part, operands) for part in value)
    whole = isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "iub"
    return whole and not any(isinstance(leaf, (jax.Array, Outline)) for leaf in jax.tree.leaves(operands))
