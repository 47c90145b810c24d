"""The engine "auto": eager calls, until a compiled program is worth its price and was seen to give the same."""

from bridge.engines.auto.choosing import ENGINE as ENGINE
