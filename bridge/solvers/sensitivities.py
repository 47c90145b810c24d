"""How much a value that was computed just now depends on what was there before: numbers by which a mesh is refined."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bridge.rewind.forward import ForwardContext, tangent_at
from bridge.rewind.interpreter import current_context
from bridge.rewind.lifetime import suspended
from bridge.rewind.memory import grounded
from bridge.rewind.roots import Root, serial_now
from bridge.solvers.search import Aside

_FEW = 64
"""Up to so many derivatives are told one by one."""


def with_sensitivities(search: Aside, function: Callable[..., Any], *args: Any) -> np.ndarray:
    """The plain value of `function(*args)`, run aside, and behind it its derivatives in what it reaches, in one vector.

    The derivatives are those of the innermost context: of the sum of the value's elements, in the memory that the
    function reads (a random combination of them, where they are many), or the value's tangent in forward mode.
    """
    with search.running():
        since = serial_now()
        value = function(*args)
        plain = np.ravel(np.asarray(search.value_of(value)))
        context = current_context()
        if context is None or getattr(getattr(value, "place", None), "context", None) is not context:
            return plain
        if not value.place.active:
            return plain
        search.tracked = True
        if isinstance(context, ForwardContext):
            tangent = tangent_at(value.place)
            found = [] if tangent is None else [np.ravel(np.asarray(grounded(tangent)))]
        else:
            found = _pulled(context, value, since)
        return np.concatenate([plain, *found])


def _pulled(context: Any, value: Any, since: int) -> list[np.ndarray]:
    roots: dict[int, Root] = {}
    for entry in context.log:
        for place in entry.reads():
            if place.root.serial <= since and place.root.active:
                roots[place.root.serial] = place.root
    found = []
    seeds = (1, -1j) if value.dtype.kind == "c" else (1,)
    for seed in seeds:
        with suspended(context):
            try:
                context.rewind([(value.place, np.full(value.shape, seed, value.dtype)[()])])
                shadows = [grounded(roots[serial].shadow) for serial in sorted(roots)]
            finally:
                context.play_forward()
                for root in roots.values():
                    root.shadow = None
        parts = [np.zeros(1) if shadow is None else np.ravel(np.asarray(shadow)) for shadow in shadows]
        flat = np.nan_to_num(np.concatenate(parts)) if parts else np.zeros(0)
        if flat.size > _FEW:
            flat = np.dot(flat, np.random.default_rng(0).normal(size=(flat.size, 1)))
        found.append(flat)
    return found
