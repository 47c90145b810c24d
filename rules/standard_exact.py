"""`fractions` and `decimal`: their numbers carry no derivative."""

from __future__ import annotations

import fractions

from bridge.extend import needs, refuse, stand_in

decimal = needs("decimal")


@stand_in(fractions.Fraction)
def fraction(*args, **kwargs):
    refuse("fractions.Fraction of a tracked number", "use floats, or take the value with bridge.detach(x)")


@stand_in(decimal.Decimal)
def exact(*args, **kwargs):
    refuse("decimal.Decimal of a tracked number", "use floats, or take the value with bridge.detach(x)")
