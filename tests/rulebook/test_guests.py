"""Rules that an installed package brings by an entry point, in processes of their own: it is looked up once in each."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

KERNELS = """
    import numpy as np

    def softly(x):
        return np.array([np.tanh(value) for value in np.asarray(x, float)])
"""
RULES = """
    import numpy as np
    from bridge.extend import Case, rule
    from fastkernels import softly

    print("read")

    @rule(softly)
    def softly(ct, out, x):
        return ct * (1 - out * out)

    def cases():
        yield Case(softly.function, (np.array([0.5, -1.0]),))
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder where the distribution `fast-kernels` is installed."""
    package, metadata = tmp_path / "fastkernels", tmp_path / "fast_kernels-1.2.dist-info"
    package.mkdir()
    metadata.mkdir()
    (package / "__init__.py").write_text(dedent(KERNELS))
    (package / "bridge_rules.py").write_text(dedent(RULES))
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: fast-kernels\nVersion: 1.2\n")
    (metadata / "entry_points.txt").write_text("[bridge.rules]\nfastkernels = fastkernels.bridge_rules\n")
    return tmp_path


def run(site: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    paths = [str(site), *(path for path in sys.path if path)]
    return subprocess.run(
        [sys.executable, *arguments],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def printed(site: Path, program: str) -> str:
    (site / "program.py").write_text(dedent(program))
    done = run(site, str(site / "program.py"))
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_they_hold_once_the_program_has_loaded_what_they_are_about(site: Path) -> None:
    text = """
        import numpy as np, bridge
        print(bridge.grad(lambda x: np.sum(x * x))(np.ones(2)))
        import fastkernels
        print(bridge.grad(lambda x: np.sum(fastkernels.softly(x)))(np.zeros(2)))
        print(bridge.check_rule(fastkernels.softly).ok)
    """
    assert printed(site, text).split("\n") == ["[2. 2.]", "read", "[1. 1.]", "True", ""]


def test_what_the_user_says_himself_holds(site: Path) -> None:
    text = """
        import warnings, numpy as np, bridge, fastkernels
        from bridge.extend import nondifferentiable, rule
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            KIND
        print(caught[0].message)
        print(bridge.grad(lambda x: np.sum(x + fastkernels.softly(x)))(np.zeros(2)))
    """
    own = "rule(fastkernels.softly)(lambda ct, out, x: 7 * ct)"
    for said, gradient in ((own, "[8. 8.]"), ("nondifferentiable(fastkernels.softly)", "[1. 1.]")):
        lines = printed(site, text.replace("KIND", said)).split("\n")
        assert lines[1].startswith("what you say of fastkernels.softly replaces")
        assert gradient in lines


def test_two_threads_that_need_them_at_once(site: Path) -> None:
    text = """
        import threading, numpy as np, bridge, fastkernels
        found, start = [], threading.Barrier(4)

        def work():
            start.wait()
            found.append(bridge.grad(lambda x: np.sum(fastkernels.softly(x)))(np.zeros(2)).tolist())

        threads = [threading.Thread(target=work) for _ in range(4)]
        [thread.start() for thread in threads], [thread.join() for thread in threads]
        print(found)
    """
    assert printed(site, text) == f"read\n{[[1.0, 1.0]] * 4}\n"


def test_rules_that_cannot_be_read_are_named(site: Path) -> None:
    (site / "fastkernels" / "bridge_rules.py").write_text("import a_package_that_is_missing\n")
    text = """
        import warnings, numpy as np, bridge, fastkernels
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            print(bridge.grad(lambda x: np.sum(x * x))(np.ones(2)))
        print(*[one.message for one in caught], sep="|")
        print(bridge.grad(lambda x: np.sum(x * x))(np.ones(2)))
    """
    lines = printed(site, text).split("\n")
    assert lines[0] == lines[3] == "[2. 2.]"
    assert lines[1] == (
        "the rules that fast-kernels 1.2 brings for fastkernels cannot be read: fastkernels.bridge_rules: "
        "ModuleNotFoundError: No module named 'a_package_that_is_missing'"
    )
    assert "update or uninstall it" in lines[2]


def test_one_that_replaces_the_book_says_so(site: Path) -> None:
    path = site / "fastkernels" / "bridge_rules.py"
    path.write_text("import numpy as np, bridge\nbridge.rule(np.tanh)(lambda ct, out, x: 5 * ct)\n")
    text = """
        import warnings, numpy as np, bridge, fastkernels
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            print(bridge.grad(lambda x: np.sum(np.tanh(x)))(np.ones(2)))
        print(caught[0].message)
    """
    lines = printed(site, text).split("\n")
    assert lines[0] == "[5. 5.]"
    assert lines[1].startswith("what fast-kernels 1.2 says of np.tanh replaces what the rule book says")
