"""The engine "julia": every pull is that of ChainRules and Zygote."""

from bridge.engines.julia.engine import ENGINE as ENGINE
from bridge.engines.julia.engine import forward_by_pulls as forward_by_pulls
from bridge.engines.julia.engine import load_rules as load_rules
