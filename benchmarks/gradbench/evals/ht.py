"""`ht`: hand tracking, how far points are from those of a hand whose bones are turned.

The hand is a mesh: each vertex follows several bones, by weights. `theta` is the rotation of the whole hand (an axis,
as long as its angle), its translation, and four angles for each of five fingers. A measured point belongs to a vertex
or, where there are `shares`, to a place in a triangle, which they give.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import bridge
from benchmarks.gradbench.evaluation import Eval, Function, Input

FINGERS, JOINTS = 5, 3
STRAIGHT = 1e-4


def angles_of(theta: np.ndarray, bones: int) -> Any:
    """Three angles for each bone: joints of fingers bend, and the first of a finger also spreads."""
    angles = np.zeros((bones, 3))
    for finger in range(FINGERS):
        first, given = 2 + (JOINTS + 1) * finger, 6 + (JOINTS + 1) * finger
        angles[first, :2] = theta[given : given + 2]
        angles[first + 1 : first + JOINTS, 0] = theta[given + 2 : given + 1 + JOINTS]
    return angles


def turned(angles: np.ndarray) -> Any:
    """The 4 by 4 matrices of turns about x, then y, then z; `angles` has the one about z before the one about y."""
    (cx, cz, cy), (sx, sz, sy) = np.cos(angles).T, np.sin(angles).T
    turns = np.zeros((len(angles), 4, 4))
    turns[:, 0, 0] = cz * cy
    turns[:, 0, 1] = cz * sy * sx - sz * cx
    turns[:, 0, 2] = cz * sy * cx + sz * sx
    turns[:, 1, 0] = sz * cy
    turns[:, 1, 1] = sz * sy * sx + cz * cx
    turns[:, 1, 2] = sz * sy * cx - cz * sx
    turns[:, 2, 0] = -sy
    turns[:, 2, 1] = cy * sx
    turns[:, 2, 2] = cy * cx
    turns[:, 3, 3] = 1.0
    return turns


def about(axis: np.ndarray) -> Any:
    """The rotation about an axis by an angle that is its length; none where that is next to nothing."""
    rotation = np.eye(3)
    angle = np.sqrt(np.sum(axis**2))
    if angle >= STRAIGHT:
        x, y, z = axis / angle
        cross = np.zeros((3, 3))
        cross[0, 1], cross[0, 2], cross[1, 2] = -z, y, -x
        cross -= cross.T
        rotation += np.sin(angle) * cross
        rotation += (1.0 - np.cos(angle)) * (cross @ cross)
    return rotation


def vertices(
    theta: np.ndarray,
    parents: np.ndarray,
    relative: np.ndarray,
    inverse: np.ndarray,
    base: np.ndarray,
    weights: np.ndarray,
    mirrored: bool,
) -> Any:
    """The vertices of the hand; a bone's parent comes before it, and the root's is -1."""
    absolute = relative @ turned(angles_of(theta, len(parents)))
    for bone in range(len(parents)):
        if parents[bone] >= 0:
            absolute[bone] = absolute[parents[bone]] @ absolute[bone]
    skin = np.zeros((len(base), 3))
    for bone in range(len(parents)):
        moved = base @ (absolute[bone] @ inverse[bone]).T
        skin += weights[:, bone, None] * moved[:, :3]
    if mirrored:
        skin[:, 0] *= -1.0
    return skin @ about(theta[:3]).T + theta[3:6]


def objective(
    theta: np.ndarray,
    shift: np.ndarray,
    shares: np.ndarray | None,
    points: np.ndarray,
    corners: np.ndarray,
    *model: Any,
) -> Any:
    """What the points are away from the hand; `shift` is added to the shares of all of them.

    Derivatives with respect to it are those with respect to each point's own shares, which no other point has.
    """
    hand = vertices(theta, *model)
    if shares is None:
        return (points - hand[corners]).ravel()
    places = shares + shift
    misses = points - hand[corners[:, 2]]
    for corner in range(2):
        misses -= places[:, corner, None] * (hand[corners[:, corner]] - hand[corners[:, 2]])
    return misses.ravel()


def jacobian(theta: np.ndarray, shift: np.ndarray, shares: np.ndarray | None, *rest: Any) -> Any:
    """A row for each coordinate of each point; two columns for the point's shares, if it has any, and one a theta.

    A loop of derivatives forward rather than `bridge.jacfwd`, so that one of them is compiled and not as many as there
    are columns.
    """
    own = 0 if shares is None else len(shift)
    places = np.concatenate([shift[:own], theta])

    def of(given: np.ndarray) -> Any:
        return objective(given[own:], given[:own], shares, *rest)

    columns = np.zeros((rest[0].size, len(places)))
    for column in range(len(places)):
        direction = np.zeros_like(places)
        direction[column] = 1.0
        _, columns[:, column] = bridge.jvp(of, (places,), (direction,), engine="native")
    return columns


def prepare(given: Input) -> tuple[Any, ...]:
    """Theta, no shift, the shares or None, the points, where they belong, and the model."""
    data, model = given["data"], given["data"]["model"]
    corners = np.array(data["correspondences"], dtype=int)
    shares = np.array(given["us"], dtype=float) if len(given["us"]) else None
    if shares is not None:
        corners = np.array(model["triangles"], dtype=int)[corners]
    names = ("base_relatives", "inverse_base_absolutes", "base_positions", "weights")
    return (
        np.array(given["theta"], dtype=float), np.zeros(2), shares,
        np.array(data["points"], dtype=float), corners, np.array(model["parents"], dtype=int),
        *(np.array(model[name], dtype=float) for name in names), bool(model["is_mirrored"]),
    )  # fmt: skip


EVAL = Eval(
    prepare, {"objective": Function(objective, np.ndarray.tolist), "jacobian": Function(jacobian, np.ndarray.tolist)}
)
