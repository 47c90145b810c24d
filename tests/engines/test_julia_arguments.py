"""Arguments of a NumPy call, as an entry of Julia's table takes them; no Julia is needed for that."""

from __future__ import annotations

from typing import Any

import pytest

from bridge.engines.julia.exchange import Arrangement, Row, arranged
from bridge.errors import NoRuleError


def function(a: Any, count: Any = None, reverse: bool = False, *, scale: float = 1.0) -> Any:
    return a


@pytest.mark.parametrize(
    ("positional", "keywords", "args", "kwargs", "expected"),
    [
        (("a",), (), (1.5,), {}, ((0,), {})),
        (("a", "count"), (), (1.5, 3), {}, ((0, 1), {})),
        (("a", "count", "reverse"), (), (1.5, 3, True), {}, ((0, 1, 2), {})),
        (("a", "count", "reverse"), (), (1.5,), {"reverse": True, "count": 3}, ((0, 2, 1), {})),
        (("a",), ("count", "reverse"), (1.5,), {"reverse": True}, ((0,), {"reverse": 1})),
        # What the entry has no place for may be left out, and the next one takes the place that follows.
        (("a", "reverse"), (), (1.5,), {"reverse": True}, ((0, 1), {})),
        (("a", "count"), ("scale",), (1.5,), {"scale": 2.0}, ((0,), {"scale": 1})),
        (("a", "count"), (), (1.5, None), {}, ((0,), {})),
    ],
)
def test_places(positional: Any, keywords: Any, args: Any, kwargs: Any, expected: Any) -> None:
    row = Row("function", positional, False, keywords, "there.jl")
    assert arranged(row, None, function, args, kwargs) == Arrangement(*expected)


def test_a_default_that_is_left_out_keeps_its_place() -> None:
    row = Row("function", ("a", "count", "reverse"), False, (), "there.jl")
    with pytest.raises(NoRuleError, match=r"no rule for function with reverse= and without count=") as caught:
        arranged(row, None, function, (1.5,), {"reverse": True})
    assert 'give count= too, or use engine="native"' in str(caught.value)


def test_what_an_entry_lacks_is_named() -> None:
    row = Row("function", ("a",), False, (), "there.jl")
    with pytest.raises(NoRuleError, match=r"no rule for function with scale="):
        arranged(row, None, function, (1.5,), {"scale": 2.0})
