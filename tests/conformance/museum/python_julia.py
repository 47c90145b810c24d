"""Reports of users of HIPS autograd, Zygote, ReverseDiff, Enzyme and Mooncake."""

from __future__ import annotations

import numpy as np

import bridge
from tests.conformance.scenario import Suite

suite = Suite("museum", "")

HIPS = "https://github.com/HIPS/autograd/issues/"
ZYGOTE = "https://github.com/FluxML/Zygote.jl/issues/"
REVERSEDIFF = "https://github.com/JuliaDiff/ReverseDiff.jl/issues/"
ENZYME = "https://github.com/EnzymeAD/Enzyme.jl/issues/"
MATRIX = [[2.0, 0.3, 0.1], [0.3, 1.5, 0.2], [0.1, 0.2, 1.2]]


@suite([[0.4, 0.7], [-0.2, 1.3]], gradient=[np.ones((2, 2))], system="HIPS autograd", source=HIPS + "58")
def block_of_a_larger_array(a):
    """A block assigned within an array of zeros: TypeError, and "rewrite it without assignment"."""
    b = np.zeros((4, 4))
    b[:2, :2] = a
    return np.sum(b)


@suite(2.0 * np.ones((3, 3)), system="HIPS autograd", source=HIPS + "559")
def permittivity_of_a_region(b):
    """An array around the function is assigned in a region: float() of a box is refused."""
    a = np.ones((7, 7))
    a[2:5, 3:6] = b.flatten().reshape((3, 3))
    return np.sum(a**2)


@suite(np.linspace(0.1, 1.5, 15).reshape(5, 3), system="HIPS autograd", source=HIPS + "177")
def intermediate_results_in_an_array(param):
    """Results are stored in an array by number: refused, though the vectorised spelling works."""
    res = np.zeros(5)
    for m in range(5):
        res[m] = np.sum(param[m] * param[0])
    return np.sum(res)


@suite([1.0, 2.0], system="HIPS autograd", source=HIPS + "515")
def diagonal_blocks_assembled(x):
    """A matrix assembled from diagonal blocks: "setting an array element with a sequence"."""
    blocks = np.zeros((2, 4))
    blocks[:2, :2] = np.diag(x)
    blocks[:2, 2:] = np.diag(x)
    return np.sum(np.dot(blocks @ np.diag([4.0, 6.0, 6.0, 3.0]), np.hstack((x, x))))


@suite([1.0, 0.5, -0.7], system="HIPS autograd", source=HIPS + "556")
def solutions_column_by_column(b):
    """Conjugate gradients for each column, stored by X[:, z] = ...: refused."""
    a, columns = np.array(MATRIX), np.zeros((3, 2))
    for z in range(2):
        x, r = np.zeros(3), b * (z + 1.0)
        p = r + 0.0
        for _ in range(2):
            alpha = np.dot(p, r) / np.dot(p, a @ p)
            x = x + alpha * p
            r = r - alpha * (a @ p)
            p = r - np.dot(a @ p, r) / np.dot(p, a @ p) * p
        columns[:, z] = x
    return np.sum(columns**2)


@suite([[1.0, 2.0], [3.0, 4.0]], system="Zygote.jl", source=ZYGOTE + "683")
def exponentials_in_place(b):
    """A log-sum-exp that overwrites its columns by their exponentials: "mutating arrays is not supported"."""

    def lsexp(w):
        offset = np.max(w)
        w[:] = np.exp(w - offset)
        return np.log1p(np.sum(w) - 1.0) + offset

    copy = b.copy()
    return sum(lsexp(copy[:, k]) * (k + 1) for k in range(2))


@suite([0.1], system="Zygote.jl", source=ZYGOTE + "199")
def state_overwritten_by_a_complex_product(x):
    """copyto! into a complex state: a silent wrong gradient, with an imaginary part for a real argument."""
    r, t = np.array([1.0 + 0j, 0j]), np.array([0.6 + 0.2j, 0.1 - 0.9j])
    r[:] = -1j * np.sin(x[0]) * r
    return np.abs(np.vdot(t, r))


@suite([0.4, 0.9], system="Zygote.jl", source=ZYGOTE + "39")
def copied_into_a_buffer(x):
    """copyto! from the argument into an array: refused."""
    y = np.empty(2)
    np.copyto(y, x)
    y[0] *= y[1]
    return np.sum(y**2)


@suite([2.0], gradient=[[12.0]], system="Zygote.jl", source=ZYGOTE + "1497")
def buffer_in_a_second_derivative(x):
    """A buffer within a second derivative of x cubed: an error deep inside."""

    def through_a_buffer(v):
        b = np.zeros(1)
        b[0] = v[0]
        return np.sum(b.copy()) ** 3

    return np.sum(bridge.grad(through_a_buffer)(x))


@suite([0.4, 0.9, -0.3], system="Zygote.jl", source=ZYGOTE + "820")
def derivative_of_an_indexing_pull(x):
    """The pull of indexing mutates an array of zeros, which makes derivatives of it impossible."""
    inner = bridge.grad(lambda v: np.sum(v[[0, 2, 0]] ** 3))
    return np.sum(inner(x) * x)


@suite([1.5], gradient=[[3.0]], system="Zygote.jl", source=ZYGOTE + "1243")
def reference_in_a_tuple(x):
    """A mutable reference in a tuple: the gradient is nothing."""

    class Ref:
        def __init__(self, value):
            self.value = value

    inside = (Ref(x[0]),)
    return inside[0].value ** 2


@suite([1.0], gradient=[[8.0]], system="Zygote.jl", source=ZYGOTE + "1290")
def captured_variable_rebound(p):
    """A closure reads a variable that is rebound by its own result: an error in the sum of two gradients."""
    prediction = 2.0 * p[0]

    def power(i):
        return prediction**i

    prediction = power(2)
    return prediction


@suite([2.0, 0.5], system="Zygote.jl", source="https://github.com/SciML/SciMLSensitivity.jl/pull/549")
def right_side_filled_in_place(p):
    """A differential equation's right side written into a buffer: the buffer dropped gradients in silence."""

    def right_side(du, u):
        du[0] = p[0] * u[0] - 1.2 * u[0] * u[1]
        du[1] = -3.0 * u[1] + p[1] * u[0] * u[1]

    u, du = np.array([1.0, 1.0]), np.zeros(2)
    for _ in range(8):
        right_side(du, u)
        u += 0.05 * du
    return np.sum(u**2)


@suite([4.0], [2.0], system="ReverseDiff.jl", source=REVERSEDIFF + "143", gradient=[[2.0], [4.0]])
def right_side_in_place_recorded_elsewhere(u, p):
    """A tape of an in-place function kept the value of the input that it was recorded with."""
    du = np.empty(1)
    du[:] = p[0] * u
    return np.sum(du.ravel())


@suite([1.0, 0.5], system="ReverseDiff.jl", source=REVERSEDIFF + "101")
def parameters_written_into_an_outer_vector(x):
    """Parameters are copied into a vector around the function: all gradients zero, without a word."""
    v = np.zeros(2)

    def f(theta):
        v[0] = theta[0]
        v[1] = theta[1]
        return v[0] * (-0.5 * v[1] ** 2 - 0.9)

    return f(x)


@suite([0.3, 0.6], system="ReverseDiff.jl", source=REVERSEDIFF + "43")
def tracked_array_assigned_by_index(x):
    """Assignment by index into a tracked array is an error."""
    y = np.exp(x)
    y[0] = y[1] * y[0]
    return np.sum(y * x)


@suite([0.2, -0.3, 0.5], system="Enzyme.jl", source=ENZYME + "1340")
def least_squares_in_given_storage(beta):
    """Storage that is a default argument is taken for constant: all gradients zero."""
    x, y, storage = np.array(MATRIX), np.array([1.0, 0.5, -1.0]), np.zeros(3)
    np.matmul(x, beta, out=storage)
    storage[:] = y - storage
    return 0.5 * np.sum(storage**2)


@suite([0.9], [[0.85]], system="Enzyme.jl", source=ENZYME + "2868")
def copied_scaled_and_reduced(u, initial):
    """A copy is scaled in place; the gradient changed the array that the copy was taken from."""
    t = np.zeros((1, 1))
    t[...] = initial
    t *= u
    return np.linalg.det(t)


@suite([[0.3, 0.2, 0.7, -0.5, 0.4], [0.1, 0.9, -0.2, 0.3, 0.6]], system="Enzyme.jl", source=ENZYME + "362")
def buffers_of_a_recurrence(p):
    """Two buffers advanced together: with one of them declared constant the gradient is wrong."""
    x, data = np.zeros((2, 10)), np.zeros(2)
    x[:, 0] = p[:, 4]
    for t in range(1, 10):
        for i in range(2):
            x[i, t] = p[i, 0] * x[i, t - 1] + p[i, 1] * data[i]
            data[i] = p[i, 2] * data[i] + p[i, 3] * x[i, t - 1] + 0.3
    return np.sum(x**2)


@suite([10.0], gradient=[[1.0]], system="Enzyme.jl", source=ENZYME + "2209")
def pushed_to_an_empty_vector(x):
    """A value pushed to an empty vector and read again: derivative zero since Julia 1.11."""
    v = []
    v.append(x[0])
    return v[0]


@suite(
    [0.0, 0.0, 0.0],
    [1.0, 2.0, 3.0],
    [0.5],
    system="Enzyme.jl",
    source=ENZYME + "2354",
    gradient=[[0.0, 0.0, 0.0], [0.5, 0.5, 0.5], [6.0]],
)
def filled_argument_in_forward_mode(y, x, theta):
    """Forward mode with several arguments, the first of which is filled: wrong values."""
    y[:] = x * theta[0]
    return np.sum(y)


@suite([1.0, 0.8, 1.2], system="Enzyme.jl", source=ENZYME + "1389")
def chain_of_complex_two_ports(widths):
    """Complex 2x2 matrices accumulated in place: all gradients zero, forward and reverse."""
    acc, abcd = np.eye(2, dtype=complex), np.zeros((2, 2), complex)
    for w in widths:
        gamma, z0 = 0.1 + 0.3j * w, 1.0 / w + 0.1j
        abcd[0, 0] = abcd[1, 1] = np.cosh(gamma)
        abcd[0, 1], abcd[1, 0] = z0 * np.sinh(gamma), np.sinh(gamma) / z0
        acc[...] = acc @ abcd
    return np.abs(acc[0, 0]) ** 2


@suite([1.0, 0.5], system="Enzyme.jl", source=ENZYME + "701")
def captured_vector_overwritten_in_a_loop(params):
    """A captured vector is updated in a loop: forward and reverse mode disagree."""
    x = np.ones(1)
    for i in range(2):
        x[:] = np.cos(x + params[i])
    return np.sum(x)


@suite(MATRIX, [[0.5, 0.1, 0.9], [0.2, 0.4, 0.3], [0.7, 0.6, 0.8]], system="Enzyme.jl", source=ENZYME + "382")
def product_of_square_matrices_in_place(a, b):
    """The cotangent of a result written in place is used up for square matrices and kept for others."""
    r = np.zeros((3, 3))
    np.matmul(a, b, out=r)
    first = np.sum(r**2)
    np.matmul(b, a, out=r)
    return first * np.sum(r)


@suite(np.linspace(0.1, 1.0, 10), system="Enzyme.jl", source=ENZYME + "125")
def shifted_onto_itself(a):
    """Output and input are one vector, shifted by one: the compiler crashed."""
    a[:-1] = a[1:]
    return np.sum(a**2 * np.arange(10.0))


@suite(np.linspace(0.1, 1.0, 40), np.linspace(0.5, 0.9, 40), system="Enzyme.jl", source=ENZYME + "1219")
def mapped_into_an_output(a, b):
    """map! of a product into an output: wrong at random for vectors of more than 31 elements."""
    out, inner = np.empty(40), a * b + 1.0
    for i in range(40):
        out[i] = a[i] * inner[i] * b[i]
    return np.sum(out)


@suite([0.5, 0.7], system="Mooncake.jl", source="https://github.com/chalk-lab/Mooncake.jl/pull/1298")
def storage_shared_with_a_captured_path(x):
    """Storage of an argument that a path taken for inactive reaches too: a write gives a wrong derivative."""
    table = {"state": x}

    def step(value):
        table["state"][0] = value[1] ** 2
        return np.sum(value * np.array([3.0, 1.0]))

    return step(x)


@suite([0.5, 0.7], system="Mooncake.jl", source="https://github.com/chalk-lab/Mooncake.jl/issues/1081")
def two_names_of_one_array_written(x):
    """Two values for one array must have one gradient store; a function that hands on its argument broke that."""

    def handed_on(a):
        return a

    y = handed_on(x)
    y[0] = y[1] * 3.0
    return np.sum(x * y)
