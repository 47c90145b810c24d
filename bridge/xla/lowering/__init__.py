"""NumPy functions computed by JAX. Each file has functions of one idea, and is found by what it registers."""

from importlib import import_module
from pkgutil import iter_modules

for _family in iter_modules(__path__):
    import_module(f"{__name__}.{_family.name}")
