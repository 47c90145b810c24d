"""Mutation testing: small changes of the package's own code, and whether a test notices."""
