"""`check_rule`: everything that a rule promises, proved.

A `Call` (`calls`, `rule_calls`) is a rule at certain arguments; `contract` and `declarations` prove
what needs no derivative, `values` that the pull is the derivative, `variants` that it stays so at hard arguments, and
`tracked` that it works in programs (`programs`). `report` collects what they find.

Failures carry stable codes:

======================= ==============================================================================
no-pull, no-inputs      there is nothing to prove: a pull, or arguments that the function accepts
nothing-checked,        no float or complex element to differentiate, no output with a cotangent, or finite
no-convergence          differences that do not converge: a wrong pull would have passed, too
not-supported           the arguments are not what the rule says that it supports
undeclared-mutation     the function writes an argument that its rule does not declare
process-ended           the function ended the process in which it was proved (`subprocess=True`)
nondeterministic        two calls of the function give different values
pull-raises             the pull raises where the function does not
cotangent-count, -shape what the pull returns does not match the arguments (a missing broadcast sum, say)
wrong-dtype             a float32 cotangent became float64, a real one complex or integer
writes-cotangent,       the pull writes into what it is given
-output, -input
accumulates,            the pull keeps state: adds to earlier results, differs from call to call, hands out
not-repeatable,         memory that it writes again
shared-result
stale-input             the pull uses values from after the call, or from the function's latest call
not-linear              the pull is not linear in its cotangent
none-cotangent          it does not honour the absent cotangents of functions with several outputs
undeclared-read         it reads values that `reads` leaves out
not-elementwise,        `structure` or `linear` declare what is not so
function-not-linear
missing-cotangent       `None` where the function depends on the argument
wrong-gradient          the pull is not the derivative
wrong-conjugation       it is, but for a conjugate
wrong-at-zero, -at-kink, the same at zeros, equal elements, complex and float32 arguments, 0-d and empty arrays,
-complex, -float32,     strided memory
-0d, -empty,
-noncontiguous          (of arguments, and of cotangents)
nan-spreads             a NaN in one element spoils others
value-differs           the value under differentiation, or a composed rule's equivalent, is not the function's
raises-in-context       the pull raises on tracked arrays
wrong-in-context        the gradient through the context is not the pull's
memory-not-restored     undo and redo do not bring memory back
unused-result, called-twice, ignores-alias, wrong-in-view: wrong in the program of that name
forward-mode            forward and reverse mode disagree
wrong-second-order      the derivative of the gradient is wrong
======================= ==============================================================================
"""
