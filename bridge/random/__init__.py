"""Random numbers from explicit keys: the bits of `jax.random` in every engine, and gradients that say what they mean.

A key is a uint32 array of shape (2,); the same key gives the same numbers. What the gradient of a draw with respect to
its parameters is, each call says: `gradient="pathwise"`, `"frozen"` or `"error"`. docs/random.md explains these.
"""

from bridge.random.continuous import exponential as exponential
from bridge.random.continuous import gamma as gamma
from bridge.random.continuous import gumbel as gumbel
from bridge.random.continuous import normal as normal
from bridge.random.continuous import uniform as uniform
from bridge.random.discrete import bernoulli as bernoulli
from bridge.random.discrete import categorical as categorical
from bridge.random.discrete import permutation as permutation
from bridge.random.draws import held as held
from bridge.random.keys import bits as bits
from bridge.random.keys import fold_in as fold_in
from bridge.random.keys import key as key
from bridge.random.keys import split as split

__all__ = [
    "bernoulli",
    "bits",
    "categorical",
    "exponential",
    "fold_in",
    "gamma",
    "gumbel",
    "held",
    "key",
    "normal",
    "permutation",
    "split",
    "uniform",
]
