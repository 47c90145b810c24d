"""Arrays of pandas and xarray: what tells one from another array, and what holds other numbers under the same labels.

They are indexed by labels or names, two of them meet by these, and they skip NaNs.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from bridge.code_position import here, resolve
from bridge.errors import ArgumentError, RefusedError
from bridge.rewind.interpreter import current_context

REMEDY = "pass np.asarray(x), or go on with the numbers alone: x.to_numpy() of pandas, x.values of xarray"
LABELLED = ("pandas", "xarray")
ALIKE = frozenset({"jax", "jaxlib", "torch", "numpy", "bridge"})
"""Libraries whose arrays mean what NumPy's mean."""


def is_labelled(x: Any) -> bool:
    """Whether something is an array of pandas or xarray, but for tables."""
    pandas, xarray = sys.modules.get("pandas"), sys.modules.get("xarray")
    kinds: tuple[type, ...] = ()
    if pandas is not None and hasattr(pandas, "Series"):
        kinds += (pandas.Series, pandas.Index, pandas.api.extensions.ExtensionArray)
    if xarray is not None and hasattr(xarray, "DataArray"):
        kinds += (xarray.DataArray, xarray.Variable)
    return isinstance(x, kinds)


def is_table(x: Any) -> bool:
    """Whether something is several arrays with labels: a DataFrame, a Dataset."""
    return root_of(x) in LABELLED and type(x).__name__ in ("DataFrame", "Dataset", "DataTree")


def root_of(x: Any) -> str:
    """The library that an object is of: of a class that derives from pandas' or xarray's, these."""
    roots = [kind.__module__.partition(".")[0] for kind in x.__class__.__mro__]
    return next((root for root in roots if root in LABELLED), roots[0])


def name_of(x: Any) -> str:
    """What messages call the class of an object of another library."""
    kind = x.__class__
    return f"{kind.__module__.partition('.')[0]}.{kind.__name__}"


def holds_tracked(x: Any) -> bool:
    """Whether an array of xarray's is around a tracked one: then all that it does is xarray's."""
    xarray = sys.modules.get("xarray")
    if xarray is None or not isinstance(x, (xarray.DataArray, xarray.Variable)):
        return False
    return hasattr(getattr(x, "variable", x)._data, "place")


def written_into(target: Any, value: Any) -> RefusedError:
    """The error of a tracked value that is written into what is pandas', which holds plain numbers."""
    return RefusedError(
        f"a tracked value of shape {value.shape} is written into a {name_of(target)}, which holds plain numbers",
        where=resolve(here()),
        remedy="make a new one, s = s + x for s += x; or write into an array of NumPy's",
    )


def kept(x: Any) -> Any:
    """What labels as `x` does now: a program may give a series other labels."""
    return x.copy(deep=False) if hasattr(x, "iloc") or hasattr(x, "dims") else x


def around(x: Any, values: Any) -> Any:
    """What is labelled as `x`, and holds other values of the same shape."""
    if hasattr(x, "dims"):
        return x.copy(data=values)
    if hasattr(x, "index") and hasattr(x, "iloc"):
        return type(x)(values, index=x.index, name=x.name)
    pandas = sys.modules["pandas"]
    return pandas.Index(values) if isinstance(x, pandas.Index) else pandas.array(values)


def values_of(x: Any) -> Any:
    """The numbers of an array of any library; a masked one has NaNs where it has nothing."""
    if hasattr(x, "_mask") and hasattr(x, "to_numpy"):
        return x.to_numpy(dtype=x.dtype.numpy_dtype, na_value=np.nan) if x.dtype.kind == "f" else x.to_numpy()
    return np.asarray(x)


def same_labels(one: Any, other: Any) -> bool:
    """Whether two labelled arrays are labelled alike."""
    if root_of(one) != root_of(other) or np.shape(one) != np.shape(other):
        return False
    if hasattr(one, "dims") or hasattr(other, "dims"):
        return bool(getattr(one, "dims", 0) == getattr(other, "dims", 1)) and _same_coordinates(one, other)
    if hasattr(one, "iloc") and hasattr(other, "iloc"):
        return bool(one.index.equals(other.index))
    return type(one) is type(other)


def _same_coordinates(one: Any, other: Any) -> bool:
    first, second = getattr(one, "indexes", {}), getattr(other, "indexes", {})
    return set(first) == set(second) and all(index.equals(second[name]) for name, index in first.items())


def answers_itself(kind: type) -> bool:
    """Whether arrays of a class answer NumPy's protocols, with something that is no array: units, columns."""
    own = hasattr(kind, "__array_ufunc__") or hasattr(kind, "__array_function__")
    return own and kind.__module__.partition(".")[0] not in ALIKE


def plain_of(leaf: Any) -> np.ndarray:
    """An argument of another library as an array of NumPy's; ArgumentError if it cannot be one, or means more."""
    name = name_of(leaf)
    if is_table(leaf) or (answers_itself(type(leaf)) and not is_labelled(leaf)):
        raise ArgumentError(
            f"an argument is a {name}: its units, or what else it means, would be lost",
            remedy="pass the numbers that it holds (np.asarray(x), x.magnitude), and put back their meaning afterwards",
        )
    try:
        return np.asarray(leaf)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ArgumentError(
            f"an argument is a {name} that gives no array of NumPy's ({error})",
            remedy="pass a copy of it in the memory of this machine: x.get(), x.cpu(), np.from_dlpack(x)",
        ) from error


def refused(what: str, why: str, remedy: str = REMEDY) -> RefusedError:
    """The error of what would be another number without labels; code that swallows it cannot hide it."""
    error = RefusedError(f"{what}: {why}", where=resolve(here()), remedy=remedy)
    context = current_context()
    while context is not None:
        context.escaped = context.escaped or error
        context = context.outer
    return error


def refuse_operand(x: Any, what: str) -> None:
    """Raise for what a function of NumPy's is given beside a tracked array, if labels mean something to it."""
    if is_labelled(x) or is_table(x):
        raise refused(
            f"a {name_of(x)} beside a tracked array, or as one, in {what}",
            "whether its labels are to count is not known there",
            "use the numbers that it holds: np.asarray(x)",
        )
