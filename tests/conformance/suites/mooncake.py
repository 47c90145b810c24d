"""Mooncake: functions that mutate arrays and objects, and maps from memory to its shadow where names are shared."""

from __future__ import annotations

import numpy as np

from tests.conformance.scenario import Suite

suite = Suite("Mooncake", "Mooncake.jl", "chalk-lab/Mooncake.jl src/test_resources.jl, src/rrules/iddict.jl")

MATRIX = [[1.1, -0.4, 0.3], [0.2, 1.4, -0.6], [0.5, 0.1, 1.7]]


class Mutable:
    """An object with fields that are rebound."""

    def __init__(self, x, y=None):
        self.x = x
        self.y = y


@suite([0.7, -0.4], gradient=[[0.0, np.cos(-0.4)]])
def element_becomes_the_sine_of_its_neighbour(x):
    """The argument's first element is overwritten by a function of the second, then returned."""
    x[0] = np.sin(x[1])
    return x[0]


@suite([0.5, 1.2, -0.3])
def in_place_map_without_a_return_value(x):
    """A function that returns nothing maps its argument in place."""

    def cosines(a):
        a[:] = np.cos(a)

    cosines(x)
    cosines(x)
    return np.sum(x * np.array([1.0, 2.0, 3.0]))


@suite(MATRIX, [[0.3, 0.1], [-0.2, 0.8], [1.0, 0.5]])
def matrix_product_by_hand_into_a_buffer(a, b):
    """Three loops zero each element of the result and add products to it."""
    c = np.empty((3, 2))
    for p in range(3):
        for q in range(2):
            c[p, q] = 0.0
            for r in range(3):
                c[p, q] += a[p, r] * b[r, q]
    return np.sum(c * c)


@suite([0.6], gradient=[[np.cos(0.6)]])
def field_overwritten_by_a_function_of_itself(x):
    """A field holds the argument and is replaced by its sine."""
    box = Mutable(x[0])
    box.x = np.sin(box.x)
    return box.x


@suite([0.6, 0.2])
def field_that_was_never_initialised(x):
    """A field is None until it is set to an array, which is then written in place."""
    box = Mutable(x[0])
    box.y = np.zeros(2)
    box.y[:] = x
    box.y[0] *= box.x
    return np.sum(box.y)


@suite([0.6, 0.2])
def object_that_refers_to_itself(x):
    """A circle: an object's field is the object, and the array behind it is found by going round."""
    node = Mutable(x * x)
    node.y = node
    node.y.y.x[0] += x[1]
    return np.sum(node.x**2)


@suite([0.6, 0.2])
def list_that_contains_itself(x):
    """A list whose first element is the list; the array is the second."""
    items = [None, x.copy()]
    items[0] = items
    items[0][0][1] *= 2.0
    return np.sum(items[1] * x)


@suite([0.6, 0.2])
def two_fields_of_one_array(x):
    """The same array under two fields: a write through one is read through the other."""
    shared = x.copy()
    box = Mutable(shared, shared)
    box.x[0] = 2.0 * x[1]
    box.y[1] = box.x[0] * box.y[1]
    return np.sum(box.x * box.y)


@suite([0.6, 0.2, 1.1])
def array_listed_three_times(x):
    """A list holds one array three times; each entry is incremented."""
    shared = np.zeros(3)
    for k, entry in enumerate([shared, shared, shared]):
        entry += x**k
    return np.sum(shared**2)


@suite([0.6, 0.2, 1.1])
def dictionary_keyed_by_identity(x):
    """A dictionary keyed by id() finds the buffer of an array; a key is replaced, and the old one read again."""
    a, b = x.copy(), x * 2.0
    buffers = {id(a): np.zeros(3), id(b): np.ones(3)}
    old = buffers[id(a)]
    buffers[id(a)] += a
    buffers[id(a)] = buffers[id(b)]
    buffers[id(a)] *= b
    return np.sum(old * buffers[id(b)])


@suite([0.6, 0.2])
def key_replaced_and_default_used(x):
    """get with a default: first the default, then what was set since."""
    table = {}
    first = table.get("a", x[0])
    table["a"] = x[1] * 2
    second = table.get("a", x[0])
    del table["a"]
    third = table.get("a", x[0] * x[1])
    return first * second * third


@suite([0.6, 0.2, -0.9])
def loop_variables_that_depend_on_one_another(x):
    """A loop's two variables are replaced at once, each from the other."""
    a, b = x[0], x[1]
    for _ in range(5):
        a, b = b, 2.0 * a * x[2]
    return a * b


@suite([0.6, 0.2, -0.9])
def recursion_on_shorter_slices(x):
    """A recursive sum over x[1:], a view of a view of a view."""

    def total(a):
        return 0.0 if len(a) == 0 else a[0] ** 2 + total(a[1:])

    return total(x)


@suite([0.6, 0.2])
def recursion_that_exchanges_its_arguments(x):
    """A function calls itself with its arguments exchanged."""

    def mixed(a, b):
        return a * b if a < b else mixed(b, a) + a

    return mixed(x[0], x[1]) ** 2


@suite([0.6, 0.2, -0.9])
def array_or_number_by_a_flag(x):
    """A variable is an array in one turn, a number in the next."""
    total = 0.0
    for flag in (True, False, True):
        value = x[:2] if flag else x[2]
        total = total + np.sum(value * value)
    return total


@suite([0.6, 0.2, -0.9])
def sum_that_begins_as_an_integer(x):
    """A running sum is an integer before the first element is added."""
    z = 0
    for i in range(3):
        z += x[i] * (i + 1)
    return z * z


@suite([0.6, 0.2, -0.9])
def nested_tuples_of_one_value(x):
    """One value at several depths of a tuple counts once for each."""
    y = x * x
    deep = ((((y,), x), y), x)
    return np.sum(deep[0][0][0][0] * deep[0][1] + deep[0][1] * deep[1])


@suite([0.6, 0.2, -0.9])
def value_used_before_and_after_rebinding(x):
    """A name is rebound while its old array is still read by another name."""
    y = x
    old = y
    y = y.copy()
    y[0] = 5.0 * x[1]
    return np.sum(old * y)


@suite([0.6, 0.2, -0.9, 0.4])
def deleted_and_reinserted(x):
    """Elements are moved up as deleteat! does, within one buffer."""
    a = x.copy()
    a[1:3] = a[2:4]
    a[3] = x[1] * x[3]
    return np.sum(a * np.array([1.0, 2.0, 3.0, 4.0]) * x)


@suite([0.6, 0.2, -0.9, 0.4])
def view_reshaped_and_written_by_the_parent(x):
    """A reshaped view is read after its parent was written."""
    a = x.copy()
    square = a.reshape(2, 2)
    a[1] = a[0] * a[3]
    square[1] *= 2.0
    return np.sum(square @ square)


@suite([0.6, 0.2, -0.9])
def undone_exactly(x):
    """What is written and put back by the program itself leaves the gradient of the rest."""
    a = x.copy()
    kept = a.copy()
    a *= 7.0
    seen = np.sum(a[:1])
    a[:] = kept
    return seen + np.sum(a**3)
