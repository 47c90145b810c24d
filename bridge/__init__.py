"""Differentiate programs that mutate arrays."""

__version__ = "0.1.0"

import typing as _typing
from difflib import get_close_matches as _near
from importlib import import_module as _import_module
from pathlib import Path as _Path

if not (_Path(__file__).parent / "rules").is_dir():
    # In a checkout the rule book stands beside the package; a wheel carries it inside.
    __path__.append(str(_Path(__file__).resolve().parent.parent))

from bridge import errors as errors
from bridge import julia as julia
from bridge import numpy as numpy
from bridge.arrays.buffer import Buffer as Buffer
from bridge.extend import mutating_rule as mutating_rule
from bridge.extend import rule as rule
from bridge.rewind.context import Context as Context
from bridge.rewind.escapes import detach as detach
from bridge.rewind.interpreter import current_context as current_context
from bridge.rewind.snapshots import constant as constant
from bridge.source.finding import read_library as read_library
from bridge.transforms.batching import vmap as vmap
from bridge.transforms.grad import grad as grad
from bridge.transforms.grad import value_and_grad as value_and_grad
from bridge.transforms.jacobians import hessian as hessian
from bridge.transforms.jacobians import hvp as hvp
from bridge.transforms.jacobians import jacfwd as jacfwd
from bridge.transforms.jacobians import jacrev as jacrev
from bridge.transforms.jvp import jvp as jvp
from bridge.transforms.loops import checkpoint as checkpoint
from bridge.transforms.loops import cond as cond
from bridge.transforms.loops import fori_loop as fori_loop
from bridge.transforms.loops import while_loop as while_loop
from bridge.transforms.objective import objective as objective
from bridge.transforms.vjp import vjp as vjp

if _typing.TYPE_CHECKING:
    from bridge import random as random
    from bridge import strategies as strategies
    from bridge import torch as torch
    from bridge.proof.programs.check_gradient import check_gradient as check_gradient
    from bridge.proof.programs.crosscheck import crosscheck as crosscheck
    from bridge.proof.report.profile import profile as profile
    from bridge.proof.report.trace import trace as trace
    from bridge.proof.rules.check_rule import check_rule as check_rule
    from bridge.source.explain import explain_source as explain_source

    # A module that can be called is a function to a type checker.
    from bridge.xla import program as xla
else:
    from bridge import xla as xla

# Proofs and explanations are not needed while a program runs: their modules are imported when they are first asked for.
_ON_USE = {
    "explain_source": "bridge.source.explain",
    "check_gradient": "bridge.proof.programs.check_gradient",
    "check_rule": "bridge.proof.rules.check_rule",
    "crosscheck": "bridge.proof.programs.crosscheck",
    "profile": "bridge.proof.report.profile",
    "trace": "bridge.proof.report.trace",
}


__all__ = [
    "Buffer",
    "Context",
    "check_gradient",
    "check_rule",
    "checkpoint",
    "cond",
    "constant",
    "crosscheck",
    "current_context",
    "detach",
    "errors",
    "explain_source",
    "fori_loop",
    "grad",
    "hessian",
    "hvp",
    "jacfwd",
    "jacrev",
    "julia",
    "jvp",
    "mutating_rule",
    "numpy",
    "objective",
    "profile",
    "random",
    "read_library",
    "rule",
    "trace",
    "value_and_grad",
    "vjp",
    "vmap",
    "while_loop",
    "xla",
]


def __dir__() -> list[str]:
    return [*__all__, "__version__", "strategies", "torch"]


if not _typing.TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name in ("random", "strategies", "torch"):
            return _import_module(f"bridge.{name}")
        if name in _ON_USE:
            return getattr(_import_module(_ON_USE[name]), name)
        near = [] if name.startswith("_") else _near(name, __all__, 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise AttributeError(f"module 'bridge' has no attribute {name!r}{hint}")
