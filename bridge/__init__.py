"""Differentiate programs that mutate arrays."""

__version__ = "0.1.0"

from pathlib import Path as _Path
from typing import TYPE_CHECKING as _TYPE_CHECKING

if not (_Path(__file__).parent / "rules").is_dir():
    # In a checkout the rule book stands beside the package; a wheel carries it inside.
    __path__.append(str(_Path(__file__).resolve().parent.parent))

from bridge import errors as errors
from bridge import julia as julia
from bridge import numpy as numpy
from bridge import xla as xla
from bridge.buffer import Buffer as Buffer
from bridge.context import Context as Context
from bridge.current import current_context as current_context
from bridge.escapes import detach as detach
from bridge.extend import mutating_rule as mutating_rule
from bridge.extend import rule as rule
from bridge.jacobians import hessian as hessian
from bridge.jacobians import hvp as hvp
from bridge.jacobians import jacfwd as jacfwd
from bridge.jacobians import jacrev as jacrev
from bridge.loops import checkpoint as checkpoint
from bridge.loops import cond as cond
from bridge.loops import fori_loop as fori_loop
from bridge.loops import while_loop as while_loop
from bridge.snapshots import constant as constant
from bridge.tangents import jvp as jvp
from bridge.transforms import grad as grad
from bridge.transforms import value_and_grad as value_and_grad
from bridge.transforms import vjp as vjp

if _TYPE_CHECKING:
    from bridge import random as random
    from bridge.check import check_gradient as check_gradient
    from bridge.check import check_rule as check_rule
    from bridge.crosschecking.crosscheck import crosscheck as crosscheck
    from bridge.crosschecking.watching import trace as trace


def __getattr__(name: str) -> object:
    if name in ("check_gradient", "check_rule"):
        # The proofs are needed in tests, not in programs.
        from bridge import check

        return getattr(check, name)
    if name == "crosscheck":
        from bridge.crosschecking.crosscheck import crosscheck

        return crosscheck
    if name == "trace":
        from bridge.crosschecking.watching import trace

        return trace
    if name == "random":
        from importlib import import_module

        return import_module("bridge.random")
    raise AttributeError(f"module 'bridge' has no attribute {name!r}")
