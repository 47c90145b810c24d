"""`x[mask]` where the mask is known only at run time: the elements in their places, as many as the mask will say.

The shape of such a read is not known while a program is compiled. What programs do with it mostly needs none:
`x[mask] *= 2`, `y[mask] = np.sqrt(x[mask])`, `np.sum(x[mask])`. So the whole array is kept, with the mask.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bridge.code_position import here, resolve
from bridge.errors import TraceError
from bridge.rewind.values import ground_floor, is_abstract, mask_as, settled
from bridge.source.python_functions import SUBSTITUTES


class Selection(np.lib.mixins.NDArrayOperatorsMixin):
    """The elements of a Buffer that a run-time mask picks.

    Ufuncs of it with numbers, and with other selections by the same mask, are selections, and can be written into
    one; `np.sum`, `np.mean`, `np.prod`, `np.any` and `np.all` of it are numbers, as are inner products; it can be
    written through the same mask. All else is a TraceError.
    """

    def __init__(self, whole: Any, mask: Any, token: Any) -> None:
        self.whole = whole
        self.mask = mask
        self.token = token

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.whole.dtype

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        target = kwargs.pop("out", (None,))[0]
        if ufunc in _PRODUCTS and method == "__call__" and not kwargs and target is None:
            return self._product(ufunc.__name__, *inputs)
        if method != "__call__" or kwargs or ufunc.nout != 1 or ufunc.signature is not None:
            raise self._unknown(f"{ufunc.__name__} with {method if method != '__call__' else ', '.join(kwargs)}")
        operands = [self._beside(x, ufunc.__name__) for x in inputs]
        result = Selection(ufunc(*operands), self.mask, self.token)
        if target is None:
            return result
        if type(target) is not Selection:
            raise self._unknown(f"{ufunc.__name__} with out=")
        target[...] = result
        return target

    def __array_function__(self, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if function in _PRODUCTS and len(args) == 2 and not kwargs:
            return self._product(f"np.{function.__name__}", *args)
        if args[1:] or kwargs or function not in _REDUCTIONS:
            raise self._unknown(f"np.{function.__name__}")
        return _REDUCTIONS[function](self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        raise self._unknown("np.asarray(...) or a write into a plain array")

    def __getattr__(self, name: str) -> Any:
        if name in ("sum", "mean", "prod", "any", "all"):
            return lambda *args, **kwargs: getattr(np, name)(self, *args, **kwargs)
        if name.startswith("__") or not hasattr(np.ndarray, name):
            raise AttributeError(name)
        raise self._unknown(f".{name}")

    def __getitem__(self, key: Any) -> Any:
        raise self._unknown("indexing")

    def __setitem__(self, key: Any, value: Any) -> None:
        if key is not Ellipsis and key != slice(None):
            raise self._unknown("an assignment to some elements")
        self.whole[...] = self._beside(value, "an assignment")

    def __len__(self) -> int:
        raise self._unknown("len()")

    def _product(self, how: str, x: Any, y: Any) -> Any:
        """The inner product of two vectors of elements."""
        if self.whole.ndim != 1 or type(x) is not type(y) or "c" in (x.dtype.kind, y.dtype.kind):
            raise self._unknown(how)
        return _sum(x * y)

    def _beside(self, x: Any, how: str) -> Any:
        """An operand as one of the whole array."""
        if isinstance(x, Selection):
            if x.token is not self.token:
                raise TraceError(
                    f"{how} of elements picked by two masks of shapes {self.mask.shape} and {x.mask.shape}, "
                    "which are not known to be the same",
                    where=resolve(here()),
                    remedy="give the mask a name and use it for both: m = x > 0; y[m] = x[m] * 2",
                )
            return x.whole
        if len(np.shape(x)) > self.whole.ndim - self.mask.ndim:
            raise self._unknown(f"{how} with an array of shape {np.shape(x)}")
        return x

    def written_to(self, target: Any, mask: Any) -> Any:
        """What `target[mask] = self` writes into the whole target."""
        if token_of(mask) is not self.token:
            return self._beside(Selection(target, mask, token_of(mask)), "an assignment")
        return self.whole

    def _unknown(self, how: str) -> TraceError:
        return TraceError(
            f"{how} of x[mask] needs to know how many elements the mask picks, which is not known while the program "
            "is compiled",
            where=resolve(here()),
            remedy="use np.where(mask, x, 0) and whole arrays; x[mask] may be summed, take part in elementwise "
            "operations with numbers and with y[mask], and be written through the same mask",
        )


def selected(buffer: Any, mask: Any) -> Selection:
    """`buffer[mask]`, a copy of what the buffer holds now."""
    if type(mask) is tuple or mask.shape != buffer.shape[: mask.ndim]:
        raise TraceError(
            f"a read of an array of shape {buffer.shape} through a run-time mask and other indices",
            where=resolve(here()),
            remedy="use one mask over the first axes, or np.where",
        )
    return Selection(buffer.copy(), settled(mask), token_of(mask))


def token_of(mask: Any) -> Any:
    """What two masks have in common that are the same: the values that they hold now."""
    if not is_abstract(mask):
        return None
    floor = ground_floor(mask)
    return floor.place.context.read(floor.place)


def _sum(x: Selection) -> Any:
    return np.sum(np.where(mask_as(x.mask, x.whole.ndim), x.whole, np.zeros((), x.dtype)))


def _prod(x: Selection) -> Any:
    return np.prod(np.where(mask_as(x.mask, x.whole.ndim), x.whole, np.ones((), x.dtype)))


def _mean(x: Selection) -> Any:
    rest = int(np.prod(x.whole.shape[x.mask.ndim :]))
    return _sum(x) / (np.sum(x.mask) * rest)


_PRODUCTS = frozenset({np.matmul, np.vecdot, np.dot, np.inner, np.vdot})
_REDUCTIONS: dict[Any, Any] = {
    np.sum: _sum,
    np.prod: _prod,
    np.mean: _mean,
    np.any: lambda x: np.any(np.logical_and(mask_as(x.mask, x.whole.ndim), x.whole)),
    np.all: lambda x: np.all(np.logical_or(~mask_as(x.mask, x.whole.ndim), x.whole)),
}

SUBSTITUTES[Selection] = np.ndarray

__all__ = ["Selection", "selected"]
