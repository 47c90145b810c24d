"""What a program holds in place of its arrays: duck arrays that speak NumPy's protocols and report events."""
