"""What options may be: the names that users write, as types."""

from typing import Literal

Engine = Literal["eager", "native", "julia", "jax", "xla", "auto"]
Zeros = Literal["strong", "ieee"]
IndexMode = Literal["error", "clip", "fill", "drop"]
