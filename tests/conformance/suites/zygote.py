"""Zygote's features: objects, references, tuples, dictionaries, stacks, control flow, closures, checkpoints."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass

import numpy as np

import bridge
from tests.conformance.scenario import Suite

suite = Suite("Zygote features", "Zygote.jl", "FluxML/Zygote.jl test/features_tests.jl")

Pair = namedtuple("Pair", ["a", "b"])


@dataclass
class Layer:
    """Weights that a call multiplies by."""

    weights: np.ndarray

    def __call__(self, x):
        return self.weights @ x


class Box:
    """A mutable object of one field."""

    def __init__(self, value):
        self.value = value


@suite([2.0], gradient=[[12.0]])
def power_by_a_while_loop(x):
    """A loop with a count multiplies a number."""
    r, n = 1.0, 3
    while n > 0:
        n -= 1
        r *= x[0]
    return r


@suite([2.0], gradient=[[12.0]])
def power_in_a_reference(x):
    """The running product lives in an array without axes."""
    r, n = np.ones(()), 3
    while n > 0:
        n -= 1
        r[()] = r[()] * x[0]
    return r[()]


@suite([2.0], gradient=[[12.0]])
def power_by_recursion(x):
    """A function that calls itself."""

    def power(a, n):
        return 1.0 if n == 0 else a * power(a, n - 1)

    return power(x[0], 3)


@suite([2.0], gradient=[[12.0]])
def power_in_an_enclosing_variable(x):
    """An inner function rebinds a variable of the outer one."""
    r = 1.0

    def times():
        nonlocal r
        r = r * x[0]

    for _ in range(3):
        times()
    return r


@suite([2.0, 3.0], gradient=[[3.0, 2.0]])
def product_by_way_of_an_object(x):
    """Two numbers go into an object and come out of it."""
    pair = Pair(x[0], x[1])
    return pair.a * pair.b


@suite([2.0, 3.0], gradient=[[3.0, 2.0]])
def product_by_way_of_a_list_and_a_dictionary(x):
    """Two numbers go through containers that are changed on the way."""
    items = [x[0], 0.0]
    items[1] = x[1]
    table = {"p": items}
    items = None
    return table["p"][0] * table["p"][1]


@suite([2.0], gradient=[[4.0]])
def value_stored_under_a_key(x):
    """A value and the same value from a dictionary."""
    table = {}
    table["x"] = x[0]
    return x[0] * table["x"]


@suite([3.0, 0.5], gradient=[[7.0, 0.0]])
def field_used_twice(x):
    """A mutable object's field, squared and added."""
    box = Box(x[0])
    return box.value**2 + box.value


@suite([3.0, 0.5])
def field_set_by_a_function(x):
    """A function sets a field of its argument and returns nothing."""

    def put(box, value):
        box.value = value

    box = Box(0.0)
    put(box, x[0] * x[1])
    put(box, box.value**2)
    return box.value


@suite([1.0, 2.0], gradient=[[108.0, 108.0]])
def mutable_in_a_tuple(x):
    """An object in a tuple, its array added to itself; from 0.6.0 on Zygote gave nothing for such."""
    inside = (Box(x),)
    return 0.5 * np.sum(inside[0].value + inside[0].value) ** 3 + 0.0 * np.sum(inside[0].value)


@suite([4.0], gradient=[[48.0]])
def object_in_an_object(x):
    """A field of a field."""
    outer = Box(Box(x[0]))
    return outer.value.value**3


@suite([1.0, 2.0, 3.0], gradient=[[2.0, 4.0, 6.0]])
def list_of_objects(x):
    """A list of mutable objects, each with its element."""
    boxes = [Box(v) for v in x]
    return sum(box.value**2 for box in boxes)


@suite([1.0, 2.0, 3.0], gradient=[[1.0, 1.0, 0.0]])
def elements_by_indices_in_an_object(x):
    """An object holds an array and integer indices into it."""
    holder = Pair([0, 1], x)
    return sum(holder.b[i] for i in holder.a)


@suite([0.7, -0.2, 1.5])
def stack_pushed_and_popped(x):
    """A stack grows and shrinks; what was popped unused has no gradient."""
    stack = []
    for value in x:
        stack.append(value * value)
    stack.pop()
    top = stack.pop()
    stack.append(top * x[2])
    return sum(stack)


@suite([0.7, -0.2, 1.5], gradient=[[-0.3, 1.05, -0.14]])
def product_of_all_elements(x):
    """A loop over the elements themselves."""
    s = 1.0
    for value in x:
        s *= value
    return s


@suite([0.7, -0.2])
def three_way_branch(x):
    """A name is rebound in two of three branches."""
    y = x[0]
    if x[0] > 1.0:
        y = y * 2
    elif x[0] > 0.5:
        y = y * 3
    return y * x[1]


@suite([0.7, -0.2], gradient=[[5.0, 0.0]])
def guard_that_raises(x):
    """A guard before the computation that does not fire."""
    if x[0] < 0:
        raise ValueError("negative")
    return x[0] * 5


@suite([0.7, -0.2])
def try_without_an_error(x):
    """A try block whose handler is not needed."""
    try:
        y = 2 * x[0]
    except ZeroDivisionError:
        y = x[1]
    return y * x[1]


@suite([0.7, -0.2])
def error_after_a_write_is_handled(x):
    """A write before an error stays, as in NumPy; the handler goes on."""
    y = x.copy()
    try:
        y[0] = x[1] ** 2
        y[5] = x[0]
    except IndexError:
        y[1] *= 3.0
    return np.sum(y * y)


@suite([0.7, -0.2])
def keyword_arguments_and_defaults(x):
    """Arguments by name, with defaults, through two functions."""

    def inner(a, *, scale=1.0, **rest):
        return a * scale + rest["shift"]

    def outer(*values, **options):
        return sum(inner(v, **options) for v in values)

    return outer(x[0], x[1] ** 2, scale=x[1], shift=x[0])


@suite([1.0, 2.0], gradient=[[1.0, 0.0]])
def slice_given_as_a_keyword(x):
    """A slice that is an argument selects one element."""

    def select(values, at=slice(None)):
        return values[at]

    return np.sum(select(x, at=slice(0, 1)))


@suite([0.7, -0.2])
def function_made_by_a_function(x):
    """A closure over a value multiplies it by its argument."""

    def scaled_by(a):
        return lambda b: a * b

    return scaled_by(x[0])(scaled_by(x[1])(x[0]))


@suite([0.5], gradient=[[-np.sin(0.5)]])
def derivative_of_a_derivative(x):
    """A gradient inside of a function that is differentiated."""
    return np.sum(bridge.grad(lambda v: np.sum(np.sin(v)))(x))


@suite([4.0], gradient=[[8.0]])
def inner_derivative_with_a_captured_value(x):
    """The inner function captures the outer variable: x * d(x * y)/dy is x squared."""
    inner = bridge.grad(lambda y: np.sum(x * y))
    return np.sum(x * inner(np.ones(1)))


@suite([0.4, 0.8])
def checkpointed_in_place_function(x):
    """A checkpointed function that writes into its own copy runs twice and gives one gradient."""

    def body(a):
        a = a.copy()
        a[0] *= a[1]
        np.sin(a, out=a)
        return a

    return np.sum(bridge.checkpoint(body)(x) ** 2)


@suite([0.4])
def nested_checkpoints(x):
    """Checkpoints in checkpoints: sine, cosine, and their maximum."""

    def inner(a, b):
        return bridge.checkpoint(lambda p, q: np.maximum(p, q))(a, b)

    def middle(a):
        return bridge.checkpoint(inner)(a, np.cos(a))

    return np.sum(bridge.checkpoint(lambda v: middle(np.sin(v)))(x))


@suite([[1.0, 0.2], [0.1, 1.5]], [1.0, 2.0])
def layer_object_called(w, x):
    """A callable object with weights, called twice; its weights are changed in between."""
    layer = Layer(w.copy())
    y = layer(x)
    layer.weights[0] *= 2.0
    return np.sum(layer(y) * y)


@suite([0.7, -0.2, 1.5])
def comprehension_with_a_condition(x):
    """A comprehension that leaves elements out."""
    return sum(x[i] ** 2 for i in range(3) if i != 1)


@suite([0.7, -0.2], [1.5, 0.3])
def zip_and_enumerate(x, y):
    """Elements of two arrays side by side, with their number."""
    total = 0.0
    for k, (a, b) in enumerate(zip(x, y, strict=True)):
        total += (k + 1) * a * b**2
    return total


@suite([0.7, -0.2, 0.9])
def accumulated_in_another_array_by_a_callback(x):
    """map with a function that writes what it sees into an array around it."""
    seen = np.zeros(3)

    def visit(i):
        seen[i] += x[i] * x[2]
        return seen[i] ** 2

    return sum(map(visit, [0, 2, 0])) + np.sum(seen)
