"""Statements with a body: loops of every head, branches, early ends, and functions that are called."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from tests.random_programs.control_flow import grammar
from tests.random_programs.control_flow.idioms import IDIOMS
from tests.random_programs.control_flow.program import Program
from tests.random_programs.control_flow.writer import RESULTS, Range, Writer, named
from tests.random_programs.program import Line

DEEPEST, NESTED, ROWS = 4, 3, 26
RETURN = f"return {', '.join(RESULTS)}"


def program(seed: int) -> Program:
    """The random program of a seed."""
    w = Writer(seed)
    for _ in range(w.random.randrange(3)):
        helper(w)
    with inside(w, "def state(x, A, a):"):
        w.put(w.random.choice(["n = len(x)", "n = x.shape[0]", "n = x.size", "n, _ = A.shape"]))
        w.put(
            "u = "
            + w.random.choice(["np.zeros(n)", "np.zeros_like(x)", "0.5 * x", "x.copy()", "np.linspace(0.2, 0.9, n)"])
        )
        w.put("v = " + w.random.choice(["np.ones(n)", "A[0].copy()", "np.cos(x)", "A.sum(axis=1) * 0.2", "A[:, 1]"]))
        w.put("s, t = " + w.random.choice(["0.0, a", "a * 0.5, 1.0", "x[0], 0.5", "0, a"]))
        w.put(f"c = {w.random.randrange(3)}")
        order = w.random.sample(range(w.size), w.size)
        w.put("p = " + w.random.choice([f"np.array({order})", f"np.arange({w.size})[::-1]"]))
        w.rows = 0
        for _ in range(w.random.randrange(3, 7)):
            statement(w, blocks=0.6)
        w.put(RETURN)
    return Program(seed, w.size, tuple(w.lines), RESULTS)


@contextmanager
def inside(w: Writer, head: str) -> Iterator[None]:
    """The body of a block; names that it makes known are forgotten after it."""
    line, outer = Line(head), (w.block, dict(w.indices), list(w.elements), list(w.vectors))
    w.block.append(line)
    w.block = line.body
    w.depth += 1
    w.rows += 1
    yield
    w.depth -= 1
    w.block, w.indices, w.elements, w.vectors = outer


def statement(w: Writer, blocks: float = 0.35) -> None:
    """Any statement; one with a body with a probability, as long as there is room for it."""
    if w.depth <= DEEPEST and w.rows < ROWS and w.chance(blocks):
        kinds = [branch, branch] + [loop, loop, loop, while_loop, idiom] * (w.loops < NESTED)
        w.random.choice(kinds)(w)
        return
    kind = w.random.choices(list(grammar.WEIGHTS), list(grammar.WEIGHTS.values()))[0]
    template = w.random.choice(grammar.STATEMENTS[kind])
    for stem in ("w", "r"):
        if template.startswith(f"{stem} ="):
            template = re.sub(rf"\b{stem}\b", w.fresh(stem), template)
    w.put(*w.filled(template).split("; "))


def body(w: Writer, most: int) -> None:
    for _ in range(w.random.randint(1, most)):
        statement(w)


def idiom(w: Writer, text: str = "") -> None:
    """An algorithm as people write it: the one that is given, or any."""
    text = text or w.random.choice(IDIOMS)
    for stem in sorted(set(re.findall(r"\$(\w+)", text))):
        text = re.sub(rf"\${stem}\b", w.fresh(stem), text)
    rows = w.filled(text).strip().splitlines()
    w.put_block(rows)
    w.rows += len(rows)


def branch(w: Writer) -> None:
    heads = [f"if {w.filled('<condition>')}:"]
    heads += [f"elif {w.filled('<condition>')}:"] if w.chance(0.3) else []
    heads += ["else:"] if w.chance(0.45) else []
    for head in heads:
        with inside(w, head):
            body(w, 2)
            if w.loops and w.chance(0.2):
                early(w)


def early(w: Writer) -> None:
    """The end of an iteration, of a loop or of the function."""
    w.put(w.random.choice(["break", "break", "continue", "continue", RETURN]))


def loop(w: Writer) -> None:
    """A `for` over a range, or over elements."""
    found: dict[str, Range] = {}
    name = w.fresh("i")
    elements, rows = [], []
    if w.chance(0.5):
        head, found[name] = over_range(w, name)
    else:
        template = w.random.choice(grammar.HEADS)
        head = w.filled(template)
        names = re.findall(r"\b[ijefr]\b", template.partition(" in ")[0].removeprefix("for "))
        for letter in names:
            new = name if letter == "i" else w.fresh(letter)
            head = re.sub(rf"(?<=[ (]){letter}(?=[ ,)])", new, head, count=1)
            if letter in "ij":
                found[new] = (0, w.size - 1)
            (rows if letter == "r" else elements if letter in "ef" else []).append(new)
    with inside(w, head):
        w.loops += 1
        w.indices |= found
        w.elements += elements
        w.vectors += rows
        body(w, 3)
        if w.chance(0.3):
            with inside(w, f"if {w.filled('<condition>')}:"):
                if w.chance(0.5):
                    statement(w)
                early(w)
            if w.chance(0.5):
                statement(w)
        w.loops -= 1
    if w.chance(0.15):
        with inside(w, "else:"):
            body(w, 1)
    elif w.chance(0.2) and found:
        # Whether a loop ran at all decides whether its index is bound; a program that reads one that is not is unfit.
        w.put(f"s += 0.1 * {next(iter(found))}")


def over_range(w: Writer, name: str) -> tuple[str, Range]:
    """A head over a range, and what its index lies between."""
    last = w.size - 1
    choices = [(text, (low, w.size + high)) for text, (low, high) in grammar.RANGES.items()]
    for outer, (low, high) in w.indices.items():
        if low >= 0 and high <= last:
            lies = {"below": (0, high - 1), "upto": (0, high), "from": (low, last), "after": (low + 1, last)}
            lies |= {"any": (0, last), "mirrored": (0, last - low)}
            choices += [(named(text, outer), lies[where]) for text, where in grammar.RANGES_OF.items()] * 2
    text, found = w.random.choice(choices)
    if "," not in text and w.chance(0.12):
        return f"for {name} in reversed(range({text})):", found
    return f"for {name} in range({text}):", found


def while_loop(w: Writer) -> None:
    """A loop that ends when a counter has reached its end, or earlier."""
    name = w.fresh("k")
    upward = w.chance(0.6)
    w.put(f"{name} = {w.random.choice(['0', '0', '1']) if upward else 'n'}")
    end, step = (f"{name} < n", f"{name} += 1") if upward else (f"{name} > 0", f"{name} -= 1")
    if w.chance(0.2):
        step = f"{name} += 2" if upward else f"{name} //= 2"
    head = w.random.choice([f"while {end}:", f"while {end} and {w.filled('<condition>')}:", "while True:"])
    before, after = ((0, w.size - 1), (1, w.size)) if upward else ((1, w.size), (0, w.size - 1))
    late = w.chance(0.5)
    with inside(w, head):
        w.loops += 1
        if head == "while True:":
            with inside(w, f"if not ({end}):"):
                w.put("break")
        if not late:
            w.put(step)
        w.indices[name] = before if late else after
        body(w, 3)
        if w.chance(0.25):
            with inside(w, f"if {w.filled('<condition>')}:"):
                w.put("break")
        if late:
            w.put(step)
        w.loops -= 1
    if w.chance(0.15):
        with inside(w, "else:"):
            body(w, 1)


def helper(w: Writer) -> None:
    """A function that has loops and returns of its own."""
    name = w.fresh("h")
    with inside(w, f"def {name}(y, q, m):"):
        w.put_block(w.random.choice(grammar.HELPERS).splitlines())
    w.put("", "")
    w.helpers.append(name)
