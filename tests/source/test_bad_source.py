"""Where a program's source cannot be had or says something else, it runs as it is, and `explain_source` says why."""

from __future__ import annotations

import importlib
import importlib.util
import linecache
import os
import subprocess
import sys
import textwrap
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import ArgumentError, EscapeError

PROGRAM = """
import numpy as np

def program(x):
    u = np.zeros(2)
    u[0] = x
    return np.sum(u * u)
"""


@pytest.fixture
def imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., ModuleType]]:
    """Imports modules of given texts from files of their own."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    names: list[str] = []

    def load(text: str | bytes, name: str = "read_program") -> ModuleType:
        path = tmp_path / f"{name}.py"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        names.append(name)
        importlib.invalidate_caches()
        return importlib.import_module(name)

    yield load
    for name in names:
        sys.modules.pop(name, None)


def reason(f: Any) -> str:
    text = bridge.explain_source(f)
    return text.partition("not read: ")[2] if text.startswith("# not read") else "read"


def runs_plainly(f: Any, *words: str) -> None:
    """Not read, for this reason, which an error says too; and right where nothing has to be read."""
    assert all(word in reason(f) for word in words), reason(f)
    with pytest.raises(EscapeError) as caught:
        bridge.grad(f)(3.0)
    assert "not read from its source" in str(caught.value)
    assert words[0] in str(caught.value)


def test_a_program_in_a_file_is_read(imported: Callable[..., ModuleType]) -> None:
    program = imported(PROGRAM).program
    assert reason(program) == "read"
    assert bridge.grad(program)(3.0) == 6.0


def test_exec() -> None:
    names: dict[str, Any] = {}
    exec(PROGRAM, names)
    runs_plainly(names["program"], "cannot be had", "<string>")


def test_exec_of_a_function_that_needs_no_reading() -> None:
    names: dict[str, Any] = {"np": np}
    exec("def f(x): return np.sum(x * x)", names)
    assert bridge.grad(names["f"])(3.0) == 6.0


@pytest.mark.parametrize(("file", "magic"), [("<timed exec>", "%%time"), ("<magic-timeit>", "%%timeit")])
def test_a_cell_that_is_timed(file: str, magic: str) -> None:
    """IPython keeps no text of it."""
    names: dict[str, Any] = {"np": np}
    exec(compile("def f(x):\n    y = np.zeros(1)\n    y[:] = x\n    return y[0]\n", file, "exec"), names)
    message = rf"f is defined in a cell that begins with {magic}, .* define it in a cell of its own"
    with pytest.raises(EscapeError, match=message):
        bridge.grad(names["f"])(np.ones(1))


def test_a_command_line() -> None:
    text = PROGRAM + textwrap.dedent("""
        import bridge
        from bridge.errors import EscapeError
        print(bridge.explain_source(program))
        try:
            bridge.grad(program)(3.0)
        except EscapeError as error:
            print("escape", error)
    """)
    found = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True, cwd=os.getcwd())
    if sys.version_info >= (3, 13):  # which keeps the text
        assert "bridge.into" in found.stdout and "escape" not in found.stdout
        return
    assert "# not read: the source of program cannot be had (<string>)" in found.stdout
    assert "escape" in found.stdout
    assert "not read from its source" in found.stdout


def test_a_file_that_is_gone(imported: Callable[..., ModuleType], tmp_path: Path) -> None:
    program = imported(PROGRAM).program
    (tmp_path / "read_program.py").unlink()
    runs_plainly(program, "cannot be had")


def test_a_file_that_has_changed(imported: Callable[..., ModuleType], tmp_path: Path) -> None:
    program = imported(PROGRAM).program
    (tmp_path / "read_program.py").write_text(PROGRAM.replace("u * u", "u * u * u"))
    runs_plainly(program, "is not what", "the file has changed, or was rewritten")


def test_a_file_whose_lines_have_moved(imported: Callable[..., ModuleType], tmp_path: Path) -> None:
    program = imported(PROGRAM).program
    (tmp_path / "read_program.py").write_text("# A line above.\n" + PROGRAM)
    runs_plainly(program, "is not what")


def test_a_file_that_has_changed_elsewhere(imported: Callable[..., ModuleType], tmp_path: Path) -> None:
    program = imported(PROGRAM).program
    (tmp_path / "read_program.py").write_text(PROGRAM + "\ndef another():\n    pass\n")
    assert bridge.grad(program)(3.0) == 6.0


def test_a_file_that_parses_no_more(imported: Callable[..., ModuleType], tmp_path: Path) -> None:
    program = imported(PROGRAM).program
    (tmp_path / "read_program.py").write_text(PROGRAM + "\ndef (:\n")
    runs_plainly(program, "does not parse")


def test_a_file_that_is_loaded_again(imported: Callable[..., ModuleType], tmp_path: Path) -> None:
    module = imported(PROGRAM)
    old = module.program
    assert bridge.grad(old)(3.0) == 6.0
    (tmp_path / "read_program.py").write_text(PROGRAM.replace("u * u", "u * u * u"))
    again = importlib.reload(module)
    assert bridge.grad(again.program)(3.0) == 27.0
    assert bridge.grad(old)(3.0) == 6.0


def test_a_statement_that_compiles_only_where_it_stands(imported: Callable[..., ModuleType]) -> None:
    file = "<cell with await>"
    text = "await something\ndef f(x):\n    return x * x\n"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    import ast

    names: dict[str, Any] = {}
    exec(compile("\ndef f(x):\n    return x * x\n", file, "exec"), names)
    assert bridge.grad(names["f"])(3.0) == 6.0
    text = "if True:\n    def f(x):\n        return x * x\n    await something\n"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    code = compile(text, file, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    inner = next(one for one in code.co_consts if hasattr(one, "co_name"))
    f = type(reason)(inner, names)
    assert "does not compile by itself" in reason(f)
    assert bridge.grad(f)(3.0) == 6.0
    del linecache.cache[file]


def test_code_that_was_made_from_a_tree(imported: Callable[..., ModuleType], tmp_path: Path) -> None:
    import ast

    path = tmp_path / "generated.py"
    path.write_text(PROGRAM)
    tree = ast.parse(PROGRAM.replace("u * u", "u + u"))
    names: dict[str, Any] = {}
    exec(compile(tree, str(path), "exec"), names)
    runs_plainly(names["program"], "is not what")


def test_lambdas_on_one_line(imported: Callable[..., ModuleType]) -> None:
    module = imported(
        "import numpy as np\n"
        "f, g, h = lambda x: x * x, lambda x: x * x * x, (lambda x: (lambda u: np.sum(u * x))(np.ones(1)))\n"
        "same = [lambda x: 1 / x, lambda x: 1 / x]\n"
        "made = [lambda x, k=k: k * x * x for k in range(3)]\n"
    )
    assert [bridge.grad(f)(2.0) for f in (module.f, module.g)] == [4.0, 12.0]
    assert [bridge.grad(f)(2.0) for f in module.same] == [-0.25, -0.25]
    assert [bridge.grad(f)(2.0) for f in module.made] == [0.0, 4.0, 8.0]
    assert all(reason(f) == "read" for f in (module.f, module.g, module.h, *module.same, *module.made))


def test_a_function_that_a_library_decorates(imported: Callable[..., ModuleType]) -> None:
    module = imported(
        "import functools\nimport numpy as np\n"
        "@functools.lru_cache(maxsize=None)\ndef cached(n):\n    return np.ones(n)\n"
        "@functools.singledispatch\ndef chosen(x):\n    u = np.zeros(2)\n    u[0] = x\n    return u[0] * 3.0\n"
        "def program(x):\n    return np.sum(cached(2) * chosen(x))\n"
    )
    assert bridge.grad(module.program)(3.0) == 6.0
    assert module.cached.cache_info().misses == 1


def test_a_function_of_an_installed_package() -> None:
    import textwrap as library

    assert "belongs to an installed library" in reason(library.dedent)


def test_builtin_functions_have_no_source() -> None:
    with pytest.raises(ArgumentError, match="builtin_function_or_method has no source"):
        bridge.explain_source(len)


def rewritten_by_pytest(x: Any) -> Any:
    u = np.zeros(2)
    u[0] = x
    assert u[0] > 0, "positive"
    assert [k for k in range(2)] == [0, 1]
    return np.sum(u * u)


def test_assertions_that_pytest_rewrites() -> None:
    assert "@pytest_ar" in rewritten_by_pytest.__code__.co_names
    assert bridge.grad(rewritten_by_pytest)(3.0) == 6.0
    with pytest.raises(AssertionError, match="positive"):
        bridge.grad(rewritten_by_pytest)(-3.0)


@pytest.mark.ci
def test_assertions_that_pytest_rewrites_in_a_file_that_has_changed(tmp_path: Path) -> None:
    (tmp_path / "test_program.py").write_text(
        PROGRAM.replace("    return", "    assert x\n    return")
        + textwrap.dedent("""
        import pathlib, bridge

        def test_it():
            path = pathlib.Path(__file__)
            path.write_text(path.read_text().replace("u * u", "u * u * u"))
            assert "not read" in bridge.explain_source(program)
        """)
    )
    found = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)], capture_output=True, text=True,
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, check=False,
    )  # fmt: skip
    assert found.returncode == 0, found.stdout


def test_cells_of_notebooks() -> None:
    for number in range(2):
        file = f"<cell {number} of a notebook>"
        text = PROGRAM.replace("u * u", f"u * {number + 2.0}")
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)
        names: dict[str, Any] = {}
        exec(compile(text, file, "exec"), names)
        assert bridge.grad(names["program"])(3.0) == number + 2.0
        del linecache.cache[file]


@pytest.mark.ci
def test_a_very_long_function(imported: Callable[..., ModuleType]) -> None:
    lines = "".join(f"    u[{k % 7}] = u[{(k + 1) % 7}] * 0.5 + x\n" for k in range(800))
    module = imported(f"import numpy as np\ndef program(x):\n    u = np.zeros(7)\n{lines}    return np.sum(u)\n")
    assert reason(module.program) == "read"
    expected = (module.program(1.0 + 1e-6) - module.program(1.0 - 1e-6)) / 2e-6
    assert abs(bridge.grad(module.program)(1.0) - expected) < 1e-6


def test_a_long_sum(imported: Callable[..., ModuleType]) -> None:
    module = imported(f"def program(x):\n    return {' + '.join(['x'] * 150)}\n")
    assert reason(module.program) == "read"
    assert bridge.grad(module.program)(1.0) == 150.0


@pytest.mark.parametrize("terms", [1000, 2500])
def test_nesting_that_is_too_deep_to_read(imported: Callable[..., ModuleType], terms: int) -> None:
    module = imported(f"def program(x):\n    return {' + '.join(['x'] * terms)}\n")
    assert "recursion" in reason(module.program)
    assert bridge.grad(module.program)(1.0) == terms


def test_deep_blocks(imported: Callable[..., ModuleType]) -> None:
    depth = 18
    text = "".join("    " * (k + 1) + f"for i{k} in range(1):\n" for k in range(depth))
    body = "    " * (depth + 1) + "u[0] = u[0] + x\n"
    module = imported(f"import numpy as np\ndef program(x):\n    u = np.zeros(1)\n{text}{body}    return u[0]\n")
    assert bridge.grad(module.program)(1.0) == 1.0


def test_names_and_texts_beyond_ascii(imported: Callable[..., ModuleType]) -> None:
    named = PROGRAM.replace("u =", "größe =").replace("u[", "größe[").replace("u * u", "größe * größe")
    module = imported(f"# ∇\nTEXT = '→ ∂'; {named.strip()}\n".replace("; import", "\nimport"))
    assert bridge.grad(module.program)(3.0) == 6.0


def test_a_file_in_another_encoding(imported: Callable[..., ModuleType]) -> None:
    text = "# -*- coding: latin-1 -*-\n" + PROGRAM + "\ndef name():\n    return 'größe'\n"
    module = imported(text.encode("latin-1"))
    assert bridge.grad(module.program)(3.0) == 6.0
    assert reason(module.name) == "read"


def test_tabs_and_line_ends_of_windows(imported: Callable[..., ModuleType]) -> None:
    module = imported(PROGRAM.replace("    ", "\t").replace("\n", "\r\n").encode())
    assert bridge.grad(module.program)(3.0) == 6.0


def test_form_feeds_and_a_byte_order_mark(imported: Callable[..., ModuleType]) -> None:
    module = imported(b"\xef\xbb\xbf" + PROGRAM.replace("def ", "\x0cdef ").encode())
    assert bridge.grad(module.program)(3.0) == 6.0


def test_a_file_without_a_last_line_end(imported: Callable[..., ModuleType]) -> None:
    module = imported(PROGRAM.rstrip())
    assert bridge.grad(module.program)(3.0) == 6.0


def test_imports_from_the_future(imported: Callable[..., ModuleType]) -> None:
    module = imported("from __future__ import annotations\n" + PROGRAM.replace("(x)", "(x: Unknown) -> Unknown"))
    assert bridge.grad(module.program)(3.0) == 6.0
    assert module.program.__annotations__ == {"x": "Unknown", "return": "Unknown"}


def test_modules_in_archives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / "archive.zip", "w") as archive:
        archive.writestr("zipped_program.py", PROGRAM)
    monkeypatch.syspath_prepend(str(tmp_path / "archive.zip"))
    module = importlib.import_module("zipped_program")
    try:
        assert reason(module.program) == "read"
        assert bridge.grad(module.program)(3.0) == 6.0
    finally:
        sys.modules.pop("zipped_program")


def test_two_modules_of_one_text(tmp_path: Path) -> None:
    path = tmp_path / "twice.py"
    path.write_text(
        "import numpy as np\nfactor = 1.0\n"
        "def program(x):\n    u = np.zeros(1)\n    u[0] = x * factor\n    return u[0]\n"
    )
    modules = []
    for number in range(2):
        spec = importlib.util.spec_from_file_location(f"twice_{number}", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module.factor = float(number + 1)
        modules.append(module)
    assert [bridge.grad(module.program)(3.0) for module in modules] == [1.0, 2.0]


def test_warnings_of_the_compiler_are_no_errors_of_reading(imported: Callable[..., ModuleType], recwarn: Any) -> None:
    with pytest.warns(SyntaxWarning):
        module = imported(PROGRAM.replace("    return", "    assert (x is 1) or True\n    return"))
    assert bridge.grad(module.program)(3.0) == 6.0
