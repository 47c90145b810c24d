"""The examples of docs/transforms.md print what the page says, one after the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.pages import examples, printed, printed_alone

BLOCKS = examples("docs/transforms.md")
WITH_JAX = [block for block in BLOCKS if "import jax" in block[0]]


@pytest.mark.ci
def test_the_examples_print_what_the_page_says(tmp_path: Path) -> None:
    blocks = [block for block in BLOCKS if block not in WITH_JAX]
    assert len(blocks) >= 4
    code = "\n".join(code for code, _ in blocks)
    assert printed(code, tmp_path) == "".join(expected for _, expected in blocks)


@pytest.mark.ci
def test_the_example_of_a_solver_of_jaxs_ecosystem(tmp_path: Path) -> None:
    pytest.importorskip("optimistix", reason='pip install "mutation-bridge[test]"')
    ((code, expected),) = WITH_JAX
    assert printed_alone(f"import numpy as np\n\nimport bridge\n\n\n{code}", tmp_path) == expected
