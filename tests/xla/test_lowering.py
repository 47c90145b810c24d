"""NumPy functions computed by JAX: value, shape, dtype and container are NumPy's, also while JAX traces."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special  # its rules are read once it is loaded

import bridge
from bridge.errors import NoRuleError, RefusedError
from bridge.extend import RULES, ZERO_PULL
from bridge.proof.rules.inputs import book
from bridge.rulebook.rule import Case
from bridge.signatures import operation_name

jax = pytest.importorskip("jax", reason='engine="jax" needs JAX: pip install "mutation-bridge[jax]"')

from bridge.xla.lowering.lower import has, lower, x64  # noqa: E402
from bridge.xla.lowering.register import ENTRIES  # noqa: E402

CASES: list[Case] = [case for module in book() if hasattr(module, "cases") for case in module.cases()]
BY_FUNCTION: dict[Any, list[Case]] = {}
for _case in CASES:
    BY_FUNCTION.setdefault(_case.function, []).append(_case)
LOWERED = {operation_name(f): f for f in BY_FUNCTION if has(f)}

# Functions of the rule book without a counterpart in JAX.
_WITHOUT = (
    "_lambertw _spherical_in _spherical_in_d _spherical_jn _spherical_jn_d _spherical_kn _spherical_kn_d "
    "_spherical_yn _spherical_yn_d agm airy airye bdtr bdtrc bdtri bei beip ber berp besselpoly betainccinv "
    "betaincinv binom chdtri chndtr chndtrix ellipe ellipeinc ellipj ellipk ellipkinc ellipkm1 elliprc elliprf "
    "elliprg erfi eval_chebyc eval_chebys eval_chebyt eval_chebyu eval_gegenbauer eval_genlaguerre eval_hermite "
    "eval_hermitenorm eval_jacobi eval_laguerre eval_legendre eval_sh_chebyt eval_sh_chebyu eval_sh_jacobi "
    "eval_sh_legendre fdtr fdtrc fdtri gammainccinv gammaincinv gammasgn gdtr gdtrc gdtria gdtrix hankel1 hankel1e "
    "hankel2 hankel2e hyp0f1 hyperu it2i0k0 it2j0y0 it2struve0 itairy iti0k0 itj0y0 itmodstruve0 itstruve0 iv ive "
    "j0 j1 jv jve k0 k0e k1 k1e kei keip ker kerp kn kolmogi kolmogorov kv kve log_wright_bessel lpmv mathieu_cem "
    "mathieu_sem modstruve nbdtr nbdtrc nbdtri ndtri_exp nrdtrimn nrdtrisd owens_t pbdv pbvv pbwa pdtr pdtrc pdtri "
    "radian round shichi stdtr stdtrit struve tklmbda voigt_profile wright_bessel wrightomega y0 y1 yn yv yve "
    "banded banded_factor cosine_or_sine cosm coshm general_eigen general_eigenvalues iterated iterated_operator "
    "logm lu_compact measured power_of_matrix riccati root sinhm sinm sylvester system_solved tanhm tanm "
    "toeplitz_system tridiagonal_eigen"
)
NOT_LOWERED = set(_WITHOUT.split())

# The result's shape or dtype depends on values: refused while JAX traces, right with known ones.
OF_VALUES = {
    "np.argwhere", "np.flatnonzero", "np.linalg.eig", "np.linalg.eigvals", "np.nonzero", "np.real_if_close", "np.roots",
    "np.trim_zeros", "np.union1d", "np.unique", "np.unique_all", "np.unique_counts", "np.unique_inverse",
    "np.unique_values",
}  # fmt: skip

# Whether eigenvalues are real is one of these before NumPy 2.5; since then they are always complex.
ALWAYS_COMPLEX = np.linalg.eigvals(np.eye(1)).dtype.kind == "c"
if ALWAYS_COMPLEX:
    OF_VALUES -= {"np.linalg.eig", "np.linalg.eigvals"}

# Defined up to signs, or in an order that NumPy leaves open.
UP_TO_A_CHOICE = {"np.linalg.eigh", "np.linalg.eig", "np.linalg.svd", "np.linalg.qr", "np.partition", "np.argpartition"}
UP_TO_A_CHOICE |= {
    f"bridge.rules.{name}"
    for name in ("scipy_factors.householder", "scipy_factors.singular", "scipy_eigen.hermitian_eigen")
}

# What JAX computes to fewer digits.
ROUGHER: dict[str, float] = {}

# Refused by name: other methods, complex arguments, functions that are handed over.
OF_REAL_NUMBERS = "dawsn erf erfc exp1 expi fresnel hyp1f1 hyp2f1 log_ndtr ndtr psi rgamma sici spence"
PARTLY = {"np.apply_along_axis", "np.piecewise", *(f"scipy.special.{name}" for name in OF_REAL_NUMBERS.split())}


def single(x: Any) -> Any:
    if isinstance(x, (np.ndarray, np.generic)) and x.dtype.char in "dD":
        return x.astype(x.dtype.char.lower().replace("d", "f") if x.dtype.char == "d" else np.complex64)
    if isinstance(x, (list, tuple)):
        return type(x)(map(single, x))
    return x


def is_double(x: Any) -> bool:
    if isinstance(x, (list, tuple)):
        return all(map(is_double, x))
    return not isinstance(x, (np.ndarray, np.generic)) or x.dtype.char not in "efF"


def same(x: Any) -> Any:
    return x


def differs(found: Any, expected: Any, tolerance: float, values: bool) -> str | None:
    if isinstance(expected, (tuple, list)):
        if type(found) is not type(expected) or len(found) != len(expected):
            return f"a {type(found).__name__} and not a {type(expected).__name__}"
        problems = (differs(f, e, tolerance, values) for f, e in zip(found, expected, strict=True))
        return next((problem for problem in problems if problem), None)
    expected, found = np.asarray(expected), np.asarray(found)
    if (found.shape, found.dtype) != (expected.shape, expected.dtype):
        return f"{found.shape} {found.dtype} and not {expected.shape} {expected.dtype}"
    if not values:
        return None
    if expected.dtype.kind not in "fc":
        return None if np.array_equal(found, expected) else "another value"
    largest = np.max(np.abs(expected), initial=0, where=np.isfinite(expected))
    close = np.allclose(found, expected, tolerance, tolerance * largest, equal_nan=True)
    return None if close else f"off by {np.max(np.abs(found - expected)) / (largest or 1):.1e}"


def moving(args: tuple[Any, ...]) -> list[int]:
    """Positions of the float and complex arrays among the arguments."""
    return [k for k, x in enumerate(args) if isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "fc"]


def traced(function: Any, *calls: tuple[tuple[Any, ...], dict[str, Any]]) -> list[Any]:
    """Results of calls in one program, whose arguments are their float and complex arrays; or why one is refused."""
    refused: dict[int, Exception] = {}

    def run(arrays: list[list[Any]]) -> list[Any]:
        found = []
        for number, ((args, kwargs), given) in enumerate(zip(calls, arrays, strict=True)):
            every = list(args)
            for k, x in zip(moving(args), given, strict=True):
                every[k] = x
            try:
                found.append(lower(function, tuple(every), dict(kwargs)))
            except (RefusedError, NoRuleError) as error:
                refused[number] = error
                found.append(None)
        return found

    with x64():
        found = jax.jit(run)([[args[k] for k in moving(args)] for args, _ in calls])
    return [refused.get(number, result) for number, result in enumerate(found)]


def runs_in_numpy(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    try:
        function(*args, **kwargs)
    except Exception:
        return False
    return True


def check(name: str, kind: Callable[[Any], Any], cases: list[Case]) -> None:
    function, problems, right = LOWERED[name], set(), 0
    calls = [(kind(case.args), {key: kind(x) for key, x in case.kwargs.items()}) for case in cases]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        calls = [(args, kwargs) for args, kwargs in calls if runs_in_numpy(function, args, kwargs)]
        expected = [function(*args, **kwargs) for args, kwargs in calls]
        results = traced(function, *calls)
    for (args, _), found, wanted in zip(calls, results, expected, strict=True):
        complaint: str | None
        if isinstance(found, (RefusedError, NoRuleError)):
            allowed = OF_VALUES if isinstance(found, RefusedError) else PARTLY
            complaint = None if name in allowed else str(found)
        else:
            tolerance = ROUGHER.get(name, 1e-12) if is_double(args) else 3e-5
            complaint = differs(found, wanted, tolerance, name not in UP_TO_A_CHOICE)
            right += complaint is None
        problems |= {complaint} - {None}
    assert not problems
    assert right or name in OF_VALUES or name in PARTLY


@pytest.mark.ci
@pytest.mark.parametrize("name", sorted(LOWERED))
def test_value_shape_dtype_and_container(name: str) -> None:
    check(name, same, BY_FUNCTION[LOWERED[name]][:1])


@pytest.mark.ci
@pytest.mark.parametrize("name", [name for name in sorted(LOWERED) if BY_FUNCTION[LOWERED[name]][1:]])
def test_the_other_cases(name: str) -> None:
    check(name, same, BY_FUNCTION[LOWERED[name]][1:])


@pytest.mark.ci
@pytest.mark.parametrize("name", sorted(LOWERED))
def test_single_precision(name: str) -> None:
    check(name, single, BY_FUNCTION[LOWERED[name]])


def test_what_is_not_lowered_is_listed() -> None:
    # While a program is compiled, NumPy's functions stand for those of `math`.
    # Whose results are complex where a value is negative, which a compiled program does not know.
    of_values = ("math.", "cmath.", "bridge.rules.standard_math.", "np.lib.scimath.")
    missing = {
        operation_name(f).rpartition(".")[2]
        for f in {*RULES, *ZERO_PULL}
        if not has(f) and not operation_name(f).startswith(of_values)
    }
    text = {"array2string", "array_repr", "array_str", "can_cast", "common_type", "einsum_path", "iscomplexobj",
            "isnat", "isrealobj", "may_share_memory", "min_scalar_type", "result_type", "save", "savetxt", "savez",
            "savez_compressed", "shares_memory"}  # fmt: skip
    own = {operation_name(f) for f in RULES if not operation_name(f).startswith(("np.", "scipy."))}
    assert missing - text - NOT_LOWERED - own == set()


def test_the_lowerings_of_a_family_of_rules_lie_in_one_file() -> None:
    files: dict[str, set[str]] = {}
    for function, rule in RULES.items():
        lowering = ENTRIES.get(operation_name(function))
        if lowering is not None and lowering.run.__module__.startswith("bridge."):
            pull = rule.joint or next(pull for pull in rule.per_argument or () if pull is not None)
            family = getattr(pull, "equivalent", pull).__module__.rpartition(".")[2]
            files.setdefault(family, set()).add(lowering.run.__module__.rpartition(".")[2])
    assert len(files) > 10
    assert {family: found for family, found in files.items() if len(found) > 1} == {}


@pytest.mark.ci
@pytest.mark.parametrize("name", sorted(OF_VALUES))
def test_shapes_that_depend_on_values_are_refused_while_traced(name: str) -> None:
    function: Any = np
    for part in name.split(".")[1:]:
        function = getattr(function, part)
    matrix = name in ("np.linalg.eig", "np.linalg.eigvals")
    x: Any = np.array([[1.0, 2.0], [0.5, 3.0]]) if matrix else np.array([1.0, 0.0, 2.0, 2.0])
    if name == "np.real_if_close":
        x = x + 0j
    args = (x, x) if name == "np.union1d" else (x,)
    (refused,) = traced(function, (args, {}))
    assert isinstance(refused, RefusedError) and name.rpartition(".")[2] in str(refused)
    with x64():
        found = lower(function, args)
    assert differs(found, function(*args), 1e-12, name not in UP_TO_A_CHOICE) is None


BINARY = (np.add, np.divide, np.power, np.maximum, np.arctan2, np.matmul, np.floor_divide, np.less, np.hypot, np.fmod)
DTYPES = ("f4", "f8", "i4", "i8", "u1", "c8", "c16", "f2", "?")


@pytest.mark.ci
@pytest.mark.parametrize("ufunc", BINARY, ids=lambda f: f.__name__)
def test_mixed_operands_have_dtypes_of_numpy(ufunc: np.ufunc) -> None:
    pairs = []
    for one, other in itertools.product(DTYPES, (*DTYPES, int, float)):
        a = np.array([1, 2, 1]).astype(one)
        b = other(2) if isinstance(other, type) else np.array([2, 1, 1]).astype(other)
        if runs_in_numpy(ufunc, (a, b), {}):
            pairs.append((a, b))
    with x64():
        run = jax.jit(lambda left: [lower(ufunc, (a, b)) for a, (_, b) in zip(left, pairs, strict=True)])
        results = run([a for a, _ in pairs])
    for (a, b), found in zip(pairs, results, strict=True):
        expected = ufunc(a, b)
        half = np.result_type(expected) == np.float16
        assert differs(found, expected, 2e-3 if half else 1e-6, True) is None, (a.dtype, np.result_type(b))


@pytest.mark.ci
@pytest.mark.parametrize(
    "call",
    [
        lambda run, i, f: run(np.concatenate, ([i, f],)),
        lambda run, i, f: run(np.stack, ((f, i), 1)),
        lambda run, i, f: run(np.dot, (i, f)),
        lambda run, i, f: run(np.where, (i > 1, i, f)),
        lambda run, i, f: run(np.where, (i > 1, f, 2.0)),
        lambda run, i, f: run(np.clip, (f, 0, 1.5)),
        lambda run, i, f: run(np.clip, (f, i, None)),
        lambda run, i, f: run(np.einsum, ("i,i", i, f)),
        lambda run, i, f: run(np.einsum, (i, [0], f, [1], [1, 0])),
        lambda run, i, f: run(np.outer, (f, 2.0)),
        lambda run, i, f: run(np.mean, (i,)),
        lambda run, i, f: run(np.var, (i,), {"ddof": 1}),
        lambda run, i, f: run(np.sum, (i,)),
        lambda run, i, f: run(np.sum, (i > 1,), {"dtype": np.float32}),
        lambda run, i, f: run(np.cumsum, (i,)),
        lambda run, i, f: run(np.fft.fft, (f,)),
        lambda run, i, f: run(np.interp, (f, i, f)),
        lambda run, i, f: run(np.quantile, (f, 0.3)),
        lambda run, i, f: run(np.quantile, (f, [0.3, 0.5])),
        lambda run, i, f: run(np.linalg.norm, (i,)),
        lambda run, i, f: run(np.select, ([i > 1], [f], 2.0)),
        lambda run, i, f: run(np.sort, (f,), {"kind": "stable"}),
        lambda run, i, f: run(np.logaddexp.reduce, (f,)),
        lambda run, i, f: run(np.add.reduce, (i,)),
        lambda run, i, f: run(np.subtract.accumulate, (f,)),
        lambda run, i, f: run(np.multiply.outer, (f, i)),
        lambda run, i, f: run(np.add.reduceat, (f, [0, 2])),
        lambda run, i, f: run(np.add, (f, i), {"dtype": np.float64}),
    ],
)
def test_functions_of_integers_and_single_precision(call: Any) -> None:
    i, f = np.array([1, 2, 3], np.int32), np.array([0.5, -1.5, 2.0], np.float32)

    def by_jax(function: Any, args: Any, kwargs: Any = None) -> Any:
        with x64():
            return lower(function, args, kwargs or {})

    def by_numpy(function: Any, args: Any, kwargs: Any = None) -> Any:
        return function(*args, **(kwargs or {}))

    assert differs(call(by_jax, i, f), call(by_numpy, i, f), 1e-6, True) is None


def test_a_mask_leaves_zeros() -> None:
    x, mask = np.array([1.0, 4.0]), np.array([True, False])
    with x64():
        assert np.asarray(lower(np.sqrt, (x,), {"where": mask})).tolist() == [1.0, 0.0]


def test_what_there_is_none_of() -> None:
    assert has(np.sin) and has(np.logical_and.reduce) and not has(len) and not has(scipy.special.j0)
    with pytest.raises(NoRuleError, match=r"no counterpart of scipy.special.j0"), x64():
        lower(scipy.special.j0, (1.0,))
    with pytest.raises(NoRuleError, match="lambda"), x64():
        lower(np.apply_along_axis, (lambda x: x, 0, np.ones(3)))


def test_vmap_and_grad_of_lowered_functions() -> None:
    x = np.arange(6.0).reshape(3, 2)
    with x64():
        rows = jax.vmap(lambda row: lower(np.multiply, (lower(np.sum, (row,)), row)))(x)
        slope = jax.grad(lambda y: lower(np.sum, (lower(np.power, (y, 3)),)))(x)
    np.testing.assert_allclose(rows, np.sum(x, axis=1, keepdims=True) * x)
    np.testing.assert_allclose(slope, 3 * x**2)


def test_nothing_of_the_configuration_changes() -> None:
    with x64():
        lower(np.sin, (np.ones(2),))
    assert jax.numpy.ones(2).dtype == np.float32
    assert jax.config.jax_default_matmul_precision is None


COUNTS = {
    "sum": lambda x: np.sum(x > 0),
    "rows": lambda x: np.sum(x > 0, axis=1, keepdims=True),
    "as float": lambda x: np.sum(x > 0, axis=0, dtype=np.float32),
    "as byte": lambda x: np.sum(x == x, dtype=np.int8),
    "as truth": lambda x: np.sum(x > 0, axis=1, dtype=bool),
    "as complex": lambda x: np.sum(x > 0, dtype=complex),
    "where": lambda x: np.sum(x > 0, where=x < 1),
    "initial": lambda x: np.sum(x > 0, initial=3),
    "nonzero": lambda x: np.count_nonzero(x > 0),
    "nonzero of floats": lambda x: np.count_nonzero(np.floor(x), axis=(0, 1)),
    "nonzero rows": lambda x: np.count_nonzero(np.floor(x), axis=1, keepdims=True),
    "none": lambda x: np.sum(x[:0] > 0, axis=0),
}


@pytest.mark.parametrize("name", COUNTS)
def test_counts_are_numpys(name):
    x = np.random.default_rng(0).normal(size=(20, 15))
    expected, found = np.asarray(COUNTS[name](x)), np.asarray(bridge.xla(COUNTS[name])(x))
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
