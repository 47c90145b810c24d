"""XLA's persistent cache of compiled programs, on request and for the compilations of one function only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import jax
from jax.experimental.compilation_cache import compilation_cache


@contextmanager
def persistent(cache: Any) -> Iterator[None]:
    """Inside, what XLA compiles is kept in a folder: `cache`, or the user's cache folder for True.

    The settings are JAX's own, and are put back at the end. JAX opens its cache once, and keeps it whatever the
    settings say later; so it is closed before and after.
    """
    if not cache:
        yield
        return
    folder = Path(cache) if cache is not True else _default()
    folder.mkdir(parents=True, exist_ok=True)
    wanted = {
        "jax_compilation_cache_dir": str(folder),
        "jax_persistent_cache_min_compile_time_secs": 0.0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
    }
    before = {name: getattr(jax.config, name) for name in wanted}
    with ExitStack() as stack:
        compilation_cache.reset_cache()
        stack.callback(compilation_cache.reset_cache)
        for name, value in wanted.items():
            jax.config.update(name, value)
            stack.callback(jax.config.update, name, before[name])
        yield


def _default() -> Path:
    from platformdirs import user_cache_path

    return user_cache_path("mutation-bridge") / "xla"
