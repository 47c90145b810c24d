"""Classes of the program that say themselves what setting an attribute does: read, and everything is put back."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import bridge

W = np.ones(3)


class IntoDictionary:
    """Keeps its attributes in a dictionary."""

    def __init__(self) -> None:
        object.__setattr__(self, "d", {"first": 1.0})

    def __setattr__(self, name: str, value: Any) -> None:
        self.d[name] = value

    def __getattr__(self, name: str) -> Any:
        try:
            return object.__getattribute__(self, "d")[name]
        except KeyError:
            raise AttributeError(name) from None


class ThroughItsBase(IntoDictionary):
    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)


class ThatNotifies(IntoDictionary):
    def __setattr__(self, name: str, value: Any) -> None:
        self.d[name] = value
        self.d["changed"] = name


class UnderAnotherName:
    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, f"_{name}", value)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self, f"_{name}")


class UnderAnotherNameBySuper(UnderAnotherName):
    def __setattr__(self, name: str, value: Any) -> None:
        super(UnderAnotherName, self).__setattr__(f"_{name}", value)


class WithALog:
    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        self.__dict__.setdefault("log", []).append((name, value))


class IntoItsDict:
    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__[name] = value


class ThatConverts:
    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value if hasattr(value, "shape") else np.asarray(value, float))


class WithSlots:
    __slots__ = ("u",)

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)


class IntoAList:
    def __init__(self) -> None:
        object.__setattr__(self, "items", [])

    def __setattr__(self, name: str, value: Any) -> None:
        self.items.append((name, value))

    def __getattr__(self, name: str) -> Any:
        for key, value in reversed(object.__getattribute__(self, "items")):
            if key == name:
                return value
        raise AttributeError(name)


class WithAProperty:
    def __init__(self) -> None:
        self.__dict__.update(seen=[], _u=None)

    @property
    def u(self) -> Any:
        return self._u

    @u.setter
    def u(self, value: Any) -> None:
        self._u = value

    def __setattr__(self, name: str, value: Any) -> None:
        self.seen.append((name, value))
        object.__setattr__(self, name, value)


CLASSES = (
    IntoDictionary, ThroughItsBase, ThatNotifies, UnderAnotherName, UnderAnotherNameBySuper, WithALog, IntoItsDict,
    ThatConverts, WithSlots, IntoAList, WithAProperty,
)  # fmt: skip


def state(thing: Any) -> str:
    held = dict(getattr(thing, "__dict__", {}))
    return repr(held | {"u": getattr(thing, "u", None)})


@pytest.mark.parametrize("by_name", [False, True], ids=["by a statement", "by setattr"])
@pytest.mark.parametrize("fails", [False, True], ids=["ends", "fails"])
@pytest.mark.parametrize("kind", CLASSES)
def test_what_a_setter_of_attributes_stores_is_put_back(kind: type, fails: bool, by_name: bool) -> None:
    """A Buffer was left behind in the dictionary, the list or the attribute that it went to."""
    thing = kind()
    before = state(thing)

    def f(x: Any) -> Any:
        if by_name:
            setattr(thing, "u", x * W)  # noqa: B010
        else:
            thing.u = x * W
        thing.u[0] = x * x
        thing.u += 1.0
        if fails:
            raise KeyError
        return thing.u.sum()

    for _ in range(2):
        if fails:
            with pytest.raises(KeyError):
                bridge.grad(f)(0.5)
        else:
            assert bridge.grad(f)(0.5) == 3.0
        assert state(thing) == before


@dataclasses.dataclass(frozen=True)
class Frozen:
    u: Any = None


def test_what_refuses_an_attribute_refuses_it() -> None:
    def f(x: Any) -> Any:
        Frozen().u = x  # type: ignore[misc]
        return x

    with pytest.raises(dataclasses.FrozenInstanceError):
        bridge.grad(f)(0.5)
