"""Arrays whose lengths are known only when the program runs, within bounds: `x[i:j]` of a compiled program.

Such an array is a part of one of static shape, `whole`, and what is computed with it is a program on that one, under
masks. A context never meets a run-time length, and so all derivatives of such programs are those of static ones.
"""

from bridge.xla.bounded import contracting as contracting
from bridge.xla.bounded import creating as creating
from bridge.xla.bounded import elementwise as elementwise
from bridge.xla.bounded import gathering as gathering
from bridge.xla.bounded import indexing as indexing
from bridge.xla.bounded import reducing as reducing
from bridge.xla.bounded import shaping as shaping
from bridge.xla.bounded import systems as systems
