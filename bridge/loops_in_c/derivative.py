"""The adjoint of a loop: a program that walks it backwards, and what the forward pass has to keep for that.

A value that a statement overwrites is kept only if the way back reads it: in a partial derivative, in an index, or in a
bound. What is kept goes to the log in the order of the statements, and is taken from it in the opposite one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise

from bridge.loops_in_c.functions import FUNCTIONS, chosen, op, test
from bridge.loops_in_c.ir import (
    Assign,
    Block,
    Callback,
    Check,
    Const,
    Dot,
    Each,
    Expr,
    For,
    If,
    Let,
    Load,
    Make,
    Op,
    Product,
    Program,
    Reduce,
    Size,
    Stmt,
    Store,
    Var,
    Where,
    While,
)
from bridge.loops_in_c.kinds import is_float

REREAD = frozenset({"prod", "max", "min"})
"""Reductions whose way back computes them again."""


@dataclass
class Add(Stmt):
    """`shadow += value`, of an element or a variable.

    Attributes
    ----------
    only : a condition without which nothing is added; None if there is none.
    exists : a condition without which the value is zero, of a cotangent that does not exist.
    """

    target: Load | Var
    expr: Expr
    only: Expr | None = None
    exists: Expr | None = None

    @property
    def reads(self) -> list[Expr]:
        """The expressions that are read."""
        index = self.target.index if isinstance(self.target, Load) else ()
        return [self.expr, *index, *(one for one in (self.only, self.exists) if one is not None)]


@dataclass
class Back(Stmt):
    """The way back over one effect of a block: what it wrote is taken and restored, then its inputs get their share."""

    of: Let | Assign | Store | Each | Reduce | Dot | Product | Callback | Where | Make
    share: list[Stmt]
    restores: bool
    has_shadow: bool


@dataclass
class Plan:
    """Which variables and memory carry gradients, and which of them the backward pass reads."""

    active_memory: set[str]
    active_variables: set[str]
    memory: set[str] = field(default_factory=set)
    """Memory that the way back reads."""
    variables: set[str] = field(default_factory=set)
    """Variables that the way back reads."""
    active_operands: list[list[bool]] = field(default_factory=list)
    """For each callback which operands carry a gradient."""
    changed: tuple[set[str], set[str]] = field(default_factory=lambda: (set(), set()))
    """The arrays and variables that the loop writes, makes or assigns."""
    tests: dict[int, Expr] = field(default_factory=dict)
    """Conditions that the backward pass computes again, by the identity of their `If`; others are logged."""
    is_forward: bool = False
    """Whether tangents are computed, and no backward pass follows: then nothing is logged."""


@dataclass
class BackBlock(Stmt):
    """The way back over a block: variables are restored, lets computed again, effects undone."""

    of: Block
    lets: list[Let]
    shadows: list[str]
    body: list[Stmt]


def is_temporary(name: str) -> bool:
    """Whether a variable belongs to one statement."""
    # Variables of functions that are called have more dots, and may have an underscore at the end.
    return name.startswith(".") and name.endswith("_") and name.count(".") == 1


def activity(program: Program, active_memory: set[str], active_variables: set[str]) -> Plan:
    """Which memory and variables carry gradients, from those that do at the beginning."""
    plan = Plan(set(active_memory), set(active_variables))
    while _activity(program, program.body, plan):
        pass
    return plan


def planned(program: Program, active_memory: set[str], active_variables: set[str]) -> Plan:
    """Which memory and variables carry gradients, and which of them the backward pass reads."""
    plan = activity(program, active_memory, active_variables)
    plan.changed = _changed(program.body)
    while True:
        before = len(plan.memory) + len(plan.variables)
        for one in program.body:
            _back(program, one, plan)
        if len(plan.memory) + len(plan.variables) == before:
            break
    plan.active_operands = [[] for _ in program.callbacks]
    for one in _callbacks(program.body):
        # The backward pass calls those whose results carry a gradient.
        has_shadow = any(program.arrays[name].memory in plan.active_memory for name in one.arrays)
        operands = *one.loads, *one.numbers
        plan.active_operands[one.number] = [has_shadow and is_active(program, plan, x) for x in operands]
    return plan


def _callbacks(body: Iterable[Stmt]) -> Iterator[Callback]:
    for one in body:
        if isinstance(one, Callback):
            yield one
        for part in vars(one).values():
            if isinstance(part, list):
                yield from _callbacks([x for x in part if isinstance(x, Stmt)])


def is_active(program: Program, plan: Plan, expr: Expr) -> bool:
    """Whether a gradient passes through a value."""
    match expr:
        case Var():
            return is_float(expr.kind) and expr.name in plan.active_variables
        case Load():
            return is_float(expr.kind) and program.arrays[expr.array].memory in plan.active_memory
        case Op():
            if not is_float(expr.kind):
                return False
            shares = FUNCTIONS[expr.name].shares
            return any(p is not None and is_active(program, plan, x) for p, x in zip(shares, expr.args, strict=False))
    return False


def _activity(program: Program, body: Iterable[Stmt], plan: Plan) -> bool:
    changed = False
    for one in body:
        match one:
            case Let() | Assign():
                if one.name not in plan.active_variables and is_active(program, plan, one.expr):
                    plan.active_variables.add(one.name)
                    changed = True
            case Store() | Each():
                memory = program.arrays[one.array].memory
                if memory not in plan.active_memory and is_active(program, plan, one.expr):
                    plan.active_memory.add(memory)
                    changed = True
            case Reduce():
                target = one.variable or program.arrays[one.array].memory
                active = plan.active_variables if one.variable else plan.active_memory
                if target not in active and not one.is_place and is_active(program, plan, one.expr):
                    active.add(target)
                    changed = True
            case Dot() | Product():
                target = one.variable if isinstance(one, Dot) else program.arrays[one.array].memory
                active = plan.active_variables if isinstance(one, Dot) else plan.active_memory
                if target not in active and (is_active(program, plan, one.left) or is_active(program, plan, one.right)):
                    active.add(target)
                    changed = True
            case Callback():
                made = {
                    program.arrays[name].memory for name in one.arrays if is_float(program.arrays[name].kind)
                } - plan.active_memory
                if made and any(is_active(program, plan, x) for x in (*one.loads, *one.numbers)):
                    plan.active_memory |= made
                    changed = True
            case Block() | For():
                changed |= _activity(program, one.body, plan)
            case While():
                changed |= _activity(program, one.before, plan)
                changed |= _activity(program, one.body, plan)
            case If():
                changed |= _activity(program, one.body, plan)
                changed |= _activity(program, one.orelse, plan)
    return changed


def backward(program: Program, plan: Plan) -> list[Stmt]:
    """The way back."""
    return [_back(program, one, plan) for one in reversed(program.body)]


@dataclass
class BackFor(Stmt):
    """A counted loop, from its last iteration to its first."""

    of: For
    body: list[Stmt]


@dataclass
class BackWhile(Stmt):
    """The adjoint of a `while` loop: one iteration for each iteration of the forward pass."""

    of: While
    before: list[Stmt]
    body: list[Stmt]


@dataclass
class BackIf(Stmt):
    """The side that ran; `that` is the condition, or None if it was logged."""

    that: Expr | None
    body: list[Stmt]
    orelse: list[Stmt]


def _all_back(program: Program, body: list[Stmt], plan: Plan) -> list[Stmt]:
    for before, one in pairwise(body):
        if isinstance(before, Block) and isinstance(one, If):
            _note_test(program, before, one, plan)
    return [_back(program, one, plan) for one in reversed(body)]


def _note_test(program: Program, before: Block, one: If, plan: Plan) -> None:
    """Note the condition of an `if`, which `before` has computed, if it costs nothing to have it in the backward pass.

    That is a condition of counters, of variables that are never assigned, and of memory that is never written.
    """
    expr = one.that
    assigned = [x for x in before.body if isinstance(x, Assign)]
    if len(assigned) != 1 or not all(isinstance(x, (Let, Check, Assign)) for x in before.body):
        return
    for part in reversed(before.body):
        if isinstance(part, (Let, Assign)):
            expr = _replaced(expr, part.name, part.expr)
    written, changed = plan.changed
    for x in expr.walk():
        is_plain = isinstance(x, (Const, Var, Size, Load)) or (isinstance(x, Op) and x.name in _PLAIN)
        is_changed = isinstance(x, Var) and x.name in changed
        if not is_plain or is_changed or (isinstance(x, (Size, Load)) and x.array in written):
            return
    loads = [x for x in expr.walk() if isinstance(x, Load)]
    if any(program.arrays[x.array].memory in {program.arrays[name].memory for name in written} for x in loads):
        return
    plan.tests[id(one)] = expr
    plan.variables |= _names_of(expr)
    plan.memory |= {program.arrays[x.array].memory for x in loads}


_PLAIN = frozenset({"lt", "le", "gt", "ge", "eq", "ne", "and", "or", "not", "neg", "add", "sub", "mul", "select"})
"""Operations of conditions that the backward pass computes again."""


def _replaced(expr: Expr, name: str, by: Expr) -> Expr:
    """An expression with another one in the place of a variable."""
    match expr:
        case Var() if expr.name == name:
            return by
        case Op():
            return replace(expr, args=tuple(_replaced(x, name, by) for x in expr.args))
        case Load():
            return replace(expr, index=tuple(_replaced(x, name, by) for x in expr.index))
    return expr


def _changed(body: Iterable[Stmt]) -> tuple[set[str], set[str]]:
    """The arrays that statements write or make, and the variables that they assign. Counters of loops do not count."""
    arrays, variables = set[str](), set[str]()
    for one in body:
        match one:
            case Assign():
                variables.add(one.name)
            case Callback() | Where():
                arrays |= set(one.arrays)
            case Store() | Each() | Make() | Product():
                arrays.add(one.array)
            case Reduce() | Dot():
                variables.add(one.variable)
                arrays |= {one.array} - {""} if isinstance(one, Reduce) else set()
        for part in vars(one).values():
            if isinstance(part, list):
                inner = _changed([x for x in part if isinstance(x, Stmt)])
                arrays, variables = arrays | inner[0], variables | inner[1]
    return arrays, variables


def _back(program: Program, one: Stmt, plan: Plan) -> Stmt:
    match one:
        case Block():
            return _back_block(program, one, plan)
        case For():
            return BackFor(one, _all_back(program, one.body, plan))
        case While():
            return BackWhile(one, _all_back(program, one.before, plan), _all_back(program, one.body, plan))
        case If():
            ways = _all_back(program, one.body, plan), _all_back(program, one.orelse, plan)
            return BackIf(plan.tests.get(id(one)), *ways)
    raise AssertionError(one)


def _back_block(program: Program, block: Block, plan: Plan) -> BackBlock:
    body: list[Stmt] = []
    share: list[Stmt]
    counter = [0]
    shadows = [one.name for one in block.body if isinstance(one, Let) and one.name in plan.active_variables]
    for one in reversed(block.body):
        match one:
            case Let():
                if one.name in plan.active_variables:
                    share = _shares(program, plan, one.expr, Var(one.expr.kind, f"d:{one.name}"), counter)
                    body.append(Back(one, share, False, True))
            case Assign():
                share = []
                if one.name in plan.active_variables and is_float(program.variables[one.name]):
                    share = _shares(program, plan, one.expr, Var(one.expr.kind, ".ct"), counter)
                body.append(Back(one, share, one.name in plan.variables, one.name in plan.active_variables))
            case Reduce():
                has_shadow = one.variable in plan.active_variables
                if one.array:
                    has_shadow = program.arrays[one.array].memory in plan.active_memory
                share = _shares_of_reduction(program, plan, one, counter) if has_shadow else []
                body.append(Back(one, share, False, has_shadow))
            case Dot():
                has_shadow = one.variable in plan.active_variables
                share = _shares_of_product(program, plan, one) if has_shadow else []
                body.append(Back(one, share, one.variable in plan.variables, has_shadow))
            case Product():
                has_shadow = program.arrays[one.array].memory in plan.active_memory
                share = _shares_of_product(program, plan, one) if has_shadow else []
                body.append(Back(one, share, False, has_shadow))
            case Store() | Each():
                memory = program.arrays[one.array].memory
                has_shadow = memory in plan.active_memory
                share = _shares(program, plan, one.expr, Var(one.expr.kind, ".ct"), counter) if has_shadow else []
                body.append(Back(one, share, memory in plan.memory, has_shadow))
            case Callback():
                has_shadow = any(program.arrays[name].memory in plan.active_memory for name in one.arrays)
                share = [
                    Add(x, passed(k))
                    for k, x in enumerate(one.numbers)
                    if isinstance(x, Var) and has_shadow and is_active(program, plan, x)
                ]
                body.append(Back(one, share, False, has_shadow))
            case Where():
                body.append(Back(one, [], False, False))
            case Make():
                memory = program.arrays[one.array].memory
                body.append(Back(one, [], memory in plan.memory, memory in plan.active_memory))
    made = BackBlock(block, [], shadows, body)
    _note_reads(program, plan, made)
    return made


def _note_reads(program: Program, plan: Plan, made: BackBlock) -> None:
    """Note what the way back over a block reads, and which lets it needs."""
    read = set(_names(made.body))
    loads: set[str] = set()
    for stmt in made.body:
        if isinstance(stmt, Back):
            read |= _target_names(stmt)
    own = {one.name: one for one in made.of.body if isinstance(one, Let)}
    lets: list[Let] = []
    for one in reversed([x for x in made.of.body if isinstance(x, Let)]):
        if one.name in read:
            lets.insert(0, one)
            if not is_logged(program, made.of, one):
                read |= _names_of(one.expr)
                loads |= {x.array for x in one.expr.walk() if isinstance(x, Load)}
    made.lets = lets
    loads |= set(_loaded(made.body))
    plan.variables |= {name for name in read if name not in own and not name.startswith("d:")}
    plan.memory |= {program.arrays[name].memory for name in loads}


def passed(number: int) -> Var:
    """The cotangent that a callback passes to an operand that is a number."""
    return Var("f", f".passed{number}")


def is_logged(program: Program, block: Block, let: Let) -> bool:
    """Whether a let reads memory or a length that its own statement changes: it cannot be computed again."""
    effects = [one for one in block.body if isinstance(one, (Store, Each, Make, Reduce, Product))]
    written = {program.arrays[one.array].memory for one in effects if one.array}
    made = {one.array for one in block.body if isinstance(one, Make)}
    called = {name for one in block.body if isinstance(one, (Callback, Where)) for name in one.arrays}
    written, made = written | called, made | called
    return any(
        (isinstance(one, Load) and program.arrays[one.array].memory in written)
        or (isinstance(one, Size) and one.array in made)
        for one in let.expr.walk()
    )


def _target_names(stmt: Back) -> set[str]:
    """Variables that the way back over an effect reads for its place."""
    found: set[str] = set()
    of = stmt.of
    if isinstance(of, (Store, Each)) and (stmt.has_shadow or stmt.restores):
        for one in of.index:
            found |= _names_of(one)
    if isinstance(of, Each) and (stmt.has_shadow or stmt.restores):
        for one in of.extents:
            found |= _names_of(one)
        found -= set(of.names)
    if isinstance(of, Dot) and stmt.share:
        found |= _names_of(of.extent)
    if isinstance(of, Product) and stmt.share:
        for one in of.counts:
            found |= _names_of(one)
    if isinstance(of, Callback) and stmt.has_shadow:
        for names, extents, load in zip(of.names, of.extents, of.loads, strict=True):
            for one in (*extents, *load.index):
                found |= _names_of(one) - set(names)
    if isinstance(of, Reduce) and stmt.has_shadow:
        for one in (*of.extents, *of.outer_extents, *([of.expr] if of.how in REREAD else ())):
            found |= _names_of(one)
        found -= {*of.names, *of.outer}
    return found


def _names_of(expr: Expr) -> set[str]:
    return {one.name for one in expr.walk() if isinstance(one, Var)}


def _names(body: Iterable[Stmt]) -> Iterator[str]:
    """Variables that are read."""
    for one in body:
        match one:
            case Add():
                for expr in one.reads:
                    yield from _names_of(expr)
            case Let():
                yield from _names_of(one.expr)
            case Back():
                inner = {x.name for x in one.share if isinstance(x, Let)} | {".ct"}
                if isinstance(one.of, Each):
                    inner |= set(one.of.names)
                if isinstance(one.of, Dot):
                    inner.add(one.of.name)
                if isinstance(one.of, Product):
                    inner |= {one.of.rows, one.of.inner, one.of.columns}
                if isinstance(one.of, Callback):
                    inner |= {passed(k).name for k in range(len(one.of.numbers))}
                if isinstance(one.of, Reduce):
                    inner |= {*one.of.names, *one.of.outer, ".best", ".winners", ".others"}
                yield from (x for x in _names(one.share) if x not in inner)


def _loaded(body: Iterable[Stmt]) -> Iterator[str]:
    """Arrays that are read."""
    for one in body:
        exprs: list[Expr] = []
        match one:
            case Add():
                exprs = one.reads
            case Let():
                exprs = [one.expr]
            case Back():
                yield from _loaded(one.share)
                if isinstance(one.of, (Store, Each)) and (one.has_shadow or one.restores):
                    exprs = list(one.of.index)
                if isinstance(one.of, Reduce) and one.of.how in REREAD and one.has_shadow:
                    exprs = [one.of.expr]
                if isinstance(one.of, Callback) and one.has_shadow:
                    exprs = [x for load in one.of.loads for x in load.index]
        for expr in exprs:
            yield from (x.array for x in expr.walk() if isinstance(x, Load))


def _shares(
    program: Program,
    plan: Plan,
    expr: Expr,
    ct: Expr,
    counter: list[int],
    only: Expr | None = None,
    exists: Expr | None = None,
) -> list[Stmt]:
    """What the inputs of a value get of its cotangent."""
    match expr:
        case Load() | Var():
            return [Add(expr, ct, only, exists)] if is_active(program, plan, expr) else []
        case Op():
            found: list[Stmt] = []
            function = FUNCTIONS[expr.name]
            wanted = [
                (share, x)
                for share, x in zip(function.shares, expr.args, strict=False)
                if share is not None and is_active(program, plan, x)
            ]
            if (len(wanted) > 1 or function.chooses) and not isinstance(ct, (Var, Const)):
                counter[0] += 1
                name = f".c{counter[0]}_"
                found.append(Let(name, ct))
                ct = Var(ct.kind, name)
            for of_argument, x in wanted:
                share = of_argument(ct, *expr.args)
                assert share is not None
                conditions = only, exists
                if function.chooses:
                    assert isinstance(share, Op)
                    is_chosen, share = share.args[0], share.args[1] if function.is_lazy else share
                    conditions = (
                        (both(only, is_chosen), exists) if function.is_lazy else (only, both(exists, is_chosen))
                    )
                found += _shares(program, plan, x, share, counter, *conditions)
            return found
    return []


def _shares_of_reduction(program: Program, plan: Plan, one: Reduce, counter: list[int]) -> list[Stmt]:
    """What the elements that are reduced get: of an extremum, those that are equal to it share its cotangent."""
    ct: Expr = Var(one.expr.kind, ".ct")
    exists = None
    if one.how == "prod":
        ct = op("mul", ct, Var("f", ".others"))
    elif one.how in ("max", "min"):
        exists = test("or", test("eq", one.expr, Var("f", ".best")), test("isnan", one.expr))
        ct = chosen(exists, op("div", ct, Var("f", ".winners")))
    return _shares(program, plan, one.expr, ct, counter, None, exists)


def _shares_of_product(program: Program, plan: Plan, one: Dot | Product) -> list[Stmt]:
    """What the factors of each product of two elements get."""
    ct = Var(one.left.kind, ".ct")
    pairs = (one.left, one.right), (one.right, one.left)
    return [Add(x, op("mul", ct, other)) for x, other in pairs if is_active(program, plan, x)]


def both(one: Expr | None, other: Expr) -> Expr:
    """A condition with one more."""
    return other if one is None else Op("b", "and", (one, other))
