"""What a build adds to the files of the checkout: the compiled part, and in a wheel the Julia requirements."""

from __future__ import annotations

import hashlib
import os
import shutil
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = Path("bridge", "in_c")


class Additions(BuildHookInterface):
    """Compiles `bridge/in_c`, if there is a compiler; without one everything runs in Python, and is the same.

    `BRIDGE_PURE=1` asks for a wheel without it, and `BRIDGE_PURE=0` for an error where it cannot be compiled.
    """

    _scratch = ""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel":
            return
        # In a checkout the Julia requirements and the package stand beside `bridge`, in a wheel inside it; an editable
        # installation reads the checkout's.
        if version == "standard":
            build_data["force_include"]["juliapkg.json"] = "bridge/juliapkg.json"
        asked = os.environ.get("BRIDGE_PURE", "")
        if asked not in ("", "0"):
            return
        self._scratch = tempfile.mkdtemp()
        try:
            made = self._compiled(Path(self._scratch))
        except Exception as error:  # a compiler fails in as many ways as there are compilers
            if asked == "0":
                raise
            self.app.display_warning(f"without its compiled part, which makes small operations twice as fast: {error}")
            return
        if version == "standard":
            build_data["pure_python"], build_data["infer_tag"] = False, True
            build_data["force_include"][str(made)] = str(FOLDER / made.name)
        else:
            # Processes that have loaded the one before keep it.
            beside = Path(self.root, FOLDER, f"{made.name}.{os.getpid()}")
            shutil.copyfile(made, beside)
            os.replace(beside, beside.with_suffix(""))

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        shutil.rmtree(self._scratch, ignore_errors=True)

    def _compiled(self, folder: Path) -> Path:
        import numpy as np
        from setuptools import Distribution, Extension

        root = Path(self.root)
        sources = [os.path.relpath(source, root) for source in sorted((root / FOLDER).glob("*.c"))]
        texts = b"".join(path.read_bytes() for path in sorted((root / FOLDER).glob("*.[ch]")))
        stamp = hashlib.sha256(texts).hexdigest()
        extension = Extension(
            "_steps",
            sources,
            include_dirs=[np.get_include()],
            depends=[str(FOLDER / "steps.h")],
            define_macros=[("STEPS_SOURCES", f'"{stamp}"')],
        )
        before = Path.cwd()
        os.chdir(root)
        try:
            command = Distribution({"ext_modules": [extension]}).get_command_obj("build_ext")
            command.build_temp = command.build_lib = str(folder)
            command.ensure_finalized()
            command.run()
        finally:
            os.chdir(before)
        return folder / f"_steps{sysconfig.get_config_var('EXT_SUFFIX')}"
