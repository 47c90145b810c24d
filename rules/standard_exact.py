"""Numbers of the standard library that carry no derivative: fractions, decimals, durations, digits of floats."""

from __future__ import annotations

import datetime
import fractions

from bridge.extend import needs, refuse, stand_in

decimal = needs("decimal")


@stand_in(fractions.Fraction)
def fraction(*args, **kwargs):
    refuse("fractions.Fraction of a tracked number", "use floats, or take the value with bridge.detach(x)")


@stand_in(decimal.Decimal)
def exact(*args, **kwargs):
    refuse("decimal.Decimal of a tracked number", "use floats, or take the value with bridge.detach(x)")


@stand_in(datetime.timedelta)
def duration(*args, **kwargs):
    refuse("datetime.timedelta of a tracked number", "keep times as floats, or take the value with bridge.detach(x)")


@stand_in(float.hex)
def digits(x):
    return x.hex()


@stand_in(float.as_integer_ratio)
def ratio(x):
    return x.as_integer_ratio()


@stand_in(float.is_integer)
def is_integer(x):
    return x.is_integer()
