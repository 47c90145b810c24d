"""Arrays of other libraries as arguments and results: a gradient comes back as what its argument was, if it can."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from bridge.arrays.derived import without_classes
from bridge.arrays.labelled import Labelled, without_labels
from bridge.arrays.labelled_calls import note
from bridge.arrays.tracked import is_tracked
from bridge.errors import ArgumentError, BridgeError, RefusedError, with_article
from bridge.rewind.labels import answers_itself, is_labelled, kept, name_of, plain_of
from bridge.trees import leaves_of, rebuilt


def entered_in(context: Any, leaf: Any) -> Any:
    """An array of another library as the function gets it; with labels, if it has any."""
    buffer = context.buffer(plain_of(leaf))
    return Labelled(kept(leaf), buffer) if is_labelled(leaf) else buffer


def check_shared(k: int, flat: list[Any], entered: list[Any]) -> None:
    """Take note that a labelled array shares memory with one that has entered; ArgumentError for one of NumPy's."""
    given = np.asarray(flat[k].leaf)
    for j, other in enumerate(flat):
        is_labelled_too = j < k and type(entered[j]) is Labelled
        if j == k or not (is_labelled_too or isinstance(other.leaf, np.ndarray)):
            continue
        if not np.may_share_memory(given, np.asarray(other.leaf)):
            continue
        if not is_labelled_too:
            raise ArgumentError(
                f"{flat[k].name}, a {name_of(flat[k].leaf)}, and {other.name}, an array of NumPy's, share memory",
                remedy="pass copies (x.copy())",
            )
        note(entered[k], "shared")
        note(entered[j], "shared")


def is_of_another_library(leaf: Any) -> bool:
    """Whether a leaf is an array of another library, of which the function gets a Buffer."""
    if type(leaf) is float or isinstance(leaf, (np.ndarray, np.floating, np.complexfloating)) or is_tracked(leaf):
        return False
    return hasattr(leaf, "__array__") and hasattr(leaf, "shape")


def of_numpy(result: Any) -> Any:
    """What a function returned, with tracked arrays in place of arrays of other libraries that hold them.

    EscapeError for one that holds a tracked array, and does not give it out.
    """
    if is_tracked(result):
        return result
    result = without_classes(without_labels(result))
    leaves, structure = leaves_of(result)
    if not any(map(is_of_another_library, leaves)):
        return result
    return rebuilt(structure, [_held_by(leaf) if is_of_another_library(leaf) else leaf for leaf in leaves])


def _held_by(leaf: Any) -> Any:
    if answers_itself(type(leaf)) and not is_labelled(leaf):
        return _without_units(leaf)
    data = getattr(leaf, "data", None)
    if hasattr(data, "place"):
        return data
    if type(leaf).__module__.partition(".")[0] not in ("jax", "jaxlib"):
        try:
            # Who holds a tracked array asks it for its values.
            np.asarray(leaf)
        except BridgeError:
            raise
        except (TypeError, ValueError, RuntimeError):
            # It has no values for NumPy: a tensor of another device, or one that its library differentiates.
            return leaf
    return leaf


def _without_units(leaf: Any) -> Any:
    """A result of a library whose arrays answer for themselves, unless something tracked is in it: a RefusedError."""
    # A quantity has the attributes of the number that it is of.
    held = hasattr(leaf, "place")
    try:
        held = held or hasattr(np.asarray(leaf), "place")
    except BridgeError:
        held = True
    except (TypeError, ValueError, RuntimeError):
        return leaf
    if not held:
        return leaf
    raise RefusedError(
        f"the function returned a {name_of(leaf)} of tracked numbers: its units, or what else it means, would be lost",
        remedy="return the numbers that it holds (x.magnitude, x.value), in units that you say, and put them back "
        "afterwards",
    )


def in_kind_of(leaf: Any, gradient: Any) -> Any:
    """A gradient as the kind of array that its argument is: of JAX on its devices, of xarray or pandas with its labels.

    NumPy's for what has no labels (an index of pandas), for any other library, and a value of the context outside for a
    derivative that is differentiated again.
    """
    if type(gradient) is not np.ndarray:
        return gradient
    modules = {kind.__module__.partition(".")[0] for kind in type(leaf).__mro__}
    make = next((make for name, make in _MADE.items() if name in modules), None)
    return gradient if make is None else make(leaf, gradient)


def _of_jax(leaf: Any, gradient: np.ndarray) -> Any:
    jax = sys.modules["jax"]
    return jax.device_put(gradient, leaf.sharding) if isinstance(leaf, jax.Array) else gradient


def _of_torch(leaf: Any, gradient: np.ndarray) -> Any:
    torch = sys.modules["torch"]
    return torch.from_numpy(gradient) if isinstance(leaf, torch.Tensor) else gradient


def _of_xarray(leaf: Any, gradient: np.ndarray) -> Any:
    return leaf.copy(data=gradient) if isinstance(leaf, sys.modules["xarray"].DataArray) else gradient


def _of_pandas(leaf: Any, gradient: np.ndarray) -> Any:
    pandas = sys.modules["pandas"]
    if not isinstance(leaf, pandas.Series):
        return gradient
    return pandas.Series(gradient, index=leaf.index, name=leaf.name)


_MADE = {"jaxlib": _of_jax, "torch": _of_torch, "xarray": _of_xarray, "pandas": _of_pandas}


def is_sparse(leaf: Any) -> bool:
    """Whether a leaf is a sparse matrix or array of SciPy's."""
    return (
        hasattr(type(leaf), "tocsr")
        and "scipy.sparse" in sys.modules
        and bool(sys.modules["scipy.sparse"].issparse(leaf))
    )


def by_entries(matrix: Any, name: str, why: str) -> ArgumentError:
    """The error for a sparse matrix, `name`d, that cannot be such an argument: `why`."""
    kind, first = type(matrix).__name__, ""
    form, suffix = matrix.format, "array" if kind.endswith("array") else "matrix"
    if form not in _TAKES:
        form, first = "csr", "S = S.tocsr(); "
    made = f"scipy.sparse.{form}_{suffix}({_TAKES[form]}, S.shape)"
    return ArgumentError(
        f"{name} is {with_article(kind)} of shape {matrix.shape}, {why}",
        remedy=f"differentiate by its entries: {first}grad(lambda data: f({made}))(S.data); or leave it out of argnums",
    )


_COMPRESSED = "(data, S.indices, S.indptr)"
_TAKES = {
    "csr": _COMPRESSED,
    "csc": _COMPRESSED,
    "bsr": _COMPRESSED,
    "coo": "(data, S.coords)",
    "dia": "(data, S.offsets)",
}
"""What a constructor takes, by format."""
