"""What random programs use: a class with state, properties and special methods, and a generator."""

from __future__ import annotations

from typing import Any

import numpy as np


class Thing:
    made = 0

    def __init__(self, value: Any, log: list[Any]) -> None:
        self.value = value
        self.cells = np.zeros(4)
        self.items = [value, 0.5]
        self.log = log
        self.__hidden = 0.5

    @property
    def double(self):
        return self.value * 2.0

    @double.setter
    def double(self, value):
        self.value = value * 0.5

    def step(self, by, *, at=0):
        self.cells[at] = by
        self.cells[1:3] += self.value
        self.__hidden += by
        self.value = self.value * 0.5 + self.__hidden * 0.25
        return self.cells[at] + self.double

    def __getitem__(self, k):
        return self.cells[k]

    def __setitem__(self, k, value):
        self.cells[k] = value

    def __call__(self, x=1.0):
        return x * self.value

    def __enter__(self):
        self.log.append("enter")
        return self

    def __exit__(self, kind, error, trace):
        self.log.append(kind and kind.__name__)
        return kind is ValueError


def up_to(n, x):
    for k in range(n):
        yield x * k
    return n
