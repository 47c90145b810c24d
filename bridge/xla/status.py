"""Which JAX there is, what it runs on, and whether a compiled gradient is right there."""

from __future__ import annotations

from importlib import metadata
from importlib.util import find_spec

import numpy as np


def status() -> tuple[list[str], bool]:
    """Lines for people, and whether nothing is wrong; a JAX that is missing is not."""
    if find_spec("jax") is None:
        return ["not installed: engine='jax', engine='xla' and bridge.xla are not there, all else works"], True
    try:
        import jax

        devices = jax.devices()
        right = _is_right()
    except Exception as error:  # whatever a broken installation raises, the report must go on
        return [f"JAX {metadata.version('jax')} does not work: {type(error).__name__}: {error}"], False
    kinds = ", ".join(sorted({f"{device.platform} ({device.device_kind})" for device in devices}))
    return [
        f"JAX {jax.__version__}, {len(devices)} device{'s' if len(devices) > 1 else ''}: {kinds}",
        f"compiled gradient of an in-place program: {'right' if right else 'WRONG'}",
    ], right


def _is_right() -> bool:
    import bridge

    def doubled(x: np.ndarray) -> np.generic:
        x[1:] += x[:-1]
        return np.sum(x * x)

    x = np.arange(1.0, 5.0)
    return np.allclose(bridge.grad(doubled, engine="xla")(x), bridge.grad(doubled, engine="native")(x))
