"""NumPy functions computed by JAX. A family is a file, named as in the rule book, and found by what it registers."""

from importlib import import_module
from pkgutil import iter_modules

for _family in iter_modules(__path__):
    import_module(f"{__name__}.{_family.name}")
