"""How sure a verdict is, and the difference that a report holds of it."""

from __future__ import annotations

from typing import Any

from bridge.proof.blame.blaming import Blame
from bridge.proof.numerics.compare import Sample
from bridge.proof.numerics.tolerances import short
from bridge.proof.programs.evidence import Evidence
from bridge.proof.report.model import Difference

DIFFERENCES = "finite differences"


def confidence(
    evidence: Evidence, engine: str, against: str, sample: Sample | None, gap: float, blame: Blame | None, kind: str,
    shared: bool,
) -> float:  # fmt: skip
    """How sure a verdict is: each independent witness halves the doubt, those for the other side take from it.

    Witnesses are finite differences that converge, every engine that disagrees with the suspect, and the suspect's own
    operation where its differences contradict its pull.
    """
    others = [one for one in evidence.ran if one != engine]
    witnesses = sum(bool(evidence.gap(one, engine)[0]) for one in others)
    # Engines have a core in common: that they agree says less than that they differ.
    objections = 0.25 * (len(others) - witnesses) if shared else 0.0
    if against == DIFFERENCES and sample is not None and sample.slope.kind in ("smooth", "kink"):
        witnesses += 1 + (len(evidence.mismatches(engine)) > 2)
    if blame is not None:
        witnesses += 2 if kind != "kink" else 1
    doubt = 0.5 ** max(witnesses, 0)
    if kind == "nan":
        # A derivative that is not finite shows by itself that it is none.
        doubt = min(doubt, 0.4)
    share = (witnesses + 1) / (witnesses + 1 + objections)
    return round(min(0.99, max(0.05, (1 - doubt) * share)), 2)


def made(
    kind: str, engines: tuple[str, str], what: str, largest: float, got: Any, expected: Any, explanation: str,
    sure: float, blame: Blame | None,
) -> Difference:  # fmt: skip
    """A difference with what is known of the operation to blame."""
    at: dict[str, Any] = {}
    if blame is not None:
        at = {
            "operation": blame.operation, "name": blame.name, "where": blame.where, "source": blame.source,
            "shapes": blame.shapes,
        }  # fmt: skip
    return Difference(kind, engines, what, float(largest), short(got), short(expected), explanation, sure, **at)
