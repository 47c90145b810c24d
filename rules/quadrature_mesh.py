"""Gauss-Kronrod quadrature on a mesh that suits an integrand and its derivatives alike.

The mesh is found on plain values; on its nodes the integrand is then evaluated once more, tracked. The derivative is
that of the sum, whose error in every derivative was estimated when the mesh was refined.
Nodes and weights: R. Piessens et al., QUADPACK (1983).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from bridge.extend import Aside, as_array, refuse, with_sensitivities

# The positive half of the nodes of the Kronrod rule of 21 points, from the outermost one, and its weights.
_NODES = np.array([
    0.995657163025808080735527280689003, 0.973906528517171720077964012084452, 0.930157491355708226001207180059508,
    0.865063366688984510732096688423493, 0.780817726586416897063717578345042, 0.679409568299024406234327365114874,
    0.562757134668604683339000099272694, 0.433395394129247190799265943165784, 0.294392862701460198131126603103866,
    0.148874338981631210884826001129720, 0.0,
])  # fmt: skip
_WEIGHTS = np.array([
    0.011694638867371874278064396062192, 0.032558162307964727478818972459390, 0.054755896574351996031381300244580,
    0.075039674810919952767043140916190, 0.093125454583697605535065465083366, 0.109387158802297641899210590325805,
    0.123491976262065851077958109585166, 0.134709217311473325928054001771707, 0.142775938577060080797094273138717,
    0.147739104901338491374841515972068, 0.149445554002916905664936468389821,
])  # fmt: skip
# Those of Gauss's rule of 10 points, whose nodes are every second one.
_GAUSS = np.array([
    0.066671344308688137593568809893332, 0.149451349150580593145863396957681, 0.219086362515982043995534934228163,
    0.269266719309996355091226921569469, 0.295524224714752870173815619188769,
])  # fmt: skip
NODES = np.concatenate([-_NODES, _NODES[-2::-1]])
WEIGHTS = np.concatenate([_WEIGHTS, _WEIGHTS[-2::-1]])
GAUSS = np.zeros(21)
GAUSS[1:10:2] = _GAUSS
GAUSS[11::2] = _GAUSS[::-1]

_RELATIVE = 1e-9
"""The error that is aimed at, relative to the integral of the absolute value."""
_ENOUGH = 1e-6
"""The error that is accepted where no mesh gives the one that is aimed at."""
_INTERVALS = 200


class Piece:
    """A part of the range of integration, as the image of an interval of another variable."""

    def __init__(self, start: float, stop: float, x: Callable[[float], float], slope: Callable[[float], float]) -> None:
        self.start, self.stop, self.x, self.slope = start, stop, x, slope


def pieces(a: float, b: float, points: Any = None) -> list[Piece]:
    """The range from `a` to `b`, either of which may be infinite, and `a` the larger one."""
    if a > b:
        return [Piece(one.start, one.stop, one.x, lambda t, slope=one.slope: -slope(t)) for one in pieces(b, a, points)]
    if a == b:
        return []
    if np.isinf(a) and np.isinf(b):
        return [*pieces(a, 0.0), *pieces(0.0, b)]
    if np.isinf(b):
        return [Piece(0.0, 1.0, lambda t: a + (1 - t) / t, lambda t: t**-2)]
    if np.isinf(a):
        return [Piece(0.0, 1.0, lambda t: b - (1 - t) / t, lambda t: t**-2)]
    inside = sorted({float(p) for p in ([] if points is None else points) if a < p < b})
    return [Piece(start, stop, lambda t: t, lambda t: 1.0) for start, stop in itertools.pairwise([a, *inside, b])]


def mesh(search: Aside, integrand: Callable[[float], Any], parts: list[Piece]) -> list[tuple[float, float]]:
    """Nodes `x` and weights of a sum for the integral, refined until its error is small, and that of its derivatives.

    RefusedError if it does not become small.
    """
    number = itertools.count()
    queue: list[Any] = []

    def add(piece: Piece, start: float, stop: float) -> None:
        half = (stop - start) / 2
        times = (start + stop) / 2 + half * NODES
        found = [with_sensitivities(search, integrand, float(piece.x(t))) * piece.slope(t) for t in times]
        length = max(row.size for row in found)
        rows = half * np.stack([np.pad(row, (0, length - row.size)) for row in found])
        size = WEIGHTS @ np.abs(rows)
        apart = np.abs((WEIGHTS - GAUSS) @ rows)
        scale = WEIGHTS @ np.abs(rows - WEIGHTS @ rows / 2)
        # QUADPACK's estimate: the rule of 21 points is much better than its difference from the other one.
        safe = np.where(scale == 0, 1, scale)
        error = np.where(scale == 0, apart, scale * np.minimum(1, (200 * apart / safe) ** 1.5))
        queue.append([next(number), piece, start, stop, error, size])

    for piece in parts:
        add(piece, piece.start, piece.stop)
    while queue:
        length = max(one[4].size for one in queue)
        errors = np.stack([np.pad(one[4], (0, length - one[4].size)) for one in queue])
        sizes = np.sum([np.pad(one[5], (0, length - one[5].size)) for one in queue], axis=0)
        relative = np.where(sizes == 0, 0, errors / np.where(sizes == 0, 1, sizes))
        worst = np.max(np.sum(relative, axis=0))
        if worst <= _RELATIVE:
            break
        if len(queue) >= _INTERVALS or not np.isfinite(worst):
            if worst <= _ENOUGH:
                break
            refuse(
                f"the integrand of {search.name}, or its derivative, is too singular: on {len(queue)} intervals the "
                f"estimated error is {worst:.1g} of the integral",
                "substitute a variable that takes the singularity away, or split the range at it (points=)",
            )
        _, piece, start, stop, _, _ = queue.pop(int(np.argmax(np.max(relative, axis=1))))
        middle = (start + stop) / 2
        add(piece, start, middle)
        add(piece, middle, stop)
    for _, piece, start, stop, _, _ in queue:
        _refuse_jump(search, integrand, piece, start, stop)
    nodes = []
    for _, piece, start, stop, _, _ in sorted(queue, key=lambda one: one[0]):
        half = (stop - start) / 2
        for t, weight in zip((start + stop) / 2 + half * NODES, half * WEIGHTS, strict=True):
            nodes.append((float(piece.x(t)), float(weight * piece.slope(t))))
    return nodes


def _refuse_jump(search: Aside, integrand: Callable[[float], Any], piece: Piece, start: float, stop: float) -> None:
    """Raise if the integrand jumps at the start of an interval, or in it: refinement ends with small ones at a jump."""
    plain = search.plain(integrand)
    width = piece.stop - piece.start

    def change(low: float, high: float) -> float:
        values = [np.asarray(plain(float(piece.x(t)))) for t in (low, high)]
        return float(np.max(np.abs(values[1] - values[0]), initial=0))

    def jumps(low: float, high: float, halvings: int) -> float | None:
        whole = change(low, high)
        if not whole > _JUMP * float(np.max(np.abs(plain(float(piece.x(low)))), initial=0)):
            return None
        for _ in range(halvings):
            middle = (low + high) / 2
            low, high = (low, middle) if change(low, middle) >= change(middle, high) else (middle, high)
        return float(piece.x(low)) if change(low, high) > whole / 2 else None

    places = []
    if start != piece.start:
        beside = min(1e-9 * width, (start - piece.start) / 4, (stop - start) / 4)
        places.append(jumps(start - beside, start + beside, 7))
        if stop != piece.stop and stop - start <= 1e-5 * width:
            places.append(jumps(start, stop, 10))
    for place in places:
        if place is not None:
            refuse(
                f"the integrand of {search.name} jumps near {place:.6g}: if that moves with what is differentiated, so "
                "does the integral, which no derivative of the integrand tells",
                "split the integral there, with the place as a limit; if it does not move, give it in points=",
            )


_JUMP = 1e-7


def summed(integrand: Callable[[float], Any], nodes: list[tuple[float, float]]) -> Any:
    """The sum over a mesh, tracked where the integrand is."""
    if not nodes:
        return 0.0
    values = [as_array(integrand(x)) for x, _ in nodes]
    weights = np.array([weight for _, weight in nodes])
    return np.tensordot(weights, np.stack(values), 1) if values[0].ndim else np.dot(weights, np.stack(values))


def at_limit(integrand: Callable[[Any], Any], limit: Any, plain: float, order: int) -> Any:
    """The integral from the value of a limit to the limit itself: zero, with its derivatives up to `order`."""
    if order <= 1:
        return as_array(integrand(plain)) * (limit - plain)
    nodes, weights = np.polynomial.legendre.leggauss((order + 1) // 2)
    total: Any = 0.0
    for node, weight in zip(nodes, weights, strict=True):
        total = total + as_array(integrand(plain + (limit - plain) * ((node + 1) / 2))) * (weight / 2)
    return total * (limit - plain)
