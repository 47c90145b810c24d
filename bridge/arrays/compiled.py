"""What the compiled part has to know of the classes and the tables above it."""

from __future__ import annotations

from bridge.arrays.buffer import Buffer, Scalar
from bridge.code_position import INTERNAL, REPLAYED, is_internal
from bridge.compiled import bind
from bridge.rewind.interpreter import CURRENT, Call
from bridge.rewind.lean import ElementRead, ElementWrite, Lean, One, Pair
from bridge.rewind.log import blame
from bridge.rewind.memory import ArrayMemory
from bridge.rewind.places import DEEP, Part, View
from bridge.rewind.roots import SERIALS, Entered, Root
from bridge.rewind.rule import UNPLANNED, Rule
from bridge.rewind.rule_book import RULES
from bridge.rewind.writes import Write

bind(
    Buffer=Buffer,
    Scalar=Scalar,
    Root=Root,
    Entered=Entered,
    View=View,
    One=One,
    Pair=Pair,
    ElementRead=ElementRead,
    ElementWrite=ElementWrite,
    Write=Write,
    ArrayMemory=ArrayMemory,
    Rule=Rule,
    Lean=Lean,
    Call=Call,
    Part=Part,
    rules=RULES,
    unplanned=UNPLANNED,
    serials=SERIALS,
    internal=INTERNAL,
    is_internal=is_internal,
    replayed=REPLAYED,
    current=CURRENT,
    blame=blame,
    deep=DEEP,
)
