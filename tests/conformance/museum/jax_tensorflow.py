"""Reports of users of JAX, TensorFlow, MLX, Paddle, tinygrad and others that compile or record tensors."""

from __future__ import annotations

import numpy as np

from tests.conformance.scenario import Suite

suite = Suite("museum", "")

JAX = "https://github.com/jax-ml/jax/"
TENSORFLOW = "https://github.com/tensorflow/tensorflow/issues/"
MLX = "https://github.com/ml-explore/mlx/"
PADDLE = "https://github.com/PaddlePaddle/Paddle/"
TINYGRAD = "https://github.com/tinygrad/tinygrad/"


@suite([1.5], system="JAX", source=JAX + "issues/26361")
def argument_written_into_an_array_outside(x):
    """Writing the argument into a mutable array that is not the function's own fails inside of grad."""
    outside = np.zeros(())

    def inner(v):
        outside[()] = v[0] ** 2
        return outside * v[0]

    return inner(x)


@suite([1.5], gradient=[[0.0]], system="JAX", source=JAX + "pull/35217")
def swapped_for_a_constant(x):
    """Swapping a constant into a reference raised under grad; the first repair gave another gradient than zero."""
    ref = np.array([x[0], 0.0])
    ref[0] = 5.0
    return ref[0]


@suite(np.linspace(0.1, 0.9, 6).reshape(3, 2), system="JAX", source=JAX + "pull/38929")
def scan_over_accumulators_and_values(x):
    """The transposed scan took accumulators and values to be in blocks; interleaved ones were confused."""
    first, second, carry = np.zeros(2), np.zeros(2), np.ones(2)
    for row in x:
        first += row * carry
        carry = carry * np.tanh(row)
        second += first * row
    return np.sum(second * carry)


@suite([0.3, 0.9, 0.2], [0.5, 0.1], system="JAX", source=JAX + "pull/40648")
def maximum_at_clipped_indices(x, v):
    """scatter_max with an index outside, to be clipped: the gradient divided by zero and was infinite."""
    y = x.copy()
    np.maximum.at(y, np.clip(np.array([1, 7]), 0, 2), v)
    return np.sum(y * np.array([1.0, 2.0, 3.0]))


@suite(np.linspace(0.1, 0.8, 8), system="JAX", source=JAX + "issues/21708")
def negative_indices_dropped_by_hand(v):
    """A dropping scatter with -1 for "nowhere" wrote the last element all the same."""
    index = np.array([-1, -1, 0, 1, 2, 3, -1, -1])
    y = np.full(4, -1.0)
    y[index[index >= 0]] = v[index >= 0]
    return np.sum(y**2)


@suite([0.5, 3.0, 0.7], gradient=[[1.0, 0.0, 1.4]], system="JAX", source=JAX + "issues/12233")
def nan_times_false(x):
    """Compiled, a NaN times False was zero: a mask hid what had gone wrong where it does not select."""
    lost = np.full(3, np.nan)
    lost[x > 2.0] = 1.0
    lost *= x > 2.0
    return np.sum(np.where(np.isnan(lost), x**2, 0.0))


@suite([0.5, 0.7], gradient=[[1.0, 1.4]], system="XLA", source="https://github.com/openxla/xla/issues/21461")
def largest_of_numbers_and_a_nan(x):
    """On processors the largest element of an array with a NaN was the largest number: the NaN was passed over."""
    y = np.ones((80, 80))
    y[:40, ::40] = x
    y[41, 42] = np.nan
    return np.sum(x**2) * np.isnan(np.max(y)) + np.sum(np.isnan(np.maximum(y, 2.0))) - 1.0


@suite([1.0, 2.0], gradient=[[0.5, 0.5]], system="XLA", source="https://github.com/openxla/xla/issues/2438")
def infinity_under_a_mask(x):
    """Multiplying by a mask was made a choice, so that nought times infinity was nought, not NaN."""
    y = np.array([np.inf, 1.0]) * (np.array([3.0, 4.0]) * x > 5.0)
    return np.sum(x) * 0.5 + np.sum(np.where(np.isnan(y), 2.0, 0.0))


@suite(
    np.linspace(0.1, 0.6, 6).reshape(3, 2),
    system="JAX (Metal)",
    source="https://github.com/tillahoffmann/jax-mps/issues/240",
)
def scatter_beyond_a_row(v):
    """On Apple's GPUs an index beyond a row landed in the next batch, and unrelated gradients became zero."""
    y, rows = np.zeros((3, 4)), np.array([0, 5, 3])
    for b in range(3):
        if rows[b] < 4:
            y[b, rows[b]] = v[b, 0] * v[b, 1]
    return np.sum(y + y**2)


@suite(np.linspace(0.1, 0.6, 6).reshape(3, 2), system="JAX (Pallas)", source=JAX + "issues/37251")
def identity_kernel_in_a_scan(x):
    """A kernel that copies its input to its output works alone; in a scan under grad the reference escaped: refused."""

    def kernel(source, target):
        target[...] = source

    carry = np.zeros(2)
    for row in x:
        out = np.empty(2)
        kernel(row * row, out)
        carry = carry + out * row
    return np.sum(carry)


@suite([1.0, 2.0, 3.0], [13.0], system="TensorFlow", source=TENSORFLOW + "21925")
def element_updated_and_used(alpha, v):
    """scatter_update in eager mode: gradients of what is involved are None, in graph mode an error."""
    alpha = alpha.copy()
    alpha[1] = v[0] * 2.0
    return np.sum(alpha**2)


@suite([2.0], [3.0], system="TensorFlow", source=TENSORFLOW + "6193")
def variable_assigned_a_value(variable, value):
    """assign has no gradient: after it the variable is what the value is, and the value gets none."""
    variable[...] = value * 2.0
    return np.sum(variable**2)


@suite([[1.0, 0.0, 1.0], [2.0, 2.0, 1.0]], system="TensorFlow", source=TENSORFLOW + "2367")
def rows_added_to_a_table_of_zeros(x):
    """scatter_add into a variable: the gradient of what was added is None."""
    z = np.zeros((10, 3))
    np.add.at(z, np.array([0, 1]), x)
    return np.sum(z**2)


@suite(np.linspace(0.1, 0.8, 8).reshape(2, 4), [0.5, -0.5], system="TensorFlow", source=TENSORFLOW + "12473")
def predictions_added_at_places(x, b):
    """scatter_nd_add: the gradient is None, without a word."""
    table = np.zeros((3, 4))
    prediction = x + b[:, None]
    np.add.at(table, (np.array([[0], [2]]), np.array([[0, 1, 1, 3], [2, 2, 2, 0]])), prediction)
    return np.sum(table**2)


@suite([1.0, 2.0, 3.0, 4.0], system="TensorFlow", source=TENSORFLOW + "56961")
def updates_of_one_place_in_turn(v):
    """tensor_scatter_nd_update with a place twice: both updates got the gradient, though only the last one is there."""
    y = np.zeros(3)
    y[np.array([0, 1, 0, 2])] = v
    return np.sum(y * np.array([1.0, 2.0, 3.0]) * y)


@suite([1.5], system="TensorFlow", source=TENSORFLOW + "54532")
def model_whose_weight_is_reassigned(x):
    """A model assigns its argument to its weight and computes with the weight: the gradient is None."""

    class Model:
        def __init__(self):
            self.w = np.zeros(())

        def __call__(self, value):
            self.w[...] = value
            return self.w**2

    return Model()(x[0])


@suite(np.linspace(0.1, 0.5, 5), system="TensorFlow", source=TENSORFLOW + "16255")
def pipeline_of_shipments(x):
    """A simulation adds to places of its state by scatter_update; no gradient is defined for that."""
    state = np.zeros(8)
    for t in range(5):
        lead = t + 1 + t % 2
        state[lead] = state[lead] + x[t] * (1.0 + state[t])
    return np.sum(state**2)


@suite([2.0, 3.0], system="MLX", source=MLX + "issues/282")
def tokens_and_images_interleaved(x):
    """Assigning to computed places had no gradient: refused."""
    output = np.zeros(4)
    output[np.array([0, 1])] = x
    output[np.array([3, 2])] = x**2
    return np.sum(output * np.array([1.0, 2.0, 3.0, 4.0]))


@suite(np.ones((3, 3)) * 0.5, system="MLX", source=MLX + "issues/610")
def comparison_looked_at_between(x):
    """An addition in place, a comparison whose value is looked at, a square: the gradient became zero."""
    y = np.zeros((3, 3, 3))
    y += x
    y += np.ones((3, 3, 3))
    assert not np.any(y < 1)
    return np.sum(y**2)


@suite(np.zeros((2, 3)), gradient=[[[1.0, 2.0, 3.0], [100.0, 101.0, 102.0]]], system="MLX", source=MLX + "issues/4444")
def strided_slice_of_one_row(z):
    """A strided slice that selects one row of two: its cotangent was spread over both."""
    a, b = np.array([[1.0, 2.0, 3.0]]), np.array([[100.0, 101.0, 102.0]])
    return np.sum(z[0::2] * a) + np.sum(z[1::2] * b)


@suite([[0.3, 0.1, 0.2], [0.9, 0.8, 1.0], [0.5, 0.7, 0.6]], system="MLX", source=MLX + "issues/3787")
def places_that_depend_on_the_weights(w):
    """Places to write are sorted from the weights: refused, which blocks training of routed experts."""
    index = np.argsort(w, axis=1)[:, :1]
    out = np.zeros((3, 3))
    np.put_along_axis(out, index, np.sum(w, axis=1, keepdims=True), axis=1)
    return np.sum(out**2)


@suite(
    np.linspace(0.1, 1.2, 12).reshape(2, 3, 2), system="MLX", source="https://github.com/unslothai/unsloth-zoo/pull/776"
)
def step_gradients_added_by_time(x):
    """An addition at one time of a batch read with a wrong stride: all but the first of the batch were wrong."""
    d = np.zeros((2, 3, 2))
    for t in (2, 1, 0):
        d[:, t] += x[:, t] * (d[:, t + 1] + 1.0 if t < 2 else 1.0)
    return np.sum(d**2)


@suite([0.5, 0.6, 0.7], [0.9], system="MLX", source=MLX + "pull/4200")
def slice_updated_with_one_tracked_side(x, v):
    """Forward mode of a slice update was refused where only the source or only the update is differentiated."""
    constant = np.ones(3)
    constant[1:2] = v**2
    y = x * 2.0
    y[0:1] = 1.0
    return np.sum(y * constant)


@suite([0.0, 0.0], [0.0], gradient=[[0.0, 2.0], [2.0]], system="Paddle", source=PADDLE + "issues/33907")
def element_assigned_after_an_addition(original, b):
    """After a[0] = b the gradient of all that a was made of is gone."""
    a = original + 1.0
    a[0] = b[0]
    return np.sum(a * 2.0)


@suite(np.linspace(0.1, 0.6, 12).reshape(1, 2, 6), system="Paddle", source=PADDLE + "issues/35241")
def two_slices_modified_in_turn(x):
    """One assignment to a slice works, two one after the other make the gradient zero."""
    output = x * 1.0
    output[:, :, :2] = (output[:, :, :2] + 3.0) * 8.0
    output[:, :, 2:4] = np.exp(output[:, :, 2:4]) * 8.0
    return np.sum(output**2)


@suite([0.4, 0.7], system="Paddle", source=PADDLE + "issues/46338")
def probabilities_put_into_a_matrix(probs):
    """Assigned by index arrays into a matrix of zeros: the matrix stays without gradient."""
    mat = np.zeros((4, 4))
    mat[np.array([0, 2]), np.array([1, 3])] = probs
    return np.sum(mat @ mat.T)


@suite(np.linspace(0.1, 0.9, 9).reshape(3, 3), system="Paddle", source=PADDLE + "pull/57737")
def advanced_assignment_through_a_view(x):
    """Advanced assignment became a basic view and a write to it; the write was left out of the backward pass."""
    y = x * x
    y[1:][[0, 1], [2, 0]] = x[0, :2] * 3.0
    return np.sum(y**2)


@suite(np.linspace(0.1, 0.6, 6).reshape(2, 3), system="tinygrad", source=TINYGRAD + "issues/4574")
def predictions_written_step_by_step(x):
    """Predictions written column by column into zeros: assignment was not differentiable."""
    y = np.zeros((2, 3))
    state = np.zeros(2)
    for i in range(3):
        state = np.tanh(state + x[:, i])
        y[:, i] = state
    return np.sum((y - 0.5) ** 2)


@suite(
    np.linspace(0.1, 1.0, 10).reshape(2, 5), [[0.5, 0.6], [0.7, 0.8]], system="tinygrad", source=TINYGRAD + "pull/18170"
)
def assigned_through_a_step_that_does_not_divide(t, v):
    """Assignment through a slice whose step does not divide the axis: refused."""
    t = t.copy()
    t[:, 1::2] = v
    return np.sum(t**2)


@suite([0.3, 0.8], system="NNabla", source="https://github.com/sony/nnabla/pull/698")
def scattered_in_place_over_its_output(x):
    """A change of how gradients accumulate in place broke the backward pass of scatter_nd with a given output."""
    out = np.zeros((2, 3))
    out[np.array([0, 1]), np.array([2, 0])] = x * x
    again = out * 2.0
    out[0] += again[1]
    return np.sum(out * again)


@suite(
    np.arange(6.0),
    system="PyTensor (MLX)",
    source="https://github.com/pymc-devs/pytensor/pull/2240",
    gradient=[[0.0, 2.0, 4.0, 0.0, 0.0, 0.0]],
)
def first_three_squared(x):
    """The gradient of reading a slice is an increment of one, which was refused there."""
    return np.sum(x[0:3] ** 2)


@suite([0.5, 0.7, 0.9], system="MXNet", source="https://github.com/apache/mxnet/pull/9495")
def swapped_axes_used_twice(x):
    """The pull of swapaxes overwrote the gradient where it should add: wrong where the input is used elsewhere."""
    y = np.outer(x, x)
    return np.sum(np.swapaxes(y, 0, 1)[0] * x) + np.sum(y**2)
