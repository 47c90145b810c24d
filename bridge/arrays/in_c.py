"""What the compiled part has to know of the classes and the tables above it."""

from __future__ import annotations

from bridge.arrays.buffer import Buffer, Scalar, WeakScalar
from bridge.code_position import INTERNAL, judged
from bridge.in_c import bind
from bridge.rewind.borrowed import Borrowed
from bridge.rewind.interpreter import CURRENT, NO_KEYWORDS, Call
from bridge.rewind.lean import ElementRead, ElementWrite, Lean, One, Pair
from bridge.rewind.log import Operation, blame
from bridge.rewind.memory import ArrayMemory
from bridge.rewind.places import DEEP, View
from bridge.rewind.roots import SERIALS, Entered, Root
from bridge.rewind.snapshots import SMALL
from bridge.rewind.values import Shaped
from bridge.rewind.writes import Update, Write
from bridge.rulebook.book import MUTATING, RULES
from bridge.rulebook.rule import Rule

bind(
    Buffer=Buffer,
    Scalar=Scalar,
    WeakScalar=WeakScalar,
    Root=Root,
    Entered=Entered,
    Borrowed=Borrowed,
    View=View,
    One=One,
    Pair=Pair,
    ElementRead=ElementRead,
    ElementWrite=ElementWrite,
    Write=Write,
    ArrayMemory=ArrayMemory,
    Rule=Rule,
    Lean=Lean,
    Operation=Operation,
    Update=Update,
    Shaped=Shaped,
    Call=Call,
    rules=RULES,
    mutating=MUTATING,
    no_keywords=NO_KEYWORDS,
    serials=SERIALS,
    internal=INTERNAL,
    is_internal=judged,
    current=CURRENT,
    blame=blame,
    deep=DEEP,
    small=SMALL,
)
