"""Proofs of gradients and of rules, as products: `check_gradient(f)(*args)` and `check_rule(r)`.

`arrays` and `finite_differences` are the numerics, `compare` puts a gradient beside them. A `Call` (`calls`,
`rule_calls`, `mutating_calls`) is a rule at certain arguments; `contract` and `honesty` prove what does not
need a derivative, `values` that the pull is the derivative, `variants` that it stays so at hard arguments, and
`tracked` that it works in programs. `report` collects what they find.
"""

from bridge.check.gradient import check_gradient as check_gradient
from bridge.check.report import Check as Check
from bridge.check.report import Failure as Failure
from bridge.check.report import Report as Report
from bridge.check.rule import check_rule as check_rule
