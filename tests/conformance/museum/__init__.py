"""Gradients through mutation that users of other systems reported as wrong or refused; docs/museum.md shows them."""

from __future__ import annotations

from tests.conformance.museum import jax_tensorflow, kernels, python_julia, torch

SUITES = tuple(home.suite for home in (torch, jax_tensorflow, python_julia, kernels))
SCENARIOS = [scenario for suite in SUITES for scenario in suite.scenarios]
