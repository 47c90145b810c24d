"""One observed run of a program under an engine that replays the log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bridge.errors import BridgeError
from bridge.proof.blame.observing import Step, observed_context
from bridge.proof.blame.walking import Visit, Walk, walk
from bridge.proof.programs.generators import Generators
from bridge.proof.programs.subject import Subject, outputs_of
from bridge.proof.report.model import Timeline
from bridge.proof.report.timeline import names_of, timeline_of
from bridge.rewind.strong_zeros import has_nan
from bridge.transforms.arguments import Arguments
from bridge.transforms.grad import belongs


@dataclass
class Recorded:
    """What a program did under an engine: the context with its log, and what was noted of each operation."""

    engine: str
    subject: Subject
    context: Any
    arguments: Arguments
    steps: list[Step]
    seeds: list[tuple[Any, Any]]
    outputs: list[Any]

    @property
    def by_entry(self) -> dict[int, Step]:
        """The notes of the entries of the log."""
        return {step.entry: step for step in self.steps if step.entry is not None}

    def walk(self, *, proofs: bool = True, visit: Visit | None = None, mended: bool = False) -> Walk:
        """Walk the log back, proving each entry."""
        with np.errstate(all="ignore"):
            return walk(self.context, self.by_entry, self.seeds, proofs=proofs, visit=visit, mended=mended)

    def timeline(self) -> Timeline:
        """The operations and the memory that they use, with the sizes of the cotangents."""
        cotangents = self.walk(proofs=False).cotangents if self.seeds else None
        return timeline_of(self.context, cotangents, names_of(self.subject.f, self.arguments))

    def gradient(self) -> list[Any]:
        """The gradient, as the context gives it."""
        return self.context.pull_back(self.seeds, self.arguments.places)

    def is_mended(self) -> bool:
        """Whether the plain backward pass gives NaN, so that strong zeros walk the log again."""
        context = self.context
        with context.suspended(), np.errstate(all="ignore"):
            try:
                context.rewind(self.seeds)
                found = [place.peek() for place in self.arguments.places]
                return any(one is not None and has_nan(one) for one in found)
            except BridgeError:
                # A pull that refuses is met again by the walk, which notes whose it is.
                return False
            finally:
                context.play_forward()
                context.forget_shadows()


def record(subject: Subject, engine: str, generators: Generators, zeros: str = "strong") -> Recorded:
    """Run a program once under an engine, observed. Raises what the program raises under that engine."""
    generators.restore()
    args, kwargs = subject.arguments()
    context = observed_context(engine, zeros)
    with context:
        arguments = Arguments(context, args, kwargs, subject.argnums, allow_int=True)
        result = subject.f(*arguments.args, **arguments.kwargs)
    outputs = outputs_of(result)
    cotangents = subject.cotangents
    if cotangents is None:
        cotangents = [np.ones((), outputs[0].dtype)[()]] if outputs else []
    seeds = [
        (out.place, np.asarray(ct, out.dtype)[()] if not np.shape(ct) else np.array(ct, out.dtype))
        for out, ct in zip(outputs, cotangents, strict=True)
        if belongs(context, out)
    ]
    return Recorded(engine, subject, context, arguments, list(context.steps), seeds, outputs)
