"""Rotations in space of tracked angles, vectors, matrices and quaternions: `scipy.spatial.transform.Rotation`.

A rotation is its unit quaternion, scalar last. Functions of a squared angle are series near zero: derivatives of every
order are right for the identity.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bridge.extend import TrackedObject, as_array, check_number, known, needs, refuse, stand_in

transform = needs("scipy.spatial.transform")

Rotation = transform.Rotation

_SMALL = 1e-5
_NOT_TRACKED = "make the rotation of bridge.detach(values), or compute it from .as_matrix()"


def _floats(x: Any) -> Any:
    return as_array(x).astype(np.float64)


def _value(x: Any) -> Any:
    """The plain copy of an argument; None in a program that is compiled."""
    return np.copy(known(x)) if known(x) is not None else None


def _near(small: Any, series: Any, closed: Callable[[Any], Any], squared: Any) -> Any:
    """`series` where a squared angle is small, else a function of its root."""
    return np.where(small, series, closed(np.sqrt(np.where(small, 1.0, squared))))


def _exact(x: Any, plain: Any) -> Any:
    """`x` with the last digits of SciPy's value; the difference of two numbers so near has no rounding."""
    return x if plain is None else x + (plain - known(x))


def _product(p: Any, q: Any) -> Any:
    """The quaternion of the rotation `q` followed by `p`."""
    u, v, a, b = p[..., :3], q[..., :3], p[..., 3:], q[..., 3:]
    scalar = a * b - np.sum(u * v, axis=-1, keepdims=True)
    vector = a * v + b * u + np.cross(u, v)
    return np.concatenate([vector, scalar], axis=-1)


class Rotations(TrackedObject):
    """One rotation or several: unit quaternions, and SciPy's `plain` rotation, None in a program that is compiled."""

    library_class = property(lambda self: Rotation)
    __array_ufunc__ = None

    def __init__(self, quaternion: Any, plain: Any) -> None:
        self.quaternion, self.plain = quaternion, plain

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("place", "quaternion", "plain"):
            raise AttributeError(name)
        refuse(f"scipy.spatial.transform.Rotation.{name} of tracked values", _NOT_TRACKED)

    @property
    def single(self) -> bool:
        return bool(self.quaternion.ndim == 1)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.quaternion.shape[:-1])

    def __len__(self) -> int:
        if self.single:
            raise TypeError("Single rotation has no len().")
        return int(self.quaternion.shape[0])

    def __getitem__(self, key: Any) -> Rotations:
        if self.single:
            raise TypeError("Single rotation is not subscriptable.")
        return Rotations(self.quaternion[key], None if self.plain is None else self.plain[key])

    def _of(self, plain: Callable[[Any], Any], value: Any) -> Any:
        return _exact(value, None if self.plain is None else plain(self.plain))

    def as_quat(self, canonical: bool = False, *, scalar_first: bool = False) -> Any:
        q = self.quaternion
        if canonical:
            x, y, z, w = (q[..., k] for k in range(4))
            first = np.where(w != 0, w, np.where(x != 0, x, np.where(y != 0, y, z)))
            q = q * np.where(first < 0, -1.0, 1.0)[..., None]
        q = np.concatenate([q[..., 3:], q[..., :3]], axis=-1) if scalar_first else q
        options = {"scalar_first": True} if scalar_first else {}
        return self._of(lambda r: r.as_quat(canonical, **options), q)

    def as_matrix(self) -> Any:
        x, y, z, w = (self.quaternion[..., k] for k in range(4))
        rows = [
            [x * x - y * y - z * z + w * w, 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), -x * x + y * y - z * z + w * w, 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), -x * x - y * y + z * z + w * w],
        ]
        matrix = np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
        return self._of(lambda r: r.as_matrix(), matrix)

    def as_rotvec(self, degrees: bool = False) -> Any:
        q = self.quaternion * np.where(self.quaternion[..., 3:] < 0, -1.0, 1.0)
        vector, scalar = q[..., :3], q[..., 3:]
        squared = np.sum(vector**2, axis=-1, keepdims=True)
        series = 2 + squared / 3 + 3 * squared**2 / 20 + 5 * squared**3 / 56
        found = vector * _near(squared < _SMALL, series, lambda n: 2 * np.arctan2(n, scalar) / n, squared)
        return self._of(lambda r: r.as_rotvec(degrees), np.rad2deg(found) if degrees else found)

    def magnitude(self) -> Any:
        q = self.quaternion
        found = 2 * np.arctan2(np.linalg.norm(q[..., :3], axis=-1), np.abs(q[..., 3]))
        return self._of(lambda r: r.magnitude(), found)

    def as_euler(self, seq: str, degrees: bool = False, **options: Any) -> Any:
        """Bernardes and Viollet, "Quaternion to Euler angles conversion", 2022."""
        if self.plain is None:
            refuse("scipy.spatial.transform.Rotation.as_euler in a compiled program", "use engine='native'")
        plain = self.plain.as_euler(seq, degrees, **options)
        is_extrinsic = seq.islower()
        i, j, k = ("xyz".index(axis) for axis in (seq if is_extrinsic else seq[::-1]).lower())
        is_symmetric = i == k
        k = 3 - i - j if is_symmetric else k
        sign = (i - j) * (j - k) * (k - i) // 2
        q = self.quaternion
        a, b, c, d = q[..., 3], q[..., i], q[..., j], q[..., k] * sign
        if not is_symmetric:
            a, b, c, d = a - c, b + d, c + a, d - b
        middle = 2 * np.arctan2(np.hypot(c, d), np.hypot(a, b))
        if np.any((known(middle) < 1e-6) | (known(middle) > np.pi - 1e-6)):
            refuse(
                "scipy.spatial.transform.Rotation.as_euler in gimbal lock", "use another sequence of axes, or as_quat"
            )
        half_sum, half_difference = np.arctan2(b, a), np.arctan2(d, c)
        ends = [half_sum - half_difference, half_sum + half_difference]
        if not is_symmetric:
            ends[1], middle = ends[1] * sign, middle - np.pi / 2
        angles = np.stack([ends[0], middle, ends[1]][:: 1 if is_extrinsic else -1], axis=-1)
        angles = np.rad2deg(angles) if degrees else angles
        # The first time whole circles are added, which rounds.
        return _exact(_exact(angles, plain), plain)

    def apply(self, vectors: Any, inverse: bool = False) -> Any:
        vectors = _floats(vectors)
        at = _value(vectors)
        plain = None if self.plain is None or at is None else self.plain.apply(at, inverse)
        matrix = self.as_matrix()
        return _exact(np.einsum("...ji,...j->...i" if inverse else "...ij,...j->...i", matrix, vectors), plain)

    def inv(self) -> Rotations:
        conjugate = self.quaternion * np.array([-1.0, -1.0, -1.0, 1.0])
        return Rotations(conjugate, None if self.plain is None else self.plain.inv())

    def __mul__(self, other: Any) -> Any:
        other = _tracked(other)
        return NotImplemented if other is None else _composed(self, other)

    def __rmul__(self, other: Any) -> Any:
        other = _tracked(other)
        return NotImplemented if other is None else _composed(other, self)

    def __pow__(self, n: Any, modulus: None = None) -> Any:
        if modulus is not None or hasattr(n, "place"):
            refuse("a tracked power of a rotation", "write Rotation.from_rotvec(n * r.as_rotvec())")
        return from_rotvec(n * self.as_rotvec())


def _tracked(rotation: Any) -> Rotations | None:
    if isinstance(rotation, Rotations):
        return rotation
    return Rotations(rotation.as_quat(), rotation) if isinstance(rotation, Rotation) else None


def _composed(p: Rotations, q: Rotations) -> Rotations:
    plain = None if p.plain is None or q.plain is None else p.plain * q.plain
    return _made(_product(p.quaternion, q.quaternion), plain)


def _made(quaternion: Any, plain: Any) -> Rotations:
    """The rotation of a quaternion, with SciPy's sign and last digits."""
    if plain is not None:
        target = plain.as_quat()
        same = np.sum(known(quaternion) * target, axis=-1, keepdims=True) >= 0
        quaternion = _exact(quaternion * np.where(same, 1.0, -1.0), target)
    return Rotations(quaternion, plain)


def _plain(make: Callable[..., Any], x: Any, *args: Any, **options: Any) -> Any:
    """SciPy's rotation, and its errors; None in a program that is compiled."""
    value = _value(x)
    made = make(np.ones(x.shape) if value is None else value, *args, **options)
    return None if value is None else made


@stand_in(Rotation.from_quat)
def from_quat(quat: Any, *, scalar_first: bool = False) -> Rotations:
    quat = _floats(quat)
    plain = _plain(Rotation.from_quat, quat, **({"scalar_first": True} if scalar_first else {}))
    quat = np.concatenate([quat[..., 1:], quat[..., :1]], axis=-1) if scalar_first else quat
    length = np.linalg.norm(quat, axis=-1, keepdims=True)
    if plain is None:
        check_number(ValueError("Found zero norm quaternions in `quat`."), np.any(length == 0))
    return _made(quat / length, plain)


@stand_in(Rotation.from_rotvec)
def from_rotvec(rotvec: Any, degrees: bool = False) -> Rotations:
    rotvec = _floats(rotvec)
    plain = _plain(Rotation.from_rotvec, rotvec, degrees)
    return _made(_of_vector(np.deg2rad(rotvec) if degrees else rotvec), plain)


def _of_vector(rotvec: Any) -> Any:
    squared = np.sum(rotvec**2, axis=-1, keepdims=True)
    small = squared < _SMALL
    sine = 0.5 - squared / 48 + squared**2 / 3840 - squared**3 / 645120
    cosine = 1 - squared / 8 + squared**2 / 384 - squared**3 / 46080
    vector = rotvec * _near(small, sine, lambda angle: np.sin(angle / 2) / angle, squared)
    return np.concatenate([vector, _near(small, cosine, lambda angle: np.cos(angle / 2), squared)], axis=-1)


@stand_in(Rotation.from_euler)
def from_euler(seq: str, angles: Any, degrees: bool = False) -> Rotations:
    angles = _floats(angles)
    sample = _value(angles)
    made = Rotation.from_euler(seq, np.zeros(angles.shape) if sample is None else sample, degrees)
    shape = made.as_quat().shape[:-1]
    radians = np.reshape(np.deg2rad(angles) if degrees else angles, (*shape, len(seq)))
    quaternion = None
    for number, axis in enumerate(seq):
        turned = _of_vector(radians[..., number, None] * np.eye(3)["xyz".index(axis.lower())])
        if quaternion is not None:
            turned = _product(turned, quaternion) if seq.islower() else _product(quaternion, turned)
        quaternion = turned
    return _made(quaternion, None if sample is None else made)


@stand_in(Rotation.from_matrix)
def from_matrix(matrix: Any, *, assume_valid: bool = False) -> Rotations:
    matrix = _floats(matrix)
    if _value(matrix) is None:
        refuse(
            "scipy.spatial.transform.Rotation.from_matrix in a compiled program", "use engine='native', or from_quat"
        )
    plain = Rotation.from_matrix(_value(matrix))
    if np.max(np.abs(known(matrix) - plain.as_matrix()), initial=0) > 1e-6:
        refuse("a rotation of a tracked matrix that is not orthogonal", "give it orthogonal columns and determinant 1")
    for _ in range(2):
        # The nearest rotation, as SciPy takes it: steps of Newton and Schulz.
        matrix = matrix @ (3 * np.eye(3) - np.swapaxes(matrix, -1, -2) @ matrix) / 2
    target = plain.as_quat()
    return _made(_of_matrix(matrix, np.argmax(np.abs(target), axis=-1)), plain)


def _of_matrix(m: Any, largest: Any) -> Any:
    """The quaternion of a matrix, from products of its `largest` component with the others."""
    x, y, z = (2 * m[..., k, k] for k in range(3))
    trace = (x + y + z) / 2
    xy, xz, yz = (m[..., i, j] + m[..., j, i] for i, j in ((0, 1), (0, 2), (1, 2)))
    xw, yw, zw = (m[..., i, j] - m[..., j, i] for i, j in ((2, 1), (0, 2), (1, 0)))
    products = [
        [1 - trace + x, xy, xz, xw],
        [xy, 1 - trace + y, yz, yw],
        [xz, yz, 1 - trace + z, zw],
        [xw, yw, zw, 1 + trace],
    ]
    rows = np.stack([np.stack(row, axis=-1) for row in products], axis=-2)
    chosen = np.take_along_axis(rows, np.expand_dims(largest, (-1, -2)), axis=-2)[..., 0, :]
    return chosen / np.linalg.norm(chosen, axis=-1, keepdims=True)


@stand_in(Rotation.apply)
def apply(rotation: Any, vectors: Any, inverse: bool = False) -> Any:
    return Rotations(rotation.as_quat(), rotation).apply(vectors, inverse)


for _name in ("align_vectors", "concatenate", "from_davenport", "from_mrp"):
    if hasattr(Rotation, _name):

        def _refused(*args: Any, _name: str = _name, **options: Any) -> Any:
            refuse(f"scipy.spatial.transform.Rotation.{_name} of tracked values", _NOT_TRACKED)

        stand_in(getattr(Rotation, _name))(_refused)
