"""Julia functions as Python callables: `function`, `eval`, `include`, `using`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from bridge.errors import ArgumentError, RefusedError, choice
from bridge.julia import mutating, programs
from bridge.julia.calls import Kept, OtherLayout, ask, entries, kept_number, run
from bridge.julia.choosing import ENGINES, PACKAGES, Prepared, explained, packages_of, remark
from bridge.julia.convert import checked_order, reversed_axes
from bridge.julia.gradients import Derivatives
from bridge.julia.plans import KINDS, Flattened, is_own, plan, run_plan
from bridge.julia.session import session


class JuliaFunction(Prepared):
    """A Julia function that takes and gives NumPy arrays, and that `bridge`'s transforms differentiate.

    Made by `bridge.julia.function`. Called with arrays and numbers it computes; inside a differentiated NumPy
    program it is one operation. Arrays keep their shapes; dictionaries are named tuples in Julia, lists and
    tuples are tuples; keyword arguments are keyword arguments.

    Attributes
    ----------
    name : what messages call it.
    mutates : positions of the arguments that it writes.
    ad : who differentiates it in reverse mode, as it was asked for.
    choices : who does, under "auto", for each kind of calls.
    """

    def __init__(
        self, kept: Kept, name: str, source: tuple[Any, ...] | None, mutates: tuple[int, ...], order: str, ad: str
    ) -> None:
        super().__init__(kept, name, mutates, order, ad)
        self.__bridge_derivatives__ = Derivatives(self)
        self._source = source
        self._quick: dict[tuple[type, ...], Kept] = {}
        self._call = entries().call

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not kwargs:
            quick = self._quick.get(tuple(map(type, args)))
            if quick is not None:
                try:
                    return run(self._call, quick.key, args, self.name)
                except OtherLayout:
                    pass
        return self._any_call(args, kwargs)

    def _any_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        flat = Flattened(args, kwargs)
        if any(not is_own(leaf) and hasattr(leaf, "place") for leaf in flat.leaves):
            return mutating.in_program(self, args, kwargs) if self.mutates else programs.call(self, args, kwargs)
        if self.mutates:
            return mutating.on_arrays(self, flat, args)
        made = plan(self, flat)
        result = run_plan(self, self._call, made, flat.leaves)
        if self.order == "reversed":
            return reversed_axes(result)
        kinds = tuple(map(type, args))
        if not kwargs and all(one in KINDS for one in kinds):
            self._quick[kinds] = made
        return result

    @property
    def julia_value(self) -> Any:
        """The function itself, as juliacall's object."""
        return session().perform(lambda: entries().julia.kept(self.kept.key))

    def differentiators(self) -> dict[str, Callable[[], JuliaFunction]]:
        """The same function under each system that differentiates it in a cross-check, made when it is called for."""
        return {name: partial(self._by, ad) for ad, name in PACKAGES.items()}

    def explain(self) -> str:
        """Who differentiates it in reverse mode, and why: a line for each kind of calls that was seen."""
        return explained(self)

    def remark(self, refused: dict[str, str]) -> str:
        """What a cross-check remarks on the choice, by what the differentiators said that gave no answer."""
        return remark(refused) if self.ad == "auto" else ""

    def _by(self, ad: str) -> JuliaFunction:
        if self.ad == ad:
            return self
        made = function(self, self.mutates, self.order, ad)
        made.name = made.__name__ = self.name
        return made

    def __repr__(self) -> str:
        more = "".join(
            f", {name}={value!r}"
            for name, value, default in (
                ("mutates", self.mutates, ()),
                ("order", self.order, "keep"),
                ("ad", self.ad, "auto"),
            )
            if value != default
        )
        return f"<Julia function {self.name}{more}>"

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        if self._source is None:
            raise RefusedError(
                f"pickling of {self!r}, which was made from a Julia object",
                remedy="make it from code, a name or a file: julia.function(text), julia.function(path=...)",
            )
        code, path = self._source
        return _again, (code, path, self.mutates, self.order, self.ad)


def function(
    code: Any = None,
    mutates: str | int | Sequence[str | int] = (),
    order: str = "keep",
    ad: str = "auto",
    *,
    path: str | Path | None = None,
) -> JuliaFunction:
    """A Julia function as a Python callable with gradients.

    Parameters
    ----------
    code : Julia code whose last expression is a function (`"x -> sum(abs2, x)"`, a definition), or the name of one
        (`"LinearAlgebra.norm"`, `"f!"`; a package that it begins with is imported), or juliacall's object of one.
    mutates : the arguments that it writes, by position (from 0) or by the name that its first method gives them.
    order : "keep": arrays have the same shape in Julia; "reversed": the axes are reversed, so that arrays in C's
        order are `Array`s without a copy.
    ad : who differentiates it in reverse mode: "zygote" (under this package's context, which refuses writes into plain
        arrays by name), "forwarddiff", "reversediff", "mooncake", "enzyme" (which need their packages and
        DifferentiationInterface); "auto": Zygote, and what it refuses by Mooncake and then by Enzyme, if the Julia
        project has them. `function.explain()` says who, and why.
    path : a file to include first; without `code`, its last expression is the function.

    Raises
    ------
    JuliaNotAvailable
        If there is no Julia, or not the package that `ad` needs.
    JuliaError
        If the code does not run.
    ArgumentError
        If it is not a function, or `mutates` names no parameter of it.
    """
    if ad not in ENGINES:
        raise ArgumentError(f"ad={ad!r}", remedy=choice(ad, ENGINES))
    checked_order(order)
    if code is None and path is None:
        raise ArgumentError("julia.function of nothing", remedy='julia.function("x -> ..."), or path="file.jl"')
    if path is not None:
        kept = _file(path)
    if isinstance(code, str):
        named = ask(0, "is_name", code)
        kept = Kept(ask(0, "value_of_name" if named else "value_of_code", code))
        name = code if named else _title(kept, code)
    elif code is not None:
        kept = code.kept if isinstance(code, JuliaFunction) else Kept(kept_number(code))
        name = ask(kept.key, "title")
    else:
        name = _title(kept, str(path))
    if not ask(kept.key, "callable"):
        raise ArgumentError(
            f"{_short(str(code if code is not None else path))} is no function in Julia: "
            f"it is a {ask(kept.key, 'type_name')}",
            remedy="end the code with a function, or use julia.eval for a value",
        )
    for package in packages_of(ad):
        session().require(package)
    source = (code, None if path is None else str(path)) if code is None or isinstance(code, str) else None
    return JuliaFunction(kept, name, source, _positions(kept, name, mutates), order, ad)


def eval(code: str) -> Any:
    """The value of Julia code, evaluated in Main, as Python's: arrays are copies, functions have gradients."""
    return _as_python(Kept(ask(0, "value_of_code", code)), code, (code, None))


def include(path: str | Path) -> Any:
    """Run a Julia file in Main; the value of its last expression as `eval` gives it."""
    return _as_python(_file(path), str(path), (None, str(path)))


def using(*packages: str) -> None:
    """Load Julia packages into Main; JuliaNotAvailable names the line to type for one that is missing."""
    for package in packages:
        session().require(package)


def _file(path: str | Path) -> Kept:
    """The value of a file's last expression."""
    return Kept(ask(0, "value_of_file", str(Path(path).resolve(strict=True))))


def _as_python(kept: Kept, text: str, source: tuple[Any, ...]) -> Any:
    if ask(kept.key, "is_function"):
        return JuliaFunction(kept, _title(kept, text), source, (), "keep", "auto")
    return run(entries().fetch, ask(kept.key, "again"), ())


def _positions(kept: Kept, name: str, mutates: str | int | Sequence[str | int]) -> tuple[int, ...]:
    given = (mutates,) if isinstance(mutates, (str, int)) else tuple(mutates)
    found = []
    for one in given:
        if isinstance(one, int):
            found.append(one)
            continue
        parameters = ask(kept.key, "parameter_names").split()
        if one not in parameters:
            raise ArgumentError(
                f"mutates={one!r}, and the parameters of {name} are ({', '.join(parameters)})",
                remedy="name a parameter as the function's first method spells it, or give its position",
            )
        found.append(parameters.index(one))
    return tuple(sorted(found))


def _title(kept: Kept, code: str) -> str:
    title = ask(kept.key, "title")
    return _short(code) if title.startswith("#") else title


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else line[:57] + "..."


def _again(code: str | None, path: str | None, mutates: tuple[int, ...], order: str, ad: str) -> JuliaFunction:
    return function(code, mutates, order, ad, path=path)
