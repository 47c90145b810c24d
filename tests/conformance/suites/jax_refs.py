"""JAX's mutable arrays (refs): made, read, written, closed over, swapped, in scans, in branches, frozen."""

from __future__ import annotations

import numpy as np

from tests.conformance.scenario import Suite

suite = Suite("JAX refs", "JAX", "jax-ml/jax tests/mutable_array_test.py")

VECTOR = [0.3, -1.2, 0.8, 0.5]
MATRIX = [[0.4, -0.3, 1.1], [0.9, 0.2, -0.7]]


class Ref:
    """A reference as in JAX: an array with a name for all of it."""

    def __init__(self, value):
        self.array = np.array(value)

    def __getitem__(self, key):
        return self.array[key]

    def __setitem__(self, key, value):
        self.array[key] = value

    def swap(self, value):
        """The old contents; the new ones are written."""
        old = self.array.copy()
        self.array[...] = value
        return old

    def addupdate(self, key, value):
        """What a transposed read does."""
        self.array[key] += value


@suite(VECTOR, gradient=[[1.0, 2.0, 3.0, 4.0]])
def whole_and_elements_are_incremented(x):
    """One increment of the whole and two of elements leave the derivative of each element 1."""
    ref = np.array(x)
    ref[...] += 1.0
    ref[0] += 1
    ref[1] += 5
    return np.sum(ref * np.array([1.0, 2.0, 3.0, 4.0]))


@suite([1.7], gradient=[[2.0]])
def doubled_by_reading_twice(x):
    """A reference of no axes: the sum of two reads of it is written back, then it is frozen."""
    ref = np.array(x[0])
    ref[()] = ref[()] + ref[()]
    return ref[()]


@suite(MATRIX, VECTOR[:3])
def several_references_of_other_shapes(x, y):
    """Two references of other shapes are incremented and broadcast against each other."""
    one, two = np.zeros((1, 3)), np.zeros((2, 3))
    one[...] += y
    two[...] += x
    return np.sum((one + two) ** 2 * x)


@suite(VECTOR)
def closed_over_by_an_inner_function(x):
    """An inner function without arguments writes a reference that it closes over."""
    ref = np.zeros(4)

    def step():
        ref[...] += x
        ref[0] += x[1] * x[0]

    step()
    step()
    return np.sum(ref**2)


@suite(VECTOR)
def closed_over_and_given_at_once(x):
    """One reference is closed over, another is an argument; both are written in one call."""
    outer = x.copy()

    def step(given, scale):
        outer[...] *= 2.0
        given[2] += outer[0] * scale
        return scale + 9.0

    inner = np.zeros(4)
    rest = step(inner, x[3])
    return np.sum(inner * outer) + rest**2


@suite([0.7, -0.2])
def made_inside_and_returned_by_value(x):
    """A reference lives in an inner function only; its value goes out."""

    def square_of(value):
        ref = np.zeros(3)
        ref[0] += value
        ref[0] += value
        ref[2] += value * value
        return ref.copy()

    return np.sum(square_of(x[0]) * square_of(x[1]))


@suite([0.2, 0.5, -0.4, 1.0, 0.3])
def loop_makes_a_reference_each_turn(x):
    """Every turn of a scan makes a reference of its element and stacks its last value."""
    out = np.zeros(5)
    for i in range(5):
        ref = np.array(x[i])
        ref[...] += 2.0
        ref[...] *= x[i]
        out[i] = ref
    return np.sum(out * out)


@suite([0.2, 0.5, -0.4, 1.0, 0.3])
def loop_accumulates_into_one_reference(x):
    """A scan adds to a reference around it and stacks what it holds after each turn."""
    total, history = np.zeros(()), np.zeros(5)
    for i in range(5):
        total[...] += x[i] ** 2
        history[i] = total
    return np.sum(history * np.arange(1.0, 6.0))


@suite([0.2, 0.5, -0.4, 1.0, 0.3])
def loop_over_the_rows_of_a_reference(x):
    """A scanned reference is written row by row, through a view of each row."""
    rows = np.tile(x, (3, 1))
    for i in range(3):
        row = rows[i]
        row[...] += i * x
        row[i] *= 2.0
    return np.sum(np.sin(rows))


@suite([1.1, 0.6])
def swap_returns_what_was_there(x):
    """A swap gives the old contents, whose gradient goes to who wrote them."""
    ref = Ref(x)
    old = ref.swap(3.0 * x)
    return np.sum(old * ref[...] ** 2)


@suite([1.1, 0.6], gradient=[[0.0, 0.0]])
def swapped_out_and_never_read(x):
    """What a write replaced before anybody read it has no gradient."""
    ref = Ref(x * x)
    ref[...] = np.ones(2)
    return np.sum(ref[...])


@suite(VECTOR)
def accumulating_updates_of_slices(x):
    """Additions into overlapping slices of one accumulator."""
    ref = Ref(np.zeros(4))
    for k in range(3):
        ref.addupdate(slice(k, k + 2), x[k] * x[k : k + 2])
    return np.sum(ref[...] ** 2)


@suite([0.9, -0.3])
def branch_writes_the_same_reference(x):
    """Both branches of a condition on a static flag write the reference that they close over."""
    ref = np.zeros(())

    def choose(flag):
        if flag:
            ref[()] = x[0] ** 2
        else:
            ref[()] = x[1] ** 3

    choose(True)
    first = ref.copy()
    choose(False)
    return first * ref


@suite([0.9, -0.3])
def branch_on_a_value_writes(x):
    """A condition on a value decides which element is written."""
    ref = np.zeros(2)
    if x[0] > x[1]:
        ref[0] = x[0] * x[1]
    else:
        ref[1] = x[0] - x[1]
    return np.sum(ref * (1.0 + x))


@suite([0.9, -0.3, 0.4])
def batch_of_references(x):
    """A function that squares its own reference, for each element of a batch."""

    def square(value):
        ref = np.array(value)
        ref[...] = ref * ref
        return ref

    return sum(k * square(x[k - 1]) for k in range(1, 4))


@suite([0.5, 1.5])
def while_loop_carries_a_reference(x):
    """A loop with a counted end multiplies into a reference."""
    ref, count = x.copy(), 0
    while count < 4:
        ref *= x[::-1]
        ref[0] += 0.1
        count += 1
    return np.sum(ref)


@suite([0.5, 1.5], [0.2, -0.4])
def references_that_trade_contents(x, y):
    """Two references trade their contents by way of a third."""
    a, b = x.copy(), y.copy()
    spare = a.copy()
    a[...] = b
    b[...] = spare
    a *= 2.0
    return np.sum(a * b * b)


@suite(MATRIX)
def gradient_accumulated_over_microbatches(x):
    """Gradients of parts are added into one buffer, which is then used."""
    buffer = np.zeros(3)
    for row in x:
        buffer += 2.0 * np.tanh(row) / np.cosh(row) ** 2
    return np.sum(buffer**2)


@suite([0.4, 0.9])
def the_same_reference_as_two_arguments(x):
    """One reference is passed under two names, and written through both."""

    def both(one, other):
        one[0] *= 3.0
        other[0] += other[1]
        return np.sum(one * other)

    ref = x.copy()
    return both(ref, ref)


@suite([0.4, 0.9])
def list_of_references(x):
    """References in a list are written by number."""
    refs = [np.zeros(2), x.copy(), np.ones(2)]
    refs[0][...] = refs[1] * x
    refs[2][1] = refs[0][0]
    refs[1][...] = 0.0
    return np.sum(refs[0] * refs[2] + refs[1])
