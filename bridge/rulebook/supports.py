"""What a rule says that it supports: orders of derivatives, dtypes, layouts, empty arrays.

Most rules are written in NumPy, support what NumPy does, and say nothing. One over a compiled kernel says what that
takes. What it leaves out is refused by name where it is asked for, and `check_rule` neither tests nor expects it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import Any, Literal, NamedTuple, TypedDict

import numpy as np

from bridge.code_position import here, resolve
from bridge.errors import RefusedError, RuleError
from bridge.rewind.escapes import constant_of
from bridge.rewind.memory import grounded
from bridge.rewind.values import is_abstract

Layouts = Literal["any", "C"]


class Declared(TypedDict, total=False):
    """The keywords by which `rule` and `mutating_rule` take what `Supports` holds."""

    orders: int
    dtypes: Any
    layouts: Layouts
    empty: bool
    aliased: bool


class Complaint(NamedTuple):
    """What of an argument is not supported, the keyword that says so, and the remedy."""

    what: str
    name: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Supports:
    """What one rule supports.

    Parameters
    ----------
    orders : how often its function may be differentiated. 1 is the gradient alone: its pull then always gets arrays
        of NumPy, as compiled code needs them. Forward mode differentiates the pull, and needs 2 (unless the function
        is linear, and said to be). None: any.
    dtypes : of the float and complex arrays that it takes; None: all of them.
    layouts : "C" if arrays must be contiguous, row by row. Cotangents come so, too, whatever made them.
    empty : whether arrays without elements may be among the arguments.
    aliased : whether an argument that is written may be the same array as another one. That two of them overlap in
        part is refused in any case.
    """

    orders: int | None = None
    dtypes: tuple[np.dtype[Any], ...] | None = None
    layouts: Layouts = "any"
    empty: bool = True
    aliased: bool = True

    def __str__(self) -> str:
        return ", ".join(said for _, said in self.said())

    def said(self) -> Iterator[tuple[str, str]]:
        """What it says, as names and words; nothing of what is supported anyway."""
        if self.orders is not None:
            yield "orders", "first derivatives only" if self.orders == 1 else f"derivatives up to order {self.orders}"
        if self.dtypes is not None:
            yield "dtypes", " and ".join(map(str, self.dtypes))
        if self.layouts != "any":
            yield "layouts", "C-contiguous arrays"
        if not self.empty:
            yield "empty", "arrays with elements"
        if not self.aliased:
            yield "aliased", "arguments that share no memory"

    @property
    def forward(self) -> bool:
        """Whether the pull may be differentiated, as forward mode does."""
        return self.orders is None or self.orders > 1

    def complaint(self, value: Any) -> Complaint | None:
        """What of an argument is not supported; None if everything is."""
        array = grounded(value)
        if isinstance(array, (list, tuple)):
            return next(filter(None, map(self.complaint, array)), None)
        if not isinstance(array, (np.ndarray, np.generic)):
            return None
        if self.dtypes is not None and array.dtype.kind in "fc" and array.dtype not in self.dtypes:
            near = [dtype for dtype in self.dtypes if dtype.kind == array.dtype.kind]
            remedy = f"convert it first: x.astype(np.{near[0]})" if near else "pass np.real(x) and np.imag(x)"
            return Complaint(f"dtype {array.dtype}", "dtypes", remedy)
        if not self.empty and not array.size:
            return Complaint(f"shape {array.shape}", "empty", "call it where there is something to compute")
        if self.layouts == "C" and not array.flags.c_contiguous:
            return Complaint(f"strides {array.strides}", "layouts", "pass a copy: x.copy()")
        return None

    def check(self, name: str, names: tuple[str, ...], args: tuple[Any, ...]) -> None:
        """Raise a RefusedError if an argument of a call is not what the rule supports."""
        for k, value in enumerate(args):
            found = self.complaint(value)
            if found is not None:
                raise RefusedError(
                    f"{name} gets {names[k] if k < len(names) else f'argument {k}'} with {found.what}; "
                    f"its rule supports {dict(self.said())[found.name]}",
                    where=resolve(here()),
                    remedy=f"{found.remedy}; or, if the function and its pull do take that, "
                    f"say so where the rule is registered ({found.name}=)",
                )

    def check_compiles(self, name: str) -> None:
        """Raise a RefusedError if the function, which is to be compiled into a program, is compiled code itself."""
        if not self.forward:
            raise RefusedError(
                f"{name} is to become a part of a compiled program; its rule says orders=1, "
                "as for code that is compiled already, which XLA cannot read",
                where=resolve(here()),
                remedy='run the program under engine="eager" or "native"; or give the function and its adjoint rules '
                "without orders=, and say with bridge.extend.lowering what each is in JAX (jax.pure_callback)",
            )

    def conformed(self, value: Any) -> Any:
        """A cotangent, or several, in a layout that is supported; compiled code may refuse what is read-only, too."""
        if isinstance(value, (list, tuple)):
            return type(value)(map(self.conformed, value))
        if self.layouts == "any" or type(value) is not np.ndarray:
            return value
        return np.require(value, requirements=("C", "W"))

    def guarded(self, name: str, pull: Callable[..., Any]) -> Callable[..., Any]:
        """A pull that refuses orders that are not supported, and gets cotangents of a layout that is."""

        @functools.wraps(pull)
        def guarded(ct: Any, *rest: Any, **named: Any) -> Any:
            if self.orders is not None:
                ct, rest, named = self._plain_enough(name, (ct, rest, named))
            return pull(self.conformed(ct), *rest, **named)

        return guarded

    def _plain_enough(self, name: str, given: Any) -> Any:
        """What a pull is given, if it may be differentiated as often as that asks for; plain if nothing asks."""
        if not _is_tracked(given):
            return given
        plain = constant_of(given)
        if plain is not None:
            return plain
        depth = _depth(given)
        if self.orders is not None and depth >= self.orders:
            raise RefusedError(
                f"the pull of {name} is to be differentiated{'' if depth == 1 else f' {depth} times'}, for a higher "
                f"derivative or forward mode; its rule says orders={self.orders}",
                remedy="ask for less (bridge.grad, value_and_grad, vjp and jacrev take one order); or give the adjoint "
                f"that the pull calls a rule of its own, and say orders={depth + 1}",
            )
        return given


def declared(name: str, given: Mapping[str, Any]) -> Supports | None:
    """What the rule of `name` supports by the keywords that it was `given`; None if it says nothing.

    Raises
    ------
    RuleError : a keyword, or its value, says nothing that is known.
    """
    known = [field.name for field in fields(Supports)]
    for key, value in given.items():
        if key not in known:
            near = get_close_matches(key, known, 1)
            raise RuleError(
                f"the rule of {name} says {key}={value!r}, which is no keyword",
                remedy=f"did you mean {near[0]}?" if near else f"what a rule supports is said by {', '.join(known)}",
            )
    orders, layouts = given.get("orders"), given.get("layouts", "any")
    if orders is not None and (type(orders) is not int or orders < 1):
        raise RuleError(f"the rule of {name} says orders={orders!r}", remedy="say 1 for gradients alone; leave it out")
    if layouts not in ("any", "C"):
        raise RuleError(f"the rule of {name} says layouts={layouts!r}", remedy='say "any" or "C" (contiguous)')
    for key in ("empty", "aliased"):
        if type(given.get(key, True)) is not bool:
            raise RuleError(f"the rule of {name} says {key}={given[key]!r}", remedy="say True or False")
    empty, aliased = given.get("empty", True), given.get("aliased", True)
    made = Supports(orders, _dtypes(name, given.get("dtypes")), layouts, empty, aliased)
    return None if made == Supports() else made


def _dtypes(name: str, given: Any) -> tuple[np.dtype[Any], ...] | None:
    if given is None:
        return None
    try:
        found = tuple(map(np.dtype, given if isinstance(given, (tuple, list, set, frozenset)) else (given,)))
    except TypeError:
        found = ()
    if not found or any(dtype.kind not in "fc" for dtype in found):
        raise RuleError(
            f"the rule of {name} says dtypes={given!r}",
            remedy="name those of the float and complex arrays that it takes: dtypes=(np.float64,)",
        )
    return found


def _is_tracked(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return any(map(_is_tracked, value))
    if isinstance(value, dict):
        return any(map(_is_tracked, value.values()))
    return hasattr(value, "place")


def _depth(value: Any) -> int:
    """How many differentiations a value, or one in a container of them, carries a gradient of."""
    if isinstance(value, (tuple, list)):
        return max(map(_depth, value), default=0)
    if isinstance(value, dict):
        return max(map(_depth, value.values()), default=0)
    depth = 0
    while hasattr(value, "place"):
        depth += 1 if value.place.active or is_abstract(value) else 0
        value = value.value
    return depth
