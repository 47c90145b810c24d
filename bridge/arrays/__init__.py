"""What a program holds in place of its arrays: duck arrays that speak NumPy's protocols and report events."""

from bridge.arrays import buffer as buffer
from bridge.arrays import callbacks as callbacks
from bridge.arrays import functions as functions
from bridge.arrays import in_c as in_c
from bridge.arrays import labelled as labelled
