"""Keys of the places that one iteration wrote, rewritten for another run of the same body."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bridge.rewind.places import Layout, Picked, Walk
from bridge.rewind.values import ground_floor, is_abstract, is_abstract_integer
from bridge.xla.regions.affine import Affine, Atom, Wrapped
from bridge.xla.tracing.integers import affine_of

Replaced = Callable[[Any], Any]


class Unknowns(Walk):
    """What keys of places hold that a body has computed: integers, as atoms of linear forms, and arrays of them.

    `born` are the atoms and arrays in order of appearance; the loop's own index is not among them.
    """

    def __init__(self, trace: Any, i: Any, places: list[Any]) -> None:
        self.trace = trace
        self.own, self.sign, self.rest = _solved(i)
        self.frame = trace.frames[-1]
        self.atoms: dict[Atom, int] = {}
        self.arrays: dict[int, tuple[Any, int]] = {}
        for place in places:
            place.within(None, self)

    def layout(self, above: None, part: Layout) -> None:
        """A view by address depends on nothing."""

    def index(self, above: None, key: Any) -> None:
        """Note what a key holds."""
        for part in _parts(key):
            if is_abstract_integer(part):
                self._look_at(affine_of(part))
            elif is_abstract(part):
                floor = ground_floor(part)
                if floor.place.root.run is not None:
                    self._look_at(floor.place.root.run)
                elif floor.place.root.frame is self.frame:
                    self.arrays.setdefault(id(floor), (floor, len(self.arrays)))

    def varies(self, atom: Atom) -> bool:
        """Whether an integer may be another one in each run of the body."""
        return atom is self.own or self.trace.born_inside(atom, self.frame)

    def _look_at(self, form: Affine) -> None:
        for atom in form.grounds():
            if atom is not self.own and self.varies(atom):
                self.atoms.setdefault(atom, len(self.atoms))

    def values(self) -> list[Any]:
        """The unknowns, as traced numbers and arrays."""
        numbers = [self.trace.integer(Affine(0, ((atom, 1),))) for atom in self.atoms]
        return [*numbers, *(array for array, _ in self.arrays.values())]

    def replaced(self, i: Any, kept: list[Any]) -> Replaced:
        """A function that writes keys with the index `i` and the kept unknowns in place of the body's own."""
        new: dict[Atom, Affine] = {}
        for atom, number in self.atoms.items():
            new[atom] = affine_of(self.trace.between(kept[number], atom.low, atom.high))
        if self.own is not None:
            new[self.own] = (affine_of(i) - self.rest) * self.sign
        arrays = {floor: kept[len(self.atoms) + number] for floor, (_, number) in self.arrays.items()}

        def form_of(old: Affine) -> Affine:
            form = Affine.of(old.constant)
            for atom, coefficient in old.terms:
                if isinstance(atom, Wrapped):
                    found = form_of(atom.index).wrapped(atom.length)
                else:
                    found = new.get(atom, Affine(0, ((atom, 1),)))
                form = form + found * coefficient
            return form

        def part_of(part: Any) -> Any:
            if type(part) is slice:
                return slice(part_of(part.start), part_of(part.stop), part.step)
            if is_abstract_integer(part):
                form = form_of(affine_of(part))
                return form.constant if form.is_constant else self.trace.integer(form)
            if is_abstract(part):
                run = ground_floor(part).place.root.run
                if run is not None:
                    return self.trace.consecutive(form_of(run), part)
                return arrays.get(id(ground_floor(part)), part)
            return part

        return lambda key: tuple(map(part_of, key)) if type(key) is tuple else part_of(key)


class Relocated(Walk):
    """The array of the context below that lies at a place, with rewritten keys."""

    __slots__ = ("replaced",)

    def __init__(self, replaced: Replaced) -> None:
        self.replaced = replaced

    def index(self, above: Any, key: Any) -> Any:
        return above[self.replaced(key)]


def target_of(place: Any, replaced: Replaced) -> tuple[Any, Any]:
    """Array and key of the context below by which a place is written, its keys rewritten."""
    walk = Relocated(replaced)
    if isinstance(place, Picked):
        return place.parent.within(place.root.held, walk), replaced(place.key)
    return place.within(place.root.held, walk), Ellipsis


def _solved(i: Any) -> tuple[Atom | None, int, Affine]:
    """The youngest atom of a loop's index, and the index as plus or minus that atom and a rest."""
    form = affine_of(i)
    if not form.terms or abs(form.terms[-1][1]) != 1:
        return None, 1, form
    own, sign = form.terms[-1]
    return own, sign, form - Affine(0, ((own, sign),))


def _parts(key: Any) -> list[Any]:
    parts = key if type(key) is tuple else (key,)
    return [one for part in parts for one in ((part.start, part.stop) if type(part) is slice else (part,))]
