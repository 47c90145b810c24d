"""What is not there when a program is traced, and is there later: attributes, globals, names of modules and classes."""

from __future__ import annotations

import functools
import operator
import sys
import types
from typing import Any

import numpy as np
import pytest

from tests.xla.stale.record import WAYS, Made, check, records

pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

RECORDS, record = records()


class Empty:
    pass


def module_of(text: str) -> Any:
    """A program in a module of its own, whose source is not read."""
    made: Any = types.ModuleType("made")
    exec(compile(text, "made.py", "exec"), vars(made))
    return made


@record
def has_of_a_class() -> Made:
    C = type("C", (), {})
    return lambda x: x * (3 if hasattr(C, "extra") else 1), [
        lambda: setattr(C, "extra", 0),
        lambda: delattr(C, "extra"),
    ]


@record
def has_of_an_object() -> Made:
    one = Empty()
    return lambda x: x * (3 if hasattr(one, "extra") else 1), [lambda: setattr(one, "extra", 0)]


@record
def has_of_its_class() -> Made:
    C = type("C", (), {})
    one = C()
    return lambda x: x * getattr(one, "scale", 1.0), [
        lambda: setattr(C, "scale", 4.0),
        lambda: setattr(one, "scale", 5.0),
    ]


@record
def has_of_a_base() -> Made:
    A = type("A", (), {})
    one = type("B", (A,), {})()
    return lambda x: x * getattr(one, "scale", 1.0), [lambda: setattr(A, "scale", 4.0)]


@record
def has_of_a_module() -> Made:
    module = types.ModuleType("settings")
    return lambda x: x * getattr(module, "scale", 1.0), [lambda: setattr(module, "scale", 4.0)]


@record
def has_of_a_function() -> Made:
    def helper() -> float:
        return 1.0

    return lambda x: x * getattr(helper, "scale", 1.0), [lambda: setattr(helper, "scale", 4.0)]


@record
def has_of_a_slot() -> Made:
    class S:
        __slots__ = ("k",)

    one = S()
    return lambda x: x * getattr(one, "k", 1.0), [lambda: setattr(one, "k", 4.0), lambda: delattr(one, "k")]


@record
def has_of_a_namespace() -> Made:
    one = types.SimpleNamespace()
    return lambda x: x * (one.k if hasattr(one, "k") else 1.0), [lambda: setattr(one, "k", 4.0)]


@record
def a_name_that_is_made() -> Made:
    one = Empty()
    return lambda x: x * sum(getattr(one, f"w{i}", 1.0) for i in range(3)), [lambda: setattr(one, "w2", 4.0)]


@record
def a_name_from_a_list() -> Made:
    one, names = Empty(), ["a", "b"]
    return lambda x: x * sum(getattr(one, name, 1.0) for name in names), [
        lambda: setattr(one, "b", 4.0),
        lambda: names.append("c"),
        lambda: setattr(one, "c", 7.0),
    ]


@record
def a_name_by_an_argument() -> Made:
    one = Empty()

    def read(thing: Any, name: str) -> float:
        return getattr(thing, name, 1.0)

    return lambda x: x * read(one, "k"), [lambda: setattr(one, "k", 4.0)]


@record
def a_path_of_names() -> Made:
    one: Any = Empty()
    one.inner = type("Inner", (), {"k": 2.0})()
    return lambda x: x * functools.reduce(getattr, ["inner", "k"], one), [lambda: setattr(one.inner, "k", 4.0)]


@record
def an_attrgetter() -> Made:
    C = type("C", (), {"k": 2.0})
    one, get = C(), operator.attrgetter("k")
    return lambda x: x * get(one), [lambda: setattr(one, "k", 4.0)]


@record
def an_attribute_error() -> Made:
    one: Any = Empty()

    def program(x: Any) -> Any:
        try:
            return x * one.k
        except AttributeError:
            return x

    return program, [lambda: setattr(one, "k", 4.0), lambda: delattr(one, "k")]


@record
def a_global_that_hides_a_builtin() -> Made:
    made = module_of("def program(x):\n    return x * abs(-2.0)")
    return made.program, [lambda: setattr(made, "abs", lambda v: 9.0), lambda: delattr(made, "abs")]


@record
def a_global_that_comes() -> Made:
    made = module_of("def program(x):\n    try:\n        return x * EXTRA\n    except NameError:\n        return x")
    return made.program, [lambda: setattr(made, "EXTRA", 4.0), lambda: delattr(made, "EXTRA")]


@record
def a_name_in_globals() -> Made:
    made = module_of("def program(x):\n    return x * (3.0 if 'EXTRA' in globals() else 1.0)")
    return made.program, [lambda: setattr(made, "EXTRA", 4.0)]


@record
def a_value_of_globals() -> Made:
    made = module_of("k1 = 2.0\ndef program(x):\n    return x * globals().get(f'k{1}', 1.0)")
    return made.program, [lambda: setattr(made, "k1", 4.0), lambda: delattr(made, "k1")]


@record
def a_function_of_a_module_by_name() -> Made:
    module = types.ModuleType("settings")
    exec("def __getattr__(name):\n    return kept.get(name, 1.0)\nkept = {}", vars(module))
    return lambda x: x * module.scale, [lambda: module.kept.update(scale=3.0), lambda: setattr(module, "scale", 5.0)]


@record
def another_module() -> Made:
    one, other = types.ModuleType("one"), types.ModuleType("other")
    one.k, other.k = 2.0, 5.0  # type: ignore[attr-defined]
    made = module_of("def program(x):\n    return x * backend.k")
    made.backend = one
    return made.program, [lambda: setattr(made, "backend", other), lambda: setattr(other, "k", 7.0)]


@record
def a_module_in_an_object() -> Made:
    one: Any = Empty()
    one.module = types.ModuleType("one")
    one.module.k = 2.0
    return lambda x: x * one.module.k, [lambda: setattr(one.module, "k", 4.0)]


@record
def a_module_in_a_module() -> Made:
    outer, inner = types.ModuleType("outer"), types.ModuleType("outer.inner")
    outer.inner, inner.k = inner, 2.0  # type: ignore[attr-defined]
    return lambda x: x * outer.inner.k, [lambda: setattr(inner, "k", 4.0)]


@record
def a_module_as_an_argument() -> Made:
    module = types.ModuleType("settings")
    module.k = 2.0  # type: ignore[attr-defined]

    def read(settings: Any) -> float:
        return settings.k

    return lambda x: x * read(module), [lambda: setattr(module, "k", 4.0)]


@record
def a_module_that_is_imported_inside() -> Made:
    module: Any = types.ModuleType("settings_of_a_test")
    sys.modules["settings_of_a_test"], module.k = module, 2.0

    def program(x: Any) -> Any:
        from settings_of_a_test import k  # type: ignore[import-not-found]

        return x * k

    return program, [lambda: setattr(module, "k", 4.0)]


@record
def a_module_among_those_that_are_loaded() -> Made:
    sys.modules.pop("another_of_a_test", None)
    return lambda x: x * (3.0 if "another_of_a_test" in sys.modules else 1.0), [
        lambda: sys.modules.update(another_of_a_test=types.ModuleType("m")),
        lambda: sys.modules.pop("another_of_a_test"),
    ]


@record
def a_loaded_module() -> Made:
    module: Any = types.ModuleType("third_of_a_test")
    sys.modules["third_of_a_test"], module.k = module, 2.0
    return lambda x: x * sys.modules["third_of_a_test"].k, [lambda: setattr(module, "k", 4.0)]


@record
def a_name_of_a_module_that_is_made() -> Made:
    module: Any = types.ModuleType("settings")
    module.w1 = 2.0
    return lambda x: x * sum(getattr(module, f"w{i}", 1.0) for i in range(3)), [
        lambda: setattr(module, "w1", 4.0),
        lambda: setattr(module, "w2", 5.0),
    ]


@record
def all_names_of_a_module() -> Made:
    module: Any = types.ModuleType("settings")
    module.W1 = 2.0
    return lambda x: x * sum(v for name, v in vars(module).items() if name.startswith("W")), [
        lambda: setattr(module, "W1", 4.0),
        lambda: setattr(module, "W2", 5.0),
    ]


@record
def an_object_of_a_class_by_a_name_that_is_made() -> Made:
    C = type("C", (), {"w1": types.SimpleNamespace(k=2.0)})
    return lambda x: x * getattr(C, f"w{1}").k, [lambda: setattr(C.w1, "k", 4.0)]  # type: ignore[attr-defined]


@record
def an_expression_in_a_text() -> Made:
    made = module_of("k = 2.0\ndef program(x):\n    return x * eval('k + 1')")
    return made.program, [lambda: setattr(made, "k", 4.0)]


@record
def the_name_of_a_class() -> Made:
    C = type("C", (), {})
    one = C()
    return lambda x: x * (3.0 if type(one).__name__ == "C" else 1.0), [lambda: setattr(C, "__name__", "D")]


@record
def a_class_pattern() -> Made:
    class P:
        k = 2.0

    one: Any = P()

    def program(x: Any) -> Any:
        match one:
            case P(k=2.0):
                return x
            case P(extra=1.0):
                return x * 5.0
            case _:
                return x * 3.0

    return program, [lambda: setattr(one, "k", 4.0), lambda: setattr(P, "extra", 1.0)]


@record
def a_key_of_a_dict() -> Made:
    options: dict[str, float] = {}
    return lambda x: x * options.get("k", 1.0), [lambda: options.update(k=4.0), lambda: options.clear()]


@record
def lazily_made_by_the_program() -> Made:
    one: Any = Empty()

    def program(x: Any) -> Any:
        if not hasattr(one, "n"):
            one.n = 1.0
        return x * one.n

    return program, [lambda: setattr(one, "n", 3.0), lambda: setattr(one, "n", 4.0)]


@record
def an_attribute_of_a_dict_subclass() -> Made:
    class Bag(dict):  # type: ignore[type-arg]
        pass

    bag: Any = Bag(a=1.0)
    return lambda x: x * getattr(bag, "k", 2.0) * bag["a"], [lambda: setattr(bag, "k", 4.0), lambda: bag.update(a=3.0)]


@record
def an_attribute_of_an_array_subclass() -> Made:
    held: Any = types.SimpleNamespace(w=np.ones(3))
    return lambda x: x * held.w + getattr(held, "bias", 0.0), [lambda: setattr(held, "bias", 2.0)]


@pytest.mark.ci
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", RECORDS)
def test_it_is_traced_again(name: str, way: Any) -> None:
    check(RECORDS[name], way)
