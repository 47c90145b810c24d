"""Which operation is to blame for a wrong gradient, under the engines that replay the log."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bridge.code_position import defined_at
from bridge.errors import ValueDiffersError
from bridge.proof.blame.observing import Step, flat_values
from bridge.proof.blame.proving import Proof
from bridge.proof.blame.recorded import Recorded, Walk
from bridge.proof.numerics.arrays import short
from bridge.proof.numerics.tolerances import apart
from bridge.proof.report.text import place
from bridge.proof.report.timeline import source_at
from bridge.rewind.log import Entry
from bridge.rulebook.facts import facts_of


@dataclass(frozen=True)
class Blame:
    """The operation at which a gradient goes wrong: where it is, what it got and what it should have given.

    `kind` is the kind of difference that it makes by itself; `others` counts further operations that disagree;
    `argument` names the operands whose cotangents are wrong, and `pull` says where the pull is defined.
    """

    kind: str
    name: str
    where: str | None
    detail: str
    operation: int | None = None
    shapes: tuple[tuple[int, ...], ...] = ()
    others: int = 0
    argument: str = ""
    pull: str | None = None

    @property
    def source(self) -> str | None:
        """The line of code."""
        return source_at(self.where)

    @property
    def place(self) -> str:
        """The operation and its line, as an explanation names it."""
        return f"{self.name} at {self.where}" if self.where else self.name


def blamed(recorded: Recorded, walk: Walk) -> Blame | None:
    """The first operation of the backward pass that disagrees with its own differences; None if none does."""
    if walk.failed is not None:
        kind = "primal" if isinstance(walk.error, ValueDiffersError) else "mismatch"
        detail = f"its pull raises {type(walk.error).__name__}: {walk.error}"
        return of_entry(recorded, walk.failed, kind, detail)
    wrong = walk.wrong
    if not wrong:
        return None
    first = next((proof for proof in wrong if not _is_kink(proof)), wrong[0])
    step = recorded.by_entry.get(first.number)
    kind = _kind(first, step)
    argument, pull = _argument(first), _pull(first)
    defined = f" ({place(pull)})" if pull else ""
    says = f"along a random direction its pull{defined} gives {first.got:.6g}"
    if argument:
        says = f"its pull{defined} gives a wrong cotangent of {argument}: along a random direction {first.got:.6g}"
    detail = f"{says}, and differences of the operation itself give {first.expected:.6g}"
    if kind == "primal":
        detail = f"{_other_value(first.entry, step)}; {detail}"
    same = {(proof.entry.name, proof.entry.where) for proof in wrong}
    found = of_entry(recorded, first.number, kind, detail, len(same) - 1)
    return replace(found, argument=argument, pull=pull)


def of_entry(recorded: Recorded, number: int, kind: str, detail: str = "", others: int = 0) -> Blame:
    """The blame of an entry of the log."""
    entry, step = recorded.context.log[number], recorded.by_entry.get(number)
    return Blame(kind, entry.name, entry.where, detail, number, () if step is None else step.shapes, others)


def _argument(proof: Proof) -> str:
    """The operands whose cotangents are wrong, as the pull calls them."""
    call = proof.entry.call
    if call is None:
        return ""
    known = [*getattr(call.rule, "parameters", ())][: len(call.args) - len(call.names)]
    unknown = [f"argument {k}" for k in range(len(known), len(call.args) - len(call.names))]
    names = [*known, *unknown, *call.names]
    return " and ".join(names[position] for position in proof.operands)


def _pull(proof: Proof) -> str | None:
    """Where the pull of an entry is defined; None where it is not a function of Python's."""
    rule = None if proof.entry.call is None else proof.entry.call.rule
    joint = getattr(rule, "joint", None) or getattr(rule, "pull_function", None)
    if joint is not None:
        return defined_at(getattr(joint, "equivalent", joint))
    own = getattr(rule, "per_argument", None) or ()
    return next((defined_at(own[k]) for k in proof.operands if k < len(own)), None)


def of_step(step: Step, kind: str, detail: str = "") -> Blame:
    """The blame of an operation that was only observed."""
    return Blame(kind, step.name, step.where, detail, step.entry, step.shapes)


def _is_kink(proof: Proof) -> bool:
    return proof.slope.kind != "smooth"


def _kind(proof: Proof, step: Step | None) -> str:
    call = proof.entry.call
    if call is None or facts_of(call.function).indexes:
        return "index"
    if not np.isfinite(proof.got):
        return "nan"
    if _other_value(proof.entry, step):
        return "primal"
    return "missing-gradient" if proof.where_zero else "mismatch"


def _other_value(entry: Entry, step: Step | None) -> str:
    """How the composition from which a pull is taken differs from the function itself; empty if it does not."""
    call = entry.call
    equivalent = None if call is None else getattr(getattr(call.rule, "joint", None), "equivalent", None)
    if call is None or equivalent is None or step is None:
        return ""
    args, kwargs = call.spelled(step.operands)
    try:
        found = equivalent(*args, **kwargs)
    except Exception:
        # A composition of the user's, which may raise anything; what it raises in a pull, the walk has noted.
        return ""
    for a, b in zip(flat_values(found), flat_values(step.value), strict=False):
        if np.shape(a) != np.shape(b) or apart(a, b, 1e-6, 1e-12)[0]:
            return f"the function gives {short(b)}, and the composition from which its pull is taken gives {short(a)}"
    return ""


def first_not_finite(steps: list[Step]) -> Step | None:
    """The first operation whose value is not finite although all its operands are."""
    for step in steps:
        if not _finite(step.value) and _finite(step.operands):
            return step
    return None


def born_blame(recorded: Recorded, number: int) -> Blame:
    """The operation whose pull made the first cotangent that is not finite."""
    step = recorded.by_entry.get(number)
    operands = "" if step is None else f" of {', '.join(short(x) for x in flat_values(step.operands))}"
    detail = f"its pull makes the first derivative that is not finite, at operands{operands}"
    return of_entry(recorded, number, "nan", detail)


def _finite(value: Any) -> bool:
    return all(np.isfinite(x).all() for x in map(np.asarray, flat_values(value)) if x.dtype.kind in "fc")
