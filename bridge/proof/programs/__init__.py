"""`check_gradient` and `crosscheck`: a program held against finite differences and against every engine."""
