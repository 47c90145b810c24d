"""Objects that log what is done with them."""

from __future__ import annotations

from typing import Any

OPERATORS = (
    "add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and_", "or_", "xor",
)  # fmt: skip


class Noisy:
    """Logs every operator, comparison, test for truth, look-up and call."""

    def __init__(self, log: list[Any], name: str, value: Any = 0) -> None:
        vars(self).update(log=log, name=name, value=value)

    def __repr__(self) -> str:
        return f"Noisy({self.name})"

    def __bool__(self) -> bool:
        self.log.append(f"bool {self.name}")
        return bool(self.value)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        self.log.append(f"get {self.name}.{name}")
        return Noisy(self.log, f"{self.name}.{name}", self.value)

    def __setattr__(self, name: str, value: Any) -> None:
        self.log.append(f"set {self.name}.{name} = {value!r}")

    def __delattr__(self, name: str) -> None:
        self.log.append(f"del {self.name}.{name}")

    def __getitem__(self, key: Any) -> Any:
        self.log.append(f"get {self.name}[{key!r}]")
        return Noisy(self.log, f"{self.name}[{key!r}]", self.value)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.log.append(f"set {self.name}[{key!r}] = {value!r}")

    def __delitem__(self, key: Any) -> None:
        self.log.append(f"del {self.name}[{key!r}]")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.log.append(f"call {self.name}{args!r}{kwargs!r}")
        return Noisy(self.log, f"{self.name}()", self.value)

    def __contains__(self, item: Any) -> bool:
        self.log.append(f"{item!r} in {self.name}")
        return bool(self.value)

    def __iter__(self) -> Any:
        self.log.append(f"iter {self.name}")
        return iter([Noisy(self.log, f"{self.name}:{k}", k) for k in range(3)])

    def __len__(self) -> int:
        self.log.append(f"len {self.name}")
        return 3

    def __enter__(self) -> Any:
        self.log.append(f"enter {self.name}")
        return Noisy(self.log, f"{self.name}!", self.value)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        self.log.append(f"exit {self.name} {kind and kind.__name__}")
        return bool(self.value)

    def __format__(self, spec: str) -> str:
        self.log.append(f"format {self.name} {spec}")
        return f"<{self.name}:{spec}>"

    def __hash__(self) -> int:
        self.log.append(f"hash {self.name}")
        return 1

    def __index__(self) -> int:
        self.log.append(f"index {self.name}")
        return int(self.value)


def _binary(name: str) -> Any:
    def operate(self: Any, other: Any) -> Any:
        self.log.append(f"{name} {self.name} {other!r}")
        return Noisy(self.log, f"({self.name} {name} {getattr(other, 'name', other)})", self.value)

    return operate


for _name in OPERATORS:
    _short = _name.rstrip("_")
    for _made in (f"__{_short}__", f"__r{_short}__"):
        setattr(Noisy, _made, _binary(_made.strip("_")))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Noisy, f"__{_name}__", _binary(_name))
for _name in ("neg", "pos", "invert"):
    setattr(Noisy, f"__{_name}__", lambda self, name=_name: Noisy(self.log, f"{name} {self.name}", self.value))


class InPlace(Noisy):
    """Has augmented operators that return another object."""


for _name in OPERATORS:
    _short = _name.rstrip("_")
    setattr(InPlace, f"__i{_short}__", _binary(f"i{_short}"))


class Anything:
    """Has every attribute, as a mock has."""

    def __getattr__(self, name: str) -> Any:
        return Anything()

    def __repr__(self) -> str:
        return "Anything"


class Truth:
    """A number of rules about truth, in one object."""

    def __init__(self, log: list[Any], name: str, value: bool) -> None:
        self.log, self.name, self.value = log, name, value

    def __bool__(self) -> bool:
        self.log.append(self.name)
        return self.value

    def __repr__(self) -> str:
        return self.name


def said(log: list[Any], value: Any) -> Any:
    """Log a value, and return it: shows when it is evaluated."""
    log.append(repr(value))
    return value
