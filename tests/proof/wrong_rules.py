"""Rules that are wrong in every way that `check_rule` claims to catch."""

from tests.proof.wrong_promises import WRONG_PROMISES
from tests.proof.wrong_pulls import WRONG_PULLS
from tests.proof.wrong_pulls import Wrong as Wrong
from tests.proof.wrong_pulls import real_only as real_only

WRONG = WRONG_PULLS + WRONG_PROMISES
