"""Differences and averages on the staggered grid."""

import numpy as np

from .constants import SPACING

__all__ = ["dd", "divergence", "mean_to_faces"]

_faces = None


def _face_scratch(n):
    global _faces
    if _faces is None or len(_faces) != n + 1:
        _faces = np.zeros(n + 1)
    return _faces


def dd(a, out=None):
    out = np.zeros(len(a) + 1) if out is None else out
    out[[0, -1]] = 0.0
    out[1:-1] = (a[1:] - a[:-1]) / SPACING
    return out


def mean_to_faces(a):
    faces = _face_scratch(len(a))
    faces[0], faces[-1] = a[0], a[-1]
    faces[1:-1] = 0.5 * (a[1:] + a[:-1])
    return faces


def divergence(flux):
    return (flux[1:] - flux[:-1]) / SPACING
