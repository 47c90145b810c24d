"""Numbers to hold gradients against: finite differences, the complex step, and what counts as equal."""
