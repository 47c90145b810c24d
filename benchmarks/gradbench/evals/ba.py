"""`ba`: bundle adjustment, how far the pixels where cameras see points are from where they were observed.

A camera is eleven numbers: the rotation (an axis, as long as its angle), the centre, the focal length, the principal
point and two coefficients of radial distortion. The Jacobian is sparse: an observation knows one camera, one point and
its own weight. So one sweep back from the first pixel coordinate of all observations finds its derivatives for all of
them, and a second sweep those of the other.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import bridge
from benchmarks.gradbench.evaluation import Eval, Function, Input

CAMERA, POINT = 11, 3
SENT = 2 * (CAMERA + POINT + 1)


def rotated(vectors: np.ndarray, axes: np.ndarray) -> Any:
    """Rodrigues' formula: vectors turned about axes by angles that are the axes' lengths."""
    square = np.sum(axes**2, axis=1, keepdims=True)
    still = square == 0
    angle = np.sqrt(np.where(still, 1.0, square))
    turned = vectors * np.where(still, 1.0, np.cos(angle))
    turned += np.where(still, 1.0, np.sin(angle) / angle) * np.cross(axes, vectors)
    along = np.where(still, 0.0, (1.0 - np.cos(angle)) / angle**2)
    turned += along * np.sum(axes * vectors, axis=1, keepdims=True) * axes
    return turned


def misses(cameras: np.ndarray, points: np.ndarray, weights: np.ndarray, seen: np.ndarray) -> Any:
    """The weighted differences in pixels, one camera and one point for each observation."""
    space = rotated(points - cameras[:, 3:6], cameras[:, 0:3])
    pixels = space[:, :2] / space[:, 2:]
    square = np.sum(pixels**2, axis=1, keepdims=True)
    pixels *= 1.0 + cameras[:, 9:10] * square + cameras[:, 10:11] * square**2
    pixels *= cameras[:, 6:7]
    pixels += cameras[:, 7:9]
    pixels -= seen
    pixels *= weights[:, None]
    return pixels


def excess(weights: np.ndarray) -> Any:
    """How far the squares of the weights are from one."""
    return 1.0 - weights**2


def objective(
    cameras: np.ndarray, points: np.ndarray, weights: np.ndarray, seen: np.ndarray, pairs: np.ndarray
) -> tuple[Any, Any]:
    """The differences in pixels and those of the weights; `pairs` are the camera and the point of each observation."""
    return misses(cameras[pairs[:, 0]], points[pairs[:, 1]], weights, seen), excess(weights)


def jacobian(
    cameras: np.ndarray, points: np.ndarray, weights: np.ndarray, seen: np.ndarray, pairs: np.ndarray
) -> tuple[Any, Any, Any]:
    """The Jacobian as compressed rows: where rows begin, the column and the value of each entry."""
    count = len(pairs)
    _, back = bridge.vjp(
        lambda c, x, w: misses(c, x, w, seen),
        cameras[pairs[:, 0]], points[pairs[:, 1]], weights, engine="native",
    )  # fmt: skip
    values = np.zeros((count, 2, CAMERA + POINT + 1))
    columns = np.zeros(values.shape, dtype=int)
    for coordinate in range(2):
        seed = np.zeros((count, 2))
        seed[:, coordinate] = 1.0
        by_camera, by_point, by_weight = back(seed)
        values[:, coordinate, :CAMERA] = by_camera
        values[:, coordinate, CAMERA:-1] = by_point
        values[:, coordinate, -1] = by_weight
    own = len(cameras) * CAMERA + len(points) * POINT + np.arange(count)
    columns[:, :, :CAMERA] = (CAMERA * pairs[:, 0, None] + np.arange(CAMERA))[:, None]
    columns[:, :, CAMERA:-1] = (len(cameras) * CAMERA + POINT * pairs[:, 1, None] + np.arange(POINT))[:, None]
    columns[:, :, -1] = own[:, None]
    slope = bridge.grad(lambda w: np.sum(excess(w)), engine="native")(weights)
    starts = np.zeros(3 * count + 1, dtype=int)
    starts[1 : 2 * count + 1] = values.shape[-1]
    starts[2 * count + 1 :] = 1
    return np.cumsum(starts), np.concatenate([columns.ravel(), own]), np.concatenate([values.ravel(), slope])


def prepare(given: Input) -> tuple[np.ndarray, ...]:
    """The one camera, point, weight and pixel that come, as often as they are meant; observations go round."""
    n, m, p = given["n"], given["m"], given["p"]
    turn = np.arange(p)
    return (
        np.tile(np.array(given["cam"], dtype=float), (n, 1)),
        np.tile(np.array(given["x"], dtype=float), (m, 1)),
        np.full(p, float(given["w"])),
        np.tile(np.array(given["feat"], dtype=float), (p, 1)),
        np.stack([turn % n, turn % m], axis=1),
    )


def told_errors(errors: tuple[np.ndarray, np.ndarray]) -> dict[str, Any]:
    """The first of the errors, and how many there are."""
    pixels, weights = errors
    return {
        "reproj_error": {"elements": pixels[0].tolist(), "repeated": len(pixels)},
        "w_err": {"element": float(weights[0]), "repeated": len(weights)},
    }


def told_entries(entries: tuple[np.ndarray, np.ndarray, np.ndarray]) -> dict[str, list[float]]:
    """The first observation's part of each list, and the last number."""
    names = ("rows", "cols", "vals")
    return {name: [*each[:SENT].tolist(), each[-1].item()] for name, each in zip(names, entries, strict=True)}


EVAL = Eval(prepare, {"objective": Function(objective, told_errors), "jacobian": Function(jacobian, told_entries)})
