"""How often the cross-check raises a false alarm, and how often it misses a wrong rule, over random programs."""
