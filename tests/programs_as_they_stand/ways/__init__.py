"""Ways in which a program reaches what it has written, and small constructs: each is a factory of a small program."""

from tests.programs_as_they_stand.ways import (
    assignments,
    callbacks,
    containers,
    containers_that_grow,
    functions_and_classes,
    numbers,
    numbers_and_buffers,
    objects,
    questions,
    special_methods,
    standard_library,
    views_and_copies,
)
from tests.programs_as_they_stand.ways.record import program

__all__ = [
    "assignments",
    "callbacks",
    "containers",
    "containers_that_grow",
    "functions_and_classes",
    "numbers",
    "numbers_and_buffers",
    "objects",
    "program",
    "questions",
    "special_methods",
    "standard_library",
    "views_and_copies",
]
