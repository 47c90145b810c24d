"""The package works from a wheel, an editable install and a bare checkout, and its tree follows the house's rules."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from collections import defaultdict
from pathlib import Path

import numpy as np
import optree
import pytest

import bridge
from bridge import in_c

ROOT = Path(__file__).parents[1]

PROBE = """
import json
import numpy as np
import bridge, bridge.extend, bridge.rules

def f(x):
    x[1:] += x[:-1] * 2
    return np.sum(np.tanh(x) ** 2)

x = np.linspace(0.0, 1.0, 5)
gradient = bridge.grad(f)(x)
print(json.dumps({
    "version": bridge.__version__,
    "bridge": bridge.__file__,
    "rules": bridge.rules.__file__,
    "number_of_rules": len(bridge.extend.RULES),
    "gradient": gradient.tolist(),
}))
"""


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    clean = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONHOME")}
    completed = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=clean | environment, capture_output=True, text=True, check=False
    )
    assert completed.returncode == 0, f"{command}\n{completed.stdout}\n{completed.stderr}"
    return completed.stdout


def bare_environment(folder: Path) -> Path:
    """Make an environment that finds the running one's packages, but not what is installed there in editable mode."""
    venv.create(folder, with_pip=False)
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    site = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder).strip()
    homes = {str(Path(str(module.__file__)).parents[1]) for module in (np, optree)}
    (Path(site) / "packages_of_the_running_environment.pth").write_text("\n".join(sorted(homes)))
    return python


def install(python: Path, *what: str | Path) -> None:
    for name in ("pip", "hatchling"):
        pytest.importorskip(name, reason=f"{name} is needed to install; python -m pip install -e '.[test]'")
    flags = ("--no-deps", "--no-index", "--no-build-isolation", "--disable-pip-version-check")
    run(sys.executable, "-m", "pip", "--python", python, "install", *flags, *what, cwd=ROOT)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for name in ("build", "hatchling"):
        pytest.importorskip(name, reason=f"{name} is needed to build; python -m pip install -e '.[test]'")
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    (built,) = folder.glob("*.whl")
    return built


def installed(folder: Path, *what: str | Path) -> Path:
    python = bare_environment(folder / "environment")
    install(python, *what)
    return python


@pytest.fixture(scope="module")
def with_wheel(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return installed(tmp_path_factory.mktemp("with_wheel"), wheel)


@pytest.fixture(scope="module")
def with_checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return installed(tmp_path_factory.mktemp("with_checkout"), "-e", ROOT)


def checkout_answer(folder: Path) -> dict[str, object]:
    answer: dict[str, object] = json.loads(run(sys.executable, "-c", PROBE, cwd=folder, PYTHONPATH=str(ROOT)))
    return answer


def test_checkout_on_the_path(tmp_path: Path) -> None:
    answer = checkout_answer(tmp_path)
    assert Path(str(answer["rules"])) == ROOT / "rules" / "__init__.py"
    assert answer["number_of_rules"]


def test_wheel_holds_the_package_and_the_rule_book(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        inside = {name for name in archive.namelist() if ".dist-info/" not in name}
    expected = {path.relative_to(ROOT).as_posix() for path in (ROOT / "bridge").rglob("*.py")} | {"bridge/py.typed"}
    expected |= {"bridge/in_c/_steps.pyi", "bridge/loops_in_c/runtime.h", "bridge/loops_in_c/floats.h"}
    if in_c.AVAILABLE:
        expected |= {f"bridge/in_c/_steps{sysconfig.get_config_var('EXT_SUFFIX')}"}
    expected |= {path.relative_to(ROOT).as_posix() for path in (ROOT / "bridge").rglob("*.jl")}
    expected |= {f"bridge/rules/{path.name}" for pattern in ("*.py", "*.jl") for path in (ROOT / "rules").glob(pattern)}
    # The Julia package, and what asks juliapkg for it, move in beside the code that uses them.
    julia = [
        ROOT / "julia" / "Project.toml",
        *(ROOT / "julia" / "src").rglob("*.jl"),
        *(ROOT / "julia" / "ext").rglob("*.jl"),
    ]
    expected |= {f"bridge/{path.relative_to(ROOT).as_posix()}" for path in julia} | {"bridge/juliapkg.json"}
    # What reports are made of, the table that they quote, and the plugin, which pytest loads without the package.
    templates = (ROOT / "bridge" / "proof" / "report" / "templates").iterdir()
    expected |= {path.relative_to(ROOT).as_posix() for path in templates if path.is_file()}
    expected |= {"bridge/conventions.md", "pytest_mutation_bridge.py"}
    assert inside == expected


JULIA_PROBE = """
import json
import bridge.julia.discovery as discovery
from juliapkg.deps import find_requirements
(package,) = (package for package in find_requirements()[1] if package.name == "MutationBridge")
print()
print(json.dumps({"dev": package.dev, "path": package.path, "folder": str(discovery.package_folder())}))
"""


@pytest.mark.ci
@pytest.mark.parametrize("environment", ["with_wheel", "with_checkout"])
def test_juliapkg_finds_the_julia_package(environment: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    pytest.importorskip("juliapkg")
    python = request.getfixturevalue(environment)
    answer = json.loads(run(python, "-c", JULIA_PROBE, cwd=tmp_path).splitlines()[-1])
    place = ROOT / "julia" if environment == "with_checkout" else python.parents[1]
    assert answer["dev"]
    assert Path(answer["path"]).resolve() == Path(answer["folder"]).resolve()
    assert Path(answer["folder"]).resolve().is_relative_to(place.resolve())
    assert (Path(answer["folder"]) / "src" / "MutationBridge.jl").is_file()


def test_wheel_works_from_elsewhere(with_wheel: Path, tmp_path: Path) -> None:
    answer = json.loads(run(with_wheel, "-c", PROBE, cwd=tmp_path))
    for name in ("bridge", "rules"):
        assert Path(answer[name]).is_relative_to(with_wheel.parents[1])
    places = ("bridge", "rules")
    from_checkout = checkout_answer(tmp_path)
    assert {k: v for k, v in answer.items() if k not in places} == {
        k: v for k, v in from_checkout.items() if k not in places
    }


@pytest.mark.ci
def test_editable_install_works_from_elsewhere(with_checkout: Path, tmp_path: Path) -> None:
    assert json.loads(run(with_checkout, "-c", PROBE, cwd=tmp_path)) == checkout_answer(tmp_path)


def test_the_conda_recipe_says_what_the_package_says() -> None:
    """The recipe itself is built by conda-forge; here it is held against pyproject.toml."""
    recipe = (ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

    def listed(key: str) -> set[str]:
        found = re.search(rf"\n  {key}:\n((?:    - .*\n)+)", recipe)
        assert found is not None, key
        return {line.strip("- ").replace(" ", "") for line in found[1].splitlines()}

    declared = project["project"]
    assert f'version: "{bridge.__version__}"' in recipe
    assert listed("run") == {*declared["dependencies"], f"python{declared['requires-python']}"}
    required = {re.split(r"[<>=]", name)[0] for name in project["build-system"]["requires"]}
    assert listed("host") == {"python", "pip", *required}
    optional = {one for extra in ("jax", "julia", "torch") for one in declared["optional-dependencies"][extra]}
    assert {one.replace("pytorch", "torch") for one in listed("run_constraints")} == optional - {"rich>=13"}
    assert f"summary: {declared['description']}\n" in recipe


MAY_SHARE_A_NAME = {("bridge/xla/loops", "Loop"), ("bridge/xla/loops", "Carried")}
"""Folders and class names that two of their files may define."""


def shared_class_names(top: Path) -> dict[tuple[str, str], list[str]]:
    """The class names that several files of one folder below `top` define, with those files."""
    files = defaultdict(list)
    for path in sorted(top.rglob("*.py")):
        names = {one.name for one in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(one, ast.ClassDef)}
        for name in names:
            files[path.parent.relative_to(top.parent).as_posix(), name].append(path.name)
    return {where: found for where, found in files.items() if len(found) > 1}


def test_no_two_files_of_a_folder_define_classes_of_one_name() -> None:
    found = shared_class_names(ROOT / "bridge") | shared_class_names(ROOT / "rules")
    assert {where: files for where, files in found.items() if where not in MAY_SHARE_A_NAME} == {}


def test_a_shared_class_name_is_found(tmp_path: Path) -> None:
    folder = tmp_path / "top" / "folder"
    (folder / "below").mkdir(parents=True)
    for path in (folder / "one.py", folder / "other.py", folder / "below" / "third.py"):
        path.write_text("class Layout: ...\n", encoding="utf-8")
    assert shared_class_names(tmp_path / "top") == {("top/folder", "Layout"): ["one.py", "other.py"]}
