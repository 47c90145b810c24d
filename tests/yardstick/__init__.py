"""The yardstick: what the package does with every recorded program, written to a file, and two such files compared."""
