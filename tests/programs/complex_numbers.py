"""Rules and complex numbers: conventions, broadcasting, transforms, composite functions."""

from __future__ import annotations

from bridge.errors import BridgeError
from tests.programs.record import Family

program = Family("rules and complex")

VECTOR = [0.4, -0.9, 1.3, 0.7]
COMPLEX = [0.4 - 0.3j, -0.9 + 1.1j, 1.3 + 0.2j]
SQUARE = [[1.1 + 0.3j, -0.4], [0.2j, 1.4 - 0.5j]]


@program(COMPLEX)
def real_functions_of_complex_input(np, z):
    return np.sum(np.abs(z) ** 2) + np.sum(z.imag**2 * z.real) + np.sum(np.angle(z)) + np.sum(np.real(z**3))


@program(COMPLEX)
def holomorphic_chain(np, z):
    w = np.exp(z) * np.sin(z) / (2.0 + z * z)
    return np.sum(np.log(3.0 + w).imag) + np.sum(np.sqrt(2.0 + w).real)


@program(COMPLEX)
def conjugate_and_its_order(np, z):
    return (np.vdot(z, z * z) + np.dot(z, z.conj()) * np.vdot(z[:1], z[1:2])).real


@program(VECTOR)
def real_and_imaginary_parts_written_in_place(np, x):
    z = np.zeros(4, dtype=complex) * x
    z.real = x
    z.imag[:] = x * x
    z.imag[1] *= 2.0
    z *= z[0]
    return np.sum(z.real * z.imag)


@program(COMPLEX)
def pairs_of_floats_through_a_view(np, z):
    a = z.copy()
    pairs = a.view(float).reshape(-1, 2)
    pairs[:, 1] *= pairs[:, 0]
    pairs[0] = pairs[2]
    return np.sum(np.abs(a) ** 2) + np.sum((a * a).imag)


@program(VECTOR)
def real_input_through_complex_arithmetic(np, x):
    z = x * (1.0 + 2.0j)
    z *= np.exp(1j * x)
    z[1:] += z[:-1] * 1j
    return np.sum(np.real(z * np.conj(z))) + np.sum(z).imag


@program(VECTOR)
def spectrum_filtered_in_place(np, x):
    spectrum = np.fft.fft(x)
    spectrum[1:3] *= 0.5 - 0.2j
    return np.sum(np.fft.ifft(spectrum).real ** 2) + np.sum(np.abs(spectrum) ** 2)


@program([0.4, -0.9, 1.3, 0.7, 0.2], VECTOR)
def real_transforms_of_odd_and_even_length(np, x, y):
    back = np.fft.irfft(np.fft.rfft(x) * 1j, n=5)
    even = np.fft.irfft(np.fft.rfft(y) ** 2)
    padded = np.fft.rfft(x, n=8, norm="ortho")
    return np.sum(back * x) + np.sum(even * even) + np.sum(np.abs(padded) ** 2 * np.arange(5.0))


@program(SQUARE, [1.0 - 1.0j, 0.5])
def complex_linear_algebra(np, a, b):
    solution = np.linalg.solve(a, b)
    return (solution @ b).real + np.abs(np.linalg.det(a)) + np.sum(np.linalg.inv(a) @ a.conj().T).imag


@program([[0.4], [1.2]], [0.3, -0.5, 0.9], 1.7)
def every_operand_keeps_its_own_shape(np, column, row, scalar):
    z = (column - row) / scalar
    z *= row
    return np.sum(z * z) + np.sum(np.logaddexp(column, row) * np.hypot(scalar, row)) + np.arctan2(scalar, scalar + 1.0)


@program([[0.4, -0.9, 1.3], [0.7, 0.2, -0.5]])
def moments_with_axes_and_degrees_of_freedom(np, x):
    centred = x - np.mean(x, axis=1, keepdims=True)
    return (
        np.sum(np.var(x, axis=0, ddof=1) * np.array([1.0, 2.0, 3.0]))
        + np.std(x) * np.mean(centred**3, axis=(0, 1))
        + np.average(x, axis=1, weights=[1.0, 2.0, 3.0])[1]
    )


@program(VECTOR)
def numerical_calculus(np, x):
    return (
        np.trapezoid(x**2, dx=0.5)
        + np.sum(np.gradient(x) * x)
        + np.sum(np.diff(x, n=2) ** 2)
        + np.sum(np.convolve(x, x[:2], mode="same") * x)
        + np.sum(np.interp([0.1, 1.5, 2.2], [0.0, 1.0, 2.0, 3.0], x) ** 2)
    )


@program([[0.4, -0.9, 1.3], [0.7, 0.2, -0.5], [1.0, 0.3, 0.1]])
def index_notation(np, x):
    return (
        np.einsum("ii", x)
        + np.einsum("ij,jk,ki->", x, x, x)
        + np.sum(np.einsum("ij->ji", x) * x[0])
        + np.sum(np.einsum("ii->i", x) ** 2)
        + np.sum(np.einsum("...j,j->...", x, x[1]) ** 2)
    )


@program([0.4, -0.9, 1.3], [0.7, 0.2, -0.5])
def products_of_vectors(np, x, y):
    return (
        np.sum(np.cross(x, y) * x[::-1])
        + np.sum(np.outer(x, y) ** 2)
        + np.sum(np.kron(x, y) * np.arange(9.0))
        + np.inner(x, y)
        + np.sum(np.tensordot(x, y, axes=0)[1])
        + np.multiply.outer(x, y)[2, 0]
    )


@program([[0.4, -0.9, 1.3], [0.7, 0.2, -0.5]])
def shaping(np, x):
    tiled = np.tile(x, (2, 1))
    padded = np.pad(x, ((1, 0), (0, 2)), mode="edge")
    rolled = np.roll(x, 1, axis=1)
    repeated = np.repeat(x, [1, 2], axis=0)
    joined = np.concatenate([x.T, rolled.T], axis=1)
    stacked = np.stack([x, np.flip(x, 0), x[::-1, ::-1]], axis=-1)
    return (
        np.sum(tiled * tiled)
        + np.sum(padded**2)
        + np.sum(rolled * x)
        + np.sum(repeated**3)
        + np.sum(joined[0] * joined[1])
        + np.sum(np.moveaxis(stacked, -1, 0)[1:] * x)
    )


@program([0.9, 1.6, 0.3])
def rare_elementwise_functions(np, x):
    fraction, whole = np.modf(x * 3.0)
    return (
        np.sum(np.cbrt(x) + np.log1p(x) * np.expm1(x) + np.arctan(x) + np.arcsinh(x) + np.exp2(x))
        + np.sum(fraction * whole)
        + np.sum(np.float_power(x, 1.7) + np.deg2rad(x) + np.logaddexp2(x, 1.0) + np.ldexp(x, 2))
        + np.sum(np.copysign(x, [-1.0, 1.0, -1.0]) * np.positive(x) + np.reciprocal(x) + np.remainder(x, 0.7))
    )


@program(VECTOR, raises=BridgeError)
def complex_values_do_not_fit_a_real_array(np, x):
    a = np.zeros_like(x)
    a[:] = x * (1.0 + 1.0j)
    return np.sum(a)


@program(COMPLEX, raises=BridgeError)
def complex_result_has_no_gradient(np, z):
    return np.sum(z * z)
