"""Python's standard library with tracked numbers: `random`, and what has no derivative.

What only adds, multiplies and compares its arguments works by itself: `sum`, `sorted`, `operator`, `functools.reduce`,
`itertools`, `heapq`, `bisect`, `copy`. Values are those of Python's functions, to the bit.
"""

from __future__ import annotations

import functools
import json
import operator
import random

import numpy as np

from bridge.extend import Aside, note_texts, refuse, stand_in

# Random numbers: those whose parameters shift and scale a draw that does not depend on them.


def _drawn(name, draw):
    """A function of `random`, of a generator of its own and of the hidden one."""
    method = getattr(random.Random, name)
    hidden = getattr(random, name)
    stand_in(method)(draw)
    stand_in(hidden)(functools.partial(draw, hidden.__self__))


def _of_normal(name):
    def draw(generator, mu=0.0, sigma=1.0):
        return mu + getattr(generator, name)(0.0, 1.0) * sigma

    return draw


_drawn("gauss", _of_normal("gauss"))
_drawn("normalvariate", _of_normal("normalvariate"))
_drawn("lognormvariate", lambda generator, mu=0.0, sigma=1.0: np.exp(mu + generator.normalvariate(0.0, 1.0) * sigma))
_drawn("uniform", lambda generator, a, b: a + (b - a) * generator.random())
_drawn("expovariate", lambda generator, lambd=1.0: generator.expovariate(1.0) / lambd)


def _refused(name, remedy):
    def refused(*args, **kwargs):
        refuse(f"{name} of a tracked number", remedy)

    return refused


for _name in ("betavariate", "gammavariate", "triangular", "vonmisesvariate", "paretovariate", "weibullvariate",
              "choices", "binomialvariate"):  # fmt: skip
    if hasattr(random, _name):
        _remedy = "draw a number whose parameters are plain, and transform that; or use bridge.random"
        stand_in(getattr(random, _name), getattr(random.Random, _name))(_refused(f"random.{_name}", _remedy))


@stand_in(json.dumps)
def dumps(obj, **options):
    """Text carries no derivative: it shows the numbers."""
    note_texts(obj)
    return json.dumps(Aside("json.dumps").value_of(obj), **options)


@stand_in(json.dump)
def dump(obj, fp, **options):
    json.dump(Aside("json.dump").value_of(obj), fp, **options)


@stand_in(operator.index)
def index(a):
    refuse("operator.index of a tracked number", "use int(x), or bridge.detach(x)")
