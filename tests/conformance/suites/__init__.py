"""What other systems test of mutation, in our own words: one file a system, one function a scenario."""

from __future__ import annotations

from tests.conformance.suites import (
    autograd_functions,
    enzyme,
    jax_refs,
    kernels,
    mooncake,
    mygrad,
    pytorch_views,
    zygote,
)

SUITES = tuple(
    home.suite for home in (jax_refs, mooncake, pytorch_views, zygote, mygrad, enzyme, kernels, autograd_functions)
)
SCENARIOS = [scenario for suite in SUITES for scenario in suite.scenarios]
