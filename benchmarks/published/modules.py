"""Loading a module of a checkout from its file, as it stands or in the precision of finite differences."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from benchmarks.published.program import PreciseNumPy


def load_module(path: Path, name: str, package: bool = False) -> ModuleType:
    """Run a module's file under a name of our choosing; a package finds its modules beside it."""
    where = [str(path.parent)] if package else None
    spec = importlib.util.spec_from_file_location(name, path, submodule_search_locations=where)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def load_precise(path: Path, name: str) -> ModuleType:
    """The same module once more, with a NumPy that names dtypes of the precision that is asked for."""
    module = load_module(path, f"{name}_precise")
    vars(module)["np"] = PreciseNumPy()
    return module
