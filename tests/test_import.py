"""`import bridge` is quick and starts nothing heavy, and each heavy dependency has one door."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

HEAVY = {"jax", "jaxlib", "juliacall", "juliapkg", "platformdirs"}
HEAVY |= {"scipy", "sklearn", "matplotlib", "rich", "torch", "autograd", "hypothesis"}

DOORS = {
    "juliacall": ("bridge/julia/",),
    "juliapkg": ("bridge/julia/",),
    "jax": ("bridge/engines/jax/", "bridge/xla/", "bridge/julia/to_jax.py", "bridge/julia/jax_primitives.py"),
    "torch": ("bridge/torch/",),
    "hypothesis": ("bridge/strategies.py",),
}

# What a function may import, because it is heavy and often not there, or Windows has none; and modules of ours
# that are as heavy.
ON_USE = {"jax", "juliacall", "juliapkg", "scipy", "sklearn", "matplotlib", "rich", "jinja2", "resource"} | {
    "bridge.xla.compiled",
    "bridge.engines.auto.tracing",
    "bridge.julia.jax_primitives",
}

RULES_MAY_IMPORT = sys.stdlib_module_names | {"numpy", "scipy", "bridge"}


def run(code: str) -> str:
    completed = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert completed.returncode == 0, completed.stderr
    return completed.stdout


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(tree: ast.Module, path: Path) -> Iterator[str]:
    """Full names of the modules that the file imports, at its top or inside functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_import_loads_nothing_heavy() -> None:
    loaded = set(json.loads(run("import bridge, json, sys; print(json.dumps(list(sys.modules)))")))
    assert "bridge" in loaded
    assert not loaded & HEAVY


def test_engines_come_on_use() -> None:
    """The documentation writes `bridge.engines.julia.load_rules(...)` after `import bridge` alone."""
    for name in ("auto", "eager", "julia", "native"):
        module = f"bridge.engines.{name}"
        code = f"import bridge, sys; print({module!r} in sys.modules, {module}.__name__)"
        assert run(code).split() == ["False", module]
    code = "import bridge\ntry: bridge.engines.nobody\nexcept AttributeError as error: print(error)"
    assert run(code).strip() == "module 'bridge.engines' has no attribute 'nobody'"


GRADIENT = "import bridge, numpy as np; print(bridge.grad(lambda x: np.sum(np.tanh(x)))(np.zeros(2)).tolist())"


def test_gradient_loads_nothing_heavy() -> None:
    answer, loaded = run(f"{GRADIENT}; import json, sys; print(json.dumps(list(sys.modules)))").splitlines()
    assert answer == "[1.0, 1.0]"
    assert not set(json.loads(loaded)) & HEAVY


@pytest.mark.parametrize("absent", ["scipy", "jax", "juliacall"])
def test_gradient_without_optional_dependencies(absent: str) -> None:
    assert run(f"import sys; sys.modules[{absent!r}] = None; {GRADIENT}") == "[1.0, 1.0]\n"


def test_time_of_import(capsys: pytest.CaptureFixture[str]) -> None:
    code = "import time, numpy; begin = time.perf_counter(); import bridge; print(time.perf_counter() - begin)"
    run(code)
    seconds = min(float(run(code)) for _ in range(3))
    with capsys.disabled():
        print(f"\n  import bridge: {1e3 * seconds:.0f} ms beyond import numpy")


@pytest.mark.parametrize("path", sorted((ROOT / "bridge").rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT)))
def test_heavy_dependencies_come_in_by_their_own_door_and_others_at_the_top(path: Path) -> None:
    place, tree = path.relative_to(ROOT).as_posix(), tree_of(path)
    for name in imports(tree, path):
        doors = DOORS.get(name.partition(".")[0])
        assert doors is None or place.startswith(doors), f"{place} imports {name}"
    for name in imports_inside_functions(tree):
        assert name in ON_USE or name.partition(".")[0] in ON_USE, f"{place} imports {name} in a function"


def imports_inside_functions(tree: ast.Module) -> Iterator[str]:
    """Full names of the modules that functions of the file import."""
    functions = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    for node in (node for function in functions for node in ast.walk(function)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module)


def imports_of_lowerings(tree: ast.Module) -> Iterator[str]:
    """What functions import that compute a rule in JAX: those that `lowering` decorates, and their helpers."""
    yield from (name for name in imports_inside_functions(tree) if name.partition(".")[0] == "jax")


@pytest.mark.parametrize("path", sorted((ROOT / "rules").glob("*.py")), ids=lambda p: p.name)
def test_rules_know_only_the_authors_door(path: Path) -> None:
    tree = tree_of(path)
    computing = tuple(imports_of_lowerings(tree))
    for name in imports(tree, path):
        top = name.partition(".")[0]
        assert top in RULES_MAY_IMPORT or name.startswith(computing), f"{path.name} imports {name}"
        assert top != "bridge" or name.startswith(("bridge.extend.", "bridge.rules.")), f"{path.name} imports {name}"
        assert top != "scipy" or name.startswith("scipy.special"), f"{path.name} imports {name}"
