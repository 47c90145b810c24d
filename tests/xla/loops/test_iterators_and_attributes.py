"""Iterators that are left early, functions that stop at an element, and attributes that are set on some paths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import TraceError
from tests.helpers.by_differences import differences
from tests.xla.loops.programs import attributes, iterators

X = np.array([0.7, -1.3, 2.1, 0.4])
PROGRAMS = [*iterators.PROGRAMS, *attributes.PROGRAMS]

# What is not known while a program is compiled, and the words of the refusal.
REFUSED = {
    iterators.any_writes: "may stop at an element that depends on values.*writes into an array",
    iterators.all_changes_a_list: "may stop at an element that depends on values.*changes list",
    iterators.first_by_next: "a condition .* needs the value",
    iterators.default_of_next: "a condition .* needs the value",
    iterators.taken_while: "a condition .* needs the value",
    iterators.chain_of_comparisons: "list 'out' grows in a branch",
    iterators.rest_of_an_array: "may leave a generator early",
    iterators.rest_of_a_generator: "may leave a generator early",
    iterators.reversed_in_two_loops: r"next\(\) needs the value",
    iterators.generator_left_early: "may leave a generator early",
    iterators.next_in_a_branch: r"it calls next\(\)",
    iterators.own_iterator: "may leave a C early",
    iterators.rest_of_a_filter: "a condition .* needs the value",
    iterators.next_in_a_condition: r"it calls next\(\)",
    attributes.lazy_attribute: "Lazy._m is an array or a number of shape .* or None",
    attributes.cached_property: "Cached.total is computed by the class where it is unset",
    attributes.attribute_by_getattr: "GA.z is computed by the class where it is unset",
    attributes.get_of_a_dictionary: "dict 'd' grows in a branch",
    attributes.key_in_a_dictionary: "dict 'd' grows in a branch",
    attributes.asked_by_hasattr: "asks whether there is an attribute energy",
    attributes.default_dictionary: "defaultdict 'd' is 'p' or 'n'",
    attributes.unbound_variable: "q is read, and has a value on one side of a branch only",
    attributes.loop_ends_by_a_caught_error: "cannot catch what is raised while it runs: index 4 is out of range",
}


def by_name(program: Callable[[Any], Any]) -> str:
    return program.__name__


@pytest.mark.ci
@pytest.mark.parametrize("program", PROGRAMS, ids=by_name)
def test_eagerly(program: Callable[[Any], Any]) -> None:
    value, gradient = bridge.value_and_grad(program)(X)
    np.testing.assert_allclose(value, program(X), rtol=1e-12)
    np.testing.assert_allclose(gradient, differences(program, X), atol=1e-6)


@pytest.mark.ci
@pytest.mark.parametrize("program", [one for one in PROGRAMS if one not in REFUSED], ids=by_name)
def test_compiled(program: Callable[[Any], Any]) -> None:
    compiled = bridge.value_and_grad(program, engine="xla")
    for _ in range(2):
        value, gradient = compiled(X)
        np.testing.assert_allclose(value, program(X), rtol=1e-12)
        np.testing.assert_allclose(gradient, differences(program, X), atol=1e-6)


@pytest.mark.ci
@pytest.mark.parametrize("program", REFUSED, ids=by_name)
def test_what_depends_on_values_is_refused_by_name(program: Callable[[Any], Any]) -> None:
    with pytest.raises(TraceError, match=rf"(?s){REFUSED[program]}.*\.py:\d+ in .*remedy: "):
        bridge.value_and_grad(program, engine="xla")(X)
