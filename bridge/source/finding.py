"""The source of a function: the statement of its file that it was compiled from, if it still says the same."""

from __future__ import annotations
import __future__

import ast
import copy
import functools
import importlib
import inspect
import linecache
import os
import sys
import sysconfig
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import CodeType
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary, WeakValueDictionary

from bridge.code_position import is_internal

FUTURE = 0
"""Flags of a code object that say what its file imports from `__future__`."""

for _name in __future__.all_feature_names:
    FUTURE |= getattr(__future__, _name).compiler_flag
FUTURE &= ~inspect.CO_NESTED


Answer = TypeVar("Answer")


class Unread(Exception):
    """A function cannot be read from its source; the argument says why."""


class Statement:
    """A statement of a module's top level, of a class one member: its tree, and the code objects compiled from it.

    Attributes
    ----------
    imports : import statements of the module: they decide how calls of what they import are compiled.
    codes : the module of these statements alone, and what is nested in it, in the order of the source.
    whole : the statement with all members, which says what is run without being called.
    rewritten, staged, looped : what became of them, once somebody has asked for it.
    """

    def __init__(self, tree: ast.stmt, imports: list[ast.stmt], file: str, flags: int, whole: ast.stmt) -> None:
        self.tree = tree
        self.whole = whole
        self.imports = imports
        self.codes = tuple(codes_in(self.compiled(tree, file, flags)))
        self.rewritten: dict[int, CodeType] | None = None
        self.staged: tuple[CodeType | None, ...] | None = None
        self.looped: tuple[CodeType | None, ...] | None = None

    def compiled(self, tree: ast.stmt, file: str, flags: int) -> CodeType:
        """A module of the statement, or what it was rewritten to, compiled as the file was."""
        return compile(ast.Module([*self.imports, tree], []), file, "exec", flags, dont_inherit=True)

    def code_like(self, code: CodeType) -> CodeType | None:
        """The code object in it that is that of a function; None if there is none."""
        number = _number_of(code, self.codes)
        return None if number is None else self.codes[number]


@dataclass(eq=False)
class Text:
    """The text of a file as it was parsed, and what was found in it.

    It is kept by what became of code of the file, and goes with the last of that code.

    Attributes
    ----------
    statements : statements that were asked for, by their positions and flags.
    cells : the same, as they are where a file is run cell by cell.
    asserting : what these are compiled to, where pytest rewrites assertions.
    """

    lines: list[str]
    tree: ast.Module
    imports: list[ast.stmt]
    statements: dict[tuple[int, int, int], Statement] = field(default_factory=dict)
    cells: dict[tuple[int, int, int], Statement] = field(default_factory=dict)
    asserting: dict[tuple[int, int, int], tuple[CodeType, ...]] = field(default_factory=dict)


_texts: WeakValueDictionary[str, Text] = WeakValueDictionary()


class Found(NamedTuple):
    """Where a code object comes from, and what is compiled from there."""

    text: Text
    statement: Statement
    code: CodeType


def statement_of(code: CodeType, names: dict[str, Any]) -> Found:
    """Where a code object comes from, and what is compiled from there; Unread if that is not what runs.

    Parameters
    ----------
    names : the globals of the function, by which a loader can be asked for the text.
    """
    found = _found(code, names)
    if found is None:
        # The text may be older than the code: the module was written, and loaded again.
        linecache.checkcache(code.co_filename)
        found = _found(code, names)
    if found is None and code.co_filename == "<string>":  # since Python 3.13 the text of `python -c` has that name too
        raise Unread(f"the source of {code.co_qualname} cannot be had (<string>)")
    if found is None:
        where = f"{code.co_filename}:{code.co_firstlineno}"
        raise Unread(
            f"what runs as {code.co_qualname} is not what {where} says: the file has changed, or was rewritten"
        )
    return found


def _found(code: CodeType, names: dict[str, Any]) -> Found | None:
    text = text_of(code, names)
    for tree in _around(text.tree.body, code.co_firstlineno):
        for member in _members_around(tree, code.co_firstlineno):
            found = _found_in(_class_of(tree, member), member, text, code, names, tree)
            if found is not None:
                return found
        found = _found_in(tree, tree, text, code, names, tree)
        if found is not None:
            return found
    return None


def _members_around(tree: ast.stmt, line: int) -> Iterator[ast.stmt]:
    """The members of a class that a line is of."""
    if isinstance(tree, ast.ClassDef) and len(tree.body) > 1:
        yield from _around(tree.body, line)


def _class_of(tree: ast.stmt, member: ast.stmt) -> ast.ClassDef:
    """A class with one of its members alone, which is compiled as ever: what is not called need not be read."""
    assert isinstance(tree, ast.ClassDef)
    made = copy.copy(tree)
    made.bases, made.keywords, made.body, made.decorator_list = [], [], [member], []
    return made


def _found_in(
    tree: ast.stmt, where: ast.stmt, text: Text, code: CodeType, names: dict[str, Any], whole: ast.stmt
) -> Found | None:
    key = where.lineno, where.col_offset, code.co_flags & FUTURE
    # A cell of a file is compiled without the imports of other cells, which decide how calls are compiled.
    for statements, imports in ((text.statements, text.imports), (text.cells, [])):
        statement = statements.get(key)
        if statement is None:
            try:
                statement = statements[key] = Statement(tree, imports, code.co_filename, key[2], whole)
            except (SyntaxError, ValueError, RecursionError) as error:
                raise Unread(f"{code.co_qualname} does not compile by itself: {error}") from error
        like = statement.code_like(code)
        if like is not None:
            return Found(text, statement, like)
    statement = text.statements[key]
    if tree is where and _rewrites_assertions(names):
        number = _number_of(code, _asserting(text, key, code.co_filename))
        like = None if number is None else statement.codes[number]
    return None if like is None else Found(text, statement, like)


def _number_of(code: CodeType, codes: tuple[CodeType, ...]) -> int | None:
    """Which of these code objects does what `code` does, in the same lines; None if none does."""
    found = [number for number, one in enumerate(codes) if one == code]
    same = (number for number in found if codes[number].co_linetable == code.co_linetable)
    return next(same, found[0] if found else None)


def _asserting(text: Text, key: tuple[int, int, int], file: str) -> tuple[CodeType, ...]:
    """The code objects of a statement with assertions as pytest rewrites them, in the order of the source."""
    found = text.asserting.get(key)
    if found is None:
        source = "".join(text.lines)
        module = ast.parse(source, file)
        try:
            importlib.import_module("_pytest.assertion.rewrite").rewrite_asserts(module, source.encode())
        except (ImportError, AttributeError, TypeError) as error:
            raise Unread(f"{file} was rewritten by pytest, in a way that is not known: {error}") from error
        # What pytest imports has the line of the first statement.
        rewritten = [
            one for one in module.body if (one.lineno, one.col_offset) == key[:2] and not isinstance(one, ast.Import)
        ]
        made = compile(ast.Module([*_imports(module), *rewritten], []), file, "exec", key[2], dont_inherit=True)
        found = text.asserting[key] = tuple(codes_in(made))
    return found


def code_of(definition: ast.FunctionDef, file: str) -> CodeType:
    """The code of a function that is defined by a tree."""
    return tuple(codes_in(compile(ast.Module([definition], []), file, "exec", dont_inherit=True)))[1]


_TIMED = {"<timed exec>": "%%time", "<timed eval>": "%%time", "<magic-timeit>": "%%timeit"}


def text_of(code: CodeType, names: dict[str, Any]) -> Text:
    """The text of a code object's file; Unread if it cannot be had."""
    file = code.co_filename
    lines = linecache.getlines(file, names)
    known = _texts.get(file)
    if known is not None and known.lines == lines:
        return known
    if not lines and file in _TIMED:
        raise Unread(
            f"{code.co_qualname} is defined in a cell that begins with {_TIMED[file]}, of which IPython keeps no text: "
            "define it in a cell of its own"
        )
    if not lines:
        raise Unread(f"the source of {code.co_qualname} cannot be had ({file})")
    try:
        tree = ast.parse("".join(lines), file)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise Unread(f"{file} does not parse: {error}") from error
    made = _texts[file] = Text(lines, tree, list(_imports(tree)))
    return made


def _imports(node: ast.AST) -> Iterator[ast.stmt]:
    """Import statements of the module's scope."""
    for part in ast.iter_child_nodes(node):
        if isinstance(part, (ast.Import, ast.ImportFrom)):
            if not (isinstance(part, ast.ImportFrom) and part.module == "__future__"):
                yield part
        elif not isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.expr)):
            yield from _imports(part)


def once_for_each_code(find: Callable[[CodeType], Answer]) -> Callable[[CodeType], Answer]:
    """`find`, asked once for each code object, as long as that lives: a cache of functools' would keep it alive."""
    known: WeakKeyDictionary[CodeType, Answer] = WeakKeyDictionary()

    @functools.wraps(find)
    def found(code: CodeType) -> Answer:
        answer = known.get(code)
        if answer is None:
            answer = known[code] = find(code)
        return answer

    return found


def codes_in(code: CodeType) -> Iterator[CodeType]:
    """A code object and those nested in it, each before those inside of it."""
    yield code
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from codes_in(part)


def _around(body: Sequence[ast.stmt], line: int) -> Iterator[ast.stmt]:
    """The statements that a line is of."""
    for statement in body:
        decorators = getattr(statement, "decorator_list", [])
        first = min([statement.lineno, *(one.lineno for one in decorators)])
        if first <= line <= (statement.end_lineno or first):
            yield statement


def _rewrites_assertions(names: dict[str, Any]) -> bool:
    """Whether a module's assertions were rewritten by pytest, so that its code is not what its text compiles to."""
    loader = names.get("__loader__")
    return type(loader).__module__ == "_pytest.assertion.rewrite"


_LIBRARIES = tuple(
    os.path.realpath(path) + os.sep
    for name, path in sysconfig.get_paths().items()
    if name in ("stdlib", "platstdlib", "purelib", "platlib")
)
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
opened: set[str] = set()
_kinds: dict[str, bool] = {}
_MOST = 10_000
"""How many names of files are remembered: what is made at run time often has a name of its own."""


def read_library(name: str) -> None:
    """Read the source of an installed package too, as if it were part of the program (docs/your_program.md).

    To be called before a program that uses the package is differentiated: functions that were found unread stay so.
    NumPy, SciPy, JAX and this package are never read.

    Parameters
    ----------
    name : the name by which the package is imported, without what follows a dot.
    """
    opened.add(name)


def is_library(file: str, module: str) -> bool:
    """Whether a file belongs to an installed package or to Python, which are called as they are."""
    found = _kinds.get(file)
    if found is None:
        if len(_kinds) > _MOST:
            _kinds.clear()
        real = os.path.realpath(file)
        found = is_internal(file) or real.startswith(_LIBRARIES) or any(part in real for part in _INSTALLED)
        found = _kinds[file] = found and not _is_demo(file)
    return found and (is_internal(file) or module.partition(".")[0] not in opened)


def _is_demo(file: str) -> bool:
    return not is_internal(file) and file.startswith(os.path.dirname(sys.modules["bridge"].__file__ or "") + os.sep)
