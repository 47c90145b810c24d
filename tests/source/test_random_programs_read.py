"""Random programs give the same bits read and unread, and hold afterwards what they held.

`python -m pytest tests/source/test_random_programs_read.py --programs 10000` is the nightly run.
"""

from __future__ import annotations

import linecache
import re
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import EscapeError
from bridge.source.operations import READER
from tests.source.comparing import normal
from tests.source.random_text import Writer

ENDED, RAISED, REFUSED = "ended", "raised", "refused"
X = np.array([0.5, -0.25, 1.25, 0.75])


@pytest.mark.ci
@pytest.mark.filterwarnings("ignore")
def test_random_programs_mean_read_what_they_mean_unread(request: pytest.FixtureRequest) -> None:
    count = request.config.getoption("--programs")
    with np.errstate(all="ignore"):
        ended = [check(seed) for seed in range(count)]
    # Programs that raise are compared by what they raise; most must come to an end.
    assert ended.count(ENDED) > 0.7 * len(ended)
    print({how: ended.count(how) for how in (ENDED, RAISED, REFUSED)})


def check(seed: int) -> str:
    """Run one program as it is, read, and differentiated; how it ended."""
    text = Writer(seed).text()
    file = f"<random program {seed}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    try:
        code = compile(text, file, "exec", dont_inherit=True)
        expected = outcome(code, "plain")
        for way in ("read", "differentiated"):
            found = outcome(code, way)
            if found[0] == REFUSED:
                # A special method of a class that NumPy calls, or Python, is not read: a named error.
                return REFUSED
            assert found[0] == expected[0], f"seed {seed}, {way}: {found[0]}, unread {expected[0]}\n{text}"
            for before, after, unread in zip(found[2], found[1], expected[1], strict=True):
                # What tracked values were put into is put back; what is changed by plain values stays changed.
                right = (unread,) if way == "read" else (before, unread)
                assert after in right, (
                    f"seed {seed}, {way}: {after} afterwards, {before} before, unread {unread}\n{text}"
                )
    finally:
        from bridge.source import finding

        del linecache.cache[file]
        finding._texts.pop(file, None)
    return RAISED if isinstance(expected[0], str) else ENDED


def outcome(code: Any, way: str) -> tuple[Any, Any, Any]:
    """What a program returns or raises with its log, and what its module holds after and before."""
    names: dict[str, Any] = {"__name__": "random_program"}
    exec(code, names)
    program, log, x = names["program"], [], X.copy()
    before = state(names)
    try:
        if way == "plain":
            value = program(x, log)
        elif way == "read":
            value = READER.of(program)(x, log)
        else:
            value, gradient = bridge.value_and_grad(lambda x: program(x, log))(x)
            assert np.shape(gradient) == (4,)
        assert way != "differentiated" or x.tobytes() == X.tobytes()
    except EscapeError as error:
        assert way == "differentiated"
        assert "not read from its source" in str(error)
        return REFUSED, [], []
    except (ArithmeticError, AttributeError, LookupError, NameError, TypeError, ValueError) as error:
        # The classes of tracked numbers have names of their own.
        message = re.sub(
            r"'(numpy\.float64|numpy\.ndarray|float|Scalar|WeakScalar|Float|Buffer)'", "'number'", str(error)
        )
        return f"{type(error).__name__}: {message} {log}", state(names), before
    return (np.float64(value).tobytes(), normal(log)), state(names), before


def state(names: dict[str, Any]) -> list[Any]:
    table = names["table"]
    return [
        normal(one) for one in (*(names[name] for name in ("total", "count", "field", "kept")), table["a"], table["b"])
    ]


@pytest.mark.parametrize(
    "loop",
    [
        "for y in u",
        "for k, y in enumerate(u)",
        "for y, z in zip(u, u[:])",
        "for y in map(lambda y: y, u)",
        "for y in filter(lambda y: True, u)",
        "for y, in u[:, None]",
        "for y in (y for y in u)",
    ],
)
def test_an_array_that_a_loop_runs_over_is_written_meanwhile(loop: str) -> None:
    text = (
        "import numpy as np\ndef f(x):\n    u, s = np.ones(3) * 0.5, 0.0\n"
        f"    {loop}:\n        u[2] = x\n        s = s + y\n    return s\n"
    )
    file = f"<loop {loop}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    names: dict[str, Any] = {}
    exec(compile(text, file, "exec"), names)
    value, gradient = bridge.value_and_grad(names["f"])(3.0)
    del linecache.cache[file]
    assert (value, gradient) == (4.0, 1.0)
    assert names["f"](3.0) == 4.0
