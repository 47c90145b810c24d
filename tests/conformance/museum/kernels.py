"""Reports of users of Warp, Taichi and Dr.Jit, whose kernels write arrays in place."""

from __future__ import annotations

import numpy as np

from tests.conformance.scenario import Suite

suite = Suite("museum", "")

WARP = "https://github.com/NVIDIA/warp/issues/"
TAICHI = "https://github.com/taichi-dev/taichi/issues/"
DRJIT = "https://github.com/mitsuba-renderer/drjit/pull/"


@suite([1.0, 2.0, 3.0, 4.0], gradient=[[3.0, 3.0, 3.0, 3.0]], system="Warp", source=WARP + "1728")
def copy_and_a_later_read(x):
    """The pull of a recorded copy assigned where it should add, and did not use up its own cotangent."""
    y, z = np.empty(4), np.empty(4)
    y[:] = 5.0 * x
    y[:] = x
    z[:] = 2.0 * x
    return np.sum(y) + np.sum(z)


@suite([1.0, 2.0, 3.0], system="Warp", source=WARP + "1350")
def array_changed_between_forward_and_backward(x):
    """Pulls use what arrays hold when the backward pass runs: changed since, the gradient is that of other values."""
    a = x.copy()
    loss = np.sum(a * a * a)
    a[:] = 100.0
    return loss


@suite([1.0, 2.0, 3.0], gradient=[[1.0, 1.0, 1.0]], system="Warp", source=WARP + "1294")
def kernel_that_adds_one_in_place(src):
    """A kernel reads and writes the same array: the gradient is counted twice."""
    arr = np.zeros(3)
    arr[:] = src
    for i in range(3):
        arr[i] = arr[i] + 1.0
    return np.sum(arr)


@suite([1.0, 1.0], [1.0, 1.0], gradient=[[0.0, 0.0], [3.0, 3.0]], system="Warp", source=WARP + "1062")
def output_of_two_kernels(a, b):
    """Two kernels write one output; the first, dead write has a gradient all the same."""
    y = np.zeros(2)
    y[:] = 2.0 * a
    y[:] = 3.0 * b
    return np.sum(y)


@suite([1.0, 1.0, 1.0], gradient=[[9.0, 9.0, 9.0]], system="Warp", source=WARP + "248")
def components_of_a_vector_array(x):
    """Components of vectors assigned one by one: the gradient is zero."""
    y = np.zeros((3, 3))
    for i in range(3):
        y[i, 0] = x[i] * 2.0
        y[i, 1] = x[i] * 3.0
        y[i, 2] = x[i] * 4.0
    return np.sum(y)


@suite([0.5, 0.2, 0.3], gradient=[[1.0, 1.0, 1.0]], system="Warp", source=WARP + "1697")
def component_read_added_to_and_written(x):
    """v[0] = v[0] + x, three times, in a local vector: each write counts double for every one after it."""
    m = np.zeros((2, 2))
    for k in range(3):
        m[0, 0] = m[0, 0] + x[k]
    return m[0, 0]


@suite([1.0, 7.0], [10.0], gradient=[[0.0, 10.0], [7.0]], system="Warp", source=WARP + "947")
def factor_incremented_after_its_use(x, b):
    """A factor is incremented after the product: the gradient has the later factor, 110 for 10."""
    loss = x[1] * b[0]
    b[0] += 100.0
    return loss


@suite([0.7], system="Taichi", source=TAICHI + "2505")
def field_multiplied_into_itself(theta):
    """A field is read and then overwritten by a product with itself: the gradient uses the later value."""
    x = np.ones(1)
    for _ in range(3):
        multiplier = x[0]
        x[0] = np.cos(theta[0]) * multiplier
    return np.sum(x)


@suite([1.0, 3.0, 2.0, 5.0], [0.3], system="Taichi", source=TAICHI + "2425")
def moving_average_in_one_cell(data, alpha):
    """An exponentially weighted average, its cell multiplied and added to in turn: a wrong gradient."""
    ewma = np.zeros(1)
    ewma[0] = data[0]
    for i in range(1, 4):
        ewma[0] *= 1.0 - alpha[0]
        ewma[0] += alpha[0] * data[i]
    return ewma[0]


@suite([0.0045], system="Taichi", source=TAICHI + "8802")
def plasticity_with_a_history(th):
    """Reads of one time and writes of the next: 4.8 times the gradient, and the checker of access rules saw nothing."""
    e, limit, n = 1000.0, 2.0, 12
    plastic, total = np.zeros(n + 1), 0.0
    for i in range(n):
        trial = e * (th[0] * np.sin(2.0 * np.pi * i / n) - plastic[i])
        d = 0.0
        if np.abs(trial) > limit:
            d = (np.abs(trial) - limit) / e
            total = total + d
        plastic[i + 1] = plastic[i] + (d if trial > 0 else -d)
    return total


@suite([0.4, 0.8, 0.3], [1.5], system="Taichi", source=TAICHI + "4226")
def contact_loop_with_a_condition(velocity, softness):
    """A loop, a condition and a read of a field together made the backward pass fail."""
    out = velocity.copy()
    for i in range(3):
        for k in range(2):
            distance = 0.5 * k + 0.1 * i
            influence = np.minimum(np.exp(-distance * softness[0]), 1.0)
            if influence > 0.3:
                out[i] = out[i] * (1.0 - influence) + 0.1 * influence
    return np.sum(out**2)


@suite(
    np.linspace(0.1, 0.6, 6).reshape(3, 2),
    np.linspace(0.5, 0.9, 8).reshape(4, 2),
    system="Dr.Jit",
    source=DRJIT + "268",
)
def packets_scattered_in_forward_mode(v, target):
    """Forward mode of a scatter of packets added the target's earlier gradient from the wrong variable."""
    y = target * 2.0
    y[np.array([3, 0, 1])] = v * v
    return np.sum(y**2)


@suite(np.linspace(0.5, 0.9, 8).reshape(4, 2), [[0.1, 0.2], [0.3, 0.4]], system="Dr.Jit", source=DRJIT + "512")
def packets_added_to_a_target_with_a_gradient(target, v):
    """A scatter of packets into a buffer cut the gradient of what the buffer held."""
    y = target**2
    np.add.at(y, np.array([2, 2]), v)
    return np.sum(y**2)


@suite([0.3, 0.8], system="Mitsuba (Dr.Jit)", source="https://github.com/mitsuba-renderer/mitsuba3/issues/1427")
def one_target_scattered_to_twice_a_turn(x):
    """Two scatters to one array in one turn of a loop: refused."""
    out = np.zeros(8)
    for bounce in range(2):
        out[2 * bounce] = x[0] * (bounce + 1)
        out[2 * bounce + 1] = x[1] ** (bounce + 1)
        out[2 * bounce] = out[2 * bounce] * x[1]
    return np.sum(out**2)
