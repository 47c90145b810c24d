"""The wheel's half of `juliapkg.json`: it moves into `bridge/`, where its path `julia` names a folder as well."""

from __future__ import annotations

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class JuliaRequirements(BuildHookInterface):
    """In a checkout the file and the Julia package stand beside `bridge`, in a wheel inside it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        # An editable installation reads the checkout's.
        if version == "standard":
            build_data["force_include"]["juliapkg.json"] = "bridge/juliapkg.json"
