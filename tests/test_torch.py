"""`bridge.torch`: NumPy programs as operations of PyTorch's."""

from __future__ import annotations

import contextlib
import io
import pickle
import re
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bridge

torch = pytest.importorskip("torch", reason='bridge.torch needs PyTorch: pip install "mutation-bridge[torch]"')
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")
gradcheck, gradgradcheck = torch.autograd.gradcheck, torch.autograd.gradgradcheck

PAGE = (Path(__file__).parents[1] / "docs" / "torch.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", PAGE, re.DOTALL)


def shifted(x: Any, w: Any) -> Any:
    """Writes into scratch of its own and into its argument."""
    y = np.zeros(w.shape[0])
    for i in range(w.shape[0]):
        y[i:] += np.tanh(w[i] * x[: w.shape[0] - i])
        x[i] *= 2.0
    return y, np.sum(x * w)


def products(z: Any) -> Any:
    z[1:] *= z[:-1]
    return np.exp(z) * 2


def contained(p: Any, factor: float) -> Any:
    p["w"][0] *= 3.0
    return {"y": p["w"] * p["b"][0] * factor, "text": "as it is", "count": np.arange(3), "nothing": None}


def random(*shape: int, seed: int = 0, dtype: Any = torch.float64) -> Any:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype, requires_grad=True)


@pytest.mark.parametrize("engine", ["eager", "native", "xla"])
def test_first_and_second_derivatives(engine: str) -> None:
    f = bridge.torch.function(shifted, engine=engine)
    x, w = random(4), random(4, seed=1)
    assert gradcheck(f, (x, w), check_forward_ad=engine != "xla")
    assert gradgradcheck(f, (x, w))


def test_complex_tensors_and_their_lazy_conjugates() -> None:
    f = bridge.torch.function(products)
    z = random(3, dtype=torch.complex128)
    assert gradcheck(f, (z,)) and gradgradcheck(f, (z,))
    assert gradcheck(lambda z: f(z.conj()), (z,))


def test_memory_is_shared_and_keeps_its_bits() -> None:
    seen = []

    def looked_at(x: Any) -> Any:
        seen.append(x)
        return 2 * x

    x = random(3)
    before = x.detach().clone()
    y, total = bridge.torch.function(shifted)(x, random(3, seed=1))
    (y.sum() + total).backward()
    assert torch.equal(x.detach(), before)
    with torch.no_grad():
        bridge.torch.function(shifted)(x, random(3, seed=1))
        assert torch.equal(x, before)
        assert not bridge.torch.function(looked_at)(x).requires_grad
    assert type(seen[0]) is np.ndarray


def test_containers_numbers_and_what_is_no_number() -> None:
    f = bridge.torch.function(contained)
    w, b = random(3), random(1, seed=1)
    out = f({"w": w, "b": [b]}, 2.0)
    assert (out["text"], out["nothing"], out["count"].dtype) == ("as it is", None, torch.int64)
    assert not out["count"].requires_grad
    out["y"].sum().backward()
    torch.testing.assert_close(w.grad, 2 * b.detach() * torch.tensor([3.0, 1.0, 1.0]))
    again = f(p={"w": w, "b": [b]}, factor=2.0)["y"]
    torch.testing.assert_close(again, out["y"])


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.complex64])
def test_dtypes_stay(dtype: Any) -> None:
    x = random(3, dtype=dtype)
    y = bridge.torch.function(products)(x)
    (grad,) = torch.autograd.grad(y.abs().sum(), x)
    assert (y.dtype, grad.dtype) == (dtype, dtype)


def test_integers_carry_no_derivative() -> None:
    x, k = random(4), torch.tensor([2, 0])
    y = bridge.torch.function(lambda x, k: (x[k] ** 2, k + 1))(x, k)
    y[0].sum().backward()
    torch.testing.assert_close(x.grad, torch.where(torch.tensor([1, 0, 1, 0]) == 1, 2 * x.detach(), 0.0))


def test_func_transforms() -> None:
    f = bridge.torch.function(shifted)
    x, w = random(4).detach(), random(4, seed=1).detach()

    def loss(x: Any) -> Any:
        y, total = f(x, w)
        return total**2 + y.sum()

    np.testing.assert_allclose(torch.func.grad(loss)(x), bridge.grad(_total)(x.numpy(), w.numpy()))
    np.testing.assert_allclose(torch.func.hessian(loss)(x), bridge.hessian(_total)(x.numpy(), w.numpy()), atol=1e-12)
    xs = torch.stack([x, 2 * x, -x])
    rows = torch.stack([torch.func.grad(loss)(row) for row in xs])
    torch.testing.assert_close(torch.func.vmap(torch.func.grad(loss))(xs), rows)


def _total(x: Any, w: Any) -> Any:
    y, total = shifted(x, w)
    return total**2 + np.sum(y)


def test_tensors_that_share_memory() -> None:
    def written_and_read(x: Any, y: Any) -> Any:
        x[1] = 7.0
        return np.sum(x * y)

    whole = torch.ones(3, dtype=torch.float64)
    for first in (whole[:2], whole[:2].clone().requires_grad_()):
        second = whole[1:] if not first.requires_grad else first.detach()
        with pytest.raises(bridge.errors.AliasError):
            bridge.torch.function(written_and_read)(first, second)


def test_tensors_that_are_overwritten_after_the_call() -> None:
    f = bridge.torch.function(lambda x: np.sum(x**3))
    a = random(3)
    b = a * 1
    out = f(b)
    b.data.add_(5.0)
    torch.testing.assert_close(torch.autograd.grad(out, a)[0], 3 * a.detach() ** 2)
    b = a * 1
    out = f(b)
    b.add_(5.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        torch.autograd.grad(out, a, create_graph=True)


def test_threads() -> None:
    f = bridge.torch.function(shifted)

    def gradient(k: int) -> Any:
        x = torch.full((4,), k / 9, dtype=torch.float64, requires_grad=True)
        return torch.autograd.grad(f(x, random(4, seed=1).detach())[0].sum(), x)[0]

    with ThreadPoolExecutor(8) as pool:
        assert all(map(torch.equal, pool.map(gradient, range(24)), map(gradient, range(24))))


def test_inside_of_a_compiled_function() -> None:
    f = bridge.torch.function(shifted)
    x, w = random(4), random(4, seed=1)

    def loss(x: Any) -> Any:
        return f(x.sin(), w)[0].square().sum()

    with warnings.catch_warnings(action="ignore"):  # the compiler looks at attributes that warn
        found = torch.autograd.grad(torch.compile(loss, backend="eager")(x), x)
    torch.testing.assert_close(found, torch.autograd.grad(loss(x), x))


@pytest.mark.parametrize(
    ("tensor", "says"),
    [
        (torch.zeros(3, dtype=torch.bfloat16), r"dtype torch.bfloat16, which NumPy lacks, .*\n  remedy: .*float\(\)"),
        (torch.zeros(3).to_sparse(), r"layout torch.sparse_coo, .*\n  remedy: .*to_dense\(\)"),
        (torch.zeros(3, device="meta"), r"on meta, .*\n  remedy: move it: tensor.cpu\(\)"),
    ],
    ids=["bfloat16", "sparse", "elsewhere"],
)
def test_tensors_that_are_no_arrays(tensor: Any, says: str) -> None:
    with pytest.raises(bridge.errors.ArgumentError, match=says):
        bridge.torch.function(np.sin)(tensor)


def test_results_that_are_no_tensors() -> None:
    f = bridge.torch.function(lambda x: x.astype(np.longdouble))
    with pytest.raises(bridge.errors.ArgumentError, match="PyTorch has no such dtype"):
        f(random(3))


def test_a_tensor_that_is_no_argument() -> None:
    w = random(3)
    for f in (lambda x: np.sum(x * w), lambda x: np.sum(np.multiply(w, x)), lambda x: np.dot(x, w)):
        with pytest.raises(bridge.errors.ArgumentError, match=r"not among its arguments\n  remedy: pass it"):
            bridge.torch.function(f)(random(3, seed=1))
    x = random(3, seed=1)
    bridge.torch.function(lambda x: np.sum(x * w.detach()))(x).backward()
    torch.testing.assert_close(x.grad, w.detach())


def counting() -> Any:
    calls = []

    def f(x: Any) -> Any:
        calls.append(1)
        return np.sum(x**2) * len(calls)

    return f


def drawing() -> Any:
    rng = np.random.default_rng(0)
    return lambda x: np.sum(x**2) * rng.standard_normal()


@pytest.mark.parametrize("made", [counting, drawing])
def test_programs_that_say_something_else_when_they_run_again(made: Any) -> None:
    x = random(3)
    f = bridge.torch.function(made())
    factor = f(x).item() / x.detach().square().sum()
    f = bridge.torch.function(made())
    torch.testing.assert_close(torch.autograd.grad(f(x), x)[0], 2 * factor * x.detach())
    f = bridge.torch.function(made())
    for derivative in (
        lambda: torch.autograd.grad(f(x), x, create_graph=True),
        lambda: torch.func.grad(f)(x.detach()),
        lambda: torch.func.jvp(f, (x.detach(),), (x.detach(),)),
    ):
        with pytest.raises(bridge.errors.ReplayError, match=r"other values .*\n  remedy: pass that as an argument"):
            derivative()


def test_an_empty_batch() -> None:
    with pytest.raises(bridge.errors.ArgumentError, match="empty batch"):
        torch.func.vmap(bridge.torch.function(np.sin))(torch.zeros(0, 3))


def test_errors_of_the_program_pass_through() -> None:
    def taken_apart(x: Any) -> Any:
        return x.view(np.uint8) + 1

    with pytest.raises(bridge.errors.BridgeError, match="remedy"):
        bridge.torch.function(taken_apart)(random(3))


def test_keywords_only() -> None:
    with pytest.raises(bridge.errors.ArgumentError, match="takes k by keyword only"):
        bridge.torch.function(_with_keyword)(random(3), k=2.0)


def _with_keyword(x: Any, *, k: float) -> Any:
    return x * k


def test_wrapped_functions_pickle() -> None:
    f = bridge.torch.function(shifted, engine="native")
    again = pickle.loads(pickle.dumps(f))
    x, w = random(3), random(3, seed=1)
    torch.testing.assert_close(again(x, w), f(x, w))


def test_unknown_engine() -> None:
    with pytest.raises(bridge.errors.ArgumentError, match="typo"):
        bridge.torch.function(np.sin, engine="typo")


@pytest.mark.julia
def test_a_function_of_julias() -> None:
    f = bridge.torch.function(bridge.julia.function("(x, w) -> sum(abs2, x .* w)"))
    assert gradcheck(f, (random(3), random(3, seed=1)))


def test_the_page_says_what_happens() -> None:
    names: dict[str, Any] = {"__name__": "page"}
    assert len(EXAMPLES) == PAGE.count("```python") > 0
    for code, output in EXAMPLES:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, "torch.md", "exec"), names)
        assert printed.getvalue() == output
