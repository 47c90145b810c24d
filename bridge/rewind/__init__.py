"""The rewind: run forward and log, then walk the log from its end. Knows nothing of the arrays that programs meet."""
